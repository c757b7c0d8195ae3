/* What a user may do during a recording: pause it, take a snapshot, and start a new profile. */

#include "recorder/hugepages.h"
#include "recorder/recorder-private.h"

#include "base/clock.h"
#include "base/err.h"
#include "engine/allocage.h"
#include "engine/gc-files.h"

#include <errno.h>

/*
 * Accounts for samples that the kernel could not deliver.  Its counter per event is exact; on
 * kernels without it, records in the ring give the same number.  Lost samples of a CPU's event may
 * belong to other tasks: they are divided in the proportion of the delivered ones.
 */
static void add_lost(struct cprof_recorder *rec, size_t i)
{
	const struct engine_event *ev = &rec->engine.event[i];
	/* Times of waits do not depend on samples; what a lost sample of a block stood for is not
	 * known, and the end of a block stands for nothing. */
	if (rec->session.event[i].waits || rec->session.event[i].is_memory)
		return;
	struct window_event *we = &rec->window.event[i];
	uint64_t period = ev->n_samples ? ev->value / ev->n_samples : 0;
	struct cprof_stats stats;
	struct cprof_event_stats own;
	cprof_recorder_stats(rec, &stats);
	recorder_variant_stats(rec, i, &own);
	double percent = recorder_coverage_percent(rec, &stats, &own);
	we->lost = lostshare_estimate(&(struct lostshare_seen){
		.n_lost = we->n_lost, .n_samples = ev->n_samples, .n_foreign = ev->n_foreign,
		.value = (double)ev->value,
		.used = percent > 0 ? (double)ev->value * 100 / percent : -1,
		.only_target = !rec->session.was_cpu ||
			       (rec->config.all_processes && !ev->n_foreign),
	});
	uint64_t n = we->lost.n;
	/* The next sample's weight includes what the lost one would have stood for. */
	if (rec->session.event[i].by_count && !rec->session.event[i].has_gaps)
		period = 0;
	/* An earlier snapshot has counted some of them already. */
	if (n > ev->n_lost)
		engine_add_lost(&rec->engine, (uint32_t)i, n - ev->n_lost,
				(n - ev->n_lost) * period);
}

void recorder_count(struct cprof_recorder *rec)
{
	window_count(&rec->window, rec->engine.event);
	for (size_t i = 0; i < rec->session.n_events; i++)
		add_lost(rec, i);
	if (rec->engine.allocs.has_age)
		allocage_add(&rec->engine, clock_monotonic_ns());
	owners_check(&rec->engine.owners, &rec->engine.procs);
	if (recorder_counts_bytes(rec))
		rec->n_huge_pages = hugepages_faulted(rec->session.host) - rec->huge_pages_before;
}

static int check_running(const struct cprof_recorder *rec, struct err *e)
{
	int r = recorder_check_owner(rec, e);
	if (r < 0)
		return r;
	if (!rec->started)
		return err_set(e, EINVAL, "the recorder is not started");
	if (rec->stopped)
		return err_set(e, EINVAL, "the recorder is stopped");
	return 0;
}

static int check_pausable(const struct cprof_recorder *rec, size_t event, struct err *e)
{
	int r = check_running(rec, e);
	if (r < 0)
		return r;
	if (!rec->config.pausable)
		return err_set(e, EINVAL, "the recorder was not created with pausable set");
	if (event != CPROF_ALL_EVENTS && event >= rec->session.n_outputs)
		return err_set(e, EINVAL, "there is no such event");
	return 0;
}

int cprof_recorder_pause(struct cprof_recorder *rec, size_t event, struct err *e)
{
	uint64_t time_ns = clock_monotonic_ns();
	int r = check_pausable(rec, event, e);
	if (r < 0)
		return r;
	if (event == CPROF_ALL_EVENTS && !rec->window.paused && window_is_full(&rec->window)) {
		r = cprof_recorder_step(rec, 0, NULL, 0, NULL, e);
		if (r < 0)
			return r;
		time_ns = clock_monotonic_ns();
	}
	r = window_pause(&rec->window, event, time_ns, e);
	rec->session.is_paused = rec->window.paused || rec->window.some_paused;
	return r;
}

int cprof_recorder_resume(struct cprof_recorder *rec, size_t event, struct err *e)
{
	int r = check_pausable(rec, event, e);
	if (r < 0)
		return r;
	/* The rings may be full of samples from a long pause. */
	if (window_is_overdue(&rec->window)) {
		r = cprof_recorder_step(rec, 0, NULL, 0, NULL, e);
		if (r < 0)
			return r;
	}
	r = window_resume(&rec->window, event, e);
	rec->session.is_paused = rec->window.paused || rec->window.some_paused;
	return r;
}

int cprof_recorder_snapshot(struct cprof_recorder *rec, struct err *e)
{
	int r = check_running(rec, e);
	if (r < 0)
		return r;
	r = window_tend(&rec->window, e);
	if (r < 0)
		return r;
	r = recorder_take_in(rec, true, e);
	if (r < 0)
		return r;
	r = readers_absorb(&rec->readers, e);
	if (r < 0)
		return r;
	r = rec->kind->snapshot ? rec->kind->snapshot(&rec->session, &rec->engine, e) : 0;
	if (r < 0)
		return r;
	r = slices_gather(&rec->slices, e);
	if (r < 0)
		return r;
	coverage_stop(&rec->coverage, &rec->engine.procs);
	rec->counted = true;
	rec->cpu_snapshot_ns = clock_now_ns(CLOCK_PROCESS_CPUTIME_ID);
	recorder_count(rec);
	rec->names_ready = false;  /* known names are kept */
	return 0;
}

int cprof_recorder_clear(struct cprof_recorder *rec, struct err *e)
{
	int r = check_running(rec, e);
	if (r < 0)
		return r;
	r = readers_absorb(&rec->readers, e);
	if (r < 0)
		return r;
	/* The next profile must not start from the counts of all slices. */
	const struct window *w = &rec->window;
	bool is_count = w->counted_ns == w->taken_ns && !rec->slices.slice_ns;
	slices_scatter(&rec->slices);
	slices_clear(&rec->slices);
	if (!is_count) {
		window_read(&rec->window);
		window_count(&rec->window, rec->engine.event);
	}
	rec->names_ready = false;
	r = engine_clear(&rec->engine, e);
	readers_clear(&rec->readers);
	gc_files_let_go(&rec->engine.gc.tables);
	window_restart_counted(&rec->window);
	rec->engine.options.timeline.since_ns = rec->window.start_ns;
	cost_clear(&rec->cost);
	rec->session.changes.n = 0;
	rec->session.was_cpu = rec->session.scope == CPROF_SCOPE_CPU;
	rec->counted = false;
	/* The kernel's account of a child starts at its birth. */
	rec->window.is_partial = true;
	return r;
}
