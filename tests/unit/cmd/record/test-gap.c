/* What the summary says when samples and the kernel's accounts of CPU time differ. */
#include "cmd/record/gap.h"
#include "cprof.h"
#include "tests/unit/tap.h"

#include <stdlib.h>

#define SECOND_NS UINT64_C(1000000000)

static void explained(const struct gap *g, const char *want, const char *title)
{
	char *text = NULL;
	size_t n = 0;
	FILE *to = open_memstream(&text, &n);
	gap_explain(g, to);
	fclose(to);
	if (!tap_ok(*want ? strstr(text, want) != NULL : !*text, "%s", title))
		printf("# got '%s'\n", text);
	free(text);
}

static void test_sure(void)
{
	struct cprof_stats st = { 0 };
	struct cprof_event_stats ev = { .is_clock = true, .n_samples = 10000,
					.value = 10 * SECOND_NS };
	struct gap g = { .stats = &st, .event = &ev };
	static const struct {
		double percent;
		bool is_sure;
	} list[] = { { -1, false }, { 90, true }, { 97.5, false }, { 100, false }, { 101.9, false },
		     { 110, true } };
	for (size_t i = 0; i < sizeof(list) / sizeof(*list); i++) {
		g.percent = list[i].percent;
		tap_ok(gap_is_sure(&g) == list[i].is_sure, "%.1f %% of 10000 samples: %s",
		       list[i].percent, list[i].is_sure ? "a gap" : "no gap");
	}
	ev.n_samples = 100;
	tap_ok(!gap_is_sure(&g), "110 %% of 100 samples are within chance");
	ev.n_samples = 10000;
	ev.value = SECOND_NS;
	tap_ok(gap_is_sure(&g), "110 %% of one second are a gap");
	g.used_by_ticks = true;
	tap_ok(!gap_is_sure(&g), "but not in clock ticks");
}

static void test_explained(void)
{
	struct cprof_stats st = { .scope = CPROF_SCOPE_CPU };
	struct cprof_event_stats ev = { .is_clock = true, .n_samples = 10000 };
	struct gap g = { .stats = &st, .event = &ev, .percent = 112 };
	explained(&g, "more than 100 %, because a clock also counts interrupts",
		  "percentages above 100 are explained");
	g.has_unrecorded = true;
	explained(&g, "more than 100 %", "whatever the kernel lets no user record");
	g.percent = 50;
	explained(&g, "", "missing time, if the losses explain it already");
	g.has_unrecorded = false;
	explained(&g, "a timer may miss", "missing time, scope cpu");
	ev.n_lost = 1;
	explained(&g, "", "missing time, if samples are lost");
	st.scope = CPROF_SCOPE_TASK;
	explained(&g, "less than one sampling period", "missing time, scope task");
	ev.is_clock = false;
	g.percent = 112;
	explained(&g, "", "more events than counted");
}

int main(void)
{
	test_sure();
	test_explained();
	return tap_done();
}
