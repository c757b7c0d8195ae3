/*
 * Files of a machine with the other byte order.  A record is an array of 64-bit words, some of
 * which hold two 32-bit numbers, and some bytes without order (names, stacks, raw data).  So this
 * walks the layout like record.c, but asks what kind each word is instead of what it means;
 * record.c then checks the result.
 */

#include "source/perfdata/perfdata-private.h"

#include "source/record.h"

#include <string.h>

struct walk {
	uint64_t *p, *end;
};

static uint64_t word(struct walk *w)
{
	if (w->p == w->end)
		return 0;
	*w->p = __builtin_bswap64(*w->p);
	return *w->p++;
}

static void words(struct walk *w, uint64_t n)
{
	while (n-- && w->p < w->end)
		word(w);
}

static void halves(struct walk *w)
{
	uint32_t half[2];
	if (w->p == w->end)
		return;
	memcpy(half, w->p, sizeof(half));
	half[0] = __builtin_bswap32(half[0]);
	half[1] = __builtin_bswap32(half[1]);
	memcpy(w->p++, half, sizeof(half));
}

static void skip(struct walk *w, uint64_t n)
{
	uint64_t left = (uint64_t)(w->end - w->p);
	w->p += n < left ? n : left;
}

void perfdata_swap_attr(struct perf_event_attr *attr)
{
	uint64_t *quad[] = {
		(uint64_t *)&attr->config, (uint64_t *)&attr->sample_period,
		(uint64_t *)&attr->sample_type, (uint64_t *)&attr->read_format,
		(uint64_t *)&attr->config1, (uint64_t *)&attr->config2,
		(uint64_t *)&attr->branch_sample_type, (uint64_t *)&attr->sample_regs_user,
		(uint64_t *)&attr->sample_regs_intr,
	};
	for (size_t i = 0; i < sizeof(quad) / sizeof(*quad); i++)
		*quad[i] = __builtin_bswap64(*quad[i]);
	attr->type = __builtin_bswap32(attr->type);
	attr->size = __builtin_bswap32(attr->size);
	attr->wakeup_events = __builtin_bswap32(attr->wakeup_events);
	attr->bp_type = __builtin_bswap32(attr->bp_type);
	attr->sample_stack_user = __builtin_bswap32(attr->sample_stack_user);
	attr->clockid = (int32_t)__builtin_bswap32((uint32_t)attr->clockid);
	attr->aux_watermark = __builtin_bswap32(attr->aux_watermark);
	attr->sample_max_stack = __builtin_bswap16(attr->sample_max_stack);
	/* Compilers there count bit fields from the other end of each byte. */
	uint8_t *flags = (uint8_t *)(&attr->read_format + 1);
	for (size_t i = 0; i < 8; i++) {
		uint8_t x = flags[i], r = 0;
		for (unsigned k = 0; k < 8; k++)
			r |= (uint8_t)((x >> k & 1) << (7 - k));
		flags[i] = r;
	}
}

static void read_values(const struct record_format *f, struct walk *w)
{
	unsigned extra = !!(f->read_format & PERF_FORMAT_ID) + !!(f->read_format & (1u << 4));
	unsigned times = !!(f->read_format & PERF_FORMAT_TOTAL_TIME_ENABLED) +
			 !!(f->read_format & PERF_FORMAT_TOTAL_TIME_RUNNING);
	if (f->read_format & PERF_FORMAT_GROUP) {
		uint64_t n = word(w);
		words(w, times);
		words(w, n > RECORD_BYTES_MAX ? RECORD_BYTES_MAX : n * (1 + extra));
		return;
	}
	words(w, 1 + times + extra);
}

/* A 32-bit size, and bytes that together with it fill whole words. */
static void raw_data(struct walk *w)
{
	uint32_t n_bytes;
	if (w->p == w->end)
		return;
	memcpy(&n_bytes, w->p, sizeof(n_bytes));
	n_bytes = __builtin_bswap32(n_bytes);
	memcpy(w->p, &n_bytes, sizeof(n_bytes));
	skip(w, (n_bytes + UINT64_C(4)) / 8);
}

