/*
 * Files are numbered by their build ids, addresses by what the profiles say of them: in our own
 * profiles addresses are ELF virtual addresses; in others they are addresses of the process.  The
 * mapping turns both into file offsets, and the file's program headers turn these into virtual
 * addresses.  A separate debug file has no offsets; there only the first kind works.
 */

#include "profile/offline-names.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/host.h"
#include "base/log.h"
#include "profile/fetch.h"
#include "profile/names.h"
#include "proto/pprof-read.h"
#include "symbolize/elf/dso.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PATHS_MAX 4u

int offline_names_open(struct offline_names *o, const struct cprof_symbolize_config *config,
		       struct err *e)
{
	*o = (struct offline_names){ .stats = { 0 } };
	int r = offline_files_open(&o->files, config, e);
	if (r < 0)
		return r;
	r = strtab_init(&o->strings, NULL);
	if (r < 0) {
		offline_files_close(&o->files);
		return err_errno(e, -r, "cannot look up names");
	}
	return 0;
}

void offline_names_close(struct offline_names *o)
{
	for (size_t i = 0; i < o->file.n; i++)
		VEC_FREE(&o->file.v[i].path);
	VEC_FREE(&o->file);
	VEC_FREE(&o->address);
	hashindex_done(&o->by_file);
	hashindex_done(&o->by_address);
	strtab_done(&o->strings);
	free(o->lines.v);
	offline_files_close(&o->files);
}

/* ---- collecting ---------------------------------------------------------------------- */

static bool is_nameless(const struct profile_location *l)
{
	if (l->n_lines != 1)
		return l->n_lines == 0;
	const struct profile_function *f = l->line[0].function;
	return !f || (f->name[0] == '[' && strstr(f->name, "]+0x") && !*f->filename);
}

static bool is_file(const struct profile_mapping *m)
{
	return *m->filename && m->filename[0] != '[';
}

static bool is_same_file(const struct offline_names *o, uint32_t i, const struct profile_mapping *m)
{
	const struct offline_file *f = &o->file.v[i];
	return strcmp(strtab_get(&o->strings, f->build_id), m->build_id) == 0 &&
	       (f->build_id || strcmp(strtab_get(&o->strings, f->path.v[0]), m->filename) == 0);
}

static uint64_t hash_file(const struct profile_mapping *m)
{
	const char *key = *m->build_id ? m->build_id : m->filename;
	return hash_bytes(key, strlen(key));
}

/* HASHINDEX_NONE for a file without addresses that lack names. */
static uint32_t find_file(const struct offline_names *o, const struct profile_mapping *m)
{
	return HASHINDEX_FIND(&o->by_file, hash_file(m), i, is_same_file(o, i, m));
}

/* A file that is in containers has several paths. */
static bool add_path(struct offline_names *o, struct offline_file *f, const char *path)
{
	uint32_t id = strtab_add_cstr(&o->strings, path);
	for (size_t i = 0; i < f->path.n; i++)
		if (f->path.v[i] == id)
			return true;
	return f->path.n >= PATHS_MAX || (id && VEC_PUSH(&f->path, id));
}

/* HASHINDEX_NONE if out of memory. */
static uint32_t add_file(struct offline_names *o, const struct profile_mapping *m)
{
	uint32_t i = find_file(o, m);
	if (i == HASHINDEX_NONE) {
		struct offline_file one = {
			.build_id = strtab_add_cstr(&o->strings, m->build_id),
		};
		i = (uint32_t)o->file.n;
		if ((*m->build_id && !one.build_id) || !VEC_RESERVE(&o->file, 1) ||
		    !hashindex_reserve(&o->by_file, false) || !add_path(o, &one, m->filename))
			return HASHINDEX_NONE;
		o->file.v[o->file.n++] = one;
		hashindex_put(&o->by_file, hash_file(m), i);
	}
	return add_path(o, &o->file.v[i], m->filename) ? i : HASHINDEX_NONE;
}

static uint64_t hash_address(const struct profile_location *l, uint32_t file)
{
	return hash_pair(hash_pair(l->address, file),
			 hash_pair(l->mapping->memory_start, l->mapping->file_offset));
}

static bool is_same_address(const struct offline_address *a, const struct profile_location *l,
			    uint32_t file)
{
	return a->address == l->address && a->file == file &&
	       a->memory_start == l->mapping->memory_start &&
	       a->file_offset == l->mapping->file_offset;
}

static uint32_t find_address(const struct offline_names *o, const struct profile_location *l,
			     uint32_t file)
{
	return HASHINDEX_FIND(&o->by_address, hash_address(l, file), i,
			      is_same_address(&o->address.v[i], l, file));
}

