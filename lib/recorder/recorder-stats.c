/* A recorder's statistics: events and their variants, figures, how stacks ended. */

#include "recorder/recorder-private.h"

#include "base/clock.h"
#include "base/rights.h"
#include "profile/losses.h"
#include "profile/results.h"
#include "profile/unnamed.h"
#include "proc/cgroup.h"
#include "recorder/lostadvice.h"
#include "source/ring.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

size_t cprof_recorder_n_events(const struct cprof_recorder *rec)
{
	return rec->session.n_outputs;
}

bool recorder_counts_bytes(const struct cprof_recorder *rec)
{
	for (size_t i = 0; i < rec->session.n_events; i++)
		if (rec->session.event[i].unit_each > 1)
			return true;
	return false;
}

void recorder_variant_stats(const struct cprof_recorder *rec, size_t i,
			    struct cprof_event_stats *ret)
{
	const struct window_event *we = &rec->window.event[i];
	const struct kind_event *k = &rec->session.event[i];
	const struct engine_event *ev = &rec->engine.event[i];
	const struct perf_event_attr *attr = source_attr(rec->session.source, i);
	const uint64_t each = k->unit_each ? k->unit_each : 1;
	*ret = (struct cprof_event_stats){
		.name = k->name, .file_part = k->file_part, .sample_type = k->sample_type,
		.unit = k->unit, .is_clock = k->is_clock, .is_waiting = k->waits,
		.group = k->group,
		.count_scale = k->count_scale, .count_unit = k->count_unit,
		.given_up_kernel = k->given_up_kernel,
		.freq_hz = k->is_freq ? k->rate : 0, .period = k->is_freq ? 0 : k->rate * each,
		.n_samples = ev->n_samples, .value = ev->value * each, .n_lost = we->n_lost,
		.n_lost_shown = ev->n_lost, .n_lost_records = ev->n_lost_in_ring,
		.n_lost_by_pmu = ev->n_lost_records - ev->n_lost_in_ring,
		.n_lost_counted = we->count.has_lost ? we->count.n_lost : 0,
		.lost_counted_known = we->count.has_lost,
		.n_lost_target = we->lost.is_estimate ? ev->n_lost : we->n_lost,
		.n_lost_max = we->lost.is_estimate ? we->lost.n_max : 0,
		.n_lost_all = we->lost.is_estimate ? we->n_lost : 0,
		.n_foreign = ev->n_foreign, .no_stack_ns = ev->no_stack_ns,
		.torn_ns = ev->torn_ns, .n_unsampled = ev->n_unsampled,
		.n_throttles = ev->n_throttles, .throttled_ns = ev->throttled_ns,
		.counted = we->count.value * each,
		.counted_target = !rec->session.was_cpu,
		.time_enabled_ns = we->count.time_enabled_ns,
		.time_running_ns = we->count.time_running_ns,
		.precise = attr ? attr->precise_ip : 0, .precise_asked = k->precise_asked,
		.unit_each = each, .scale = 1, .is_snapshot = rec->kind->snapshot,
		.is_argument = k->by_argument,
	};
	if (rec->config.scale && ret->time_running_ns &&
	    ret->time_running_ns < ret->time_enabled_ns)
		ret->scale = (double)ret->time_enabled_ns / (double)ret->time_running_ns;
	cost_event_stats(&rec->cost, i, ret);
}

static void add_variant(struct cprof_event_stats *sum, const struct cprof_event_stats *v)
{
	sum->n_samples += v->n_samples;
	sum->value += v->value;
	sum->no_stack_ns += v->no_stack_ns;
	sum->torn_ns += v->torn_ns;
	sum->n_unsampled += v->n_unsampled;
	sum->n_lost += v->n_lost;
	sum->n_lost_shown += v->n_lost_shown;
	sum->n_lost_target += v->n_lost_target;
	sum->n_lost_max += v->n_lost_max;
	sum->n_lost_all += v->n_lost_all;
	sum->n_foreign += v->n_foreign;
	sum->n_throttles += v->n_throttles;
	sum->throttled_ns += v->throttled_ns;
	sum->n_lost_records += v->n_lost_records;
	sum->n_lost_by_pmu += v->n_lost_by_pmu;
	sum->n_lost_counted += v->n_lost_counted;
	sum->counted += v->counted;
	sum->time_enabled_ns += v->time_enabled_ns;
	sum->time_running_ns += v->time_running_ns;
	sum->given_up_kernel |= v->given_up_kernel;
	if (v->precise < sum->precise)
		sum->precise = v->precise;
}

