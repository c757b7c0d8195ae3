#include "cmd/push/push-body.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "base/hash.h"
#include "cmd/push/push-labels.h"
#include "proto/gzip.h"
#include "proto/otlp.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Field numbers: Pyroscope's push/v1/push.proto and types/v1/types.proto, Parca's
 * profilestore/v1alpha1/profilestore.proto. */
enum {
	PYROSCOPE_SERIES = 1, PYROSCOPE_LABELS = 1, PYROSCOPE_SAMPLES = 2,
	PARCA_SERIES = 2, PARCA_LABELS = 1, PARCA_SAMPLES = 2, PARCA_LABEL_SET_LABELS = 1,
	LABEL_NAME = 1, LABEL_VALUE = 2,
	RAW_PROFILE = 1, RAW_ID = 2,
};
#define GRPC_PREFIX_BYTES 5
#define COMPRESSION 3

/* Made of the host and the name in the spool, so a profile always has the same one. */
static void make_id(const struct push_item *item, uint8_t id[OTLP_ID_BYTES])
{
	const char *host = keyvalues_get(&item->meta, "label.host");
	char name[SPOOL_NAME_MAX];
	spool_name_text(&item->name, "", name);
	uint64_t half[2] = { hash_bytes_fixed(name, strlen(name)) };
	if (host)
		half[0] = hash_pair_fixed(half[0], hash_bytes_fixed(host, strlen(host)));
	half[1] = hash_pair_fixed(half[0], item->name.start_ns ^ item->name.sequence);
	memcpy(id, half, OTLP_ID_BYTES);
}

static void write_id(struct wire *w, const struct push_item *item)
{
	uint8_t id[OTLP_ID_BYTES];
	char text[2 * OTLP_ID_BYTES + 5], *p = text;
	make_id(item, id);
	for (size_t i = 0; i < OTLP_ID_BYTES; i++)
		p += sprintf(p, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", id[i]);
	wire_bytes(w, RAW_ID, text, strlen(text));
}

static void write_label(struct wire *w, unsigned int field, const struct otlp_attribute *l)
{
	size_t mark = wire_begin(w, field);
	wire_bytes(w, LABEL_NAME, l->key, strlen(l->key));
	wire_bytes(w, LABEL_VALUE, l->value, strlen(l->value));
	wire_end(w, mark);
}

static void write_pyroscope(struct wire *w, const struct push_item *item,
			    const struct push_labels *labels)
{
	size_t series = wire_begin(w, PYROSCOPE_SERIES);
	for (size_t i = 0; i < labels->label.n; i++)
		write_label(w, PYROSCOPE_LABELS, &labels->label.v[i]);
	size_t sample = wire_begin(w, PYROSCOPE_SAMPLES);
	wire_bytes(w, RAW_PROFILE, item->data, item->n_bytes);
	write_id(w, item);
	wire_end(w, sample);
	wire_end(w, series);
}

static void write_parca(struct wire *w, const struct push_item *item,
			const struct push_labels *labels)
{
	size_t series = wire_begin(w, PARCA_SERIES);
	size_t set = wire_begin(w, PARCA_LABELS);
	for (size_t i = 0; i < labels->label.n; i++)
		write_label(w, PARCA_LABEL_SET_LABELS, &labels->label.v[i]);
	wire_end(w, set);
	size_t sample = wire_begin(w, PARCA_SAMPLES);
	wire_bytes(w, RAW_PROFILE, item->data, item->n_bytes);
	wire_end(w, sample);
	wire_end(w, series);
}

static int add_otlp(struct otlp *o, const struct push_item *item, const struct push_labels *labels,
		    struct err *e)
{
	struct otlp_resource resource = { labels->label.v, labels->label.n, { 0 } };
	make_id(item, resource.id);
	return otlp_add(o, item->data, item->n_bytes, PUSH_DECODED_BYTES_MAX, &resource, e);
}

static int append(void *ctx, const void *data, size_t n_bytes)
{
	struct wire *w = ctx;
	if (!wire_reserve(w, n_bytes))
		return -ENOMEM;
	memcpy(w->p + w->n, data, n_bytes);
	w->n += n_bytes;
	return 0;
}

static int gzip_body(struct wire *w, const struct wire *plain)
{
	struct gzip g;
	int r = gzip_open(&g, append, w, COMPRESSION);
	if (r < 0)
		return r;
	r = gzip_write(&g, plain->p, plain->n);
	if (r == 0)
		r = gzip_finish(&g);
	gzip_close(&g);
	return r;
}

static int finish_otlp(struct otlp *o, struct wire *w, struct err *e)
{
	struct wire plain = { 0 };
	int r = otlp_finish(o, &plain, e);
	if (r == 0 && gzip_body(w, &plain) < 0)
		r = err_errno(e, ENOMEM, "cannot compress profiles");
	wire_done(&plain);
	return r;
}

/* gRPC's prefix of a message: a byte that says it is not compressed, and the length. */
static void set_grpc_prefix(uint8_t *p, size_t n_bytes)
{
	p[0] = 0;
	for (unsigned int i = 1; i < GRPC_PREFIX_BYTES; i++)
		p[i] = (uint8_t)(n_bytes >> 8 * (GRPC_PREFIX_BYTES - 1 - i));
}

CLEANUP_DEFINE(struct otlp, otlp_free)

int push_body_build(enum push_format format, struct push_item *const *item, size_t n_items,
		    const struct keyvalue *extra, size_t n_extra, struct wire *w, size_t *ret_bad,
		    struct err *e)
{
	static const uint8_t prefix[GRPC_PREFIX_BYTES];
	CLEANUP(otlp_freep) struct otlp *o = format == PUSH_OTLP ? otlp_new() : NULL;
	size_t start = w->n;
	int r = format == PUSH_OTLP && !o ? -ENOMEM : 0;
	if (format == PUSH_PARCA)
		r = append(w, prefix, sizeof(prefix));
	for (size_t i = 0; i < n_items && r == 0; i++) {
		struct push_labels labels;
		if (!push_labels_make(&item[i]->meta, extra, n_extra, format, &labels)) {
			r = -ENOMEM;
			break;
		}
		if (format == PUSH_OTLP)
			r = add_otlp(o, item[i], &labels, e);
		else if (format == PUSH_PARCA)
			write_parca(w, item[i], &labels);
		else
			write_pyroscope(w, item[i], &labels);
		push_labels_done(&labels);
		*ret_bad = i;
	}
	if (r == -EINVAL || r == -E2BIG) {
		w->n = start;
		return -EINVAL;
	}
	if (r == 0 && format == PUSH_OTLP)
		r = finish_otlp(o, w, e);
	if (r < 0 || w->failed)
		return err_errno(e, ENOMEM, "cannot encode profiles");
	if (format == PUSH_PARCA)
		set_grpc_prefix(w->p + start, w->n - start - GRPC_PREFIX_BYTES);
	return 0;
}
