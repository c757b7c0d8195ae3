/*
 * A profile is read whole, and written with the names of offline-names.h.  One or many: the same
 * table of names serves all of them.
 */

#include "cprof-names.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/hashindex.h"
#include "base/path.h"
#include "base/strtab.h"
#include "base/vec.h"
#include "profile/offline-names.h"
#include "proto/pprof-read.h"
#include "proto/pprof.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ZLIB_LEVEL 1
#define LINES_MAX 64

/* One profile that is being written. */
struct offline {
	const struct offline_names *names;
	const struct profile *p;
	struct pprof *out;
	VEC(struct offline_function) function;
	struct hashindex by_function;
	struct strtab strings;       /* made-up names */
};

struct offline_function {
	const char *name, *linkage, *file;
};

struct cprof_symbolizer {
	struct cprof_symbolize_config config;
	struct offline_names names;
};

CLEANUP_DEFINE(struct profile, profile_free)

static uint64_t id_in(const void *base, const void *item, size_t n_bytes)
{
	return item ? (uint64_t)((const char *)item - (const char *)base) / n_bytes + 1 : 0;
}

static uint64_t hash_function(const struct offline_function *f)
{
	uint64_t h = hash_bytes(f->name, strlen(f->name));
	h = hash_pair(h, hash_bytes(f->linkage, strlen(f->linkage)));
	return hash_pair(h, hash_bytes(f->file, strlen(f->file)));
}

static bool same_function(const struct offline_function *x, const struct offline_function *y)
{
	return strcmp(x->name, y->name) == 0 && strcmp(x->linkage, y->linkage) == 0 &&
	       strcmp(x->file, y->file) == 0;
}

/* The id of a function: one for each combination of name, linkage name and file. */
static int function_id(struct offline *o, const struct pprof_function *f, uint64_t *ret_id)
{
	struct offline_function one = { f->name, f->system_name, f->filename };
	uint64_t hash = hash_function(&one);
	uint32_t at = HASHINDEX_FIND(&o->by_function, hash, i,
				     same_function(&o->function.v[i], &one));
	if (at != HASHINDEX_NONE) {
		*ret_id = at + UINT64_C(1);
		return 0;
	}
	if (!VEC_RESERVE(&o->function, 1) ||
	    !hashindex_add(&o->by_function, hash, (uint32_t)o->function.n))
		return -ENOMEM;
	o->function.v[o->function.n++] = one;
	*ret_id = pprof_function(o->out, f);
	return 0;
}

/* "[libfoo.so]+0x1234", with the file's name in this profile: others may have had another one. */
static const char *made_up_name(struct offline *o, const struct profile_mapping *m,
				const char *found)
{
	char text[512];
	const char *address = strstr(found, "]+0x");
	if (!address)
		return found;
	snprintf(text, sizeof(text), "[%.400s%s", path_base_name(m->filename), address);
	uint32_t id = strtab_add_cstr(&o->strings, text);
	return id ? strtab_get(&o->strings, id) : found;
}

/* Line k of a location, old or newly found. */
static void get_line(struct offline *o, const struct profile_location *at, size_t k,
		     struct pprof_function *f, struct pprof_line *l)
{
	const struct symaddr *a = offline_names_of(o->names, at);
	if (a) {
		const struct symline *s = &o->names->lines.v[a->first_line + k];
		const struct strtab *strings = &o->names->strings;
		*f = (struct pprof_function){
			.name = strtab_get(strings, s->name),
			.system_name = strtab_get(strings, s->linkage),
			.filename = strtab_get(strings, s->file), .start_line = s->start_line,
		};
		if (a->source == SYMBOLIZER_NONE)
			f->name = f->system_name = made_up_name(o, at->mapping, f->name);
		*l = (struct pprof_line){ .line = s->line, .column = s->column };
		return;
	}
	const struct profile_line *was = &at->line[k];
	*l = (struct pprof_line){ .line = was->line, .column = was->column };
	*f = (struct pprof_function){ .name = "", .system_name = "", .filename = "" };
	if (was->function)
		*f = (struct pprof_function){
			.name = was->function->name, .system_name = was->function->system_name,
			.filename = was->function->filename,
			.start_line = was->function->start_line,
		};
}

