#include "tests/tools/replay.h"

#include "base/err.h"
#include "source/record.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

/*
 * The stream is untrusted: the header is checked completely when it is opened, and records by
 * record_decode.  Events are found by id in a sorted copy of (id, index).
 */

struct id_event {
	uint64_t id;
	uint32_t event;
};

struct replay {
	struct source source;
	struct record_format format;
	const struct replay_event *events;
	uint32_t n_events;
	struct id_event *by_id;
	const uint8_t *start, *p, *end;
	uint64_t youngest_ns;
};

static int compare_ids(const void *a, const void *b)
{
	const struct id_event *x = a, *y = b;
	return x->id < y->id ? -1 : x->id > y->id;
}

static uint32_t event_of(const struct replay *r, uint64_t id)
{
	const struct id_event key = { .id = id };
	const struct id_event *found =
		bsearch(&key, r->by_id, r->n_events, sizeof(key), compare_ids);
	return found ? found->event : RECORD_NO_EVENT;
}

static int cut_short(const struct replay *r, const char *what, struct err *e)
{
	return err_set(e, EINVAL, "cannot read the saved stream: %s at byte %zu", what,
		       (size_t)(r->p - r->start));
}

static void note_time(struct replay *r, const struct record *record)
{
	if (!record->has_time)
		return;
	if (record->time_ns < r->youngest_ns)
		r->source.losses.n_out_of_order++;
	else
		r->youngest_ns = record->time_ns;
}

static int replay_next(struct source *s, struct record *ret_record, struct err *e)
{
	struct replay *r = (struct replay *)s;
	while (r->p < r->end) {
		size_t n_left = (size_t)(r->end - r->p);
		const struct perf_event_header *h = (const struct perf_event_header *)r->p;
		if (n_left < sizeof(*h))
			return cut_short(r, "it ends within a record", e);
		if (h->size < RECORD_BYTES_MIN)
			return cut_short(r, "a record is smaller than its header", e);
		size_t n_padded = (h->size + 7u) & ~7u;
		if (n_padded > n_left)
			return cut_short(r, "it ends within a record", e);
		r->p += n_padded;
		switch (record_decode(&r->format, h, h->size, ret_record)) {
		case RECORD_OK:
			ret_record->event = event_of(r, ret_record->id);
			note_time(r, ret_record);
			return SOURCE_RECORD;
		case RECORD_UNKNOWN:
			s->losses.n_unknown++;
			break;
		case RECORD_BAD:
			s->losses.n_undecodable++;
			break;
		}
	}
	return SOURCE_END;
}

static void replay_close(struct source *s)
{
	struct replay *r = (struct replay *)s;
	free(r->by_id);
	free(r);
}

static const struct source_ops replay_ops = { .next = replay_next, .close = replay_close };

static bool is_terminated(const char *text, size_t n_bytes)
{
	return memchr(text, '\0', n_bytes);
}

static int check_header(const struct replay_header *h, size_t n_bytes, struct err *e)
{
	if (n_bytes < sizeof(*h) || memcmp(h->magic, REPLAY_MAGIC, sizeof(h->magic)) != 0)
		return err_set(e, EINVAL, "not a saved stream of records");
	if (h->version == __builtin_bswap32(REPLAY_VERSION))
		return err_set(e, EINVAL,
			       "the saved stream is of a machine with the other byte order");
	if (h->version != REPLAY_VERSION)
		return err_set(e, EINVAL, "the saved stream has version %u, not %u", h->version,
			       REPLAY_VERSION);
	if (h->n_events > REPLAY_EVENTS_MAX ||
	    h->n_events > (n_bytes - sizeof(*h)) / sizeof(struct replay_event))
		return err_set(e, EINVAL,
			       "the saved stream claims %u events, more than it can hold",
			       h->n_events);
	if (h->sample_id_all > 1)
		return err_set(e, EINVAL, "the saved stream's sample_id_all is %u, not 0 or 1",
			       h->sample_id_all);
	if (!is_terminated(h->kernel_release, sizeof(h->kernel_release)) ||
	    !is_terminated(h->arch, sizeof(h->arch)) ||
	    !is_terminated(h->hostname, sizeof(h->hostname)))
		return err_set(e, EINVAL, "a name in the saved stream's header has no end");
	return 0;
}

