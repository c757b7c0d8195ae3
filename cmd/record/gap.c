#include "cmd/record/gap.h"

#include "base/units.h"
#include "cprof.h"

#include <math.h>
#include <stdint.h>

/* A smaller gap is not reported, nor is one within three standard errors of the sample count. */
#define GAP_MIN_PERCENT 2.0

/* A time counted in ticks (USER_HZ) is only as exact as that number of samples. */
#define TICK_NS 10000000u

/* Whether more is missing than n_errors standard errors of the samples. */
static bool is_beyond(const struct gap *g, double percent, int n_errors)
{
	double gap = fabs(percent - 100);
	uint64_t n_ticks = g->event->value / TICK_NS, n_samples = g->event->n_samples;
	uint64_t n = g->used_by_ticks && n_ticks < n_samples ? n_ticks : n_samples;
	double n_expected = percent > 0 ? (double)n * 100 / percent : 0;
	return percent >= 0 && gap > GAP_MIN_PERCENT &&
	       gap > n_errors * 100 / sqrt(n_expected + 1);
}

bool gap_is_sure(const struct gap *g)
{
	return is_beyond(g, g->percent, 3);
}

void gap_explain(const struct gap *g, FILE *to)
{
	const struct cprof_event_stats *ev = g->event;
	bool is_missing = g->percent < 100;
	/* The losses name what the kernel lets no user record. */
	if (is_missing && g->has_unrecorded)
		return;
	if (is_missing && g->stats->scope == CPROF_SCOPE_TASK)
		fprintf(to, "  threads that live for less than one sampling period are not seen "
			    "with --scope task; --scope cpu sees them (CAP_PERFMON or root)\n");
	else if (is_missing && ev->is_clock && !ev->n_lost && !ev->throttled_ns)
		fprintf(to, "  a timer may miss some of the time: see COVERAGE in "
			    "cprof-record(1)\n");
	else if (g->percent > 100 && ev->is_clock)
		fprintf(to, "  more than 100 %%, because a clock also counts interrupts and steal "
			    "time, which the\n  kernel's accounts leave out: see COVERAGE in "
			    "cprof-record(1)\n");
}

/* The kernel keeps no exact account of user code alone: compare with the target's total.  Threads
 * shorter than a period, which scope task misses, make up a part of the rest. */
void gap_print_unseen(const struct gap *g, FILE *to)
{
	char used[UNITS_TEXT_MAX], unseen[UNITS_TEXT_MAX];
	const struct cprof_stats *st = g->stats;
	const struct cprof_event_stats *ev = g->event;
	if (!ev->is_clock || !ev->given_up_kernel || !st->cpu_used_known ||
	    ev->value >= st->cpu_used_ns)
		return;
	double percent = 100 * (double)ev->value / (double)st->cpu_used_ns;
	bool is_sure = is_beyond(g, percent, 3);
	if (!is_beyond(g, percent, 1))
		return;
	uint64_t period_ns = ev->freq_hz ? 1000000000u / ev->freq_hz : ev->period;
	bool has_short_threads = is_sure && st->scope == CPROF_SCOPE_TASK &&
		(double)st->n_born * (double)period_ns >
		(double)st->cpu_used_ns * GAP_MIN_PERCENT / 100;
	const char *where = g->has_unrecorded ?
		"was spent in the kernel, or in\n  programs that the kernel lets no user record" :
		has_short_threads ?
		"was spent in the kernel, or in\n  threads that live for less than one sampling "
		"period, which --scope task does not see" :
		"was spent in the\n  kernel and is not in the profile";
	fprintf(to, "  the target used %s of CPU time in total: %s%s (%.0f %%) %s\n",
		units_duration_text(st->cpu_used_ns, used), is_sure ? "" : "about ",
		units_duration_text(st->cpu_used_ns - ev->value, unseen), 100 - percent, where);
}