static int write_locations(struct offline *o)
{
	const struct profile *p = o->p;
	int r = 0;
	for (size_t i = 0; i < p->n_locations && r == 0; i++) {
		const struct profile_location *l = &p->location[i];
		const struct symaddr *a = offline_names_of(o->names, l);
		size_t n = a ? a->n_lines : l->n_lines;
		size_t n_written = a && n > LINES_MAX ? LINES_MAX : n;
		CLEANUP_FREE struct pprof_line *line = calloc(n ? n : 1, sizeof(*line));
		if (!line)
			return -ENOMEM;
		for (size_t k = 0; k < n_written && r == 0; k++) {
			/* As in recordings: long chains lose middle frames, never the function. */
			struct pprof_function f;
			get_line(o, l, k + 1 == n_written ? n - 1 : k, &f, &line[k]);
			r = function_id(o, &f, &line[k].function_id);
		}
		pprof_location(o->out, id_in(p->mapping, l->mapping, sizeof(*p->mapping)),
			       l->address, line, n_written, l->is_folded);
	}
	return r;
}

static int write_mappings(struct offline *o)
{
	const struct profile *p = o->p;
	CLEANUP_FREE struct symbolizer_has *has = calloc(p->n_mappings + 1, sizeof(*has));
	if (!has)
		return -ENOMEM;
	offline_names_has(o->names, p, has);
	for (size_t i = 0; i < p->n_mappings; i++) {
		const struct profile_mapping *m = &p->mapping[i];
		const struct symbolizer_has *h = &has[i];
		pprof_mapping(o->out, &(struct pprof_mapping){
			.memory_start = m->memory_start, .memory_limit = m->memory_limit,
			.file_offset = m->file_offset, .filename = m->filename,
			.build_id = m->build_id,
			.has_functions = m->has_functions || h->functions,
			.has_filenames = m->has_filenames || h->filenames,
			.has_line_numbers = m->has_line_numbers || h->line_numbers,
			.has_inline_frames = m->has_inline_frames || h->inline_frames,
		});
	}
	return 0;
}

static int write_samples(struct offline *o)
{
	const struct profile *p = o->p;
	VEC(uint64_t) id = { 0 };
	VEC(struct pprof_label) label = { 0 };
	int r = 0;
	for (size_t i = 0; i < p->n_samples && r == 0; i++) {
		const struct profile_sample *s = &p->sample[i];
		id.n = label.n = 0;
		if (!VEC_RESERVE(&id, s->n_locations + 1) || !VEC_RESERVE(&label, s->n_labels + 1))
			r = -ENOMEM;
		for (size_t k = 0; k < s->n_locations && r == 0; k++)
			id.v[id.n++] = id_in(p->location, s->location[k], sizeof(*p->location));
		for (size_t k = 0; k < s->n_labels && r == 0; k++)
			label.v[label.n++] = (struct pprof_label){
				.key = s->label[k].key, .str = s->label[k].str,
				.num = s->label[k].num, .num_unit = s->label[k].num_unit,
			};
		if (r == 0)
			pprof_sample(o->out, id.v, id.n, s->value, p->n_sample_types, label.v,
				     label.n);
	}
	VEC_FREE(&id);
	VEC_FREE(&label);
	return r;
}

static int write_all(struct offline *o, struct err *e)
{
	const struct profile *p = o->p;
	for (size_t i = 0; i < p->n_sample_types; i++)
		pprof_sample_type(o->out, p->sample_type[i].type, p->sample_type[i].unit);
	if (*p->default_sample_type)
		pprof_default_sample_type(o->out, p->default_sample_type);
	pprof_filters(o->out, p->drop_frames, p->keep_frames, p->doc_url);
	if (*p->period_type.type)
		pprof_period(o->out, p->period_type.type, p->period_type.unit, p->period);
	pprof_times(o->out, p->time_nanos, p->duration_nanos);
	for (size_t i = 0; i < p->n_comments; i++)
		pprof_comment(o->out, p->comment[i]);
	int r = write_mappings(o);
	if (r == 0)
		r = write_locations(o);
	if (r == 0)
		r = write_samples(o);
	return r < 0 ? err_errno(e, -r, "cannot write the profile") : pprof_finish(o->out, e);
}

