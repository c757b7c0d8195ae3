/* Hints for cprof agent and cprof serve, which lack the options of cprof record. */
#include "base/err.h"
#include "cmd/hintwords.h"
#include "tests/unit/tap.h"

#include <string.h>

static void check(const char *hint, const char *agent, const char *serve)
{
	const char *want[HINTWORDS_N] = { [HINTWORDS_AGENT] = agent, [HINTWORDS_SERVE] = serve };
	for (int of = 0; of < HINTWORDS_N; of++) {
		struct err e = { 0 };
		err_set(&e, 1, "it failed");
		err_hint(&e, "%s", hint);
		hintwords_apply(&e, (enum hintwords_of)of);
		char name[160];
		snprintf(name, sizeof(name), "%s: '%s'", of == HINTWORDS_AGENT ? "agent" : "serve",
			 hint);
		for (char *c = name; *c; c++)
			if (*c == '\n')
				*c = ' ';
		tap_str(e.hint, want[of], name);
	}
}

static void test_length(void)
{
	struct err e = { 0 };
	for (size_t n = 0; n + 12 < sizeof(e.hint); n += 12)
		memcpy(e.hint + n, "-e cpu-clock", 12);
	hintwords_apply(&e, HINTWORDS_AGENT);
	tap_int((long long)strlen(e.hint), sizeof(e.hint) - 1,
		"a hint that becomes too long is cut off");
	tap_ok(strncmp(e.hint, "event = cpu-clockevent = ", 25) == 0, "and its beginning is right");
}

int main(void)
{
	check("", "", "");
	check("look for another one", "look for another one", "look for another one");
	check("a reason\nuse '-e cpu-clock', which needs no PMU",
	      "a reason\nuse 'event = cpu-clock', which needs no PMU",
	      "a reason\nuse 'event=cpu-clock', which needs no PMU");
	check("a reason\nrecord processes of your own (--scope task), or get CAP_PERFMON",
	      "a reason\nget CAP_PERFMON",
	      "a reason\nrecord a process of your own (pid=), or get CAP_PERFMON");
	check("record user code only (--user, or ':u' after the event), or get CAP_PERFMON",
	      "record user code only (':u' after the event), or get CAP_PERFMON",
	      "record user code only (':u' after the event), or get CAP_PERFMON");
	check("record longer, or sample more often (-F, -c)",
	      "record longer, or sample more often (rate)",
	      "record longer, or sample more often (hz=, period=)");
	check("use a smaller period (-c)", "use a smaller period",
	      "use a smaller period (period=)");
	check("the event is too rare for this rate: use -c", "the event is too rare for this rate",
	      "the event is too rare for this rate: use period=");
	check("use another rate, or a period (-c)", "use another rate",
	      "use another rate, or a period (period=)");
	check("record longer, or sample faster (-F)", "record longer, or sample faster (rate)",
	      "record longer, or sample faster (hz=)");
	check("read it at the samples of an event that can: -e '{cpu-clock,uncore/x/}:S' --scope "
	      "cpu\nboot", "choose one that can, such as 'event = cpu-clock'\nboot",
	      "choose one that can, such as 'event=cpu-clock'\nboot");
	check("use --scope cpu, which needs CAP_PERFMON or kernel.perf_event_paranoid=0",
	      "record whole CPUs, which needs CAP_PERFMON or kernel.perf_event_paranoid=0",
	      "leave out pid=, comm= and cgroup=, which needs CAP_PERFMON or "
	      "kernel.perf_event_paranoid=0");
	check("with --scope task each thread has its own timer\nrecord longer, sample faster (-F), "
	      "or instead of --scope task use --scope cpu (CAP_PERFMON or root)",
	      "each thread has its own timer\nrecord longer, sample faster (rate)",
	      "each thread has its own timer\nrecord longer, sample faster (hz=), or leave out "
	      "pid=, comm= and cgroup= (CAP_PERFMON or root)");
	check("leave out ':u' and --user", "leave out ':u'", "leave out ':u'");
	check("use '--call-graph fp'", "add '/call-graph=fp/' to the event",
	      "add '/call-graph=fp/' to the event");
	test_length();
	return tap_done();
}
