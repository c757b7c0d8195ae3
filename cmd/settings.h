#ifndef CPROF_CMD_SETTINGS_H
#define CPROF_CMD_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>

struct err;

/*
 * Does the file at path allow the caller to use the capabilities of cprof's file?  True if one of
 * its groups (real, or supplementary) is allowed.  A file that somebody else than root can change
 * is ignored as a whole, and so is one with an error; a warning on stderr says so.
 */
bool settings_allow(const char *path);

/*
 * Reads settings, one a line:
 *     # a comment
 *     allow-group = NAME
 * is_member(ctx, name) says whether the caller is in that group.  Returns 1 (allowed), 0, or
 * -EINVAL with e for a line that is none of these.
 */
int settings_parse(const char *text, size_t n_bytes, bool (*is_member)(void *ctx, const char *name),
		   void *ctx, struct err *e);

#endif
