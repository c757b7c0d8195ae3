/*
 * Records are read from the file one by one, queued in perfdata-order.c as references into the
 * mapped file (or into a chunk of a stream or of uncompressed data), and decoded when they leave
 * the queue.  So nothing is copied, except records of the other byte order and records that are not
 * aligned to 8 bytes, which go through a scratch buffer.
 *
 * A file is read in its order; of a folder's files, always the one that is furthest behind.
 */

#include "source/perfdata/perfdata-private.h"
#include "source/perfdata/perfdata-tracing.h"

#include "source/record.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* If waiting records take more memory in chunks than this, some are delivered early. */
#define HELD_BYTES_MAX (64u << 20)

/* Headers are read this far ahead, beyond the headers of small records. */
#define PREFETCH_BYTES 512

/* ---- failures ------------------------------------------------------------------ */

int perfdata_broken(struct perfdata *p, const struct perfdata_stream *s, uint64_t offset,
		    const char *fmt, ...)
{
	char text[512];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (p->failure.code)  /* the first one is the cause */
		return p->failure.code;
	return err_set(&p->failure, EINVAL, "'%s%s' is damaged: %s at offset %llu", p->name,
		       s->suffix, text, (unsigned long long)offset);
}

int perfdata_no_memory(struct perfdata *p)
{
	return err_errno(&p->failure, ENOMEM, "cannot read '%s'", p->name);
}

/* ---- one record ------------------------------------------------------------------ */

/* The record in this machine's byte order and aligned; in place if it already is. */
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

static size_t held_bytes(const struct perfdata *p)
{
	size_t n = 0;
	for (uint32_t i = 0; i < p->streams.n; i++)
		n += p->streams.v[i].input.n_held_bytes + p->streams.v[i].unpacked.n_held_bytes;
	return n;
}

/* The time by which a record is ordered; 0: first of all. */
static uint64_t time_of(struct perfdata *p, struct perfdata_stream *s, const uint8_t *raw,
			const struct perfdata_head *h, uint32_t event)
{
	uint64_t time_ns = 0;
	bool is_sample = h->type == PERF_RECORD_SAMPLE, is_known;
	if (is_sample && p->time_word) {
		is_known = h->n_bytes / 8 > p->time_word;
		if (is_known)
			memcpy(&time_ns, raw + p->time_word * 8, sizeof(time_ns));
		time_ns = perfdata_u64(p, time_ns);
	} else {
		is_known = record_peek_time(&p->events.v[event].format, native(p, raw, event),
					    h->n_bytes, &time_ns);
	}
	if (!is_known && is_sample)
		return s->last_time_ns;
	if (time_ns)
		s->last_time_ns = time_ns;
	return time_ns;
}

static int queue(struct perfdata *p, struct perfdata_stream *s, const struct perfdata_input *from,
		 const uint8_t *raw, const struct perfdata_head *h)
{
	uint32_t event = perfdata_event_of(p, raw);
	if (event >= p->events.n) {
		p->info.counts.n_foreign_ids++;
		if (h->type == PERF_RECORD_SAMPLE)
			return PERFDATA_MORE;
		event = 0;
	}
	/* Without times of samples only the file's order is known. */
	uint64_t time_ns = p->has_time ? time_of(p, s, raw, h, event) : 0;
	/* Filled in place: passing an entry as an argument costs more than everything else here. */
	struct perfdata_entry *entry = perfdata_order_add(&p->order, time_ns);
	if (!entry)
		return perfdata_no_memory(p);
	entry->raw = raw;
	entry->chunk = from->chunk;
	entry->event = event;
	entry->stream = (uint32_t)(s - p->streams.v);
	perfdata_chunk_hold(from->chunk);
	if (p->order.n < PERFDATA_ORDER_MAX && (!from->chunk || held_bytes(p) < HELD_BYTES_MAX))
		return PERFDATA_MORE;
	p->info.counts.n_early++;
	return perfdata_order_half(&p->order) < 0 ? perfdata_no_memory(p) : PERFDATA_READY;
}

/* ---- taking records -------------------------------------------------------------------- */

/* Looks at the next record in `in`: 1 with *h set, and all of it available unless it is larger than
 * RECORD_BYTES_MAX; 0: there is no complete one; or -errno. */
