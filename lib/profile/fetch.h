#ifndef CPROF_PROFILE_FETCH_H
#define CPROF_PROFILE_FETCH_H

/* Chooses the files whose debug information is fetched from debuginfod servers, and their order. */

#include <stddef.h>
#include <stdint.h>

#include "cprof-names.h"

struct debugfetch;
struct dso;
struct log;
struct symbolizer_options;

struct fetch_file {
	const struct dso *dso;
	uint64_t weight;               /* of its samples */
	int fd;                        /* out: its debug file; -1: not found */
	char *path;                    /* out: the path of fd; NULL */
};

#define FETCH_BUDGET_NS 30000000000u

/* The servers, if n allows their use and used_ns leaves time for it.  NULL if not, or if they
 * cannot be used, which is reported. */
struct debugfetch *fetch_open(const struct cprof_naming *n, uint64_t used_ns,
			      const struct log *log);

/* Fetches what is missing on this machine, hottest files first; sorts file by weight. */
void fetch_files(struct debugfetch *f, const struct symbolizer_options *o, struct fetch_file *file,
		 size_t n);
void fetch_done(struct fetch_file *file, size_t n);

#endif
