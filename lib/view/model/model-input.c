#include "view/model/model-input.h"

#include "base/err.h"

#include <errno.h>
#include <string.h>

#define KEPT_MAX ((size_t)1 << 18)   /* items of decoded samples: a few MiB */

void model_input_close(struct model_input *in)
{
	pprof_samples_close(in->samples);
	in->samples = NULL;
	in->locations.n = in->values.n = in->rows.n = 0;
}

void model_input_done(struct model_input *in)
{
	model_input_close(in);
	VEC_FREE(&in->rows);
	VEC_FREE(&in->locations);
	VEC_FREE(&in->values);
}

/* Appends n items of any array.  False if out of memory. */
#define APPEND(array, items, n_items) \
	(VEC_RESERVE(array, n_items) && \
	 ((n_items) == 0 || \
	  memcpy((array)->v + (array)->n, items, (n_items) * sizeof(*(items)))) && \
	 ((array)->n += (n_items), true))

static int keep_row(struct model_input *in, const struct pprof_sample_row *row, struct err *e)
{
	struct model_row one = { row->label, row->n_locations, row->n_labels, row->label_set };
	size_t n_values = in->head->n_sample_types;
	if (!APPEND(&in->locations, row->location, row->n_locations) ||
	    !APPEND(&in->values, row->value, n_values) || !VEC_PUSH(&in->rows, one))
		return err_errno(e, ENOMEM, "cannot hold the profile");
	return 0;
}

static int read_rows(struct model_input *in, bool reads_all, struct err *e)
{
	struct pprof_sample_row row;
	int r = 0;
	in->is_complete = true;
	while ((in->is_complete || reads_all) && (r = pprof_samples_next(in->samples, &row)) > 0) {
		if (row.n_labels > MODEL_LABELS_MAX)
			return err_set(e, E2BIG, "a sample with more than %u labels",
				       MODEL_LABELS_MAX);
		if (in->locations.n + row.n_locations + in->values.n + in->rows.n > KEPT_MAX)
			in->is_complete = false;
		if (in->is_complete && (r = keep_row(in, &row, e)) < 0)
			return r;
	}
	pprof_samples_rewind(in->samples);
	return r < 0 ? r : 0;
}

int model_input_file(struct model_input *in, const char *path, bool reads_all, struct err *e)
{
	model_input_close(in);
	const char *name = strcmp(path, "-") == 0 ? "/dev/stdin" : path;
	int r = pprof_samples_open_file(name, &in->samples, &in->head, &in->tables, e);
	if (r < 0)
		return r;
	r = read_rows(in, reads_all, e);
	if (r < 0)
		err_prefix(e, "cannot read '%s'", path);
	return r;
}

int model_input_bytes(struct model_input *in, const void *data, size_t n_bytes, bool reads_all,
		      struct err *e)
{
	model_input_close(in);
	int r = pprof_samples_open(data, n_bytes, &in->samples, &in->head, &in->tables, e);
	return r < 0 ? r : read_rows(in, reads_all, e);
}
