/*
 * The numbers of a sample are unpacked into buffers, which grow to the largest sample and are
 * reused.  Locations become indices at once.  Nearly all writers use the ids 1, 2, 3 ..., which
 * need only a subtraction; other ids go through the hash index of pprof-field.
 *
 * Many samples have the same labels, so these are looked up by their bytes, and decoded once.
 */

#include "proto/pprof-samples.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/vec.h"
#include "proto/gzip.h"
#include "proto/pprof-message.h"
#include "proto/pprof-read.h"
#include "proto/pprof-tables.h"

#include <errno.h>
#include <stdlib.h>

/* Labels, and the bytes from the first one to the last. */
struct label_set { struct bytes from; struct profile_label *label; size_t n; };

struct pprof_samples {
	struct pprof_reader reader;
	struct pprof_tables tables;
	struct bytes at;
	uint8_t *input, *inflated;  /* owned, or NULL */
	size_t n_done;
	VEC(uint32_t) locations;
	VEC(int64_t) values;
	struct bytes labels;        /* of the present sample; p is NULL: none */
	VEC(struct label_set) sets;
	struct hashindex by_labels;
};

void pprof_samples_close(struct pprof_samples *s)
{
	if (!s)
		return;
	pprof_ids_done(&s->reader);
	arena_free(s->reader.arena);
	VEC_FREE(&s->tables.lines);
	free(s->input);
	free(s->inflated);
	VEC_FREE(&s->locations);
	VEC_FREE(&s->values);
	VEC_FREE(&s->sets);
	hashindex_done(&s->by_labels);
	free(s);
}

void pprof_samples_rewind(struct pprof_samples *s)
{
	s->at = s->reader.range[PPROF_PROFILE_SAMPLE];
	s->n_done = 0;
}

/* input: owned by the result on success; NULL if it stays the caller's. */
static int open_bytes(const void *data, size_t n_bytes, uint8_t *input, struct pprof_samples **ret,
		      const struct profile **ret_head, const struct pprof_tables **ret_tables,
		      struct err *e)
{
	CLEANUP_FREE uint8_t *inflated = NULL;
	bool is_gzip = gzip_is(data, n_bytes);
	if (is_gzip) {
		int r = gzip_inflate(data, n_bytes, gzip_plausible_bytes(n_bytes), &inflated,
				     &n_bytes, e);
		if (r < 0)
			return r;
		data = inflated;
	} else if (n_bytes > GZIP_BYTES_MAX) {
		return err_set(e, E2BIG, "a profile of more than %zu bytes", GZIP_BYTES_MAX);
	}
	if (n_bytes == 0)
		data = "";
	struct pprof_samples *s = calloc(1, sizeof(*s));
	if (!s)
		return err_errno(e, ENOMEM, "cannot hold the profile");
	s->reader = (struct pprof_reader){ .start = data, .all = bytes_of(data, n_bytes), .e = e };
	if (ret_tables)
		s->reader.tables = &s->tables;
	int r = pprof_read_head(&s->reader);
	if (r < 0) {
		pprof_samples_close(s);
		return r;
	}
	pprof_samples_rewind(s);
	s->inflated = TAKE_PTR(inflated);
	if (is_gzip)
		free(input);
	else
		s->input = input;
	*ret = s;
	*ret_head = s->reader.p;
	if (ret_tables)
		*ret_tables = &s->tables;
	return 0;
}

int pprof_samples_open(const void *data, size_t n_bytes, struct pprof_samples **ret,
		       const struct profile **ret_head, const struct pprof_tables **ret_tables,
		       struct err *e)
{
	return open_bytes(data, n_bytes, NULL, ret, ret_head, ret_tables, e);
}

int pprof_samples_open_file(const char *path, struct pprof_samples **ret,
			    const struct profile **ret_head,
			    const struct pprof_tables **ret_tables, struct err *e)
{
	CLEANUP_FREE uint8_t *data = NULL;
	size_t n = 0;
	int r = profile_read_bytes(path, &data, &n);
	if (r < 0)
		return err_errno(e, -r, "cannot read '%s'", path);
	r = n > 0 ? open_bytes(data, n, data, ret, ret_head, ret_tables, e)
		  : err_set(e, EINVAL, "the file is empty");
	if (r < 0) {
		err_prefix(e, "cannot read '%s'", path);
		pprof_read_hint(data, n, e);
		return r;
	}
	data = NULL;  /* freed, or owned by *ret */
	return 0;
}

/* ---- one sample ----------------------------------------------------------- */

static int unknown_location(struct pprof_samples *s, uint64_t id)
{
	return err_set(s->reader.e, EINVAL,
		       "not a valid profile: sample %zu has the unknown location %llu", s->n_done,
		       (unsigned long long)id);
}

static int add_location(struct pprof_samples *s, uint64_t id)
{
	uint32_t index = pprof_ids_index(&s->reader.locations, id);
	if (index == UINT32_MAX)
		return unknown_location(s, id);
	return VEC_PUSH(&s->locations, index) ? 0 : pprof_field_no_memory(&s->reader);
}

/* For ids without gaps.  A field has at most as many numbers as bytes, so one allocation
 * suffices. */
static int add_packed_locations(struct pprof_samples *s, struct bytes b)
{
	if (!bytes_left(&b))
		return 0;
	if (!VEC_RESERVE(&s->locations, bytes_left(&b)))
		return pprof_field_no_memory(&s->reader);
	uint32_t *out = s->locations.v + s->locations.n;
	size_t n = s->reader.locations.n;
	while (b.p < b.end) {
		uint64_t id;
		if (b.p[0] < 0x80) {
			id = *b.p++;
		} else if (b.end - b.p >= 2 && b.p[1] < 0x80) {
			id = (b.p[0] & 0x7fu) | (uint64_t)b.p[1] << 7;
			b.p += 2;
		} else {
			id = wire_get_varint(&b);
			if (b.bad)
				return pprof_field_bad(&s->reader, b.p,
						       "number of more than ten bytes");
		}
		if (id - 1 >= n)
			return unknown_location(s, id);
		*out++ = (uint32_t)(id - 1);
	}
	s->locations.n = (size_t)(out - s->locations.v);
	return 0;
}

