#ifndef CPROF_CMD_RECORD_ALLOCLIB_H
#define CPROF_CMD_RECORD_ALLOCLIB_H

/* Where libcprof-alloc.so is: beside this program, installed or in the folder of a build.  The
 * environment and the present folder do not matter. */

struct err;

/* Its absolute path, which the caller frees; NULL with e set. */
char *alloclib_path(struct err *e);

#endif
