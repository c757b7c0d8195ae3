#ifndef CPROF_PROFILE_OFFLINE_NAMES_H
#define CPROF_PROFILE_OFFLINE_NAMES_H

/*
 * The names of the addresses of many profiles.  First the addresses of all of them are collected,
 * then each file is opened once, whatever the number of profiles that it is in.
 */

#include "base/hashindex.h"
#include "base/strtab.h"
#include "base/vec.h"
#include "cprof-names.h"
#include "profile/offline-files.h"
#include "symbolize/name/symbolizer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct profile;
struct profile_location;
struct profile_mapping;

/* A file of the profiles: one build id, or one path without a build id. */
struct offline_file {
	uint32_t build_id;                 /* of strings; 0: none */
	VEC(uint32_t) path;                /* the first ones under which it was recorded */
	uint64_t weight;                   /* samples in it */
};

/* An address as the profiles have it: the mapping says how it becomes one of the file. */
struct offline_address {
	uint64_t memory_start, file_offset, address;
	uint32_t file;
	struct symaddr named;              /* n_lines 0: not looked up */
};

struct offline_names {
	struct offline_files files;
	struct strtab strings;
	struct symlines lines;
	VEC(struct offline_file) file;
	VEC(struct offline_address) address;
	struct hashindex by_file, by_address;
	struct cprof_symbolize_stats stats;
};

int offline_names_open(struct offline_names *o, const struct cprof_symbolize_config *config,
		       struct err *e);
void offline_names_close(struct offline_names *o);

/* Adds the addresses of a profile that have no names.  -ENOMEM. */
int offline_names_collect(struct offline_names *o, const struct profile *p);

/* Looks up what was collected and not looked up yet, in the files with the most samples first.
 * -ENOMEM. */
int offline_names_resolve(struct offline_names *o);

/* What was found for a location, NULL if it has its own names or was not collected. */
const struct symaddr *offline_names_of(const struct offline_names *o,
				       const struct profile_location *l);

/* What was found for each mapping of a profile; has: p->n_mappings of them, all false. */
void offline_names_has(const struct offline_names *o, const struct profile *p,
		       struct symbolizer_has *has);

#endif
