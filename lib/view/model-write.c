/* A model has no gaps and all in order of first use, so ids are indices + 1. */

#include "view/model.h"

#include "base/err.h"
#include "base/vec.h"
#include "proto/pprof.h"

#include <errno.h>

struct scratch {
	VEC(struct pprof_line) lines;
	VEC(struct pprof_label) labels;
	VEC(uint64_t) ids;
};

static uint64_t id_of(uint32_t index)
{
	return index == MODEL_NONE ? 0 : (uint64_t)index + 1;
}

static void write_head(const struct model *m, struct pprof *p)
{
	for (uint32_t i = 0; i < m->n_types; i++)
		pprof_sample_type(p, model_string(m, m->type[i].type),
				  model_string(m, m->type[i].unit));
	if (m->default_type)
		pprof_default_sample_type(p, model_string(m, m->default_type));
	if (m->period_type.type || m->period_type.unit || m->period)
		pprof_period(p, model_string(m, m->period_type.type),
			     model_string(m, m->period_type.unit), m->period);
	pprof_times(p, m->time_ns, m->duration_ns);
	pprof_filters(p, model_string(m, m->drop_frames), model_string(m, m->keep_frames),
		      model_string(m, m->doc_url));
	for (uint32_t i = 0; i < m->n_comments; i++)
		pprof_comment(p, model_string(m, m->comment[i]));
}

static bool write_tables(const struct model *m, struct pprof *p, struct scratch *s)
{
	for (uint32_t i = 0; i < m->n_mappings; i++) {
		const struct model_mapping *x = &m->mapping[i];
		pprof_mapping(p, &(struct pprof_mapping){
			x->memory_start, x->memory_limit, x->file_offset,
			model_string(m, x->filename), model_string(m, x->build_id),
			x->has_functions, x->has_filenames, x->has_line_numbers,
			x->has_inline_frames });
	}
	for (uint32_t i = 0; i < m->n_functions; i++) {
		const struct model_function *x = &m->function[i];
		pprof_function(p, &(struct pprof_function){
			model_string(m, x->name), model_string(m, x->system_name),
			model_string(m, x->filename), x->start_line });
	}
	for (uint32_t i = 0; i < m->n_locations; i++) {
		const struct model_location *x = &m->location[i];
		s->lines.n = 0;
		for (uint32_t k = 0; k < x->n_lines; k++) {
			const struct model_line *l = &m->line[x->first_line + k];
			struct pprof_line line = { id_of(l->function), l->line, l->column };
			if (!VEC_PUSH(&s->lines, line))
				return false;
		}
		pprof_location(p, id_of(x->mapping), x->address, s->lines.v, s->lines.n,
			       x->is_folded);
	}
	return true;
}

static bool write_samples(const struct model *m, struct pprof *p, struct scratch *s)
{
	for (uint32_t i = 0; i < m->n_samples; i++) {
		const struct model_stack *stack = &m->stack[m->sample[i].stack];
		const struct model_labels *set = &m->labels[m->sample[i].labels];
		s->ids.n = s->labels.n = 0;
		for (uint32_t k = 0; k < stack->n; k++)
			if (!VEC_PUSH(&s->ids, id_of(m->stack_location[stack->first + k])))
				return false;
		for (uint32_t k = 0; k < set->n; k++) {
			const struct model_label *l = &m->label[set->first + k];
			struct pprof_label label = {
				model_string(m, l->key), l->str ? model_string(m, l->str) : NULL,
				l->num, model_string(m, l->num_unit) };
			if (!VEC_PUSH(&s->labels, label))
				return false;
		}
		pprof_sample(p, s->ids.v, s->ids.n, &m->value[(size_t)i * m->n_types], m->n_types,
			     s->labels.v, s->labels.n);
	}
	return true;
}

int model_write(const struct model *m, int (*write)(void *ctx, const void *data, size_t n_bytes),
		void *ctx, int level, struct err *e)
{
	struct pprof *p = NULL;
	struct scratch s = { 0 };
	int r = pprof_new(write, ctx, level, &p, e);
	if (r < 0)
		return r;
	write_head(m, p);
	if (!write_tables(m, p, &s) || !write_samples(m, p, &s))
		r = err_errno(e, ENOMEM, "cannot write the profile");
	else
		r = pprof_finish(p, e);
	VEC_FREE(&s.lines);
	VEC_FREE(&s.labels);
	VEC_FREE(&s.ids);
	pprof_free(p);
	return r;
}
