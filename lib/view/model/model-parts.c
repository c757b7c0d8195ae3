/* Models that become parts of another one. */

#include "view/model/model-build.h"

#include "base/cleanup.h"
#include "base/membuf.h"

#include <stdlib.h>

int model_build_model(struct model_builder *b, struct model *m)
{
	static const struct model_merge plain;
	const struct model_merge *how = b->how;
	struct membuf t = { 0 };
	uint32_t n_files = m->n_files;
	b->m->has_less_comments |= m->has_less_comments;
	/* compressed, so that there is only one copy of the samples at a time */
	int r = model_write(m, membuf_write, &t, 1, b->e);
	model_free(m);
	if (r == -ENOMEM)
		model_no_memory(b);
	b->how = &plain;
	if (r >= 0)
		r = model_build_bytes(b, t.bytes.v, t.bytes.n);
	b->how = how;
	VEC_FREE(&t.bytes);
	if (r >= 0)
		b->m->n_files += n_files - 1;
	return r;
}

int model_build_like(struct model_builder *b, const struct model *m)
{
	CLEANUP_FREE struct profile_value_type *type = calloc(m->n_types + 1u, sizeof(*type));
	if (!type || !m->type)
		return m->type ? model_no_memory(b) : 0;
	for (uint32_t i = 0; i < m->n_types; i++)
		type[i] = (struct profile_value_type){ model_string(m, m->type[i].type),
						       model_string(m, m->type[i].unit) };
	b->m->period_type = (struct model_type){
		model_intern(b, model_string(m, m->period_type.type)),
		model_intern(b, model_string(m, m->period_type.unit)) };
	b->m->drop_frames = model_intern(b, model_string(m, m->drop_frames));
	b->m->keep_frames = model_intern(b, model_string(m, m->keep_frames));
	b->m->doc_url = model_intern(b, model_string(m, m->doc_url));
	return model_build_types(b, type, m->n_types);
}
