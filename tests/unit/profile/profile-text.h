#ifndef CPROF_TESTS_UNIT_SESSION_PROFILE_TEXT_H
#define CPROF_TESTS_UNIT_SESSION_PROFILE_TEXT_H

/* An engine's counts as a profile in memory, and that profile as text for people. */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "proto/pprof-check.h"
#include "proto/pprof-read.h"
#include "engine/engine.h"
#include "profile/export.h"
#include "profile/names.h"

struct profile_text_bytes {
	uint8_t *v;
	size_t n, cap;
};

static inline int profile_text_take(void *ctx, const void *data, size_t n_bytes)
{
	struct profile_text_bytes *b = ctx;
	if (b->n + n_bytes > b->cap) {
		b->cap = 2 * (b->n + n_bytes);
		b->v = realloc(b->v, b->cap);
		if (!b->v)
			abort();
	}
	memcpy(b->v + b->n, data, n_bytes);
	b->n += n_bytes;
	return 0;
}

/* Names, writes and reads back; NULL with a TAP comment on failure.  Free with profile_free. */
static inline struct profile *profile_text_make(struct engine *g, uint32_t event,
						const struct export_info *info)
{
	struct names_options o = { .symbols = { .no_inlines = false } };
	struct profile_text_bytes bytes = { 0 };
	struct profile *p = NULL;
	struct names names = { 0 };
	struct err e;
	if (names_resolve(g, &o, &names, &e) < 0) {
		printf("# %s\n", e.what);
		return NULL;
	}
	if (export_write(g, &names, event, info, profile_text_take, &bytes, &e) < 0 ||
	    profile_read(bytes.v, bytes.n, 0, &p, &e) < 0)
		printf("# %s\n", e.what);
	free(bytes.v);
	names_done(&names);
	return p;
}

static inline void profile_text_finding(void *ctx, const struct pprof_finding *f)
{
	(void)ctx;
	printf("# %s: %s\n", f->severity == PPROF_CHECK_ERROR ? "error" : "warning", f->text);
}

static inline size_t profile_text_errors(const struct profile *p)
{
	size_t n_errors = 0;
	if (pprof_check(p, PPROF_CONSUMER_ALL, profile_text_finding, NULL, &n_errors, NULL) < 0)
		abort();
	return n_errors;
}

static inline void profile_text_location(const struct profile_location *l, FILE *f)
{
	for (size_t i = l->n_lines; i-- > 0;)
		fprintf(f, "%s%s", l->line[i].function->name, i ? " > " : "");
}

static inline void profile_text_label(const struct profile_label *l, FILE *f)
{
	if (l->str)
		fprintf(f, " %s=%s", l->key, l->str);
	else
		fprintf(f, " %s=%" PRId64 "%s", l->key, l->num, l->num_unit);
}

/* Everything except times and comments.  One line per sample, root first. */
static inline void profile_text_write(const struct profile *p, FILE *f)
{
	fprintf(f, "types");
	for (size_t i = 0; i < p->n_sample_types; i++)
		fprintf(f, " %s/%s", p->sample_type[i].type, p->sample_type[i].unit);
	fprintf(f, ", period %" PRId64 " %s\n", p->period, p->period_type.unit);
	for (size_t i = 0; i < p->n_mappings; i++) {
		const struct profile_mapping *m = &p->mapping[i];
		fprintf(f, "mapping %s%s%s\n", m->filename, m->build_id[0] ? " " : "", m->build_id);
	}
	for (size_t i = 0; i < p->n_samples; i++) {
		const struct profile_sample *s = &p->sample[i];
		for (size_t k = s->n_locations; k-- > 0;) {
			profile_text_location(s->location[k], f);
			fprintf(f, "%s", k ? ";" : "");
		}
		for (size_t k = 0; k < p->n_sample_types; k++)
			fprintf(f, " %" PRId64, s->value[k]);
		for (size_t k = 0; k < s->n_labels; k++)
			profile_text_label(&s->label[k], f);
		fprintf(f, "\n");
	}
}

#endif