static int look_at_record(struct perfdata *p, struct perfdata_stream *s, struct perfdata_input *in,
		struct perfdata_head *h)
{
	struct perf_event_header raw;
	int r = perfdata_input_need(in, sizeof(raw));
	if (r == 0)
		return 0;
	if (r < 0)
		return err_errno(&p->failure, -r, "cannot read '%s%s'", p->name, s->suffix);
	memcpy(&raw, in->p, sizeof(raw));
	h->type = perfdata_u32(p, raw.type);
	h->misc = perfdata_u16(p, raw.misc);
	h->n_bytes = perfdata_u16(p, raw.size);
	if (h->type >= PERFDATA_SIMPLEPERF && h->type < PERFDATA_SIMPLEPERF_END)
		h->n_bytes |= (uint32_t)h->misc << 16;
	if (h->n_bytes < sizeof(raw))
		return perfdata_broken(p, s, in->offset, "a record of %u bytes", h->n_bytes);
	if (h->n_bytes > RECORD_BYTES_MAX)
		return 1;
	r = perfdata_input_need(in, h->n_bytes);
	return r < 0 ? err_errno(&p->failure, -r, "cannot read '%s%s'", p->name, s->suffix) : r;
}

static int take_unpacked(struct perfdata *p, struct perfdata_stream *s);

static int take_record(struct perfdata *p, struct perfdata_stream *s, struct perfdata_input *in,
		       const struct perfdata_head *h)
{
	const uint8_t *raw = in->p;
	uint64_t offset = in->offset;
	struct bytes b = { 0 };
	if (h->n_bytes > RECORD_BYTES_MAX) {
		int r = perfdata_input_skip(in, h->n_bytes);
		if (r < 0)
			return err_errno(&p->failure, -r, "cannot read '%s'", p->name);
		if (r == 0)
			return perfdata_broken(p, s, offset, "it ends within a record");
	} else {
		perfdata_input_take(in, h->n_bytes);
		perfdata_input_touch(in, h->n_bytes);
		__builtin_prefetch(in->p + PREFETCH_BYTES);
		b = bytes_of(raw + sizeof(struct perf_event_header),
			     h->n_bytes - sizeof(struct perf_event_header));
	}
	if (h->type < PERFDATA_HEADER_ATTR)
		return queue(p, s, in, raw, h);
	/* Compressed records contain records of the kernel, and no compressed ones. */
	if (in == &s->unpacked && perfdata_begins_data(h->type)) {
		p->info.counts.n_skipped++;
		return PERFDATA_MORE;
	}
	int step = perfdata_user_record(p, s, offset, h, b);
	return step == PERFDATA_MORE && s->unpacked.p < s->unpacked.end ? take_unpacked(p, s)
									: step;
}

static int take_unpacked(struct perfdata *p, struct perfdata_stream *s)
{
	struct perfdata_head h;
	int step = PERFDATA_MORE;
	while (step == PERFDATA_MORE) {
		int r = look_at_record(p, s, &s->unpacked, &h);
		if (r <= 0)
			return r < 0 ? r : PERFDATA_MORE;
		step = take_record(p, s, &s->unpacked, &h);
	}
	return step;
}

/* The next record of one stream. */
static int take_next(struct perfdata *p, struct perfdata_stream *s)
{
	struct perfdata_head h;
	struct perfdata_input *in = &s->input;
	if (s->unpacked.p < s->unpacked.end) {
		/* what an early delivery left, and the beginning of a record */
		int step = take_unpacked(p, s);
		if (step != PERFDATA_MORE)
			return step;
	}
	int r = look_at_record(p, s, in, &h);
	if (r > 0)
		return take_record(p, s, in, &h);
	if (r < 0)
		return r;
	if (in->p < in->end)
		return perfdata_broken(p, s, in->offset, "it ends within a record");
	if (s->unpacked.p < s->unpacked.end)
		return perfdata_broken(p, s, in->offset, "a compressed record is incomplete");
	return PERFDATA_END;
}

/* Reads files in parallel: the same number of records at a time. */
#define BATCH 256

static struct perfdata_stream *oldest(struct perfdata *p)
{
	struct perfdata_stream *found = NULL;
	for (uint32_t i = 0; i < p->streams.n; i++) {
		struct perfdata_stream *s = &p->streams.v[i];
		if (!s->has_ended && (!found || s->last_time_ns < found->last_time_ns))
			found = s;
	}
	return found;
}

/* Each file is in order, so records older than the last one read of every file are complete. */
static int fill_side_by_side(struct perfdata *p)
{
	for (;;) {
		struct perfdata_stream *s = oldest(p);
		if (!s)
			return PERFDATA_END;
		int step = PERFDATA_MORE;
		for (unsigned i = 0; i < BATCH && step == PERFDATA_MORE; i++)
			step = take_next(p, s);
		/* Damage in one file is no reason to leave out the others. */
		s->has_ended = step < 0 || step == PERFDATA_END;
		if (step == PERFDATA_READY)
			return step;
		s = oldest(p);
		if (s && s->last_time_ns > p->order.round_ns) {
			if (perfdata_order_until(&p->order, s->last_time_ns) < 0)
				return perfdata_no_memory(p);
			return PERFDATA_READY;
		}
	}
}

