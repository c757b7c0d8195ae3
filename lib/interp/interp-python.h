#ifndef CPROF_INTERP_INTERP_PYTHON_H
#define CPROF_INTERP_INTERP_PYTHON_H

/* The Python functions of a process that goes on running. */

#include <stdbool.h>
#include <stdint.h>

#include "interp/interp.h"
#include "interp/interp-ops.h"

struct err;
struct interp_python;
struct procs_process;

/*
 * p's mappings are known; the tables are borrowed.  -ENOENT: it runs no Python, without e.
 * Otherwise -errno with e: -ENOTSUP, a version that is not known; -EPERM, -ESRCH, -ETIMEDOUT;
 * -ENOMEM.
 */
int interp_python_open(const struct interp_tables *t, const struct procs_process *p,
		       struct interp_python **ret, struct err *e);
void interp_python_close(struct interp_python *p);

/* "3.11.2"; before 3.11 "3.8" */
const char *interp_python_version(const struct interp_python *p);

const struct interp_code *interp_python_code(const struct interp_python *p);

/* Is its file still mapped where it was?  Otherwise p must be closed. */
bool interp_python_fits(const struct interp_python *p, struct procs_process *process);

/* From now on so many pages of the process may be read. */
void interp_python_allow(struct interp_python *p, uint64_t n_pages);

/* The same for samples of threads that run; borrowed. */
const struct interp_runtime *interp_python_runtime(struct interp_python *p);

/*
 * The functions that thread tid is executing now.  They are right if it did not run meanwhile,
 * which the caller knows.  False: they are unknown.
 */
bool interp_python_read(struct interp_python *p, uint32_t tid, struct interp_frames *ret);

#endif