static void sample(const struct record_format *f, struct walk *w)
{
	const uint64_t type = f->sample_type;
	words(w, !!(type & PERF_SAMPLE_IDENTIFIER) + !!(type & PERF_SAMPLE_IP));
	if (type & PERF_SAMPLE_TID)
		halves(w);
	words(w, !!(type & PERF_SAMPLE_TIME) + !!(type & PERF_SAMPLE_ADDR) +
		 !!(type & PERF_SAMPLE_ID) + !!(type & PERF_SAMPLE_STREAM_ID));
	if (type & PERF_SAMPLE_CPU)
		halves(w);
	words(w, !!(type & PERF_SAMPLE_PERIOD));
	if (type & PERF_SAMPLE_READ)
		read_values(f, w);
	if (type & PERF_SAMPLE_CALLCHAIN)
		words(w, word(w));
	if (type & PERF_SAMPLE_RAW)
		raw_data(w);
	if (type & PERF_SAMPLE_BRANCH_STACK) {
		uint64_t n = word(w);
		words(w, !!(f->branch_sample_type & PERF_SAMPLE_BRANCH_HW_INDEX));
		words(w, n > RECORD_BYTES_MAX ? RECORD_BYTES_MAX : n * 3);
		if (f->branch_sample_type & (UINT64_C(1) << 19))  /* _BRANCH_COUNTERS */
			words(w, n);
	}
	if (type & PERF_SAMPLE_REGS_USER && word(w))
		words(w, (unsigned)__builtin_popcountll(f->sample_regs_user));
	if (type & PERF_SAMPLE_STACK_USER) {
		uint64_t n_bytes = word(w);
		skip(w, n_bytes / 8);
		words(w, n_bytes != 0);
	}
	/* Only words follow; of AUX data only the size matters. */
	words(w, RECORD_BYTES_MAX);
}

static unsigned trailer_words(const struct record_format *f)
{
	return f->sample_id_all
		? (unsigned)__builtin_popcountll(
			  f->sample_type & (PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID |
					    PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU |
					    PERF_SAMPLE_IDENTIFIER))
		: 0;
}

static void trailer(const struct record_format *f, struct walk *w)
{
	const uint64_t type = f->sample_type;
	if (type & PERF_SAMPLE_TID)
		halves(w);
	words(w, !!(type & PERF_SAMPLE_TIME) + !!(type & PERF_SAMPLE_ID) +
		 !!(type & PERF_SAMPLE_STREAM_ID));
	if (type & PERF_SAMPLE_CPU)
		halves(w);
	words(w, !!(type & PERF_SAMPLE_IDENTIFIER));
}

static void ksymbol(struct walk *w)
{
	word(w);
	if (w->p == w->end)
		return;
	uint32_t n_bytes;
	uint16_t small[2];
	memcpy(&n_bytes, w->p, 4);
	memcpy(small, (char *)w->p + 4, 4);
	n_bytes = __builtin_bswap32(n_bytes);
	small[0] = __builtin_bswap16(small[0]);
	small[1] = __builtin_bswap16(small[1]);
	memcpy(w->p, &n_bytes, 4);
	memcpy((char *)w->p + 4, small, 4);
}

static void body(const struct record_format *f, const struct perf_event_header *h, struct walk *w)
{
	switch (h->type) {
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
		halves(w);
		words(w, 3);
		if (h->type == PERF_RECORD_MMAP)
			break;
		if (h->misc & (1u << 14)) {  /* PERF_RECORD_MISC_MMAP_BUILD_ID: bytes */
			skip(w, 3);
		} else {
			halves(w);
			words(w, 2);
		}
		halves(w);
		break;
	case PERF_RECORD_COMM:
	case PERF_RECORD_SWITCH_CPU_WIDE:
	case PERF_RECORD_ITRACE_START:
		halves(w);
		break;
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
		halves(w);
		halves(w);
		word(w);
		break;
	case PERF_RECORD_READ:
		halves(w);
		read_values(f, w);
		break;
	case PERF_RECORD_LOST:
	case PERF_RECORD_LOST_SAMPLES:
	case PERF_RECORD_THROTTLE:
	case PERF_RECORD_UNTHROTTLE:
	case PERF_RECORD_AUX:
		words(w, 3);
		break;
	case PERF_RECORD_CGROUP:
		word(w);
		break;
	case PERF_RECORD_KSYMBOL:
		ksymbol(w);
		break;
	default:
		break;
	}
}

void perfdata_swap_record(const struct record_format *f, void *raw, size_t n_bytes)
{
	const struct perf_event_header *h = raw;
	struct walk w = { .p = (uint64_t *)raw + 1, .end = (uint64_t *)raw + n_bytes / 8 };
	if (h->type == PERF_RECORD_SAMPLE) {
		sample(f, &w);
		return;
	}
	unsigned n = trailer_words(f);
	if (n <= (size_t)(w.end - w.p)) {
		struct walk t = { .p = w.end - n, .end = w.end };
		trailer(f, &t);
		w.end -= n;
	}
	body(f, h, &w);
}
