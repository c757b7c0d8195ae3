#ifndef CPROF_PROC_JITFILE_H
#define CPROF_PROC_JITFILE_H

/*
 * /tmp/perf-PID.map as process PID sees it: below its own root, with its number in its own PID
 * namespace.  Anybody may put files into /tmp, so a file is opened only if it is regular, belongs
 * to the process's user and is not older than the process.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct foreign;
struct host;
struct stat;

struct jitfile_process {
	uint32_t pid, ns_pid;          /* ns_pid: its number in its own PID namespace */
	struct foreign *foreign;       /* of the host, borrowed */
	uid_t uid, euid;
	int64_t start_realtime_ns;     /* when it began; 0: unknown */
	int tmp_fd;                    /* its /tmp (O_PATH), which outlives it; -1: not open */
	bool is_remote;                /* because it is on FUSE, NFS ... */
};

enum jitfile_outcome {
	JITFILE_OPENED,
	JITFILE_ABSENT,
	JITFILE_LINK,                  /* refused: a symbolic link */
	JITFILE_NOT_REGULAR,           /* refused: a folder, FIFO, device ... */
	JITFILE_NOT_OWNED,             /* refused: another user's */
	JITFILE_STALE,                 /* refused: older than the process */
	JITFILE_UNREADABLE,            /* refused by the system */
	JITFILE_REMOTE,                /* refused: on FUSE, NFS ...; or on none that answers */
	JITFILE_TOO_LARGE,             /* not read to its end */
	JITFILE_NO_DESCRIPTOR,         /* not opened: foreign_lacks_descriptor */
};

/* Examines a living process: 0 or -errno (-ENOENT, -ESRCH: it has ended).  The caller frees with
 * jitfile_process_done. */
int jitfile_process_init(struct jitfile_process *p, const struct host *h, uint32_t pid);
void jitfile_process_done(struct jitfile_process *p);

/* Opens the map; *ret_fd is set only with JITFILE_OPENED. */
enum jitfile_outcome jitfile_open_map(const struct jitfile_process *p, int *ret_fd);

/* May the open file with this st be read for process p?  JITFILE_OPENED: yes. */
enum jitfile_outcome jitfile_check(const struct jitfile_process *p, const struct stat *st);

/* Has another file replaced the open one? */
bool jitfile_is_replaced(const struct jitfile_process *p, int fd);

/* "is a symbolic link" ...; NULL for OPENED and ABSENT. */
const char *jitfile_why(enum jitfile_outcome o);

#endif
