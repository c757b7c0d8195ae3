#ifndef CPROF_VIEW_MODEL_MODEL_BUILD_H
#define CPROF_VIEW_MODEL_MODEL_BUILD_H

/*
 * A model while it is made of files (model-read.c): its arrays, in which equal things are looked up
 * before they are added (dedup.h), and what a file's own indices mean in them.
 */

#include "base/err.h"
#include "base/vec.h"
#include "proto/pprof-read.h"
#include "proto/pprof-samples.h"
#include "view/model/dedup.h"
#include "view/model/model.h"

#include <errno.h>

#define MODEL_ITEMS_MAX (UINT32_MAX - 1)

struct model_builder {
	struct model *m;
	VEC(struct model_mapping) mappings;
	VEC(struct model_function) functions;
	VEC(struct model_line) lines;
	VEC(struct model_location) locations;
	VEC(struct model_stack) stacks;
	VEC(uint32_t) stack_locations;
	VEC(struct model_label) labels;
	VEC(struct model_labels) label_sets;
	VEC(struct model_sample) samples;
	VEC(int64_t) values;
	VEC(uint32_t) comments;
	struct dedup by_mapping, by_function, by_location, by_stack, by_labels, by_sample;
	struct err *e;
};

/* One label set of the file as it came, by the addresses of its strings. */
struct model_raw_set { size_t first, n; uint32_t id; };

struct model_file {
	const struct profile *head;
	uint32_t *mapping, *function, *location;  /* the model's; MODEL_NONE: not asked for */
	double *ratio;  /* by sample type: from its unit to the model's */
	bool scales;
	VEC(struct profile_label) raw_labels;
	VEC(struct model_raw_set) raw_sets;
	struct dedup by_raw;
};

static inline int model_no_memory(struct model_builder *b)
{
	return err_errno(b->e, ENOMEM, "cannot hold the profile");
}

/* Room for one more of a kind. */
#define MODEL_MAKE_ROOM(b, array) \
	({ \
		int made_ = 0; \
		if ((array)->n >= MODEL_ITEMS_MAX) \
			made_ = err_set((b)->e, E2BIG, "more than 2^32 items in all"); \
		else if (!VEC_RESERVE(array, 1)) \
			made_ = model_no_memory(b); \
		made_; \
	})

static inline uint32_t model_intern(struct model_builder *b, const char *s)
{
	return strtab_add_cstr(&b->m->strings, s);
}

/* model-location.c: adds what the file says of it, unless there is an equal one.  0, or -E2BIG,
 * -ENOMEM with b->e set; so are all here. */
int model_location_mapping(struct model_builder *b, struct model_file *f,
			   const struct profile_mapping *from, uint32_t *ret);
/* f->location[index] tells where it is then. */
int model_location_add(struct model_builder *b, struct model_file *f, uint32_t index);

/* model-sample.c: adds its values to those of an equal one, or itself. */
int model_sample_add(struct model_builder *b, struct model_file *f,
		     const struct pprof_sample_row *row);

#endif