/* Copies the fields that the caller's version knows, and zeroes those that only it knows. */
static void copy_known(void *ret, size_t n_ret_bytes, const void *all, size_t n_bytes)
{
	memset(ret, 0, n_ret_bytes);
	memcpy(ret, all, n_ret_bytes < n_bytes ? n_ret_bytes : n_bytes);
}

void cprof_recorder_event_stats_sized(struct cprof_recorder *rec, size_t event,
				      struct cprof_event_stats *ret, size_t n_bytes)
{
	struct cprof_event_stats sum = { 0 };
	bool any = false;
	for (size_t i = 0; i < rec->session.n_events; i++) {
		struct cprof_event_stats v;
		if (rec->session.event[i].output != event)
			continue;
		recorder_variant_stats(rec, i, &v);
		if (any)
			add_variant(&sum, &v);
		else
			sum = v;
		any = true;
	}
	copy_known(ret, n_bytes, &sum, sizeof(sum));
}

/* Does the profile reveal where the kernel is in memory? */
static bool shows_kernel(const struct cprof_recorder *rec, const struct cprof_stats *all)
{
	return all->n_frames_kernel > 0 && rec->config.naming.kernel_addresses;
}

/* A child that writes a snapshot has a clock that began at its fork. */
static uint64_t own_cpu_ns(const struct cprof_recorder *rec)
{
	uint64_t now_ns = clock_now_ns(CLOCK_PROCESS_CPUTIME_ID);
	if (rec->session.owner != getpid())
		now_ns += rec->cpu_snapshot_ns;
	return now_ns > rec->cpu_before_ns ? now_ns - rec->cpu_before_ns : 0;
}

void cprof_recorder_stats_sized(struct cprof_recorder *rec, struct cprof_stats *ret, size_t n_bytes)
{
	struct source_usage use;
	source_usage(rec->session.source, &use);
	struct cprof_stats all = {
		.start_realtime_ns = rec->window.start_realtime_ns,
		.end_realtime_ns = window_end_realtime_ns(&rec->window),
		.duration_ns = window_duration_ns(&rec->window),
		.scope = rec->session.scope,
		.scope_reason = rec->session.scope_reason,
		.user_only = rec->session.user_only,
		.cpu_used_known = (rec->stopped || rec->counted) && rec->coverage.known &&
				  !rec->window.is_partial,
		.cpu_used_ns = rec->coverage.used_ns,
		.ring_bytes = use.ring_bytes, .record_bytes = use.record_bytes,
		.n_fds = use.n_fds, .n_cpus_failed = use.n_cpus_failed,
		.own_cpu_ns = own_cpu_ns(rec),
	};
	all.n_scope_changes = rec->session.changes.n;
	all.n_readers = rec->readers.n > 1 ? rec->readers.n : 1;
	all.n_readers_max = rec->readers.n_max;
	all.n_huge_pages = rec->n_huge_pages;
	if (rec->kind->stats)
		rec->kind->stats(&rec->session, &all);
	cost_stats(&rec->cost, &all);
	results_stats(&rec->engine, rec->session.source, rec->names_ready ? &rec->names : NULL,
		      &all);
	all.is_private = rec->engine.owners.any_other || shows_kernel(rec, &all);
	copy_known(ret, n_bytes, &all, sizeof(all));
}

/* Have all events a period? */
static bool is_period(const struct kind_session *k)
{
	for (size_t i = 0; i < k->n_events; i++)
		if (k->event[i].is_freq)
			return false;
	return true;
}

