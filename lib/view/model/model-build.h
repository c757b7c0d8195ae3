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
#include "proto/pprof-read.h"
#include "proto/pprof-samples.h"
#include "view/model/model-merge.h"
#include "view/model/model.h"

#include <errno.h>

#define MODEL_ITEMS_MAX (UINT32_MAX - 1)
#define MODEL_LABELS_MAX 4096u      /* of a sample */
#define MODEL_INTERNED 64u          /* strings of a file whose ids are remembered */

/* The samples of one file, decoded: one that may be left out is read before the model changes. */
struct model_kept_row { size_t n_locations, n_labels; };
struct model_kept {
	VEC(uint32_t) locations;
	VEC(int64_t) values;
	VEC(struct profile_label) labels;
	VEC(struct model_kept_row) rows;
	bool is_complete;           /* else there are too many: the file is read again */
};

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
	struct model_kept kept;
	VEC(struct model_wanted) wanted;  /* of the present file */
	struct err *e;
};

/* A label set as in the file; its strings are compared by address. */
struct model_raw_set { size_t first, n; uint32_t id; };

struct model_file {
	const struct profile *head;
	uint32_t *mapping, *function, *location;  /* in the model; MODEL_NONE if not yet used */
	double *ratio;  /* by sample type: from its unit to the model's */
	bool scales;
	struct { const char *text; uint32_t id; } interned[MODEL_INTERNED];  /* by address */
	char window[32];  /* value of the label "window"; "": none */
	VEC(struct profile_label) raw_labels;
	VEC(struct model_raw_set) raw_sets;
	struct hashindex by_raw;
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

/* The same for a string of a file: many are needed again and again. */
static inline uint32_t model_intern_of(struct model_builder *b, struct model_file *f, const char *s)
{
	size_t i = ((uintptr_t)s >> 3 ^ (uintptr_t)s >> 9) % MODEL_INTERNED;
	if (f->interned[i].text != s) {
		f->interned[i].id = model_intern(b, s);
		f->interned[i].text = s;
	}
	return f->interned[i].id;
}

/* model-read.c: an empty model.  -ENOMEM with e set. */
int model_build_begin(struct model_builder *b, const struct model_merge *how, struct err *e);

/* Sets the sample types of an empty model. */
int model_build_types(struct model_builder *b, const struct profile_value_type *type, size_t n);

/* model-parts.c: makes an empty model take the same files as another one. */
int model_build_like(struct model_builder *b, const struct model *m);

/* Adds a file.  -errno with e set: the model is as before if only the file is to blame (-EINVAL,
 * -E2BIG and errors of opening it) and how->skip is set. */
int model_build_file(struct model_builder *b, const char *path);

/* The same for a file in memory. */
int model_build_bytes(struct model_builder *b, const void *data, size_t n_bytes);

/* Adds a model, which ends here, in the place of the files that it was made of. */
int model_build_model(struct model_builder *b, struct model *m);

/* Frees all but the model, which becomes *ret, or is freed as well if r is an error.  Returns r. */
int model_build_end(struct model_builder *b, int r, struct model **ret);

/* model-location.c: adds a mapping of the file, unless the model has an equal one. */
int model_location_mapping(struct model_builder *b, struct model_file *f,
			   const struct profile_mapping *from, uint32_t *ret);
/* Sets f->location[index]: of all locations that a large model has; of one, which it may add. */
int model_location_find_all(struct model_builder *b, struct model_file *f);
int model_location_add(struct model_builder *b, struct model_file *f, uint32_t index);

/* model-sample.c: adds a sample, or its values to those of an equal sample. */
int model_sample_add(struct model_builder *b, struct model_file *f,
		     const struct pprof_sample_row *row);

#endif