static int collect_location(struct offline_names *o, const struct profile_location *l,
			    uint32_t file)
{
	if (find_address(o, l, file) != HASHINDEX_NONE)
		return 0;
	struct offline_address one = {
		.memory_start = l->mapping->memory_start, .address = l->address, .file = file,
		.file_offset = l->mapping->file_offset,
	};
	if (!VEC_RESERVE(&o->address, 1) || !hashindex_reserve(&o->by_address, false))
		return -ENOMEM;
	hashindex_put(&o->by_address, hash_address(l, file), (uint32_t)o->address.n);
	o->address.v[o->address.n++] = one;
	return 0;
}

/* Time may run out for files with few samples. */
static void add_weights(struct offline_names *o, const struct profile *p, const uint32_t *file)
{
	for (size_t i = 0; i < p->n_samples; i++) {
		const struct profile_sample *s = &p->sample[i];
		const struct profile_mapping *m = s->n_locations ? s->location[0]->mapping : NULL;
		if (m && p->n_sample_types && s->value[0] > 0 &&
		    file[m - p->mapping] != HASHINDEX_NONE)
			o->file.v[file[m - p->mapping]].weight += (uint64_t)s->value[0];
	}
}

int offline_names_collect(struct offline_names *o, const struct profile *p)
{
	CLEANUP_FREE uint32_t *file = malloc((p->n_mappings + 1) * sizeof(*file));
	if (!file)
		return -ENOMEM;
	memset(file, 0xff, (p->n_mappings + 1) * sizeof(*file));
	for (size_t i = 0; i < p->n_locations; i++) {
		const struct profile_location *l = &p->location[i];
		if (!l->mapping || !is_file(l->mapping) || !is_nameless(l))
			continue;
		uint32_t *f = &file[l->mapping - p->mapping];
		if (*f == HASHINDEX_NONE)
			*f = add_file(o, l->mapping);
		if (*f == HASHINDEX_NONE || collect_location(o, l, *f) < 0)
			return -ENOMEM;
	}
	add_weights(o, p, file);
	return 0;
}

/* ---- looking up ---------------------------------------------------------------------- */

struct wanted {
	uint64_t vaddr;
	size_t address;
};

static int compare_wanted(const void *a, const void *b)
{
	const struct wanted *x = a, *y = b;
	return (x->vaddr > y->vaddr) - (x->vaddr < y->vaddr);
}

static uint64_t vaddr_of(const struct dso *d, const struct offline_address *a)
{
	uint64_t vaddr;
	for (uint16_t i = 0; i < d->n_segments; i++)
		if (d->segment[i].vaddr == a->memory_start)
			return a->address;
	dso_vaddr(d, a->address - a->memory_start + a->file_offset, &vaddr);
	return vaddr;
}

static int resolve(struct offline_names *o, const struct dso *d, struct wanted *w, size_t n)
{
	const struct cprof_symbolize_config *config = o->files.config;
	struct fetch_file fetched;
	struct symbolizer_counts counts = { 0 };
	struct symbolizer_has has;
	struct symbolizer_options options = {
		.host = &o->files.host, .debug_dirs = o->files.dir, .log = config->log,
		.demangle = (uint8_t)config->naming.demangle, .counts = &counts,
		.cache_dir = config->naming.no_cache
				     ? NULL : host_cache_dir(&o->files.host, config->cache_dir),
		.timeout_ns = config->symbol_timeout_ns ? config->symbol_timeout_ns
							: NAMES_TIMEOUT_NS,
	};
	CLEANUP_FREE struct symaddr *addr = calloc(n, sizeof(*addr));
	if (!addr)
		return -ENOMEM;
	offline_files_debug(&o->files, d, &fetched, &options);
	qsort(w, n, sizeof(*w), compare_wanted);
	for (size_t i = 0; i < n; i++)
		addr[i].vaddr = w[i].vaddr;
	int r = symbolizer_resolve(&options, d, addr, n, &o->lines, &o->strings, &has);
	for (size_t i = 0; i < n && r == 0; i++) {
		o->address.v[w[i].address].named = addr[i];
		o->stats.n_named += addr[i].source != SYMBOLIZER_NONE;
	}
	o->stats.n_symbol_timeouts += counts.n_timeouts;
	o->stats.n_debug_misfits += counts.n_misfits;
	o->stats.n_unanswered += counts.n_lost;
	o->stats.n_no_descriptors += counts.n_no_descriptor;
	fetch_done(&fetched, 1);
	return r;
}

static int set_path(struct dso *d, const char *path)
{
	free(d->path);
	d->path = strdup(path);
	return d->path ? 0 : -ENOMEM;
}

