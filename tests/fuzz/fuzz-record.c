/*
 * The first bytes select the format, the rest is a record.  Also checks that everything the decoded
 * record points to is inside the raw bytes, that strings end there, and that peeking and decoding
 * give the same time.
 */

#include "source/record.h"

#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

struct choice {
	uint64_t sample_type, branch_sample_type, regs_user, regs_intr;
	uint8_t read_format, sample_id_all;
	uint16_t keep_size;   /* even: the header's size is corrected */
	uint32_t type;        /* of the record, modulo 24; 255: unchanged */
};

static void check(bool ok)
{
	if (!ok)
		abort();
}

static const uint8_t *low, *high;

static void check_lent(const void *p, uint64_t n_items, uint64_t item_bytes)
{
	const uint8_t *at = p;
	if (!p || !n_items)
		return;
	check(at >= low && at <= high && n_items <= (uint64_t)(high - at) / item_bytes);
}

static void check_text(const char *s)
{
	const uint8_t *at = (const uint8_t *)s;
	check(at >= low && at < high && memchr(s, '\0', (size_t)(high - at)));
}

static void check_record(const struct record_format *f, const struct record *r)
{
	const struct record_sample *s = &r->sample;
	switch (r->type) {
	case PERF_RECORD_SAMPLE:
		check_lent(s->callchain, s->n_callchain, 8);
		check(s->callchain || !s->n_callchain);
		check_lent(s->raw, s->n_raw_bytes, 1);
		check_lent(s->branches, s->n_branches, 24);
		check_lent(s->user_stack, s->n_user_stack_bytes, 1);
		check(s->n_user_stack_bytes <= s->user_stack_size);
		check(s->user_stack || !s->n_user_stack_bytes);
		check(!s->user_regs == !s->user_abi);
		if (s->user_regs)
			check_lent(s->user_regs,
				   (uint64_t)__builtin_popcountll(f->sample_regs_user), 8);
		break;
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
		check_text(r->mmap.filename);
		check(r->mmap.n_build_id <= sizeof(r->mmap.build_id));
		break;
	case PERF_RECORD_COMM:
		check_text(r->comm.comm);
		break;
	case PERF_RECORD_KSYMBOL:
		check_text(r->ksymbol.name);
		break;
	case PERF_RECORD_CGROUP:
		check_text(r->cgroup.path);
		break;
	default:
		break;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct choice c;
	if (size < sizeof(c) + sizeof(struct perf_event_header))
		return 0;
	memcpy(&c, data, sizeof(c));
	size_t n = size - sizeof(c);
	if (n > RECORD_BYTES_MAX)
		n = RECORD_BYTES_MAX;
	uint8_t *raw = malloc(n);
	if (!raw)
		return 0;
	memcpy(raw, data + sizeof(c), n);
	struct perf_event_header *h = (struct perf_event_header *)raw;
	if (c.keep_size % 2 == 0)
		h->size = (uint16_t)(n & ~(size_t)7);
	if (c.type != 255)
		h->type = c.type % 24;
	struct record_format f = {
		.sample_type = c.sample_type, .branch_sample_type = c.branch_sample_type,
		.sample_regs_user = c.regs_user, .sample_regs_intr = c.regs_intr,
		.read_format = c.read_format, .sample_id_all = c.sample_id_all & 1,
	};
	low = raw;
	high = raw + n;
	struct record r;
	uint64_t time_ns = 0;
	bool timed = record_peek_time(&f, raw, n, &time_ns);
	if (record_decode(&f, raw, n, &r) == RECORD_OK) {
		check_record(&f, &r);
		check(timed == r.has_time && time_ns == r.time_ns);
	}
	free(raw);
	return 0;
}
