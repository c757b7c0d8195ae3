/*
 * An idle thread of a Go program is not a blocked goroutine.  So the waits of goroutines are not
 * those of threads: their states are read about two hundred times per second, at uneven distances
 * so that readings do not fall into step with the program, and less often if there are so many that
 * it would take more than a twentieth of a CPU.
 *
 * A process that has just begun to execute a program may not be ready to be read, so it is tried
 * again.
 */

#include "recorder/kinds/kind-cpu-tasks.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/units.h"
#include "engine/engine.h"
#include "recorder/kinds/kind-cpu.h"
#include "snapshot/gowaits.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define EVERY_NS 5000000u
#define LATE_NS 20000000u              /* on average, which is reported */
#define READING_PART 20u               /* of the time, at most */
/* So often processes are looked for, and so often one is tried. */
#define SEARCH_EVERY_NS 20000000u
#define SEARCH_MS 100
#define TRIES_MAX 8u

struct watched {
	uint32_t pid, exe;
	struct gowaits *reader;        /* NULL: it cannot be read, or is no Go program */
	unsigned int n_tries;
	uint64_t try_ns, from_ns;
};

struct kind_cpu_tasks {
	VEC(struct watched) process;
	uint64_t next_search_ns, next_ns;
	uint32_t n_readers, random;
	uint64_t n_readings, apart_ns, longest_ns, last_ns; /* distances between readings */
	bool has_mutex, is_explained;
};

/* ---- reports -------------------------------------------------------------------------- */

static void __attribute__((format(printf, 2, 3)))
remark(struct kind_session *k, const char *format, ...)
{
	char *text = NULL;
	va_list ap;
	va_start(ap, format);
	int n = vasprintf(&text, format, ap);
	va_end(ap);
	if (n >= 0 && !VEC_PUSH(&k->remarks, text))
		free(text);
}

static void explain(struct kind_session *k, uint32_t pid)
{
	struct kind_cpu_tasks *x = ((struct kind_cpu *)k->state)->waits.tasks;
	if (x->is_explained)
		return;
	x->is_explained = true;
	log_line(k->log, LOG_NOTE, "block: waits of goroutines in process %u, by reading its "
		 "memory every %u ms", pid, EVERY_NS / 1000000u);
	remark(k, "block: waits of goroutines in Go programs, by reading their memory every %u ms "
	       "or less often: their number is estimated", EVERY_NS / 1000000u);
	if (!x->has_mutex)
		return;
	log_line(k->log, LOG_WARN, "mutex: a Go program releases its locks without the kernel, so "
		 "it is not shown by whom; block shows who waits, and a uprobe who releases: "
		 "cprof-waiting(7)");
	remark(k, "mutex: without the locks of Go programs");
}

static void explain_refusal(struct kind_session *k, uint32_t pid, const struct err *why)
{
	log_line(k->log, LOG_WARN, "block: waits of threads instead of goroutines in process %u: "
		 "%s", pid, why->what);
	remark(k, "block: waits of threads instead of goroutines in a Go program: %s", why->what);
}

/* ---- processes ----------------------------------------------------------------------------- */

static bool has_event(const struct kind_session *k, unsigned role)
{
	for (size_t i = 0; i < k->n_events; i++)
		if (k->event[i].waits & role)
			return true;
	return false;
}

static struct kind_cpu_tasks *state_of(struct kind_session *k, const struct engine *g)
{
	struct kind_cpu_waits *w = &((struct kind_cpu *)k->state)->waits;
	const struct cprof_config *c = k->config;
	/* Of threads on their own, or of this one, no goroutine is known. */
	bool is_wanted = has_event(k, WAITS_LOCKS) && !c->n_tids && c->self == CPROF_SELF_NONE;
	if (w->tasks || !is_wanted || !g->options.host)
		return w->tasks;
	w->tasks = calloc(1, sizeof(*w->tasks));
	if (w->tasks)
		*w->tasks = (struct kind_cpu_tasks){
			.has_mutex = has_event(k, WAITS_WAKERS), .random = 1 };
	return w->tasks;
}

static bool may_be_go(const struct engine *g, const struct procs_process *p)
{
	for (uint32_t i = 0; i < p->space.map.n; i++)
		if (dso_get(&g->dsos, p->space.map.v[i].dso)->is_go)
			return true;
	return false;
}

static struct watched *watched_of(struct kind_cpu_tasks *x, const struct procs_process *p,
				  uint64_t now_ns)
{
	struct watched fresh = { .pid = p->pid, .exe = p->exe, .from_ns = p->exec_ns };
	for (size_t i = 0; i < x->process.n; i++)
		if (x->process.v[i].pid == p->pid)
			return &x->process.v[i];
	fresh.try_ns = now_ns;
	return VEC_PUSH(&x->process, fresh) ? &x->process.v[x->process.n - 1] : NULL;
}

static void stop_reading(struct kind_cpu_tasks *x, struct watched *p, struct engine *g,
			 uint64_t now_ns)
{
	if (!p->reader)
		return;
	waits_tasks_forget(&g->waits, p->pid, now_ns);
	gowaits_close(p->reader);
	p->reader = NULL;
	/* What was counted is not counted again if it can be read after all. */
	p->from_ns = now_ns;
	if (!--x->n_readers)
		x->last_ns = 0;
}

