/*
 * Servers of profiles take nothing else, so losses are a profile, too: its functions are the
 * reasons, and its values the numbers of what was lost since the last report, and in all.  If it is
 * not known whether a report has arrived, it is not repeated: the total of the next one has it.
 */

#include "base/cleanup.h"
#include "base/err.h"
#include "base/membuf.h"
#include "cmd/push/push.h"
#include "proto/pprof.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define COMPRESSION 6
#define TYPE "lost"
#define TOTAL "lost_total"

static void write_losses(struct pprof *p, const struct push_state *s)
{
	for (size_t i = 0; i < s->n_losses; i++) {
		int64_t n[2] = { (int64_t)s->loss[i].total,
				 (int64_t)(s->loss[i].total - s->loss[i].reported) };
		if (n[0] <= 0)
			continue;
		struct pprof_function f = { .name = s->loss[i].name };
		struct pprof_line line = { .function_id = pprof_function(p, &f) };
		uint64_t id = pprof_location(p, 0, 0, &line, 1, false);
		pprof_sample(p, &id, 1, n, 2, NULL, 0);
	}
}

static int write_report(struct membuf *to, const struct push_state *s, uint64_t start_ns,
			uint64_t now_ns)
{
	struct pprof *p;
	struct err e = { 0 };
	int r = pprof_new(membuf_write, to, COMPRESSION, &p, &e);
	if (r < 0)
		return r;
	pprof_sample_type(p, TOTAL, "count");
	pprof_sample_type(p, TYPE, "count");
	pprof_period(p, TYPE, "count", 1);
	pprof_times(p, (int64_t)start_ns, (int64_t)(now_ns - start_ns));
	write_losses(p, s);
	r = pprof_finish(p, &e);
	pprof_free(p);
	return r;
}

static int write_labels(struct keyvalues *ret)
{
	char host[256] = "";
	char *text = NULL;
	size_t n = 0;
	FILE *to = open_memstream(&text, &n);
	if (!to)
		return -ENOMEM;
	gethostname(host, sizeof(host) - 1);
	keyvalue_print(to, "label.service_name", "cprof-agent");
	if (*host)
		keyvalue_print(to, "label.host", host);
	keyvalue_print(to, "sample_type", TYPE);
	int r = fclose(to) == 0 ? keyvalues_parse(text, n, ret) : -ENOMEM;
	free(text);
	return r;
}

struct push_item *push_report_make(const struct push_state *s, uint64_t start_ns, uint64_t now_ns)
{
	struct push_item *item = calloc(1, sizeof(*item));
	struct membuf b = { .bytes = { 0 } };
	if (!item)
		return NULL;
	if (s->reported_at_ns && s->reported_at_ns < now_ns)
		start_ns = s->reported_at_ns;
	item->name = (struct spool_name){ .start_ns = now_ns, .sequence = s->generation };
	if (write_report(&b, s, start_ns, now_ns) < 0 || write_labels(&item->meta) < 0) {
		VEC_FREE(&b.bytes);
		push_item_free(item);
		return NULL;
	}
	item->data = (uint8_t *)b.bytes.v;
	item->n_bytes = b.bytes.n;
	return item;
}