static int check_events(const struct replay_event *events, uint32_t n_events, struct err *e)
{
	for (uint32_t i = 0; i < n_events; i++) {
		const struct replay_event *v = &events[i];
		if (!is_terminated(v->name, sizeof(v->name)))
			return err_set(e, EINVAL,
				       "the saved stream's event %u has a name without end", i);
		if (v->event >= n_events)
			return err_set(e, EINVAL,
				       "the saved stream's event %u has index %u of %u", i,
				       v->event, n_events);
		if (v->is_clock > 1)
			return err_set(e, EINVAL,
				       "the saved stream's event %u has is_clock %u", i,
				       v->is_clock);
	}
	return 0;
}

static int index_ids(struct replay *r, struct err *e)
{
	r->by_id = calloc(r->n_events ? r->n_events : 1, sizeof(*r->by_id));
	if (!r->by_id)
		return err_errno(e, ENOMEM, "cannot open the saved stream");
	for (uint32_t i = 0; i < r->n_events; i++)
		r->by_id[i] = (struct id_event){ r->events[i].id, r->events[i].event };
	qsort(r->by_id, r->n_events, sizeof(*r->by_id), compare_ids);
	for (uint32_t i = 1; i < r->n_events; i++)
		if (r->by_id[i].id == r->by_id[i - 1].id)
			return err_set(e, EINVAL, "two events of the saved stream have id %llu",
				       (unsigned long long)r->by_id[i].id);
	return 0;
}

int replay_open_memory(const void *data, size_t n_bytes, struct source **ret_source, struct err *e)
{
	if ((uintptr_t)data % 8)
		return err_set(e, EINVAL, "the saved stream is not aligned to 8 bytes");
	const struct replay_header *h = data;
	int code = check_header(h, n_bytes, e);
	if (code < 0)
		return code;
	const struct replay_event *events = (const struct replay_event *)(h + 1);
	code = check_events(events, h->n_events, e);
	if (code < 0)
		return code;
	struct replay *r = calloc(1, sizeof(*r));
	if (!r)
		return err_errno(e, ENOMEM, "cannot open the saved stream");
	r->source.ops = &replay_ops;
	struct source_facts *facts = &r->source.facts;
	memcpy(facts->kernel_release, h->kernel_release, sizeof(h->kernel_release));
	memcpy(facts->arch, h->arch, sizeof(h->arch));
	memcpy(facts->hostname, h->hostname, sizeof(h->hostname));
	facts->n_cpus = h->n_cpus;
	r->format = (struct record_format){
		.sample_type = h->sample_type, .read_format = h->read_format,
		.branch_sample_type = h->branch_sample_type,
		.sample_regs_user = h->regs_user, .sample_regs_intr = h->regs_intr,
		.sample_id_all = h->sample_id_all,
	};
	r->events = events;
	r->n_events = h->n_events;
	r->start = data;
	r->p = (const uint8_t *)(events + h->n_events);
	r->end = r->start + n_bytes;
	code = index_ids(r, e);
	if (code < 0) {
		replay_close(&r->source);
		return code;
	}
	*ret_source = &r->source;
	return 0;
}

const struct replay_event *replay_events(const struct source *s, uint32_t *ret_n)
{
	const struct replay *r = (const struct replay *)s;
	*ret_n = r->n_events;
	return r->events;
}

static void copy_name(char to[64], const char *from)
{
	memcpy(to, from, strnlen(from, 63)); /* the rest stays zero */
}

int replay_write_header(FILE *f, const struct record_format *format,
			const struct source_facts *facts, const struct replay_event *events,
			uint32_t n_events, struct err *e)
{
	struct replay_header h = {
		.version = REPLAY_VERSION, .n_events = n_events,
		.sample_type = format->sample_type, .read_format = format->read_format,
		.branch_sample_type = format->branch_sample_type,
		.regs_user = format->sample_regs_user, .regs_intr = format->sample_regs_intr,
		.sample_id_all = format->sample_id_all, .n_cpus = facts->n_cpus,
	};
	memcpy(h.magic, REPLAY_MAGIC, sizeof(h.magic));
	copy_name(h.kernel_release, facts->kernel_release);
	copy_name(h.arch, facts->arch);
	copy_name(h.hostname, facts->hostname);
	errno = 0;
	if (fwrite(&h, sizeof(h), 1, f) != 1 ||
	    fwrite(events, sizeof(*events), n_events, f) != n_events)
		return err_errno(e, errno ? errno : EIO, "cannot write the saved stream");
	return 0;
}