/* The runtime's list of goroutines does not exist at once. */
static void try_process(struct kind_session *k, struct engine *g, struct watched *w,
			struct procs_process *p, uint64_t now_ns)
{
	struct kind_cpu_tasks *x = ((struct kind_cpu *)k->state)->waits.tasks;
	struct err why = { 0 };
	if (w->n_tries == TRIES_MAX || now_ns < w->try_ns)
		return;
	int r = gowaits_open(g, p, w->from_ns, &w->reader, &why);
	w->try_ns = now_ns + ((uint64_t)SEARCH_EVERY_NS << w->n_tries++);
	if (r == 0) {
		x->n_readers++;
		x->next_ns = now_ns;
		explain(k, p->pid);
	} else if (r == -EACCES || r == -EPERM || r == -ENOTSUP || r == -ETIMEDOUT) {
		bool is_final = r != -ENOTSUP || w->n_tries == TRIES_MAX;
		if (is_final)
			explain_refusal(k, p->pid, &why);
		w->n_tries = is_final ? TRIES_MAX : w->n_tries;
	}
}

static void forget_ended(struct kind_cpu_tasks *x, struct engine *g, uint64_t now_ns)
{
	for (size_t i = x->process.n; i-- > 0;) {
		struct watched *w = &x->process.v[i];
		const struct procs_process *p = procs_find(&g->procs, w->pid);
		if (p && !p->exited && p->exe == w->exe)
			continue;
		stop_reading(x, w, g, now_ns);
		*w = x->process.v[--x->process.n];
	}
}

static void search(struct kind_session *k, struct engine *g, uint64_t now_ns)
{
	struct kind_cpu_tasks *x = ((struct kind_cpu *)k->state)->waits.tasks;
	forget_ended(x, g, now_ns);
	for (size_t i = 0; i < g->procs.n_processes; i++) {
		struct procs_process *p = g->procs.process[i];
		if (p->exited || !targets_has(&g->targets, p->pid, p->pid) ||
		    (pid_t)p->pid == k->owner || !may_be_go(g, p))
			continue;
		struct watched *w = watched_of(x, p, now_ns);
		if (w && !w->reader)
			try_process(k, g, w, p, now_ns);
	}
	x->next_search_ns = now_ns + SEARCH_EVERY_NS;
}

/* ---- readings ------------------------------------------------------------------------------ */

/* Readings are late if cprof gets no CPU.  Each one stands for its distance from the last. */
static void note_distance(struct kind_cpu_tasks *x, uint64_t now_ns)
{
	uint64_t ns = x->last_ns && x->last_ns < now_ns ? now_ns - x->last_ns : 0;
	x->last_ns = now_ns;
	if (!ns)
		return;
	x->n_readings++;
	x->apart_ns += ns;
	x->longest_ns = ns > x->longest_ns ? ns : x->longest_ns;
}

static void read_all(struct kind_cpu_tasks *x, struct engine *g, uint64_t now_ns)
{
	note_distance(x, now_ns);
	uint64_t cpu_ns = clock_now_ns(CLOCK_THREAD_CPUTIME_ID);
	for (size_t i = 0; i < x->process.n; i++) {
		struct watched *w = &x->process.v[i];
		struct procs_process *p = w->reader ? procs_find(&g->procs, w->pid) : NULL;
		bool is_same = p && !p->exited && p->exe == w->exe;
		if (w->reader && (!is_same || gowaits_read(w->reader, p) == -ESRCH))
			stop_reading(x, w, g, now_ns);
	}
	cpu_ns = clock_now_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_ns;
	uint64_t every_ns = cpu_ns * READING_PART > EVERY_NS ? cpu_ns * READING_PART : EVERY_NS;
	x->random = x->random * 1664525u + 1013904223u;
	x->next_ns = now_ns + every_ns / 2 + every_ns * (x->random >> 16) / 65536;
}

void kind_cpu_tasks_drained(struct kind_session *k, struct engine *g)
{
	struct kind_cpu_tasks *x = state_of(k, g);
	uint64_t now_ns = clock_monotonic_ns();
	if (!x)
		return;
	if (now_ns >= x->next_search_ns)
		search(k, g, now_ns);
	if (x->n_readers && now_ns >= x->next_ns)
		read_all(x, g, now_ns);
}

void kind_cpu_tasks_ended(struct kind_session *k)
{
	const struct kind_cpu_tasks *x = ((struct kind_cpu *)k->state)->waits.tasks;
	if (!x || !x->n_readings)
		return;
	double apart_ms = (double)x->apart_ns / (double)x->n_readings / 1e6;
	remark(k, "block: %llu reading%s of goroutines, %.1f ms apart on average and %.0f ms at "
	       "most", (unsigned long long)x->n_readings, units_s(x->n_readings), apart_ms,
	       (double)x->longest_ns / 1e6);
	if (x->apart_ns > x->n_readings * LATE_NS)
		log_line(k->log, LOG_WARN, "block: goroutines were read every %.0f ms only, so "
			 "shorter waits are estimates of few readings", apart_ms);
}

int kind_cpu_tasks_timeout_ms(const struct kind_session *k)
{
	const struct kind_cpu_tasks *x =
		((const struct kind_cpu *)k->state)->waits.tasks;
	uint64_t now_ns = clock_monotonic_ns();
	if (!x)
		return -1;
	if (!x->n_readers)
		return SEARCH_MS;
	return now_ns < x->next_ns ? (int)((x->next_ns - now_ns) / 1000000u) + 1 : 1;
}

void kind_cpu_tasks_free(struct kind_session *k)
{
	struct kind_cpu_tasks *x = ((struct kind_cpu *)k->state)->waits.tasks;
	if (!x)
		return;
	for (size_t i = 0; i < x->process.n; i++)
		gowaits_close(x->process.v[i].reader);
	VEC_FREE(&x->process);
	free(x);
	for (size_t i = 0; i < k->remarks.n; i++)
		free(k->remarks.v[i]);
	VEC_FREE(&k->remarks);
}
