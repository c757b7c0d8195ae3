#ifndef CPROF_VIEW_MODEL_MODEL_INPUT_H
#define CPROF_VIEW_MODEL_MODEL_INPUT_H

/*
 * A file to be added to a model, as far as it can be read without that model: its tables, and its
 * samples if they are few.  So other threads can do this part.
 */

#include "base/vec.h"
#include "proto/pprof-read.h"
#include "proto/pprof-samples.h"
#include "proto/pprof-tables.h"

#define MODEL_LABELS_MAX 4096u      /* of a sample */

/* As in struct pprof_sample_row. */
struct model_row {
	const struct profile_label *label;
	size_t n_locations, n_labels;
	uint32_t label_set;
};

struct model_input {                /* all zeros: nothing yet */
	struct pprof_samples *samples;
	const struct profile *head;
	const struct pprof_tables *tables;
	/* The samples, if they are complete; else they must be read from `samples`. */
	VEC(struct model_row) rows;
	VEC(uint32_t) locations;
	VEC(int64_t) values;
	bool is_complete;
};

/* Reads a file, "-" for stdin, in place of the one before.  reads_all: all samples are checked,
 * even if they are too many to be kept.  0, or -errno with e set, which must stay valid, as for
 * pprof_samples_open_file. */
int model_input_file(struct model_input *in, const char *path, bool reads_all, struct err *e);

/* The same for a file in memory, which must stay valid, too. */
int model_input_bytes(struct model_input *in, const void *data, size_t n_bytes, bool reads_all,
		      struct err *e);

/* Leaves the file; its arrays stay for the next one. */
void model_input_close(struct model_input *in);
void model_input_done(struct model_input *in);

#endif
