#ifndef CPROF_RECORDER_AHEAD_H
#define CPROF_RECORDER_AHEAD_H

/*
 * Unpacks large compressed debug information while recording goes on, so that names are there
 * when it ends: what is unpacked goes to the cache (symbolize/pack/packcache.h), where the look-up
 * of names finds it.  The functions of cprof-names.h, and what they consist of.
 */

#include "base/vec.h"
#include "symbolize/elf/dso.h"

#include <stdatomic.h>

struct engine;
struct host;

#define AHEAD_FILES_MAX 8		 /* at a time */
#define AHEAD_INFO_BYTES_MIN (32u << 20) /* of .debug_info: less is unpacked soon enough */

struct cprof_ahead {
	const struct host *host;
	const char *cache_dir;
	uint64_t n_bytes_min;
	struct dso file[AHEAD_FILES_MAX]; /* copies, with descriptors of their own */
	size_t n_files;
	atomic_bool stop;
};

/* Serials of the DSOs that were given out.  All zero: none. */
struct ahead_seen {
	VEC(uint32_t) serials;
};

/* A new one for n files; host and cache_dir are borrowed.  NULL when memory is out. */
struct cprof_ahead *ahead_new(const struct host *host, const char *cache_dir,
			      const struct dso *const *d, size_t n);

/* Those files with many samples that were not seen before; how many. */
size_t ahead_find(struct ahead_seen *seen, const struct engine *g,
		  const struct dso *ret[AHEAD_FILES_MAX]);

#endif
