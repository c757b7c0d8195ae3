#ifndef CPROF_CMD_HINTWORDS_H
#define CPROF_CMD_HINTWORDS_H

/* The hints of libcprof name options of cprof record.  The agent and the server have keys and
 * parameters instead. */

struct err;

enum hintwords_of {
	HINTWORDS_AGENT,
	HINTWORDS_SERVE,
	HINTWORDS_N,
};

/* Replaces the options in the hint of e, or removes the advice to use them. */
void hintwords_apply(struct err *e, enum hintwords_of of);

#endif
