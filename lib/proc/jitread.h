#ifndef CPROF_PROC_JITREAD_H
#define CPROF_PROC_JITREAD_H

/* The files in which one process describes its JIT code, read as they grow. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proc/jitfile.h"
#include "symbolize/jit/jitcode.h"
#include "symbolize/jit/jitdump.h"

struct budget;
struct host;
struct log;

/* What may still be read at once, since the rings fill meanwhile. */
struct jitread_limit {
	uint64_t n_bytes;
	uint64_t end_ns;               /* CLOCK_MONOTONIC */
};

struct jitread_file {
	int fd;                        /* -1: not open */
	uint64_t off;                  /* read up to here */
	uint64_t end;                  /* it is not read beyond this */
	uint64_t n_bytes;              /* read in total; a file may be rewritten */
	bool has_more;                 /* the limit ended the last read */
	bool is_too_large;             /* was not read to its end, or too often */
	int64_t mtime_ns;              /* when it was last read */
	uint64_t n_reads;              /* number of reads */
	bool is_bad;                   /* unusable: not read any more */
};

struct jitread {
	struct jitcode code;
	struct jitfile_process process;
	bool is_known;                 /* process is set */
	struct jitread_file map, dump;
	enum jitfile_outcome map_outcome, dump_outcome;
	char *dump_path;
	struct jitdump jitdump;
	uint64_t n_map_entries, n_bad_lines;
	uint64_t polled_ns, map_tried_ns, n_map_tries;
	bool has_ended;                /* the files' ends are known */
	bool lags;                     /* the jitdump has described times long past */
	bool is_late;                  /* the jitdump may lag behind the running code */
};

void jitread_init(struct jitread *r, struct budget *budget);
void jitread_done(struct jitread *r);

/* Examines the living process, and opens its map if there is one already. */
void jitread_open(struct jitread *r, const struct host *h, uint32_t pid);

/* The jitdump, as the process has mapped it; fd is borrowed during the call. */
void jitread_set_dump(struct jitread *r, int fd, const char *path);

/* The process has ended, or the recording: from now on what the files have at this moment is read,
 * and nothing that is added later. */
void jitread_end(struct jitread *r);

/*
 * Reads what is new, and takes it from the limit.  Returns how many times other code replaced
 * existing code; these times, sorted, are in *ret_replaced (freed by the caller).  Damaged files
 * only mean fewer names.
 */
long jitread_poll(struct jitread *r, uint64_t now_ns, struct jitread_limit *limit,
		  uint64_t **ret_replaced);

/* Has the limit ended the last read? */
bool jitread_has_more(const struct jitread *r);

/* Is there something that will never be read: of a file that is too large, or not to be opened? */
bool jitread_has_unread(const struct jitread *r);

/* Was a file not opened for lack of descriptors? */
bool jitread_lacks_descriptor(const struct jitread *r);

/* Closes the descriptors; the code stays. */
void jitread_close(struct jitread *r);

void jitread_explain(const struct jitread *r, uint32_t pid, size_t n_generations,
		     const struct log *log);

#endif
