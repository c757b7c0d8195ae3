#ifndef CPROF_IMPORTER_IMPORTFILES_H
#define CPROF_IMPORTER_IMPORTFILES_H

/*
 * The files of an imported recording, on this machine; never a wrong one.  A file is used if it has
 * the recorded build id.  If no build id was recorded, it is used if the recording is of this
 * machine and the file has not changed since, or if it is below --symfs.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/names.h"

struct dso;
struct dso_table;
struct host;
struct log;
struct source;

#define IMPORTFILES_ABSENT_MAX 3u

/* The first recorded files that are not here. */
struct importfiles_absent {
	char *path[IMPORTFILES_ABSENT_MAX];
	size_t n;
};

struct importfiles {
	const struct source *source;   /* a perfdata source */
	const struct host *host;
	const struct log *log;
	const char *symfs;             /* "" or a folder, without a slash at its end */
	const char *const *debug_dirs; /* NULL-terminated */
	const char *machine;           /* architecture of the recording, as uname -m has it */
	int64_t recorded_s;            /* the recording ended no later than this */
	bool running_kernel;           /* valid after importfiles_check_kernel */
	enum { IMPORTFILES_UNKNOWN, IMPORTFILES_HERE, IMPORTFILES_ELSEWHERE } origin;
	const char *why_not_kernel;    /* valid likewise; NULL: it is the running one */
	struct importfiles_absent *absent; /* NULL: not wanted */
	uint64_t n_opened, n_proven, n_missing, n_wrong;
};

/* For struct mapdso; ctx is a struct importfiles. */
int importfiles_open(void *ctx, struct dso *d, const char *filename, char **ret_path);

/* After the last record: drops files that a late build id disproves. */
void importfiles_recheck(struct importfiles *f, const struct dso_table *dsos);

/* Is the recorded kernel running here, at the same addresses?  Compares build ids or, without them,
 * host name and time.  To be called after the last record. */
bool importfiles_check_kernel(struct importfiles *f);

/* The mappings of the recorded kernel, for names_resolve; the caller frees the array.  -ENOMEM. */
int importfiles_kernel_maps(const struct importfiles *f, struct names_kernel_map **ret_maps,
			    size_t *ret_n);

#endif
