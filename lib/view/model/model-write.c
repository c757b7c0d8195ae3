/*
 * Ids in a file count from 1 without gaps, so each item gets its id when the first written sample
 * needs it.  The first mapping is the main binary and is always written.
 */

#include "view/model/model.h"

#include "base/err.h"
#include "proto/pprof.h"

#include <errno.h>
#include <stdlib.h>

struct writer {
	const struct model *m;
	const struct model_some *some;
	struct pprof *out;
	/* By index: the id in the file, or 0. */
	uint32_t *mapping, *location;
	uint64_t *function, *ids;
	struct pprof_line *line;
	struct pprof_label *label;
	int64_t *value;
	bool *used;
};

static void writer_done(struct writer *w)
{
	pprof_free(w->out);
	free(w->mapping);
	free(w->location);
	free(w->function);
	free(w->ids);
	free(w->line);
	free(w->label);
	free(w->value);
	free(w->used);
}

static const char *text(const struct writer *w, uint32_t id)
{
	return model_string(w->m, id);
}

static bool is_out(const struct writer *w, uint32_t sample)
{
	return w->some->sample_out && w->some->sample_out[sample];
}

static bool allocate(struct writer *w)
{
	const struct model *m = w->m;
	uint32_t n_lines = 0, n_labels = 0, n_ids = 0;
	for (uint32_t i = 0; i < m->n_locations; i++)
		if (m->location[i].n_lines > n_lines)
			n_lines = m->location[i].n_lines;
	for (uint32_t i = 0; i < m->n_label_sets; i++)
		if (m->labels[i].n > n_labels)
			n_labels = m->labels[i].n;
	for (uint32_t i = 0; i < m->n_stacks; i++)
		if (m->stack[i].n > n_ids)
			n_ids = m->stack[i].n;
	w->mapping = calloc((size_t)m->n_mappings + 1, sizeof(*w->mapping));
	w->location = calloc((size_t)m->n_locations + 1, sizeof(*w->location));
	w->used = calloc((size_t)m->n_locations + 1, sizeof(*w->used));
	w->function = calloc((size_t)m->n_functions + 1, sizeof(*w->function));
	w->ids = calloc((size_t)n_ids + 1, sizeof(*w->ids));
	w->line = calloc((size_t)n_lines + 1, sizeof(*w->line));
	w->label = calloc((size_t)n_labels + 1, sizeof(*w->label));
	w->value = calloc((size_t)m->n_types + 1, sizeof(*w->value));
	return w->mapping && w->location && w->used && w->function && w->ids && w->line &&
	       w->label && w->value;
}

static void mark_used(struct writer *w)
{
	const struct model *m = w->m;
	for (uint32_t i = 0; i < m->n_samples; i++) {
		const struct model_stack *s = &m->stack[m->sample[i].stack];
		for (uint32_t k = 0; k < s->n && !is_out(w, i); k++)
			w->used[m->stack_location[s->first + k]] = true;
	}
}

static void write_head(struct writer *w)
{
	const struct model *m = w->m;
	for (uint32_t i = 0; i < m->n_types; i++)
		pprof_sample_type(w->out, text(w, m->type[i].type), text(w, m->type[i].unit));
	if (m->default_type)
		pprof_default_sample_type(w->out, text(w, m->default_type));
	if (m->period_type.type || m->period_type.unit || m->period)
		pprof_period(w->out, text(w, m->period_type.type), text(w, m->period_type.unit),
			     m->period);
	pprof_times(w->out, m->time_ns, m->duration_ns);
	pprof_filters(w->out, text(w, m->drop_frames), text(w, m->keep_frames),
		      text(w, m->doc_url));
	for (uint32_t i = 0; !w->some->comment && i < m->n_comments; i++)
		pprof_comment(w->out, text(w, m->comment[i]));
	for (size_t i = 0; w->some->comment && i < w->some->n_comments; i++)
		pprof_comment(w->out, w->some->comment[i]);
}

