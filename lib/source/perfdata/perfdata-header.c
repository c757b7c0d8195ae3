/*
 * The two forms of perf.data.  A file has a table of attrs, each with a list of ids, one block of
 * records, and then the feature sections listed in a bit set.  A stream (perf record -o -) has only
 * its magic number: attrs, names and features are records before the first record of the kernel.
 *
 * Damage in an optional part is reported at the end: everything readable is read.
 */

#include "source/perfdata/perfdata-private.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define MAGIC UINT64_C(0x32454c4946524550)      /* "PERFILE2" as a little-endian number */
#define MAGIC_V1 UINT64_C(0x454c494646524550)   /* "PERFFILE", before Linux 2.6.32 */

#define N_FEATURES 256

struct section {
	uint64_t offset, n_bytes;
};

struct file_header {
	uint64_t magic, size, attr_size;
	struct section attrs, data, event_types;
	uint64_t features[N_FEATURES / 64];
};
#define STREAM_HEADER_BYTES 16

/* The bytes of a section; false if the file does not have all of it. */
static bool in_file(const struct perfdata *p, const struct section *s, struct bytes *ret)
{
	const struct perfdata_input *in = perfdata_file(p);
	if (s->offset > in->n_map || s->n_bytes > in->n_map - s->offset)
		return false;
	*ret = bytes_of(in->map + s->offset, s->n_bytes);
	return true;
}

/* Stores the first failure for the end. */
static void __attribute__((format(printf, 2, 3)))
damaged(struct perfdata *p, const char *fmt, ...)
{
	char text[256];
	va_list ap;
	if (p->failure.code)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	err_set(&p->failure, EINVAL, "'%s' is damaged: %s", p->name, text);
}

static struct section get_section(const struct perfdata *p, struct section s)
{
	return (struct section){ perfdata_u64(p, s.offset), perfdata_u64(p, s.n_bytes) };
}

static int read_ids(struct perfdata *p, uint32_t event, struct section s)
{
	struct bytes b;
	if (s.n_bytes && !in_file(p, &s, &b)) {
		damaged(p, "the ids of event %u, %llu bytes at offset %llu, are outside of it",
			event, (unsigned long long)s.n_bytes, (unsigned long long)s.offset);
		return 0;
	}
	for (uint64_t i = 0; i < s.n_bytes / 8; i++) {
		int r = perfdata_add_id(p, perfdata_u64(p, bytes_u64(&b)), event);
		if (r < 0)
			return r;
	}
	return 0;
}

static int read_attrs(struct perfdata *p, const struct file_header *h, struct err *e)
{
	struct section all = get_section(p, h->attrs), ids;
	uint64_t each = perfdata_u64(p, h->attr_size);
	struct bytes b;
	if (each < PERF_ATTR_SIZE_VER0 + sizeof(ids) || each > UINT16_MAX ||
	    !in_file(p, &all, &b) || all.n_bytes < each)
		return err_set(e, EINVAL,
			       "'%s' is damaged: its events, %llu bytes at offset %llu, cannot be "
			       "read", p->name, (unsigned long long)all.n_bytes,
			       (unsigned long long)all.offset);
	while (bytes_left(&b) >= each) {
		const uint8_t *attr = bytes_take(&b, each);
		int r = perfdata_add_event(p, attr, each - sizeof(ids));
		if (r == -EINVAL) {
			damaged(p, "the attr at offset %llu is impossible",
				(unsigned long long)(attr - perfdata_file(p)->map));
			continue;
		}
		if (r < 0)
			return err_errno(e, -r, "cannot read '%s'", p->name);
		memcpy(&ids, attr + each - sizeof(ids), sizeof(ids));
		r = read_ids(p, (uint32_t)p->events.n - 1, get_section(p, ids));
		if (r < 0)
			return err_errno(e, -r, "cannot read '%s'", p->name);
	}
	return p->events.n ? 0 : err_set(e, EINVAL, "'%s' has no event that can be read", p->name);
}

/*
 * The bit set consists of longs.  Files of a machine with the other byte order and 32-bit longs
 * have the halves of each word exchanged; every file has a host name, which tells them apart.
 */
static void get_features(const struct perfdata *p, const uint64_t *from, uint64_t *to)
{
	for (size_t i = 0; i < N_FEATURES / 64; i++)
		to[i] = perfdata_u64(p, from[i]);
	if (!p->info.is_swapped || to[0] >> PERFDATA_F_HOSTNAME & 1)
		return;
	for (size_t i = 0; i < N_FEATURES / 64; i++)
		to[i] = to[i] << 32 | to[i] >> 32;
}

