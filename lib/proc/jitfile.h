#ifndef CPROF_PROC_JITFILE_H
#define CPROF_PROC_JITFILE_H

/*
 * /tmp/perf-PID.map as the process PID sees it: below its own root, by its number in its own PID
 * namespace.  Anybody may put files into /tmp, so only a regular file of the process's own user is
 * opened, and none that is older than the process.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct host;
struct stat;

struct jitfile_process {
	uint32_t ns_pid;               /* its number in its own PID namespace */
	uid_t uid, euid;
	int64_t start_realtime_ns;     /* when it began; 0: unknown */
	int tmp_fd;                    /* its /tmp (O_PATH), which outlives it; -1: none */
};

enum jitfile_outcome {
	JITFILE_OPENED,
	JITFILE_ABSENT,
	JITFILE_LINK,                  /* refused: a symbolic link */
	JITFILE_NOT_REGULAR,           /* refused: a folder, FIFO, device ... */
	JITFILE_NOT_OWNED,             /* refused: another user's */
	JITFILE_STALE,                 /* refused: older than the process */
	JITFILE_UNREADABLE,            /* refused by the system */
};

/* Looks at a living process: 0 or -errno (-ENOENT, -ESRCH: it has ended).  The caller closes
 * with jitfile_process_done. */
int jitfile_process_init(struct jitfile_process *p, const struct host *h, uint32_t pid);
void jitfile_process_done(struct jitfile_process *p);

/* Opens the map; *ret_fd is set with JITFILE_OPENED alone. */
enum jitfile_outcome jitfile_open_map(const struct jitfile_process *p, int *ret_fd);

/* Is st, of an open file, what may be read of process p?  JITFILE_OPENED: yes. */
enum jitfile_outcome jitfile_check(const struct jitfile_process *p, const struct stat *st);

/* Has another file taken the place of the open one? */
bool jitfile_is_replaced(const struct jitfile_process *p, int fd);

/* "is a symbolic link" ...; NULL for OPENED and ABSENT. */
const char *jitfile_why(enum jitfile_outcome o);

#endif
