#ifndef CPROF_VIEW_MODEL_MODEL_BUILD_H
#define CPROF_VIEW_MODEL_MODEL_BUILD_H

/*
 * Builds a model from files (model-read.c): its arrays, with an index of each, so that equal items
 * are added once, and the translation of a file's own indices.
 */

#include "base/budget.h"
#include "base/err.h"
#include "base/hashindex.h"
#include "base/vec.h"
#include "view/model/model-input.h"
#include "view/model/model-merge.h"
#include "view/model/model.h"

#include <errno.h>

#define MODEL_ITEMS_MAX (UINT32_MAX - 1)

/* A location of a file, to be found in the model. */
struct model_wanted { struct model_location location; uint64_t hash; uint32_t guess; };

struct model_builder {
	struct model *m;
	const struct model_merge *how;
	char run[24];               /* MODEL_RUN_LABEL of the present file; "": none */
	struct budget budget;       /* of the strings: their number of bytes */
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
	struct hashindex by_mapping, by_function, by_location, by_stack, by_labels, by_sample;
	struct hashindex by_comment;
	VEC(struct model_wanted) wanted;  /* of the present file */
	VEC(uint32_t) batch;              /* locations of samples that are looked up together */
	struct err *e;
};

struct model_file {
	const struct profile *head;
	const struct pprof_tables *tables;
	/* in the model; MODEL_NONE if not yet used */
	uint32_t *mapping, *function, *location, *string;
	double *ratio;  /* by sample type: from its unit to the model's */
	bool scales;
	char window[32];  /* value of the label "window"; "": none */
	VEC(uint32_t) label_sets;  /* by the file's numbers */
};

static inline int model_no_memory(struct model_builder *b)
{
	return err_errno(b->e, ENOMEM, "cannot hold the profile");
}
/* Makes room for one more item.  0, or -E2BIG, -ENOMEM with b->e set, as all functions here. */
#define MODEL_MAKE_ROOM(b, array) \
	({ \
		int room_ = 0; \
		if ((array)->n >= MODEL_ITEMS_MAX) \
			room_ = err_set((b)->e, E2BIG, "more than 2^32 items in all"); \
		else if (!VEC_RESERVE(array, 1)) \
			room_ = model_no_memory(b); \
		room_; \
	})

/* Appends an item to an array and to its index. */
#define MODEL_ADD(b, array, index, hash, ...) \
	({ \
		int added_ = MODEL_MAKE_ROOM(b, array); \
		if (added_ == 0 && !hashindex_add(index, hash, (uint32_t)(array)->n)) \
			added_ = model_no_memory(b); \
		if (added_ == 0) \
			(array)->v[(array)->n++] = (__VA_ARGS__); \
		added_; \
	})

static inline uint32_t model_intern(struct model_builder *b, const char *s)
{
	return strtab_add_cstr(&b->m->strings, s);
}

/* The same for string i of a file. */
static inline uint32_t model_intern_of(struct model_builder *b, struct model_file *f, uint32_t i)
{
	if (f->string[i] == MODEL_NONE)
		f->string[i] = strtab_add_text(&b->m->strings, &f->tables->text[i]);
	return f->string[i];
}

/* model-read.c: an empty model.  -ENOMEM with e set. */
int model_build_begin(struct model_builder *b, const struct model_merge *how, struct err *e);

/* Sets the sample types of an empty model. */
int model_build_types(struct model_builder *b, const struct profile_value_type *type, size_t n);

/* Adds a file.  -errno with e set: the model is as before if only the file is to blame (-EINVAL and
 * -E2BIG) and all of its samples have been read. */
int model_build_input(struct model_builder *b, const struct model_input *in);

/* Frees all but the model, which becomes *ret, or is freed as well if r is an error.  Returns r. */
int model_build_end(struct model_builder *b, int r, struct model **ret);

/* model-location.c: adds a mapping of the file, unless the model has an equal one. */
int model_location_mapping(struct model_builder *b, struct model_file *f,
			   const struct profile_mapping *from, uint32_t *ret);
/* Sets f->location[index]: of all locations that a large model has; of one, which it may add. */
int model_location_find_all(struct model_builder *b, struct model_file *f);
int model_location_add(struct model_builder *b, struct model_file *f, uint32_t index);

/* model-sample.c: adds up to MODEL_SAMPLES_AT_ONCE samples, or their values to those of equal
 * samples. */
#define MODEL_SAMPLES_AT_ONCE 32u
int model_sample_add(struct model_builder *b, struct model_file *f,
		     const struct pprof_sample_row *row, size_t n);

#endif
