#include "profile/names-kept.h"

#include "base/cleanup.h"
#include "base/hash.h"
#include "base/host.h"
#include "engine/engine.h"
#include "profile/names-mapping.h"
#include "profile/names.h"
#include "symbolize/elf/dso.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A module that is loaded again has its code elsewhere, or another has it there. */
static bool kernel_key(const struct names_options *o, char key[NAMES_KEPT_KEY_MAX])
{
	CLEANUP_FREE char *modules = NULL;
	size_t n = 0;
	if (!o->running_kernel || !o->symbols.host)
		return false;
	host_read_file(o->symbols.host, HOST_PROC, &modules, &n, "modules");
	snprintf(key, NAMES_KEPT_KEY_MAX, "kernel %" PRIx64, hash_bytes(modules ? modules : "", n));
	return true;
}

bool names_kept_key(const struct engine *g, const struct names_options *o, const struct dso *d,
		    char key[NAMES_KEPT_KEY_MAX])
{
	char id[DSO_BUILD_ID_TEXT_MAX];
	int n;
	switch (d->key.kind) {
	case DSO_ELF:
		if (o->symbols.only_addresses)
			return false;
		break;
	case DSO_VDSO:
		break;
	case DSO_KERNEL:
		return d->id == g->walk.kernel_dso && kernel_key(o, key);
	default:
		return false;
	}
	if (d->n_build_id)
		n = snprintf(key, NAMES_KEPT_KEY_MAX, "%s %s", dso_build_id_text(d, id), d->path);
	else
		n = snprintf(key, NAMES_KEPT_KEY_MAX, "%" PRIu32 " %s", d->serial, d->path);
	return n > 0 && n < NAMES_KEPT_KEY_MAX;
}

/* ---- from the cache ------------------------------------------------------------------ */

static uint32_t add_text(struct engine *g, const struct namecache_generation *in, uint32_t id)
{
	return strtab_add_cstr(&g->strings, strtab_get(&in->strings, id));
}

static bool add_lines(struct engine *g, struct names *n, const struct namecache_generation *in,
		      const struct namecache_entry *entry)
{
	if (!VEC_RESERVE(&n->lines, entry->n_lines))
		return false;
	for (uint16_t i = 0; i < entry->n_lines; i++) {
		struct symline l = in->line[entry->first_line + i];
		l.linkage = l.linkage == l.name ? 0 : add_text(g, in, l.linkage);
		l.name = add_text(g, in, l.name);
		l.linkage = l.linkage ? l.linkage : l.name;
		l.file = add_text(g, in, l.file);
		if (!l.name)
			return false;
		n->lines.v[n->lines.n + i] = l;
	}
	n->lines.n += entry->n_lines;
	return true;
}

static uint32_t mapping_of(struct engine *g, struct names *n, const struct namecache_generation *in,
			   const struct namecache_entry *entry, const struct dso *d, uint64_t vaddr)
{
	if (entry->place == NAMECACHE_NO_PLACE)
		return names_mapping_dso(g, n, d, vaddr);
	const struct namecache_place *p = &in->places.v[entry->place];
	return names_mapping_add(n, (struct names_mapping){
		.start = p->start, .limit = p->limit, .shift = p->shift,
		.filename = add_text(g, in, p->filename), .build_id = add_text(g, in, p->build_id),
	});
}

bool names_kept_take(struct engine *g, struct names *n, const struct namecache *c,
		     const struct dso *d, struct namecache_file file, uint32_t frame)
{
	const struct namecache_generation *in;
	uint64_t vaddr = g->frames.v[frame].vaddr;
	const struct namecache_entry *entry = namecache_find(c, file, vaddr, &in);
	if (!entry)
		return false;
	uint32_t m = mapping_of(g, n, in, entry, d, vaddr);
	uint32_t first = (uint32_t)n->lines.n;
	if (m == NAMES_NO_MAPPING || n->lines.n > UINT32_MAX - entry->n_lines ||
	    !add_lines(g, n, in, entry))
		return false;
	struct symbolizer_has *has = &n->mappings.v[m].has;
	has->functions |= (entry->has & NAMECACHE_FUNCTIONS) != 0;
	has->filenames |= (entry->has & NAMECACHE_FILENAMES) != 0;
	has->line_numbers |= (entry->has & NAMECACHE_LINE_NUMBERS) != 0;
	has->inline_frames |= (entry->has & NAMECACHE_INLINE_FRAMES) != 0;
	n->frames.v[frame] = (struct names_frame){
		.first_line = first, .n_lines = entry->n_lines, .mapping = m,
		.source = entry->source, .address = entry->end ? vaddr : entry->address,
		.same_before = entry->end ? (uint32_t)(vaddr - entry->vaddr) : 0,
		.same_after = entry->end ? (uint32_t)(entry->end - vaddr) : 0,
	};
	return true;
}

/* ---- to the cache -------------------------------------------------------------------- */

