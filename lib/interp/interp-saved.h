#ifndef CPROF_INTERP_INTERP_SAVED_H
#define CPROF_INTERP_INTERP_SAVED_H

/*
 * What was learned of an interpreter's loop (interp-learn.h), kept from one recording to the next
 * in the folder of cachefile.h.  It depends on the interpreter's file only, so its build id is the
 * key.
 */

#include <stddef.h>
#include <stdint.h>

struct dso;
struct interp_learn;

/* The name of a file's entry; "" if none is kept: it has no build id, or another user than root and
 * ours could have written it and given it the build id of another file. */
#define INTERP_SAVED_NAME_MAX 64
void interp_saved_name(const struct dso *d, char ret_name[INTERP_SAVED_NAME_MAX]);

/* l is what interp_learn_init leaves.  0; -ENOENT and other -errno of cachefile_open; -EINVAL: the
 * file is damaged, or of another version. */
int interp_saved_read(const char *dir, const char *name, struct interp_learn *l);

/* Does nothing unless enough was learned. */
void interp_saved_write(const char *dir, const char *name, const struct interp_learn *l);

/* The contents of a file. */
int interp_saved_decode(const void *bytes, size_t n_bytes, struct interp_learn *l);

#endif
