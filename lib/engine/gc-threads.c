/*
 * A lost EXIT, or one that removed events (procs_note_removal), would keep its thread, and a
 * process's maps with it, for ever.  A thread that two checks in a row do not find has ended: its
 * last samples were fed in between.
 */

#include "engine/gc-threads.h"

#include "base/cleanup.h"
#include "base/host.h"
#include "base/vec.h"
#include "engine/engine.h"
#include "source/record.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <unistd.h>

struct ended {
	uint32_t pid, tid;
};

static bool is_there(const struct engine *g, const struct procs_thread *t)
{
	CLEANUP_CLOSE int fd = host_open_file(g->options.host, HOST_PROC, O_PATH, "%u/task/%u",
					      t->process->pid, t->tid);
	return fd >= 0 || fd != -ENOENT;
}

void gc_threads_ended(struct engine *g, uint64_t now_ns)
{
	struct gc_threads *f = &g->gc.threads;
	VEC(struct ended) ended = { 0 };
	if (!g->options.host || now_ns - f->looked_ns < GC_THREADS_EVERY_NS ||
	    (f->n_losses_seen == g->reread.n_losses && !f->has_missed && !g->procs.n_removed))
		return;
	f->looked_ns = now_ns;
	f->n_losses_seen = g->reread.n_losses;
	f->has_missed = false;
	for (size_t i = 0; i < g->procs.n_threads; i++) {
		struct procs_thread *t = g->procs.thread[i];
		if (t->exited)
			continue;
		bool was_missed = t->is_missed;
		t->is_missed = !is_there(g, t);
		if (!t->is_missed)
			continue;
		f->has_missed = true;
		/* If memory is short, the thread ends at the next check. */
		if (was_missed)
			VEC_PUSH(&ended, ((struct ended){ t->process->pid, t->tid }));
	}
	for (size_t i = 0; i < ended.n; i++) {
		struct record r = {
			.type = PERF_RECORD_EXIT, .pid = ended.v[i].pid, .tid = ended.v[i].tid,
			.cpu = UINT32_MAX, .event = RECORD_NO_EVENT, .time_ns = now_ns,
			.has_time = true,
		};
		engine_feed(g, &r);
		f->n_ended++;
	}
	VEC_FREE(&ended);
}
