/*
 * Records are taken from the file one by one, put into the queue of perfdata-order.c as references
 * into the mapped file (or into a chunk of a stream, or of what was unpacked), and decoded when
 * they come out of it.  So nothing is copied; only records of the other byte order, or that do not
 * lie at a multiple of 8 bytes, go through a scratch buffer.
 *
 * perf's own records (type 64 and above) have their say when they are met and are not queued.
 */

#include "source/perfdata-private.h"

#include "source/perfdata-zstd.h"
#include "source/record.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What waits in chunks may take as much memory as that before it is delivered early. */
#define HELD_BYTES_MAX (64u << 20)

enum step { STEP_MORE, STEP_READY, STEP_END };

/* ---- failures ------------------------------------------------------------------ */

static int __attribute__((format(printf, 3, 4)))
broken(struct perfdata *p, uint64_t offset, const char *fmt, ...)
{
	char text[512];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (p->failure.code)  /* the first one is the cause */
		return p->failure.code;
	return err_set(&p->failure, EINVAL, "'%s' is damaged: %s at offset %llu", p->name, text,
		       (unsigned long long)offset);
}

static int out_of_memory(struct perfdata *p)
{
	return err_errno(&p->failure, ENOMEM, "cannot read '%s'", p->name);
}

/* ---- one record ------------------------------------------------------------------ */

/* The record as this machine would have written it: in place where it is so. */
static const void *native(struct perfdata *p, const uint8_t *raw, uint32_t event)
{
	if (!p->info.is_swapped && (uintptr_t)raw % 8 == 0)
		return raw;
	struct perf_event_header h;
	memcpy(&h, raw, sizeof(h));
	size_t n_bytes = perfdata_u16(p, h.size);
	memcpy(p->scratch, raw, n_bytes);
	if (p->info.is_swapped) {
		h.type = perfdata_u32(p, h.type);
		h.misc = perfdata_u16(p, h.misc);
		h.size = perfdata_u16(p, h.size);
		memcpy(p->scratch, &h, sizeof(h));
		perfdata_swap_record(&p->events.v[event].format, p->scratch, n_bytes);
	}
	return p->scratch;
}

static int queue(struct perfdata *p, struct perfdata_input *from, const uint8_t *raw,
		 const struct perf_event_header *h)
{
	uint32_t event = perfdata_event_of(p, raw);
	bool is_sample = h->type == PERF_RECORD_SAMPLE;
	if (event >= p->events.n) {
		p->info.counts.n_foreign_ids++;
		if (is_sample)
			return STEP_MORE;
		event = 0;
	}
	struct perfdata_entry entry = { .raw = raw, .chunk = from->chunk, .event = event };
	/* Without times of samples the file's order is all there is. */
	if (p->has_time) {
		bool known = record_peek_time(&p->events.v[event].format, native(p, raw, event),
					      h->size, &entry.time_ns);
		if (known && entry.time_ns)
			p->last_time_ns = entry.time_ns;
		else if (!known && is_sample)
			entry.time_ns = p->last_time_ns;
	}
	if (perfdata_order_add(&p->order, entry) < 0)
		return out_of_memory(p);
	perfdata_chunk_hold(entry.chunk);
	if (p->order.n < PERFDATA_ORDER_MAX &&
	    p->input.n_held_bytes + p->unpacked.n_held_bytes < HELD_BYTES_MAX)
		return STEP_MORE;
	p->info.counts.n_early++;
	return perfdata_order_half(&p->order) < 0 ? out_of_memory(p) : STEP_READY;
}

/* ---- perf's own records ------------------------------------------------------------- */

static int add_attr(struct perfdata *p, struct bytes b)
{
	uint32_t size;
	if (p->has_begun || bytes_left(&b) < PERF_ATTR_SIZE_VER0) {
		p->info.counts.n_user_skipped++;
		return 0;
	}
	memcpy(&size, b.p + 4, sizeof(size));
	size = perfdata_u32(p, size);
	const void *attr = bytes_take(&b, size ? size : PERF_ATTR_SIZE_VER0);
	int code = attr ? perfdata_add_event(p, attr, size ? size : PERF_ATTR_SIZE_VER0) : -EINVAL;
	while (code == 0 && bytes_left(&b) >= 8)
		code = perfdata_add_id(p, perfdata_u64(p, bytes_u64(&b)),
				       (uint32_t)p->events.n - 1);
	return code;
}

