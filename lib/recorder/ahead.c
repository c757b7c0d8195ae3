#include "recorder/ahead.h"

#include "base/cleanup.h"
#include "cprof-names.h"
#include "engine/engine.h"
#include "recorder/recorder-private.h"
#include "symbolize/dwarf/symdwarf.h"
#include "symbolize/elf/symelf.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * libjvm's debug information, as Debian ships it, takes 0.8 s to unpack, longer than all the rest
 * from the end of a recording to the finished file.  So it is done meanwhile, by a thread of the
 * caller's, with copies of all that it needs.  What that is about when it is told to stop, the
 * look-up of names does itself from there on.
 *
 * A file must have a part of the samples that makes it likely to matter: of programs whose debug
 * information is small, is stored as it is, or is not there, nothing is unpacked.
 */

#define SHARE 50u                /* of the samples one in so many, at least */

/* ---- unpacking ------------------------------------------------------------------------- */

static void unpack_file(const struct cprof_ahead *a, const struct dso *d)
{
	const struct symdebug_place where = { .host = a->host, .cache_dir = a->cache_dir };
	struct symelf s;
	if (symelf_open(&s, d, &where) != 0)
		return;
	Elf *elf = symelf_dwarf(&s);
	if (elf)
		symdwarf_unpack(elf, elf == s.elf ? s.fd : s.debug_fd, &where, a->n_bytes_min,
				&a->stop);
	symelf_close(&s);
}

void cprof_ahead_run(struct cprof_ahead *a)
{
	for (size_t i = 0; i < a->n_files && !atomic_load(&a->stop); i++)
		unpack_file(a, &a->file[i]);
}

void cprof_ahead_stop(struct cprof_ahead *a)
{
	atomic_store(&a->stop, true);
}

/* ---- files ----------------------------------------------------------------------------- */

static void add_file(struct cprof_ahead *a, const struct dso *d)
{
	struct dso copy = *d;
	copy.fd = fcntl(d->fd, F_DUPFD_CLOEXEC, 3);
	copy.path = strdup(d->path);
	copy.open_path = NULL;
	copy.image = NULL;
	if (copy.fd >= 0 && copy.path) {
		a->file[a->n_files++] = copy;
		return;
	}
	if (copy.fd >= 0)
		close(copy.fd);
	free(copy.path);
}

struct cprof_ahead *ahead_new(const struct host *host, const char *cache_dir,
			      const struct dso *const *d, size_t n)
{
	struct cprof_ahead *a = calloc(1, sizeof(*a));
	if (!a)
		return NULL;
	a->host = host;
	a->cache_dir = cache_dir;
	a->n_bytes_min = AHEAD_INFO_BYTES_MIN;
	for (size_t i = 0; i < n && a->n_files < AHEAD_FILES_MAX; i++)
		add_file(a, d[i]);
	return a;
}

void cprof_ahead_free(struct cprof_ahead *a)
{
	if (!a)
		return;
	for (size_t i = 0; i < a->n_files; i++) {
		free(a->file[i].path);
		close(a->file[i].fd);
	}
	free(a);
}

/* ---- which of them --------------------------------------------------------------------- */

static bool was_seen(const struct ahead_seen *seen, uint32_t serial)
{
	for (size_t i = 0; i < seen->serials.n; i++)
		if (seen->serials.v[i] == serial)
			return true;
	return false;
}

/* Of innermost frames. */
static uint64_t weigh(const struct engine *g, uint64_t *weight)
{
	uint64_t n_samples = 0;
	for (uint32_t i = 0; i < g->counts.n; i++) {
		const struct count *c = &g->counts.v[i];
		n_samples += c->n_samples;
		if (c->stack != STACKS_EMPTY)
			weight[g->frames.v[g->stacks.v[c->stack].frame].dso] += c->n_samples;
	}
	return n_samples;
}

size_t ahead_find(struct ahead_seen *seen, const struct engine *g,
		  const struct dso *ret[AHEAD_FILES_MAX])
{
	size_t n_found = 0;
	CLEANUP_FREE uint64_t *weight = calloc(g->dsos.n + 1, sizeof(*weight));
	uint64_t n_samples = weight ? weigh(g, weight) : 0;
	for (uint32_t i = 0; weight && i < g->dsos.n && n_found < AHEAD_FILES_MAX; i++) {
		const struct dso *d = dso_get(&g->dsos, i);
		if (d && d->key.kind == DSO_ELF && d->fd >= 0 && weight[i] &&
		    weight[i] * SHARE >= n_samples && !was_seen(seen, d->serial) &&
		    VEC_PUSH(&seen->serials, d->serial))
			ret[n_found++] = d;
	}
	return n_found;
}

struct cprof_ahead *cprof_recorder_ahead(struct cprof_recorder *r)
{
	const struct cprof_config *c = &r->config;
	const struct dso *found[AHEAD_FILES_MAX];
	if (!c->cache_dir || c->naming.no_cache || c->naming.no_symbols)
		return NULL;
	size_t n = ahead_find(&r->ahead_seen, &r->engine, found);
	return n ? ahead_new(r->session.host, c->cache_dir, found, n) : NULL;
}