/* Reads until records are ready, or until the end. */
static int fill(struct perfdata *p)
{
	int step = PERFDATA_MORE;
	if (p->streams.n > 1)
		return fill_side_by_side(p);
	while (step == PERFDATA_MORE)
		step = take_next(p, &p->streams.v[0]);
	return step;
}

/* ---- the source ------------------------------------------------------------------------- */

/* With perf record --buildid-mmap there is no table of build ids: records have them.  Those of
 * mappings that are not files are kept here. */
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

/* perf omits the period if it never changes. */
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
 * counted since the last one.  True: the next of them is in *r.
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

/* False: the record is of no use to others. */
static bool deliver(struct perfdata *p, const struct perfdata_entry *entry, struct record *r)
{
	const struct perfdata_event *ev = &p->events.v[entry->event];
	const struct perf_event_header *h = native(p, entry->raw, entry->event);
	if (!entry->chunk)
		perfdata_input_touch(&p->streams.v[entry->stream].input, h->size);
	switch (record_decode(&ev->format, h, h->size, r)) {
	case RECORD_UNKNOWN:
		if (strcmp(record_type_name(h->type), "?") == 0)
			p->info.counts.n_unknown++;
		else
			p->info.counts.n_skipped++;
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

/* Releases pages of the files without queued records. */
static void release_pages(struct perfdata *p)
{
	for (uint32_t k = 0; k < p->streams.n; k++) {
		struct perfdata_input *in = &p->streams.v[k].input;
		const uint8_t *first = in->p;
		if (!perfdata_input_may_release(in))
			continue;
		for (size_t i = p->order.at; i < p->order.n; i++)
			if (p->order.v[i].stream == k && !p->order.v[i].chunk &&
			    p->order.v[i].raw < first)
				first = p->order.v[i].raw;
		perfdata_input_release(in, first);
	}
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
		if (step < 0 || step == PERFDATA_END) {
			p->is_complete = true;
			if (perfdata_order_end(&p->order) < 0)
				perfdata_no_memory(p);
		}
	}
	if (perfdata_is_truncated(p))
		err_set(&p->failure, ESTALE, "'%s' was truncated while it was read", p->name);
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
	perfdata_close_files(p);
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
	perfdata_tracing_done(p);
	free(p->scratch);
	free(p->name);
	free(p->perf_version);
	free(p->command_line);
	free(p);
}

static const struct source_ops perfdata_ops = { .next = perfdata_next, .close = perfdata_close };

/* Reads a stream's attrs, names and features, up to the first record of data. */
static int read_stream_start(struct perfdata *p, struct err *e)
{
	struct perfdata_stream *s = &p->streams.v[0];
	struct perfdata_head h;
	int r;
	while ((r = look_at_record(p, s, &s->input, &h)) > 0 && !perfdata_begins_data(h.type)) {
		r = take_record(p, s, &s->input, &h);
		if (r < 0)
			break;
	}
	if (r < 0 && !p->events.n) {
		*e = p->failure;
		return r;
	}
	if (!p->events.n)
		return err_set(e, EINVAL, "'%s' has no event that can be read", p->name);
	if (r < 0)
		p->is_complete = true;
	perfdata_events_ready(p);
	p->has_begun = true;
	return 0;
}

int perfdata_open(int fd, const char *name, struct mapguard_table *maps,
		  struct source **ret_source, struct err *e)
{
	struct perfdata *p = calloc(1, sizeof(*p));
	if (!p)
		return err_errno(e, ENOMEM, "cannot read '%s'", name);
	p->source.ops = &perfdata_ops;
	p->maps = maps;
	p->name = strdup(name);
	p->scratch = calloc(RECORD_BYTES_MAX / 8 + 1, 8);
	int r = p->name && p->scratch ? perfdata_open_files(p, fd, e)
				      : err_errno(e, ENOMEM, "cannot read");
	if (r < 0) {
		err_prefix(e, "'%s'", name);
		goto out;
	}
	r = perfdata_read_header(p, e);
	if (r < 0)
		goto out;
	r = p->info.is_pipe ? read_stream_start(p, e) : 0;
	if (r < 0)
		goto out;
	*ret_source = &p->source;
	return 0;
out:
	perfdata_close(&p->source);
	return r;
}

/* ---- results ------------------------------------------------------------------------------ */

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