#define UPDATE_NAME 2  /* PERF_EVENT_UPDATE__NAME */

static int update_event(struct perfdata *p, struct bytes b)
{
	uint64_t what = perfdata_u64(p, bytes_u64(&b)), id = perfdata_u64(p, bytes_u64(&b));
	if (what != UPDATE_NAME)
		return 0;
	const char *name = bytes_cstr(&b);
	return b.bad ? -EINVAL : perfdata_name_event(p, id, name);
}

/* Data behind a record that is no record. */
static int skip_behind(struct perfdata *p, struct perfdata_input *in, uint64_t n_bytes)
{
	uint64_t at = in->offset;
	int code = perfdata_input_skip(in, n_bytes);
	if (code < 0)
		return err_errno(&p->failure, -code, "cannot read '%s'", p->name);
	return code ? 0 : broken(p, at, "it ends within %llu bytes of other data",
				 (unsigned long long)n_bytes);
}

static int unpack(struct perfdata *p, const uint8_t *packed, size_t n_packed);

/* Behind this one nothing of a stream's beginning comes any more. */
static bool begins_data(uint32_t type)
{
	return type < PERFDATA_HEADER_ATTR || type == PERFDATA_FINISHED_ROUND ||
	       type == PERFDATA_COMPRESSED || type == PERFDATA_COMPRESSED2;
}

static int user_record(struct perfdata *p, struct perfdata_input *in, uint64_t offset,
		       const struct perf_event_header *h, struct bytes b)
{
	struct perfdata_counts *n = &p->info.counts;
	uint64_t feature, size;
	int code = 0;
	switch (h->type) {
	case PERFDATA_HEADER_ATTR:
		code = add_attr(p, b);
		break;
	case PERFDATA_EVENT_UPDATE:
		code = update_event(p, b);
		break;
	case PERFDATA_FEATURE:
		feature = perfdata_u64(p, bytes_u64(&b));
		if (feature < 256 && !perfdata_feature(p, (unsigned)feature, b))
			n->n_bad_features++;
		break;
	case PERFDATA_BUILD_ID:
		code = perfdata_add_build_id(p, h->misc, b) ? 0 : -EINVAL;
		break;
	case PERFDATA_TRACING_DATA:
		size = perfdata_u32(p, bytes_u32(&b));
		n->n_tracing_bytes += size;
		code = skip_behind(p, in, size);
		return code < 0 ? code : STEP_MORE;
	case PERFDATA_AUXTRACE:
		size = perfdata_u64(p, bytes_u64(&b));
		n->n_aux_bytes += size;
		code = skip_behind(p, in, size);
		return code < 0 ? code : STEP_MORE;
	case PERFDATA_COMPRESSED:
		return unpack(p, b.p, bytes_left(&b));
	case PERFDATA_COMPRESSED2:
		size = perfdata_u64(p, bytes_u64(&b));
		return size > bytes_left(&b) ? broken(p, offset, "a compressed record lies")
					     : unpack(p, b.p, size);
	case PERFDATA_FINISHED_ROUND:
		return perfdata_order_round(&p->order) < 0 ? out_of_memory(p) : STEP_READY;
	default:
		n->n_user_skipped++;
		break;
	}
	if (code == -EINVAL) {
		p->source.losses.n_undecodable++;
		code = 0;
	}
	return code < 0 ? out_of_memory(p) : STEP_MORE;
}

/* ---- taking records -------------------------------------------------------------------- */

/* The record at hand in `in`: 1 with *h in this machine's order; 0: no whole one; -errno. */
static int look(struct perfdata *p, struct perfdata_input *in, struct perf_event_header *h)
{
	int code = perfdata_input_need(in, sizeof(*h));
	if (code > 0) {
		memcpy(h, in->p, sizeof(*h));
		h->type = perfdata_u32(p, h->type);
		h->misc = perfdata_u16(p, h->misc);
		h->size = perfdata_u16(p, h->size);
		if (h->size < sizeof(*h))
			return broken(p, in->offset, "a record of %u bytes", h->size);
		code = perfdata_input_need(in, h->size);
	}
	if (code < 0)
		return err_errno(&p->failure, -code, "cannot read '%s'", p->name);
	return code;
}