static uint32_t mapping_id(struct writer *w, uint32_t i)
{
	if (i == MODEL_NONE)
		return 0;
	const struct model_mapping *m = &w->m->mapping[i];
	if (!w->mapping[i])
		w->mapping[i] = (uint32_t)pprof_mapping(w->out, &(struct pprof_mapping){
			.memory_start = m->memory_start, .memory_limit = m->memory_limit,
			.file_offset = m->file_offset, .filename = text(w, m->filename),
			.build_id = text(w, m->build_id), .has_functions = m->has_functions,
			.has_filenames = m->has_filenames,
			.has_line_numbers = m->has_line_numbers,
			.has_inline_frames = m->has_inline_frames,
		});
	return w->mapping[i];
}

static uint64_t function_id(struct writer *w, uint32_t i)
{
	if (i == MODEL_NONE)
		return 0;
	const struct model_function *f = &w->m->function[i];
	if (!w->function[i])
		w->function[i] = pprof_function(w->out, &(struct pprof_function){
			.name = text(w, f->name), .system_name = text(w, f->system_name),
			.filename = text(w, f->filename), .start_line = f->start_line,
		});
	return w->function[i];
}

static void write_locations(struct writer *w)
{
	const struct model *m = w->m;
	if (m->n_mappings)
		mapping_id(w, 0);
	for (uint32_t i = 0; i < m->n_locations; i++) {
		const struct model_location *l = &m->location[i];
		if (!w->used[i])
			continue;
		for (uint32_t k = 0; k < l->n_lines; k++) {
			const struct model_line *from = &m->line[l->first_line + k];
			w->line[k] = (struct pprof_line){
				.function_id = function_id(w, from->function),
				.line = from->line, .column = from->column,
			};
		}
		w->location[i] = (uint32_t)pprof_location(w->out, mapping_id(w, l->mapping),
							  l->address, w->line, l->n_lines,
							  l->is_folded);
	}
}

static void write_samples(struct writer *w)
{
	const struct model *m = w->m;
	for (uint32_t i = 0; i < m->n_samples; i++) {
		const struct model_stack *s = &m->stack[m->sample[i].stack];
		const struct model_labels *set = &m->labels[m->sample[i].labels];
		if (is_out(w, i))
			continue;
		for (uint32_t k = 0; k < s->n; k++)
			w->ids[k] = w->location[m->stack_location[s->first + k]];
		for (uint32_t k = 0; k < set->n; k++) {
			const struct model_label *l = &m->label[set->first + k];
			w->label[k] = (struct pprof_label){
				.key = text(w, l->key), .str = l->str ? text(w, l->str) : NULL,
				.num = l->num, .num_unit = text(w, l->num_unit),
			};
		}
		for (uint32_t k = 0; k < m->n_types; k++)
			w->value[k] = model_value(m, i, k);
		pprof_sample(w->out, w->ids, s->n, w->value, m->n_types, w->label, set->n);
	}
}

int model_write_some(const struct model *m, const struct model_some *some,
		     int (*write)(void *ctx, const void *data, size_t n_bytes), void *ctx,
		     int level, struct err *e)
{
	struct writer w = { .m = m, .some = some };
	int r = pprof_new(write, ctx, level, &w.out, e);
	if (r < 0)
		return r;
	if (!allocate(&w)) {
		r = err_errno(e, ENOMEM, "cannot write the profile");
		goto out;
	}
	mark_used(&w);
	write_head(&w);
	write_locations(&w);
	write_samples(&w);
	r = pprof_finish(w.out, e);
out:
	writer_done(&w);
	return r;
}

int model_write(const struct model *m, int (*write)(void *ctx, const void *data, size_t n_bytes),
		void *ctx, int level, struct err *e)
{
	return model_write_some(m, &(struct model_some){ 0 }, write, ctx, level, e);
}
