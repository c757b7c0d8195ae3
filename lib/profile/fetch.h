#ifndef CPROF_PROFILE_FETCH_H
#define CPROF_PROFILE_FETCH_H

/* Which files' debug information is fetched from debuginfod servers, and in which order. */

#include <stddef.h>
#include <stdint.h>

#include "cprof-names.h"

struct debugfetch;
struct dso;
struct log;
struct symbolizer_options;

struct fetch_file {
	const struct dso *dso;
	uint64_t weight;               /* of the samples in it */
	int fd;                        /* out: its debug file; -1: none */
	char *path;                    /* out: where that is; NULL */
};

#define FETCH_BUDGET_NS 30000000000u

/* The servers, if n wants them to be asked and used_ns leaves some time for that; NULL when not, or
 * (told) when they cannot be. */
struct debugfetch *fetch_open(const struct cprof_naming *n, uint64_t used_ns,
			      const struct log *log);

/* Fetches what has no debug information here, hottest first; sorts file by weight. */
void fetch_files(struct debugfetch *f, const struct symbolizer_options *o, struct fetch_file *file,
		 size_t n);
void fetch_done(struct fetch_file *file, size_t n);

#endif
