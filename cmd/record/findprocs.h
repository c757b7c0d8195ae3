#ifndef CPROF_CMD_RECORD_FINDPROCS_H
#define CPROF_CMD_RECORD_FINDPROCS_H

/* Running processes by their names, and their descendants: one reading of /proc.  Processes that
 * have ended are not among them. */

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/vec.h"

struct err;
struct host;

struct findprocs_process {
	pid_t pid, parent;
	uid_t uid;
	char comm[16];          /* TASK_COMM_LEN: the kernel cuts longer names */
};

struct findprocs {
	const struct host *host;         /* borrowed */
	VEC(struct findprocs_process) processes;
};

/* A list of ids that grows. */
struct findprocs_ids {
	VEC(pid_t) pids;
};

/* Reads all processes but kernel threads.  -errno with e set. */
int findprocs_read(struct findprocs *f, const struct host *host, struct err *e);
void findprocs_done(struct findprocs *f);

/*
 * Adds the processes whose name or whose executable's name is `name`, except `self`.  For uid 0
 * these are the processes of all users; for other users their own, or if there is none, those of
 * all users, so that the reason for a refusal is reported.  False: out of memory.
 */
bool findprocs_add_named(const struct findprocs *f, const char *name, pid_t self, uid_t uid,
			 struct findprocs_ids *ids);

/* Adds all descendants of the ids that are not among them yet.  False: out of memory. */
bool findprocs_add_children(const struct findprocs *f, struct findprocs_ids *ids);

/* Is there no such process, or only a zombie, which its parent has not waited for? */
bool findprocs_has_ended(const struct host *h, pid_t pid);

/* Moves the ids of processes that have ended to *ret_ended, which is empty and which the caller
 * frees.  If all have, nothing is moved.  False: out of memory. */
bool findprocs_drop_ended(const struct host *h, struct findprocs_ids *ids,
			  struct findprocs_ids *ret_ended);

#endif
