/*
 * Looks up the frames of each location once; a stack is then a walk over numbers.
 */

#include "view/html/html-side.h"

#include "base/cleanup.h"
#include "base/hash.h"
#include "view/html/html-data.h"
#include "view/model/scale.h"
#include "view/model/waiting.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_kernel(const struct model *m, const struct model_location *l)
{
	if (l->address >> 63)
		return true;
	if (l->mapping == MODEL_NONE)
		return false;
	const char *file = model_string(m, m->mapping[l->mapping].filename);
	const char *ko = strstr(file, ".ko");
	return strncmp(file, "[kernel", 7) == 0 ||
	       (ko && (ko[3] == '\0' || (ko[3] == '.' && !strchr(ko, '/'))));
}

static void frames_of_location(struct html_tables *tables, struct html_side *s, uint32_t l)
{
	const struct model *m = s->part->m;
	const struct filter *f = s->part->f;
	const struct model_location *loc = &m->location[l];
	size_t row = s->rows->first[l];
	if (f && f->location_out[l])
		return;
	struct html_frame base = { .flags = is_kernel(m, loc) ? HTML_FRAME_KERNEL : 0 };
	if (s->rows->waits && waiting_is_call(m, loc))
		base.flags |= HTML_FRAME_CALL;
	if (loc->mapping != MODEL_NONE)
		base.module = html_string(tables,
					  model_string(m, m->mapping[loc->mapping].filename));
	for (uint32_t i = 0; i == 0 || i < loc->n_lines; i++) {
		struct html_frame x = base;
		if (loc->n_lines > 0) {
			const struct model_line *line = &m->line[loc->first_line + i];
			if (f && f->line_out[loc->first_line + i])
				continue;
			x.line = line->line;
			if (line->function != MODEL_NONE) {
				const struct model_function *fn = &m->function[line->function];
				x.file = html_string(tables, model_string(m, fn->filename));
				x.flags |= fn->name ? HTML_FRAME_NAMED : 0;
			}
			x.flags |= i + 1 < loc->n_lines ? HTML_FRAME_INLINED : 0;
		}
		x.name = html_string(tables, s->rows->row[s->rows->of[row++]].name);
		if (!VEC_PUSH(&s->frame, html_add_frame(tables, x)))
			tables->failed = true;
	}
}

static void labels_of(struct html_tables *tables, struct html_side *s, uint32_t set)
{
	const struct model *m = s->part->m;
	size_t first = tables->items.n;
	for (uint32_t i = 0; i < m->labels[set].n; i++) {
		const struct model_label *l = &m->label[m->labels[set].first + i];
		struct html_label x = { .key = html_string(tables, model_string(m, l->key)) };
		if (l->str) {
			x.value = html_string(tables, model_string(m, l->str));
		} else {
			char *text = NULL;
			if (asprintf(&text, "%" PRId64 "%s", l->num,
				     model_string(m, l->num_unit)) < 0) {
				tables->failed = true;
				return;
			}
			x.value = html_string(tables, text);
			free(text);
		}
		if (!VEC_PUSH(&tables->items, html_add_label(tables, x)))
			tables->failed = true;
	}
	s->labels[set] = html_add_set(tables, first);
}

/* Marks the locations and label sets of the samples that pass the filter. */
static void find_used(const struct html_side *s, unsigned char *location, unsigned char *labels)
{
	const struct model *m = s->part->m;
	const struct filter *f = s->part->f;
	for (uint32_t i = 0; i < m->n_samples; i++) {
		const struct model_stack *stack = &m->stack[m->sample[i].stack];
		if (f && f->sample_out[i])
			continue;
		labels[m->sample[i].labels] = 1;
		for (uint32_t d = f ? f->stack_skip[m->sample[i].stack] : 0; d < stack->n; d++)
			location[m->stack_location[stack->first + d]] = 1;
	}
}

int html_side_open(struct html_tables *tables, struct html_side *s, const struct html_part *part,
		   const struct model *fresh, struct err *e)
{
	const struct model *m = part->m;
	s->part = part;
	int r = rows_new(m, part->f, ROWS_FUNCTION, NULL, &s->rows, e);
	if (r < 0)
		return r;
	s->first = calloc((size_t)m->n_locations + 1, sizeof(*s->first));
	s->labels = calloc((size_t)m->n_label_sets + 1, sizeof(*s->labels));
	s->type = calloc(fresh->n_types, sizeof(*s->type));
	s->ratio = calloc(fresh->n_types, sizeof(*s->ratio));
	CLEANUP_FREE unsigned char *location = calloc((size_t)m->n_locations + 1, 1);
	CLEANUP_FREE unsigned char *labels = calloc((size_t)m->n_label_sets + 1, 1);
	if (!s->first || !s->labels || !s->type || !s->ratio || !location || !labels) {
		tables->failed = true;
		return 0;
	}
	find_used(s, location, labels);
	html_comparable(m, fresh, s->type);
	for (uint32_t i = 0; i < fresh->n_types; i++) {
		double ratio = scale_ratio(model_string(m, m->type[s->type[i]].unit),
					   model_string(fresh, fresh->type[i].unit));
		s->ratio[i] = m == fresh || ratio <= 0 ? 1 : ratio;
	}
	for (uint32_t l = 0; l < m->n_locations && !tables->failed; l++) {
		s->first[l] = s->frame.n;
		if (location[l])
			frames_of_location(tables, s, l);
	}
	s->first[m->n_locations] = s->frame.n;
	for (uint32_t i = 0; i < m->n_label_sets && !tables->failed; i++)
		if (labels[i])
			labels_of(tables, s, i);
	return 0;
}

void html_side_done(struct html_side *s)
{
	rows_free(s->rows);
	VEC_FREE(&s->frame);
	free(s->first);
	free(s->labels);
	free(s->type);
	free(s->ratio);
}

int64_t html_scaled(const struct html_side *s, uint32_t type, int64_t value)
{
	if (s->ratio[type] == 1)
		return value;
	double v = (double)value * s->ratio[type];
	return v >= 0x1p63 ? INT64_MAX : v <= -0x1p63 ? INT64_MIN : (int64_t)v;
}

int64_t html_value(const struct html_side *s, uint32_t sample, uint32_t type)
{
	return html_scaled(s, type, model_value(s->part->m, sample, s->type[type]));
}
