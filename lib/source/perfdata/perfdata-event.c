/*
 * Assigns records to events.  perf gives each event one id per CPU or thread.  If a file has
 * several events, all of them have the id at the same place, so that it can be found before the
 * format is known.
 */

#include "source/perfdata/perfdata-private.h"

#include "event/evattr.h"
#include "source/record.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* More than any tool opens; a larger count is damage. */
#define EVENTS_MAX 65536u

/* Does the attr have bits and fields of a later kernel?  They do not move the known fields and are
 * not needed for them, but samples may carry more than is shown. */
static bool has_newer_fields(const void *raw, size_t n_bytes, const struct perf_event_attr *a)
{
	const char *more = (const char *)raw + sizeof(*a);
	bool newer = a->sample_type >= PERF_SAMPLE_WEIGHT_STRUCT << 1 || a->__reserved_1;
	for (size_t i = 0; !newer && i + sizeof(*a) < n_bytes; i++)
		newer = more[i] != 0;
	return newer;
}

int perfdata_add_event(struct perfdata *p, const void *attr, size_t n_bytes)
{
	struct perfdata_event ev = { .name = NULL };
	if (n_bytes < PERF_ATTR_SIZE_VER0 || p->events.n >= EVENTS_MAX)
		return -EINVAL;
	memcpy(&ev.attr, attr, n_bytes < sizeof(ev.attr) ? n_bytes : sizeof(ev.attr));
	if (p->info.is_swapped)
		perfdata_swap_attr(&ev.attr);
	/* Bytes after the attr's own size do not belong to it. */
	size_t size = ev.attr.size ? ev.attr.size : PERF_ATTR_SIZE_VER0;
	if (size < PERF_ATTR_SIZE_VER0 || size > n_bytes)
		return -EINVAL;
	if (has_newer_fields(attr, size, &ev.attr))
		p->info.counts.n_newer_attrs++;
	if (size < sizeof(ev.attr))
		memset((char *)&ev.attr + size, 0, sizeof(ev.attr) - size);
	evattr_format(&ev.attr, &ev.format);
	return VEC_PUSH(&p->events, ev) ? 0 : -ENOMEM;
}

int perfdata_add_id(struct perfdata *p, uint64_t id, uint32_t event)
{
	struct perfdata_id entry = { .id = id, .event = event };
	p->ids_sorted = false;
	return VEC_PUSH(&p->ids, entry) ? 0 : -ENOMEM;
}

static int compare_ids(const void *a, const void *b)
{
	const struct perfdata_id *x = a, *y = b;
	return x->id < y->id ? -1 : x->id > y->id;
}

static unsigned words(uint64_t sample_type, uint64_t bits)
{
	return (unsigned)__builtin_popcountll(sample_type & bits);
}

/* The word of a sample with the id, counted from the header; 0: none. */
static unsigned id_word(uint64_t type)
{
	if (type & PERF_SAMPLE_IDENTIFIER)
		return 1;
	if (!(type & PERF_SAMPLE_ID))
		return 0;
	return 1 + words(type, PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
			 PERF_SAMPLE_ADDR);
}

/* The same for other records, counted from the end. */
static unsigned id_word_back(uint64_t type)
{
	if (type & PERF_SAMPLE_IDENTIFIER)
		return 1;
	if (!(type & PERF_SAMPLE_ID))
		return 0;
	return 1 + words(type, PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU);
}

static unsigned time_word(uint64_t type)
{
	if (!(type & PERF_SAMPLE_TIME))
		return 0;
	return 1 + words(type, PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID);
}

void perfdata_events_ready(struct perfdata *p)
{
	if (p->ids.n)
		qsort(p->ids.v, p->ids.n, sizeof(*p->ids.v), compare_ids);
	p->ids_sorted = true;
	for (size_t i = 0; i < p->events.n; i++) {
		const struct record_format *f = &p->events.v[i].format;
		unsigned word = id_word(f->sample_type);
		unsigned back = f->sample_id_all ? id_word_back(f->sample_type) : 0;
		p->id_word = i == 0 || p->id_word == word ? word : 0;
		p->id_word_back = i == 0 || p->id_word_back == back ? back : 0;
		unsigned time = time_word(f->sample_type);
		p->time_word = i == 0 || p->time_word == time ? time : 0;
		p->has_time |= f->sample_type & PERF_SAMPLE_TIME;
	}
}

struct perfdata_id *perfdata_find_id(struct perfdata *p, uint64_t id)
{
	if (!p->ids_sorted)
		perfdata_events_ready(p);
	struct perfdata_id key = { .id = id };
	return p->ids.n ? bsearch(&key, p->ids.v, p->ids.n, sizeof(key), compare_ids) : NULL;
}

uint32_t perfdata_event_of_id(struct perfdata *p, uint64_t id)
{
	if (id == p->last_id && p->ids_sorted)
		return p->last_id_event;
	const struct perfdata_id *found = perfdata_find_id(p, id);
	if (!found)
		return RECORD_NO_EVENT;
	p->last_id = id;
	p->last_id_event = found->event;
	return found->event;
}

uint32_t perfdata_event_of(struct perfdata *p, const void *raw)
{
	struct perf_event_header h;
	if (p->events.n == 1)
		return 0;
	memcpy(&h, raw, sizeof(h));
	bool is_sample = perfdata_u32(p, h.type) == PERF_RECORD_SAMPLE;
	size_t n_words = perfdata_u16(p, h.size) / 8u;
	size_t at = p->id_word;
	if (!is_sample)
		at = p->id_word_back && p->id_word_back < n_words ? n_words - p->id_word_back : 0;
	if (at == 0 || at >= n_words)
		return is_sample ? RECORD_NO_EVENT : 0;
	uint64_t id;
	memcpy(&id, (const char *)raw + at * 8, sizeof(id));
	id = perfdata_u64(p, id);
	/* perf's own records from before the events were enabled have none. */
	return id || is_sample ? perfdata_event_of_id(p, id) : 0;
}