static int take(struct perfdata *p, struct perfdata_input *in, const struct perf_event_header *h)
{
	const uint8_t *raw = in->p;
	uint64_t offset = in->offset;
	perfdata_input_take(in, h->size);
	perfdata_input_touch(in, h->size);
	if (h->type < PERFDATA_HEADER_ATTR)
		return queue(p, in, raw, h);
	/* What was unpacked holds the kernel's records, and no further packed ones. */
	if (in == &p->unpacked && begins_data(h->type)) {
		p->info.counts.n_user_skipped++;
		return STEP_MORE;
	}
	return user_record(p, in, offset, h, bytes_of(raw + sizeof(*h), h->size - sizeof(*h)));
}

static int take_unpacked(struct perfdata *p)
{
	struct perf_event_header h;
	int step = STEP_MORE;
	while (step >= 0) {
		int code = look(p, &p->unpacked, &h);
		if (code <= 0)
			return code < 0 ? code : step;
		int next = take(p, &p->unpacked, &h);
		step = next < 0 || next == STEP_READY ? next : step;
		if (next == STEP_READY)
			break;
	}
	return step;
}

/*
 * All of a compressed record is unpacked at once; a record of the kernel may go on in the next one.
 * It is of 64 KiB at most, and perf packs not more than a ring into it.
 */
static int unpack(struct perfdata *p, const uint8_t *packed, size_t n_packed)
{
	size_t done = 0, room;
	struct err e;
	if (!p->zstd) {
		int code = perfdata_zstd_new(&p->zstd, &e);
		if (code < 0) {
			p->failure = e;
			return code;
		}
	}
	p->info.counts.n_compressed_bytes += n_packed;
	for (;;) {
		uint8_t *to = perfdata_input_room(&p->unpacked, &room);
		if (!to)
			return out_of_memory(p);
		long got = perfdata_zstd_run(p->zstd, packed, n_packed, &done, to, room, &e);
		if (got < 0)
			return broken(p, p->input.offset, "%s, before what stands", e.what);
		perfdata_input_wrote(&p->unpacked, (size_t)got);
		p->info.counts.n_decompressed_bytes += (size_t)got;
		if (done == n_packed && (size_t)got < room)
			return take_unpacked(p);
	}
}

/* Reads on until records are ready, or the end. */
static int fill(struct perfdata *p)
{
	struct perf_event_header h;
	for (;;) {
		/* what an early delivery left there */
		int step = take_unpacked(p);
		if (step != STEP_MORE)
			return step;
		int code = look(p, &p->input, &h);
		if (code < 0)
			return code;
		if (code == 0 && p->input.p < p->input.end)
			return broken(p, p->input.offset, "it ends within a record");
		if (code == 0 && p->unpacked.p < p->unpacked.end)
			return broken(p, p->input.offset, "a compressed record is not whole");
		if (code == 0)
			return STEP_END;
		step = take(p, &p->input, &h);
		if (step != STEP_MORE)
			return step;
	}
}

/* ---- the source ------------------------------------------------------------------------- */

/* With perf record --buildid-mmap the records have the ids and there is no table of them; those of
 * what is no file are kept here. */
static void note_build_id(struct perfdata *p, const struct record_mmap *m, bool is_kernel)
{
	for (size_t i = 0; i < p->build_ids.n; i++)
		if (strcmp(p->build_ids.v[i].filename, m->filename) == 0)
			return;
	struct perfdata_build_id entry = {
		.filename = strdup(m->filename), .is_kernel = is_kernel, .n_bytes = m->n_build_id,
	};
	memcpy(entry.bytes, m->build_id, m->n_build_id);
	if (!entry.filename || !VEC_PUSH(&p->build_ids, entry))
		free((char *)entry.filename);
}