static int add_numbers(struct pprof_samples *s, const struct bytes *at, const struct wire_field *f)
{
	if (f->type != WIRE_VARINT && f->type != WIRE_BYTES)
		return pprof_field_bad(&s->reader, at->p,
				       "field of another type than numbers, which ends");
	bool locations = f->number == PPROF_SAMPLE_LOCATION_ID;
	if (locations && f->type == WIRE_BYTES && !s->reader.locations.has_gaps)
		return add_packed_locations(s, f->body);
	struct pprof_numbers numbers = { 0 };
	uint64_t v = 0;
	int got;
	while ((got = pprof_field_number(&s->reader, f, &numbers, &v)) > 0) {
		int r = 0;
		if (locations)
			r = add_location(s, v);
		else if (!VEC_PUSH(&s->values, (int64_t)v))
			r = pprof_field_no_memory(&s->reader);
		if (r < 0)
			return r;
	}
	return got;
}

static int decode_labels(struct pprof_samples *s, struct label_set *set)
{
	struct bytes b = set->from;
	struct wire_field f;
	int got;
	while ((got = pprof_field_next(&s->reader, &b, &f)) > 0)
		set->n += f.number == PPROF_SAMPLE_LABEL;
	set->label = PPROF_NEW(&s->reader, struct profile_label, set->n);
	if (!set->label)
		return pprof_field_no_memory(&s->reader);
	b = set->from;
	for (size_t i = 0; (got = pprof_field_next(&s->reader, &b, &f)) > 0;) {
		struct bytes body;
		if (f.number != PPROF_SAMPLE_LABEL)
			continue;
		int r = pprof_field_body(&s->reader, &b, &f, &body);
		if (r == 0)
			r = pprof_message_label(&s->reader, body, &set->label[i++]);
		if (r < 0)
			return r;
	}
	return got;
}

static bool same_bytes(const struct bytes *a, const struct bytes *b)
{
	size_t n = bytes_left(a);
	return n == bytes_left(b) && memcmp(a->p, b->p, n) == 0;
}

/* The set of the labels that were noted; 0 has none. */
static int find_labels(struct pprof_samples *s, struct pprof_sample_row *row)
{
	struct label_set set = { .from = s->labels };
	row->label = NULL;
	row->n_labels = row->label_set = 0;
	if (!set.from.p)
		return 0;
	uint64_t hash = hash_bytes(set.from.p, bytes_left(&set.from));
	uint32_t k = HASHINDEX_FIND(&s->by_labels, hash, i,
				    same_bytes(&s->sets.v[i].from, &set.from));
	if (k == HASHINDEX_NONE) {
		int r = decode_labels(s, &set);
		if (r < 0)
			return r;
		k = (uint32_t)s->sets.n;
		if (!VEC_PUSH(&s->sets, set) || !hashindex_add(&s->by_labels, hash, k))
			return pprof_field_no_memory(&s->reader);
	}
	row->label = s->sets.v[k].label;
	row->n_labels = s->sets.v[k].n;
	row->label_set = k + 1;
	return 0;
}

static int read_sample(struct pprof_samples *s, struct bytes body)
{
	struct wire_field f;
	int got;
	s->locations.n = s->values.n = 0;
	s->labels = (struct bytes){ 0 };
	for (const uint8_t *at = body.p; (got = pprof_field_next(&s->reader, &body, &f)) > 0;
	     at = body.p) {
		int r = 0;
		switch (f.number) {
		case PPROF_SAMPLE_LOCATION_ID:
		case PPROF_SAMPLE_VALUE: r = add_numbers(s, &body, &f); break;
		case PPROF_SAMPLE_LABEL:
			s->labels.p = s->labels.p ? s->labels.p : at;
			s->labels.end = body.p;
			break;
		}
		if (r < 0)
			return r;
	}
	if (got == 0 && s->values.n != s->reader.p->n_sample_types)
		return err_set(s->reader.e, EINVAL,
			       "not a valid profile: sample %zu has %zu values for %zu "
			       "sample types",
			       s->n_done, s->values.n, s->reader.p->n_sample_types);
	return got;
}

/* The next sample: 1, or 0 at the end. */
static int next_body(struct pprof_samples *s, struct bytes *ret)
{
	struct wire_field f;
	for (;;) {
		while (pprof_field_quick(&s->at, &f.number, ret))
			if (f.number == PPROF_PROFILE_SAMPLE)
				return 1;
		int got = pprof_field_next(&s->reader, &s->at, &f);
		if (got <= 0)
			return got;
		if (f.number != PPROF_PROFILE_SAMPLE)
			continue;
		int r = pprof_field_body(&s->reader, &s->at, &f, ret);
		return r < 0 ? r : 1;
	}
}

int pprof_samples_next(struct pprof_samples *s, struct pprof_sample_row *ret)
{
	struct bytes body;
	int got = s->at.p ? next_body(s, &body) : 0;
	if (got <= 0)
		return got;
	s->n_done++;
	int r = read_sample(s, body);
	if (r < 0)
		return r;
	*ret = (struct pprof_sample_row){
		.location = s->locations.v, .n_locations = s->locations.n,
		.value = s->values.v,
	};
	r = find_labels(s, ret);
	return r < 0 ? r : 1;
}
