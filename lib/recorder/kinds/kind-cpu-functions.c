/*
 * The functions of interpreters in waits.  They are in the memory of the program as long as the
 * thread waits, so they are read while it does.  The records of switches prove afterwards whether
 * the thread has waited all the time; if not, its stack stays native.
 */

#include "recorder/kinds/kind-cpu-functions.h"

#include "base/clock.h"
#include "base/log.h"
#include "engine/engine-waits.h"
#include "engine/engine.h"
#include "interp/interp-cache.h"
#include "interp/interp-process.h"
#include "recorder/kinds/kind-cpu.h"

#include <stdlib.h>

/* Waits that have just begun are mostly over before they are counted. */
#define AFTER_NS 1000000u
/* At most this part of the time is spent, and so much CPU time at once. */
#define PART 20u
#define NS_MAX 2000000u
/* Of one process at once. */
#define PAGES_MAX 4096u
/* So often waits are looked at while there are interpreters, and to find out whether there are. */
#define EVERY_NS 10000000u
#define SEARCH_EVERY_NS 500000000u

struct kind_cpu_functions {
	struct interp_cache cache;
	struct interp_frames frames;    /* of the present thread */
	enum interp_mode mode;
	size_t from;                    /* the thread to begin with */
	uint64_t next_ns;
	bool is_explained;
};

void kind_cpu_functions_free(struct kind_cpu_functions *f)
{
	if (!f)
		return;
	interp_cache_done(&f->cache);
	interp_frames_done(&f->frames);
	free(f);
}

static struct kind_cpu_functions *functions_of(struct kind_session *k, struct engine *g)
{
	struct kind_cpu_waits *w = &((struct kind_cpu *)k->state)->waits;
	bool is_wanted = k->config->interpreter != CPROF_INTERPRETER_NONE &&
			 !k->config->no_runtime_names && g->options.host;
	if (w->functions || !is_wanted)
		return w->functions;
	w->functions = calloc(1, sizeof(*w->functions));
	if (!w->functions)
		return NULL;
	w->functions->mode = (enum interp_mode)k->config->interpreter;
	w->functions->cache.tables = (struct interp_tables){
		.dsos = &g->dsos, .frames = &g->frames, .stacks = &g->stacks,
		.vfuncs = &g->vfuncs, .host = g->options.host,
	};
	return w->functions;
}

struct reading {
	struct kind_cpu_functions *functions;
	struct engine *engine;
	uint64_t now_ns, start_cpu_ns, used_ns;
};

static bool read_thread(void *ctx, const struct waits_thread *t, struct waits_place native)
{
	struct reading *r = ctx;
	struct kind_cpu_functions *f = r->functions;
	struct procs_process *p = procs_find(&r->engine->procs, t->pid);
	struct interp_process *process = p ? interp_cache_find(&f->cache, p, r->now_ns) : NULL;
	uint32_t stack = native.stack, tid = t->tid;
	if (!process)
		return true;
	uint64_t from_ns = clock_monotonic_ns();
	interp_process_allow(process, PAGES_MAX);
	bool is_read = interp_process_read(process, tid, &f->frames);
	uint64_t to_ns = clock_monotonic_ns();
	enum interp_found found = INTERP_UNKNOWN;
	if (is_read)
		found = interp_place(&f->cache.tables, interp_process_code(process), f->mode,
				     &f->frames, !native.is_partial, &stack);
	engine_add_functions(r->engine, tid, from_ns, to_ns, native,
			     found == INTERP_PLACED ? stack : STACKS_NONE,
			     interp_process_runtime(process)->label);
	r->used_ns = clock_now_ns(CLOCK_THREAD_CPUTIME_ID) - r->start_cpu_ns;
	return r->used_ns < NS_MAX;
}

static void explain(struct kind_session *k, struct kind_cpu_functions *f)
{
	if (f->is_explained || !*f->cache.refused.line || !f->cache.is_final)
		return;
	f->is_explained = true;
	log_line(k->log, LOG_WARN, "functions of an interpreter are unknown: %s",
		 f->cache.refused.line);
}

void kind_cpu_functions_drained(struct kind_session *k, struct engine *g)
{
	struct kind_cpu_functions *f = functions_of(k, g);
	struct reading r = {
		.functions = f, .engine = g, .now_ns = clock_monotonic_ns(),
		.start_cpu_ns = clock_now_ns(CLOCK_THREAD_CPUTIME_ID),
	};
	if (!f || r.now_ns < f->next_ns)
		return;
	if (waits_looks_each_native(&g->waits, &f->from, r.now_ns - AFTER_NS, read_thread, &r))
		interp_cache_trim(&f->cache, &g->procs);
	r.used_ns = clock_now_ns(CLOCK_THREAD_CPUTIME_ID) - r.start_cpu_ns;
	uint64_t rest_ns = r.used_ns * PART;
	uint64_t every_ns = f->cache.n_found ? EVERY_NS : SEARCH_EVERY_NS;
	f->next_ns = r.now_ns + (rest_ns > every_ns ? rest_ns : every_ns);
	explain(k, f);
}

int kind_cpu_functions_timeout_ms(const struct kind_session *k)
{
	const struct kind_cpu_functions *f = ((const struct kind_cpu *)k->state)->waits.functions;
	uint64_t now_ns = clock_monotonic_ns();
	if (!f || !f->cache.n_found)
		return -1;
	return now_ns < f->next_ns ? (int)((f->next_ns - now_ns) / 1000000u) + 1 : 1;
}
