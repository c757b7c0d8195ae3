/*
 * perf's own records (type 64 and above), and simpleperf's (32768 and above).  They take effect
 * when they are read, and are not queued.
 */

#include "source/perfdata/perfdata-private.h"
#include "source/perfdata/perfdata-tracing.h"

#include <errno.h>
#include <string.h>

/* perf describes the recorded events only: all that a kernel has take some megabytes. */
#define TRACING_BYTES_MAX (16u << 20)

static int add_attr(struct perfdata *p, struct bytes b)
{
	uint32_t size;
	if (p->has_begun || bytes_left(&b) < PERF_ATTR_SIZE_VER0) {
		p->info.counts.n_skipped++;
		return 0;
	}
	memcpy(&size, b.p + 4, sizeof(size));
	size = perfdata_u32(p, size);
	const void *attr = bytes_take(&b, size ? size : PERF_ATTR_SIZE_VER0);
	if (!attr)
		return -EINVAL;
	int r = perfdata_add_event(p, attr, size ? size : PERF_ATTR_SIZE_VER0);
	if (r < 0)
		return r;
	while (bytes_left(&b) >= 8) {
		r = perfdata_add_id(p, perfdata_u64(p, bytes_u64(&b)), (uint32_t)p->events.n - 1);
		if (r < 0)
			return r;
	}
	return 0;
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

/* simpleperf: more ids, and the attr that they belong to. */
static int add_event_ids(struct perfdata *p, struct bytes b)
{
	uint64_t n = perfdata_u64(p, bytes_u64(&b));
	for (uint64_t i = 0; i < n && !b.bad; i++) {
		uint64_t event = perfdata_u64(p, bytes_u64(&b));
		uint64_t id = perfdata_u64(p, bytes_u64(&b));
		if (b.bad || event >= p->events.n)
			return -EINVAL;
		int r = perfdata_find_id(p, id) ? 0 : perfdata_add_id(p, id, (uint32_t)event);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Data after a record that is not a record itself. */
static int skip_behind(struct perfdata *p, struct perfdata_stream *s, uint64_t n_bytes)
{
	struct perfdata_input *in = &s->input;
	uint64_t at = in->offset;
	int r = perfdata_input_skip(in, n_bytes);
	if (r < 0)
		return err_errno(&p->failure, -r, "cannot read '%s'", p->name);
	return r ? 0 : perfdata_broken(p, s, at, "it ends within %llu bytes of other data",
					  (unsigned long long)n_bytes);
}

/* The descriptions of tracepoints follow their record in a stream. */
static int read_tracing(struct perfdata *p, struct perfdata_stream *s, uint32_t n_bytes)
{
	int r = n_bytes <= TRACING_BYTES_MAX ? perfdata_input_need(&s->input, n_bytes) : 0;
	if (r > 0 && !perfdata_tracing(p, bytes_of(s->input.p, n_bytes)))
		p->info.counts.n_bad_features++;
	return skip_behind(p, s, n_bytes);
}

bool perfdata_begins_data(uint32_t type)
{
	return type < PERFDATA_HEADER_ATTR || type == PERFDATA_FINISHED_ROUND ||
	       type == PERFDATA_COMPRESSED || type == PERFDATA_COMPRESSED2;
}

static bool is_known(uint32_t type)
{
	return type < PERFDATA_USER_END ||
	       (type >= PERFDATA_SIMPLEPERF && type < PERFDATA_SIMPLEPERF + 64);
}

int perfdata_user_record(struct perfdata *p, struct perfdata_stream *s, uint64_t offset,
			 const struct perfdata_head *h, struct bytes b)
{
	struct perfdata_counts *n = &p->info.counts;
	uint64_t feature, size;
	int r = 0;
	switch (h->type) {
	case PERFDATA_HEADER_ATTR:
		r = add_attr(p, b);
		break;
	case PERFDATA_EVENT_UPDATE:
		r = update_event(p, b);
		break;
	case PERFDATA_FEATURE:
		feature = perfdata_u64(p, bytes_u64(&b));
		n->n_unknown_features += !perfdata_knows_feature(feature);
		if (feature < 256 && !perfdata_feature(p, (unsigned)feature, b))
			n->n_bad_features++;
		break;
	case PERFDATA_BUILD_ID:
		r = perfdata_add_build_id(p, h->misc, b) ? 0 : -EINVAL;
		break;
	case PERFDATA_TRACING_DATA:
		r = read_tracing(p, s, perfdata_u32(p, bytes_u32(&b)));
		return r < 0 ? r : PERFDATA_MORE;
	case PERFDATA_AUXTRACE:
		size = perfdata_u64(p, bytes_u64(&b));
		n->n_aux_bytes += size;
		r = skip_behind(p, s, size);
		return r < 0 ? r : PERFDATA_MORE;
	case PERFDATA_COMPRESSED:
		r = perfdata_unpack(p, s, b.p, bytes_left(&b));
		return r < 0 ? r : PERFDATA_MORE;
	case PERFDATA_COMPRESSED2:
		size = perfdata_u64(p, bytes_u64(&b));
		if (size > bytes_left(&b))
			return perfdata_broken(p, s, offset,
					       "a compressed record has a wrong size");
		r = perfdata_unpack(p, s, b.p, size);
		return r < 0 ? r : PERFDATA_MORE;
	case PERFDATA_FINISHED_ROUND:
		/* Files that are read in parallel have no common rounds. */
		if (p->streams.n > 1)
			return PERFDATA_MORE;
		return perfdata_order_round(&p->order) < 0 ? perfdata_no_memory(p)
							   : PERFDATA_READY;
	case PERFDATA_SIMPLEPERF_EVENT_ID:
		r = add_event_ids(p, b);
		break;
	default:
		if (is_known(h->type))
			n->n_skipped++;
		else
			n->n_unknown++;
		break;
	}
	if (r == -EINVAL) {
		p->source.losses.n_undecodable++;
		r = 0;
	}
	return r < 0 ? perfdata_no_memory(p) : PERFDATA_MORE;
}