/* Opens the file for d, whose path is the first one unless it was found at another. */
static int open_file(struct offline_names *o, const struct offline_file *f, struct dso *d)
{
	const char *id = strtab_get(&o->strings, f->build_id);
	bool by_path = o->files.config->by_path && !f->build_id, found = false;
	int r = set_path(d, strtab_get(&o->strings, f->path.v[0]));
	if (r < 0)
		return r;
	found = by_path ? offline_files_at_path(&o->files, d)
			: f->build_id && offline_files_by_id(&o->files, d, id);
	for (size_t i = 1; i < f->path.n && !found && d->n_build_id && r == 0; i++) {
		r = set_path(d, strtab_get(&o->strings, f->path.v[i]));
		found = r == 0 && offline_files_at_path(&o->files, d);
	}
	o->stats.n_files_found += found;
	if (!found && !d->open_errno)
		log_line(o->files.config->log, LOG_NOTE, f->build_id
			 ? "'%s': no file with build id %s: its code has no names"
			 : by_path ? "'%s': there is no such file%s: its code has no names"
			 : "'%s': the profile has no build id of it%s: its code has no "
			   "names", d->path, id);
	if (found)
		d->open_errno = 0;
	else if (!d->open_errno)
		d->open_errno = ENOENT;
	return r;
}

/* w: the addresses of the file. */
static int resolve_file(struct offline_names *o, struct offline_file *f, struct wanted *w, size_t n)
{
	struct dso d = { .fd = -1 };
	o->stats.n_addresses += n;
	o->stats.n_files++;
	int r = open_file(o, f, &d);
	for (size_t i = 0; i < n && r == 0; i++)
		w[i].vaddr = vaddr_of(&d, &o->address.v[w[i].address]);
	if (r == 0)
		r = resolve(o, &d, w, n);
	dso_close_file(&d);
	free(d.path);
	free(d.open_path);
	return r;
}

struct hot {
	uint64_t weight;
	uint32_t file;
	size_t at, n;       /* of its addresses in the list of all */
};

static int compare_hot(const void *a, const void *b)
{
	const struct hot *x = a, *y = b;
	if (x->weight != y->weight)
		return x->weight > y->weight ? -1 : 1;
	return (x->file > y->file) - (x->file < y->file);
}

/* Groups the new addresses by file: w gets them file by file. */
static void group(const struct offline_names *o, struct hot *hot, struct wanted *w)
{
	size_t at = 0;
	for (size_t i = 0; i < o->file.n; i++)
		hot[i] = (struct hot){ .weight = o->file.v[i].weight, .file = (uint32_t)i };
	for (size_t i = 0; i < o->address.n; i++)
		hot[o->address.v[i].file].n += o->address.v[i].named.n_lines == 0;
	for (size_t i = 0; i < o->file.n; i++) {
		hot[i].at = at;
		at += hot[i].n;
		hot[i].n = 0;
	}
	for (size_t i = 0; i < o->address.n; i++) {
		struct hot *h = &hot[o->address.v[i].file];
		if (o->address.v[i].named.n_lines == 0)
			w[h->at + h->n++].address = i;
	}
}

int offline_names_resolve(struct offline_names *o)
{
	CLEANUP_FREE struct hot *hot = calloc(o->file.n + 1, sizeof(*hot));
	CLEANUP_FREE struct wanted *w = calloc(o->address.n + 1, sizeof(*w));
	int r = hot && w ? 0 : -ENOMEM;
	if (r < 0)
		return r;
	group(o, hot, w);
	qsort(hot, o->file.n, sizeof(*hot), compare_hot);
	for (size_t i = 0; i < o->file.n && r == 0; i++)
		if (hot[i].n)
			r = resolve_file(o, &o->file.v[hot[i].file], w + hot[i].at, hot[i].n);
	return r;
}

/* ---- answers ------------------------------------------------------------------------- */

const struct symaddr *offline_names_of(const struct offline_names *o,
				       const struct profile_location *l)
{
	if (!l->mapping || !is_file(l->mapping) || !is_nameless(l))
		return NULL;
	uint32_t file = find_file(o, l->mapping);
	uint32_t at = file == HASHINDEX_NONE ? HASHINDEX_NONE : find_address(o, l, file);
	return at == HASHINDEX_NONE || o->address.v[at].named.n_lines == 0
		? NULL : &o->address.v[at].named;
}

/* As symbolizer_resolve says it of the addresses of one profile. */
void offline_names_has(const struct offline_names *o, const struct profile *p,
		       struct symbolizer_has *has)
{
	for (size_t i = 0; i < p->n_locations; i++) {
		const struct symaddr *a = offline_names_of(o, &p->location[i]);
		if (!a)
			continue;
		struct symbolizer_has *h = &has[p->location[i].mapping - p->mapping];
		h->functions |= a->source != SYMBOLIZER_NONE && a->source != SYMBOLIZER_PSEUDO;
		h->inline_frames |= a->source == SYMBOLIZER_DWARF ||
				    a->source == SYMBOLIZER_RUNTIME;
		for (uint32_t k = 0; k < a->n_lines; k++) {
			const struct symline *line = &o->lines.v[a->first_line + k];
			h->filenames |= line->file != 0;
			h->line_numbers |= line->line != 0;
		}
	}
}
