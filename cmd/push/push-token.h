#ifndef CPROF_CMD_PUSH_TOKEN_H
#define CPROF_CMD_PUSH_TOKEN_H

struct err;
struct push_opts;

/* Reads the token file and makes the value of the Authorization header, which the caller frees;
 * NULL without a token file.  -errno; -EPERM: users outside its group can read the file. */
int push_token_read(const struct push_opts *o, char **ret, struct err *e);

#endif
