#include "snapshot/remaps.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/host.h"
#include "engine/engine.h"
#include "snapshot/targetmem.h"
#include "proc/threadtext.h"
#include "source/record.h"
#include "source/synth.h"

#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct maps { struct engine *g; struct targetmem *memory; };

static void feed_map(void *ctx, const struct record *r)
{
	struct maps *m = ctx;
	if (m->memory)
		targetmem_add(m->memory, r);  /* without memory, its stacks stay unread */
	engine_feed(m->g, r);
}

/* The process may have executed another program, or unmapped code, since the last snapshot. */
static void forget_maps(struct engine *g, const struct host *h, uint32_t pid, uint64_t time_ns)
{
	char comm[THREADTEXT_NAME_MAX] = "";
	CLEANUP_FREE char *text = NULL;
	if (host_read_file(h, HOST_PROC, &text, NULL, "%u/comm", pid) == 0)
		snprintf(comm, sizeof(comm), "%.*s", (int)strcspn(text, "\n"), text);
	engine_feed(g, &(struct record){
		.type = PERF_RECORD_COMM, .misc = PERF_RECORD_MISC_USER,
		.event = RECORD_NO_EVENT, .has_time = true, .time_ns = time_ns, .pid = pid,
		.tid = pid, .cpu = UINT32_MAX, .comm = { .comm = comm, .exec = true },
	});
}

int remaps_read(struct engine *g, const struct host *h, uint32_t pid, struct targetmem *memory)
{
	uint64_t time_ns = clock_monotonic_ns();
	struct maps m = { g, memory };
	forget_maps(g, h, pid, time_ns);
	struct procs_process *known = procs_process(&g->procs, pid);
	if (known)
		owners_note(&g->owners, known);
	return synth_maps(h, (pid_t)pid, time_ns, feed_map, &m);
}

int remaps_add(struct engine *g, const struct host *h, uint32_t pid)
{
	struct maps m = { g, NULL };
	return synth_maps(h, (pid_t)pid, clock_monotonic_ns(), feed_map, &m);
}
