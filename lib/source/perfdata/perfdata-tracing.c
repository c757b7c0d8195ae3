/*
 * The descriptions of tracepoints: trace-cmd's format, as perf writes it
 * (tools/perf/util/trace-event-info.c, tracing_data_get).  Before the tracepoints are those of
 * ftrace itself; after them come the kernel's symbols and formats of printk, which nothing here
 * needs.
 */

#include "source/perfdata/perfdata-private.h"
#include "source/perfdata/perfdata-tracing.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MAGIC "\x17\x08\x44" "tracing"

/* A description has some hundred bytes to a few thousand, and a system some tens. */
#define TEXT_BYTES_MAX 65536u
#define TEXTS_MAX 256u

static void skip_sized(const struct perfdata *p, struct bytes *b)
{
	bytes_take(b, perfdata_u64(p, bytes_u64(b)));
}

static bool add_tracepoint(struct perfdata *p, const char *data, size_t n_bytes)
{
	struct perfdata_tracepoint t = { .text = strndup(data, n_bytes) };
	const char *id = t.text ? strstr(t.text, "\nID: ") : NULL;
	t.id = id ? strtoull(id + 5, NULL, 10) : 0;
	if (t.text && VEC_PUSH(&p->tracepoints, t))
		return true;
	free(t.text);
	return false;
}

static bool read_systems(struct perfdata *p, struct bytes *b)
{
	uint32_t n_systems = perfdata_u32(p, bytes_u32(b));
	for (uint32_t i = 0; i < n_systems && !b->bad; i++) {
		bool is_sched = strcmp(bytes_cstr(b), "sched") == 0;
		uint32_t n = perfdata_u32(p, bytes_u32(b));
		for (uint32_t k = 0; k < n && !b->bad; k++) {
			uint64_t n_bytes = perfdata_u64(p, bytes_u64(b));
			const char *text = bytes_take(b, n_bytes);
			if (text && is_sched && n_bytes < TEXT_BYTES_MAX &&
			    p->tracepoints.n < TEXTS_MAX && !add_tracepoint(p, text, n_bytes))
				return false;
		}
	}
	return !b->bad;
}

bool perfdata_tracing(struct perfdata *p, struct bytes b)
{
	const void *magic = bytes_take(&b, sizeof(MAGIC) - 1);
	p->info.counts.n_tracing_bytes += sizeof(MAGIC) - 1 + bytes_left(&b);
	if (!magic || memcmp(magic, MAGIC, sizeof(MAGIC) - 1) != 0)
		return false;
	bytes_cstr(&b);        /* version */
	bytes_take(&b, 2 + 4); /* byte order, size of a long; size of a page */
	bytes_cstr(&b);        /* "header_page" */
	skip_sized(p, &b);
	bytes_cstr(&b);        /* "header_event" */
	skip_sized(p, &b);
	uint32_t n = perfdata_u32(p, bytes_u32(&b));
	for (uint32_t i = 0; i < n && !b.bad; i++)
		skip_sized(p, &b);
	return read_systems(p, &b);
}

const char *perfdata_tracepoint(const struct source *s, uint64_t id)
{
	const struct perfdata *p = (const struct perfdata *)s;
	for (size_t i = 0; i < p->tracepoints.n; i++)
		if (p->tracepoints.v[i].id == id)
			return p->tracepoints.v[i].text;
	return NULL;
}

void perfdata_tracing_done(struct perfdata *p)
{
	for (size_t i = 0; i < p->tracepoints.n; i++)
		free(p->tracepoints.v[i].text);
	VEC_FREE(&p->tracepoints);
}