/* After the data: a table with a section for each bit that is set, in the order of the bits. */
static void read_features(struct perfdata *p, const struct file_header *h, uint64_t offset)
{
	uint64_t bits[N_FEATURES / 64];
	get_features(p, h->features, bits);
	for (unsigned i = 0; i < N_FEATURES; i++) {
		struct section at = { offset, sizeof(at) }, s;
		struct bytes b;
		if (!(bits[i / 64] >> i % 64 & 1))
			continue;
		offset += sizeof(at);
		if (!in_file(p, &at, &b)) {
			p->info.counts.n_bad_features++;
			damaged(p, "it ends at offset %zu, before its header sections",
				perfdata_file(p)->n_map);
			return;
		}
		memcpy(&s, b.p, sizeof(s));
		s = get_section(p, s);
		p->info.counts.n_unknown_features += !perfdata_knows_feature(i);
		if (in_file(p, &s, &b) && perfdata_feature(p, i, b))
			continue;
		p->info.counts.n_bad_features++;
		damaged(p, "header section %u, %llu bytes at offset %llu, cannot be read", i,
			(unsigned long long)s.n_bytes, (unsigned long long)s.offset);
	}
}

static int read_file_header(struct perfdata *p, struct err *e)
{
	struct file_header h;
	struct perfdata_input *in = perfdata_file(p);
	if (in->n_map < sizeof(h))
		return err_set(e, EINVAL, "'%s' is truncated in its header", p->name);
	memcpy(&h, in->map, sizeof(h));
	int r = read_attrs(p, &h, e);
	if (r < 0)
		return r;
	perfdata_events_ready(p);
	p->has_begun = true;
	struct section data = get_section(p, h.data);
	if (data.offset > in->n_map) {
		damaged(p, "its data, %llu bytes at offset %llu, are outside of it",
			(unsigned long long)data.n_bytes, (unsigned long long)data.offset);
		data = (struct section){ in->n_map, 0 };
	} else if (data.n_bytes == 0 && data.offset < in->n_map) {
		damaged(p, "perf ended before it wrote the size of the data");
		data.n_bytes = in->n_map - data.offset;
	} else if (data.n_bytes > in->n_map - data.offset) {
		damaged(p, "it ends at offset %zu, within its data, which end at %llu", in->n_map,
			(unsigned long long)(data.offset + data.n_bytes));
		data.n_bytes = in->n_map - data.offset;
	} else {
		read_features(p, &h, data.offset + data.n_bytes);
	}
	in->p = in->map + data.offset;
	in->end = in->p + data.n_bytes;
	in->offset = data.offset;
	return 0;
}

static int not_perfdata(const struct perfdata *p, const uint8_t *bytes, size_t n, struct err *e)
{
	bool is_gzip = n >= 2 && bytes[0] == 0x1f && bytes[1] == 0x8b;
	int r = err_set(e, EINVAL, n ? "'%s' is not a perf.data file" : "'%s' is empty", p->name);
	if (n)
		err_hint(e, is_gzip ? "it may be a profile: 'cprof report FILE' shows those"
				    : "'perf record' writes such files");
	return r;
}

int perfdata_read_header(struct perfdata *p, struct err *e)
{
	struct perfdata_input *in = perfdata_file(p);
	uint64_t head[2];
	int r = perfdata_input_need(in, sizeof(head));
	if (r < 0)
		return err_errno(e, -r, "cannot read '%s'", p->name);
	size_t n = (size_t)(in->end - in->p);
	if (n >= sizeof(*head))
		memcpy(head, in->p, r ? sizeof(head) : sizeof(*head));
	if (n >= sizeof(*head) && (head[0] == MAGIC_V1 || __builtin_bswap64(head[0]) == MAGIC_V1))
		return err_set(e, EINVAL, "'%s' has the first version of the format, of 2009",
			       p->name);
	if (n < sizeof(*head) || (head[0] != MAGIC && __builtin_bswap64(head[0]) != MAGIC))
		return not_perfdata(p, in->p, n, e);
	if (!r)
		return err_set(e, EINVAL, "'%s' is truncated in its header", p->name);
	/* The magic number is the same text everywhere; as a number it shows the byte order. */
	p->info.is_swapped = head[0] != MAGIC;
	if (perfdata_u64(p, head[1]) == STREAM_HEADER_BYTES) {
		p->info.is_pipe = true;
		perfdata_input_take(in, STREAM_HEADER_BYTES);
		return 0;
	}
	if (!in->map) {
		err_set(e, EINVAL, "'%s' is a perf.data file, but comes through a pipe", p->name);
		err_hint(e, "name the file; only the output of perf record -o - can be piped");
		return -EINVAL;
	}
	return read_file_header(p, e);
}