static void advise(const struct cprof_recorder *rec, const struct cprof_stats *stats,
		   struct cprof_losses *ret)
{
	const struct cprof_config *c = &rec->config;
	const struct kind_session *k = &rec->session;
	if (!ret->n[cprof_loss_row("lost")] && !ret->n[cprof_loss_row("lost_max")])
		return;
	const struct lostadvice_seen seen = {
		.scope = stats->scope, .is_command = c->command_pid,
		.may_cgroup = c->command_pid && stats->scope == CPROF_SCOPE_CPU &&
			      cgroup_check(k->host, getpid(), true) == 0,
		.all_processes = c->all_processes, .no_bpf = c->no_bpf,
		.may_bpf = rights_may_bpf(), .is_period = is_period(k),
		.n_samples = ret->n_samples, .n_foreign = stats->n_foreign,
		.ring_bytes = stats->ring_bytes,
		.fitting_bytes = ring_fitting_bytes(k->host),
	};
	lostadvice_text(&seen, ret->lost_advice, sizeof(ret->lost_advice));
}

void cprof_recorder_losses(struct cprof_recorder *rec, struct cprof_losses *ret)
{
	struct cprof_stats stats;
	struct cprof_event_stats ev;
	cprof_recorder_stats(rec, &stats);
	losses_collect(&(struct losses_from){
		.engine = &rec->engine, .source = rec->session.source,
		.names = rec->names_ready ? &rec->names : NULL, .stats = &stats,
	}, ret);
	for (size_t i = 0; i < cprof_recorder_n_events(rec); i++) {
		cprof_recorder_event_stats(rec, i, &ev);
		losses_add_event(ret, &ev);
	}
	advise(rec, &stats, ret);
}

bool cprof_recorder_stack_ends(struct cprof_recorder *rec, size_t i, struct cprof_stack_ends *ret)
{
	return results_stack_ends(&rec->engine, i, ret);
}

void cprof_recorder_unnamed(const struct cprof_recorder *rec, size_t event,
			    struct cprof_unnamed *ret)
{
	*ret = (struct cprof_unnamed){ 0 };
	if (rec->names_ready)
		*ret = unnamed_find(&rec->engine, &rec->names, (uint32_t)event);
}

double cprof_coverage_percent(struct cprof_recorder *rec, size_t event)
{
	struct cprof_stats stats;
	struct cprof_event_stats ev;
	cprof_recorder_stats(rec, &stats);
	cprof_recorder_event_stats(rec, event, &ev);
	return recorder_coverage_percent(rec, &stats, &ev);
}

double recorder_coverage_percent(const struct cprof_recorder *rec, const struct cprof_stats *stats,
				 const struct cprof_event_stats *event)
{
	return rec->kind->coverage_percent(&rec->session, stats, event);
}

const char *cprof_kind_name(const struct cprof_kind *kind)
{
	return kind->name;
}

size_t recorder_first_variant(const struct cprof_recorder *rec, size_t event)
{
	size_t i = 0;
	while (rec->session.event[i].output != event)
		i++;
	return i;
}

int cprof_recorder_find_event(const struct cprof_recorder *rec, const char *name)
{
	const struct kind_session *k = &rec->session;
	for (size_t i = 0; i < k->n_events; i++)
		if (strcmp(k->event[i].name, name) == 0)
			return (int)k->event[i].output;
	int i = rec->kind->find_event ? rec->kind->find_event(k, name) : -ENOENT;
	return i < 0 ? i : (int)k->event[i].output;
}

const struct perf_event_attr *cprof_recorder_attr(const struct cprof_recorder *rec, size_t event)
{
	return source_attr(rec->session.source, recorder_first_variant(rec, event));
}

bool cprof_recorder_scope_change(const struct cprof_recorder *rec, size_t i,
				 struct cprof_scope_change *ret)
{
	uint64_t start_ns = rec->window.start_ns;
	if (i >= rec->session.changes.n)
		return false;
	*ret = rec->session.changes.v[i];
	ret->time_ns = ret->time_ns > start_ns ? ret->time_ns - start_ns : 0;
	return true;
}

bool cprof_recorder_rate_cut(const struct cprof_recorder *rec, size_t event, size_t i,
			     struct cprof_rate_cut *ret)
{
	/* The cuts of all the event's variants, one variant after the other. */
	for (size_t v = 0; v < rec->session.n_events; v++) {
		if (rec->session.event[v].output != event)
			continue;
		if (i < rec->cost.event[v].cuts.n) {
			*ret = rec->cost.event[v].cuts.v[i];
			return true;
		}
		i -= rec->cost.event[v].cuts.n;
	}
	return false;
}