static int write_profile(const struct offline_names *names, const struct profile *p,
			 int (*write)(void *ctx, const void *data, size_t n_bytes), void *ctx,
			 struct err *e)
{
	struct offline o = { .names = names, .p = p };
	int r = strtab_init(&o.strings, NULL);
	if (r < 0)
		return err_errno(e, -r, "cannot write the profile");
	r = pprof_new(write, ctx, ZLIB_LEVEL, &o.out, e);
	if (r == 0)
		r = write_all(&o, e);
	pprof_free(o.out);
	strtab_done(&o.strings);
	VEC_FREE(&o.function);
	hashindex_done(&o.by_function);
	return r;
}

/* ---- one and many ---------------------------------------------------------------- */

static int no_memory(struct err *e)
{
	return err_errno(e, ENOMEM, "cannot look up names");
}

int cprof_symbolizer_new(const struct cprof_symbolize_config *config,
			 struct cprof_symbolizer **ret, struct err *e)
{
	struct cprof_symbolizer *s = calloc(1, sizeof(*s));
	if (!s)
		return no_memory(e);
	s->config = *config;
	int r = offline_names_open(&s->names, &s->config, e);
	if (r < 0) {
		free(s);
		return r;
	}
	*ret = s;
	return 0;
}

void cprof_symbolizer_free(struct cprof_symbolizer *s)
{
	if (!s)
		return;
	offline_names_close(&s->names);
	free(s);
}

int cprof_symbolizer_collect(struct cprof_symbolizer *s, const char *path, struct err *e)
{
	CLEANUP(profile_freep) struct profile *p = NULL;
	int r = profile_read_file(path, &p, e);
	if (r < 0)
		return r;
	return offline_names_collect(&s->names, p) < 0 ? no_memory(e) : 0;
}

int cprof_symbolizer_resolve(struct cprof_symbolizer *s, struct err *e)
{
	return offline_names_resolve(&s->names) < 0 ? no_memory(e) : 0;
}

int cprof_symbolizer_write(const struct cprof_symbolizer *s, const char *path,
			   int (*write)(void *ctx, const void *data, size_t n_bytes), void *ctx,
			   struct err *e)
{
	CLEANUP(profile_freep) struct profile *p = NULL;
	int r = profile_read_file(path, &p, e);
	return r < 0 ? r : write_profile(&s->names, p, write, ctx, e);
}

void cprof_symbolizer_stats(const struct cprof_symbolizer *s, struct cprof_symbolize_stats *ret)
{
	*ret = s->names.stats;
}

static int symbolize(struct offline_names *names,
		     int (*write)(void *ctx, const void *data, size_t n_bytes), void *ctx,
		     struct err *e)
{
	const struct cprof_symbolize_config *c = names->files.config;
	CLEANUP(profile_freep) struct profile *p = NULL;
	int r = c->data ? profile_read(c->data, c->n_bytes, 0, &p, e)
			: profile_read_file(c->path, &p, e);
	if (r < 0)
		return r;
	if (offline_names_collect(names, p) < 0 || offline_names_resolve(names) < 0)
		return no_memory(e);
	return write_profile(names, p, write, ctx, e);
}

int cprof_symbolize(const struct cprof_symbolize_config *config,
		    int (*write)(void *ctx, const void *data, size_t n_bytes), void *ctx,
		    struct cprof_symbolize_stats *ret_stats, struct err *e)
{
	struct offline_names names;
	int r = offline_names_open(&names, config, e);
	if (r < 0)
		return r;
	r = symbolize(&names, write, ctx, e);
	if (r == 0)
		*ret_stats = names.stats;
	offline_names_close(&names);
	return r;
}
