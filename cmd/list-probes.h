#ifndef CPROF_CMD_LIST_PROBES_H
#define CPROF_CMD_LIST_PROBES_H

/* The USDT probes of a file or process. */

#include <stdbool.h>
#include <stddef.h>

struct cprof_event_probe;
struct err;

struct list_probes_options {
	const char *of;        /* the path of a file, or the number of a process */
	const char *pattern;   /* NULL: all */
	bool json;
	/* Do the n bytes at word match the pattern? */
	bool (*matches)(const char *word, size_t n, const char *pattern);
};

/* Prints them.  -ENOENT: there is none; -errno; e is set. */
int list_probes(const struct cprof_event_probe *probe, const struct list_probes_options *o,
		struct err *e);

#endif
