#ifndef CPROF_INTERP_INTERP_PROCESS_H
#define CPROF_INTERP_INTERP_PROCESS_H

/* The interpreter of a process that goes on running, of whatever language it is. */

#include <stdbool.h>
#include <stdint.h>

#include "interp/interp.h"
#include "interp/interp-ops.h"

struct err;
struct interp_process;
struct procs_process;

/*
 * process's mappings are known; the tables are borrowed.  -ENOENT: it runs no interpreter, without
 * e.  -EAGAIN: its interpreter has only begun, so that its version is not known yet.  Otherwise
 * -errno with e: -ENOTSUP, a version that is not known; -EPERM, -ESRCH, -ETIMEDOUT; -ENOMEM.
 */
int interp_process_open(const struct interp_tables *t, const struct procs_process *process,
			struct interp_process **ret, struct err *e);
void interp_process_close(struct interp_process *p);

/* "python 3.11.2"; where only that is known "python 3.8" */
const char *interp_process_name(const struct interp_process *p);

const struct interp_code *interp_process_code(const struct interp_process *p);

/* The serial of its file's DSO, and the name of interp_saved_name. */
uint32_t interp_process_file(const struct interp_process *p);
const char *interp_process_saved_name(const struct interp_process *p);

/* The effective user when it was opened; UINT32_MAX: unknown. */
uint32_t interp_process_uid(const struct interp_process *p);

/* Is its file still mapped where it was?  Otherwise p must be closed. */
bool interp_process_fits(const struct interp_process *p, struct procs_process *process);

/* From now on so many pages of the process may be read. */
void interp_process_allow(struct interp_process *p, uint64_t n_pages);

/* The same for samples of threads that run; borrowed. */
const struct interp_runtime *interp_process_runtime(const struct interp_process *p);

/*
 * The functions that thread tid is executing now.  They are right if it did not run meanwhile,
 * which the caller knows.  False: they are unknown.
 */
bool interp_process_read(struct interp_process *p, uint32_t tid, struct interp_frames *ret);

#endif