static void note_map(struct perfdata *p, const struct record *r)
{
	bool is_kernel = (r->misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL;
	const struct record_mmap *m = &r->mmap;
	if (m->n_build_id && (is_kernel || m->filename[0] == '['))
		note_build_id(p, m, is_kernel);
	if (!is_kernel || m->start + m->len < m->start || !m->len)
		return;
	struct perfdata_kernel_map map = {
		.start = m->start, .end = m->start + m->len, .symbol_vaddr = m->pgoff,
		.filename = strdup(m->filename),
	};
	if (!map.filename || !VEC_PUSH(&p->kernel_maps, map))
		free(map.filename);
}

/* perf leaves the period out where it is always the same one. */
static uint64_t fixed_period(const struct perf_event_attr *attr)
{
	bool is_clock = attr->type == PERF_TYPE_SOFTWARE &&
			(attr->config == PERF_COUNT_SW_CPU_CLOCK ||
			 attr->config == PERF_COUNT_SW_TASK_CLOCK);
	if (!attr->freq)
		return attr->sample_period;
	return is_clock && attr->sample_freq ? 1000000000u / attr->sample_freq : 1;
}

/*
 * A leader's sample that carries the counters of its group is one sample of each event that has
 * counted since the last one.  True with the next of them in *r.
 */
static bool next_of_group(struct perfdata *p, struct record *r)
{
	const struct record_sample *s = &p->group.sample;
	unsigned words = 2 + !!(p->events.v[p->group.event].format.read_format & (1u << 4));
	while (p->group_at < s->n_group) {
		const uint64_t *v = s->group + p->group_at++ * words;
		struct perfdata_id *id = perfdata_find_id(p, v[1]);
		if (!id || id->event >= p->events.n) {
			p->info.counts.n_foreign_ids++;
			continue;
		}
		uint64_t n = v[0] - id->counted;
		id->counted = v[0];
		if (!n)
			continue;
		*r = p->group;
		r->event = id->event;
		r->id = id->id;
		r->sample.period = n;
		return true;
	}
	p->group.sample.n_group = 0;
	return false;
}

/* False where the record is none for others to see. */
static bool deliver(struct perfdata *p, const struct perfdata_entry *entry, struct record *r)
{
	const struct perfdata_event *ev = &p->events.v[entry->event];
	const struct perf_event_header *h = native(p, entry->raw, entry->event);
	if (!entry->chunk)
		perfdata_input_touch(&p->input, h->size);
	switch (record_decode(&ev->format, h, h->size, r)) {
	case RECORD_UNKNOWN:
		p->source.losses.n_unknown++;
		return false;
	case RECORD_BAD:
		p->source.losses.n_undecodable++;
		return false;
	case RECORD_OK:
		break;
	}
	p->info.counts.n_records++;
	r->event = entry->event;
	if (r->type == PERF_RECORD_SAMPLE && !(ev->format.sample_type & PERF_SAMPLE_PERIOD))
		r->sample.period = fixed_period(&ev->attr);
	if (r->type == PERF_RECORD_MMAP || r->type == PERF_RECORD_MMAP2)
		note_map(p, r);
	if (r->has_time && r->time_ns && p->has_time) {
		p->source.losses.n_out_of_order += r->time_ns < p->delivered_ns;
		if (r->time_ns > p->delivered_ns)
			p->delivered_ns = r->time_ns;
	}
	if (r->type != PERF_RECORD_SAMPLE || !r->sample.n_group ||
	    !(ev->format.read_format & PERF_FORMAT_ID))
		return true;
	p->group = *r;
	p->group_at = 0;
	return next_of_group(p, r);
}

/* Gives pages of the file back that no queued record lies in. */
static void release_pages(struct perfdata *p)
{
	const uint8_t *first = p->input.p;
	for (size_t i = p->order.at; i < p->order.n; i++)
		if (!p->order.v[i].chunk && p->order.v[i].raw < first)
			first = p->order.v[i].raw;
	perfdata_input_release(&p->input, first);
}

static int perfdata_next(struct source *s, struct record *ret_record, struct err *e)
{
	struct perfdata *p = (struct perfdata *)s;
	if (p->group.sample.n_group && next_of_group(p, ret_record))
		return SOURCE_RECORD;
	for (;;) {
		perfdata_chunk_drop(p->held);
		p->held = NULL;
		const struct perfdata_entry *entry = perfdata_order_take(&p->order);
		if (entry) {
			p->held = entry->chunk;
			if (deliver(p, entry, ret_record))
				return SOURCE_RECORD;
			continue;
		}
		if (p->is_complete)
			break;
		release_pages(p);
		int step = fill(p);
		if (step < 0 || step == STEP_END) {
			p->is_complete = true;
			if (perfdata_order_end(&p->order) < 0)
				out_of_memory(p);
		}
	}
	if (!p->failure.code)
		return SOURCE_END;
	if (e)
		*e = p->failure;
	return p->failure.code;
}

static void perfdata_close(struct source *s)
{
	struct perfdata *p = (struct perfdata *)s;
	perfdata_chunk_drop(p->held);
	for (size_t i = p->order.at; i < p->order.n; i++)
		perfdata_chunk_drop(p->order.v[i].chunk);
	perfdata_order_done(&p->order);
	perfdata_input_done(&p->unpacked);
	perfdata_input_done(&p->input);
	perfdata_zstd_free(p->zstd);
	for (size_t i = 0; i < p->events.n; i++)
		free((char *)p->events.v[i].name);
	for (size_t i = 0; i < p->build_ids.n; i++)
		free((char *)p->build_ids.v[i].filename);
	for (size_t i = 0; i < p->kernel_maps.n; i++)
		free(p->kernel_maps.v[i].filename);
	VEC_FREE(&p->events);
	VEC_FREE(&p->ids);
	VEC_FREE(&p->build_ids);
	VEC_FREE(&p->kernel_maps);
	free(p->scratch);
	free(p->name);
	free(p->perf_version);
	free(p->command_line);
	free(p);
}

static const struct source_ops perfdata_ops = { .next = perfdata_next, .close = perfdata_close };

/* Of a stream: attrs, names and features, up to the first record that is data. */
static int read_stream_start(struct perfdata *p, struct err *e)
{
	struct perf_event_header h;
	int code;
	while ((code = look(p, &p->input, &h)) > 0 && !begins_data(h.type)) {
		code = take(p, &p->input, &h);
		if (code < 0)
			break;
	}
	if (code < 0 && !p->events.n) {
		*e = p->failure;
		return code;
	}
	if (!p->events.n)
		return err_set(e, EINVAL, "'%s' has no event that can be read", p->name);
	if (code < 0)
		p->is_complete = true;
	perfdata_events_ready(p);
	p->has_begun = true;
	return 0;
}

int perfdata_open(int fd, const char *name, struct source **ret_source, struct err *e)
{
	struct perfdata *p = calloc(1, sizeof(*p));
	if (!p)
		return err_errno(e, ENOMEM, "cannot read '%s'", name);
	p->source.ops = &perfdata_ops;
	perfdata_input_init(&p->input);
	perfdata_input_init(&p->unpacked);
	p->name = strdup(name);
	p->scratch = calloc(RECORD_BYTES_MAX / 8 + 1, 8);
	int code = p->name && p->scratch ? perfdata_input_open(&p->input, fd, e)
					 : err_errno(e, ENOMEM, "cannot read '%s'", name);
	if (code < 0)
		err_prefix(e, "'%s'", name);
	else
		code = perfdata_read_header(p, e);
	if (code == 0 && p->info.is_pipe)
		code = read_stream_start(p, e);
	if (code < 0) {
		perfdata_close(&p->source);
		return code;
	}
	*ret_source = &p->source;
	return 0;
}

/* ---- what it tells ---------------------------------------------------------------------- */

size_t perfdata_n_events(const struct source *s)
{
	return ((const struct perfdata *)s)->events.n;
}

const struct perfdata_event *perfdata_event(const struct source *s, size_t i)
{
	return &((const struct perfdata *)s)->events.v[i];
}

const struct perfdata_info *perfdata_info(const struct source *s)
{
	struct perfdata *p = (struct perfdata *)s;
	p->info.perf_version = p->perf_version ? p->perf_version : "";
	p->info.command_line = p->command_line ? p->command_line : "";
	return &p->info;
}

const struct perfdata_build_id *perfdata_build_ids(const struct source *s, size_t *ret_n)
{
	const struct perfdata *p = (const struct perfdata *)s;
	*ret_n = p->build_ids.n;
	return p->build_ids.v;
}

const struct perfdata_kernel_map *perfdata_kernel_maps(const struct source *s, size_t *ret_n)
{
	const struct perfdata *p = (const struct perfdata *)s;
	*ret_n = p->kernel_maps.n;
	return p->kernel_maps.v;
}

const struct perfdata_build_id *perfdata_build_id_of(const struct source *s, const char *filename)
{
	const struct perfdata *p = (const struct perfdata *)s;
	for (size_t i = 0; i < p->build_ids.n; i++)
		if (!p->build_ids.v[i].is_kernel &&
		    strcmp(p->build_ids.v[i].filename, filename) == 0)
			return &p->build_ids.v[i];
	return NULL;
}