/* Code of the kernel that comes and goes without a module. */
static bool is_placed_alone(const struct engine *g, const struct names_mapping *m, uint64_t vaddr)
{
	const char *file = strtab_get(&g->strings, m->filename);
	return jitcode_find(&g->kernel_code, vaddr, UINT64_MAX) || strcmp(file, "[bpf]") == 0 ||
	       strncmp(file, "[__builtin__", 12) == 0;
}

static bool put_frame(const struct engine *g, const struct names *n, const char *key,
		      uint32_t frame, bool is_kernel, struct namecache_bytes *to)
{
	struct namecache_line line[NAMECACHE_LINES_MAX];
	const struct names_frame *f = &n->frames.v[frame];
	const struct names_mapping *m = &n->mappings.v[f->mapping];
	uint64_t vaddr = g->frames.v[frame].vaddr;
	bool has_range = f->same_after && !is_kernel && f->address == vaddr;
	if (f->n_lines > NAMECACHE_LINES_MAX)
		return true;
	for (uint32_t i = 0; i < f->n_lines; i++) {
		const struct symline *l = &n->lines.v[f->first_line + i];
		line[i] = (struct namecache_line){
			.name = strtab_get(&g->strings, l->name),
			.linkage = strtab_get(&g->strings, l->linkage),
			.file = strtab_get(&g->strings, l->file),
			.line = l->line, .column = l->column, .start_line = l->start_line,
		};
	}
	struct namecache_item item = {
		.key = key, .vaddr = has_range ? vaddr - f->same_before : vaddr,
		.end = has_range ? vaddr + f->same_after : 0, .address = f->address,
		.source = f->source, .has = (uint8_t)((m->has.functions ? NAMECACHE_FUNCTIONS : 0) |
				 (m->has.filenames ? NAMECACHE_FILENAMES : 0) |
				 (m->has.line_numbers ? NAMECACHE_LINE_NUMBERS : 0) |
				 (m->has.inline_frames ? NAMECACHE_INLINE_FRAMES : 0)),
		.line = line, .n_lines = (uint16_t)f->n_lines,
		.has_place = is_kernel, .start = m->start, .limit = m->limit, .shift = m->shift,
		.filename = strtab_get(&g->strings, m->filename),
		.build_id = strtab_get(&g->strings, m->build_id),
	};
	return namecache_put(to, &item);
}

/* Is it known in the newer generation, or not worth knowing? */
static bool is_left_out(const struct engine *g, const struct names *n, const struct namecache *c,
			struct namecache_file file, uint32_t frame, bool is_kernel,
			bool is_complete)
{
	const struct names_frame *f = &n->frames.v[frame];
	const struct namecache_generation *in;
	uint64_t vaddr = g->frames.v[frame].vaddr;
	if (!f->n_lines || f->mapping == NAMES_NO_MAPPING ||
	    (f->source == SYMBOLIZER_NONE && !is_complete))
		return true;
	if (is_kernel && (f->source == SYMBOLIZER_NONE ||
			  is_placed_alone(g, &n->mappings.v[f->mapping], vaddr)))
		return true;
	return namecache_find(c, file, vaddr, &in) && in == c->now;
}

/* A DSO, as the cache knows it. */
struct known_dso {
	char *key;                     /* "": it has none; NULL: not yet known */
	struct namecache_file file;
};

/* False: out of memory. */
static bool get_known(const struct engine *g, const struct names_options *o,
		      const struct namecache *c, uint32_t dso, struct known_dso *k)
{
	char key[NAMES_KEPT_KEY_MAX];
	if (k->key)
		return true;
	k->key = strdup(names_kept_key(g, o, dso_get(&g->dsos, dso), key) ? key : "");
	if (k->key && *k->key)
		k->file = namecache_file(c, k->key);
	return k->key;
}

static bool put_all(const struct engine *g, const struct names *n, const struct names_options *o,
		    const struct namecache *c, struct known_dso *known, struct namecache_bytes *to)
{
	const struct symbolizer_counts *k = &n->files;
	bool is_complete = !k->n_timeouts && !k->n_lost && !k->n_no_descriptor;
	for (uint32_t i = 0; i < n->frames.n; i++) {
		uint32_t dso = g->frames.v[i].dso;
		bool is_kernel = dso == g->walk.kernel_dso;
		if (!n->frames.v[i].n_lines)
			continue;
		struct known_dso *d = &known[dso];
		if (!get_known(g, o, c, dso, d))
			return false;
		if (*d->key && !is_left_out(g, n, c, d->file, i, is_kernel, is_complete) &&
		    !put_frame(g, n, d->key, i, is_kernel, to))
			return false;
	}
	return true;
}

bool names_kept_put(const struct engine *g, const struct names *n, const struct names_options *o,
		    const struct namecache *c, struct namecache_bytes *to)
{
	CLEANUP_FREE struct known_dso *known = calloc(g->dsos.n + 1u, sizeof(*known));
	bool ok = known && put_all(g, n, o, c, known, to);
	for (uint32_t i = 0; known && i < g->dsos.n; i++)
		free(known[i].key);
	return ok;
}
