#include "profile/comments.h"
#include "profile/losses.h"
#include "source/source.h"
#include "tests/unit/tap.h"

static struct cprof_config config;
static struct cprof_stats stats;
static struct cprof_event_stats event;
static struct cprof_stack_ends ends[3];
static size_t n_ends;
static double coverage_percent;
static struct cprof_rate_cut cuts[2];
static struct cprof_scope_change changes[2];
static struct cprof_losses losses;
static const struct source_facts facts = {
	.kernel_release = "6.1.0", .arch = "x86_64", .hostname = "box", .n_cpus = 8,
};

/* A recording of two seconds by a clock at 100 Hz, completely covered. */
static void begin(void)
{
	config = (struct cprof_config){ .command_line = "cprof record -p 7" };
	stats = (struct cprof_stats){ .duration_ns = 2000000000, .scope = CPROF_SCOPE_CPU,
				      .cpu_used_known = true, .cpu_used_ns = 2000000000 };
	event = (struct cprof_event_stats){
		.name = "cpu-clock", .sample_type = "cpu", .unit = "nanoseconds", .is_clock = true,
		.freq_hz = 100, .n_samples = 200, .value = 2000000000,
	};
	memset(ends, 0, sizeof(ends));
	memset(&losses, 0, sizeof(losses));
	n_ends = 1;
	coverage_percent = 100;
}

/* All comments, each with a newline; NULL if they cannot be made. */
static const char *text(void)
{
	static char buf[8192];
	struct comments c;
	size_t len = 0;
	buf[0] = '\0';
	if (comments_make(&c, &config, &facts, &stats, &event, ends, n_ends, cuts, changes, &losses,
			  coverage_percent) < 0)
		return NULL;
	for (size_t i = 0; i < c.list.n && len < sizeof(buf); i++)
		len += (size_t)snprintf(buf + len, sizeof(buf) - len, "%s\n", c.list.v[i]);
	comments_done(&c);
	return buf;
}

static void says(const char *line, const char *name)
{
	bool ok = strstr(text(), line) != NULL;
	tap_ok(ok, "%s", name);
	if (!ok)
		printf("# no '%s'\n", line);
}

static void keeps_quiet(const char *line, const char *name)
{
	tap_ok(!strstr(text(), line), "%s", name);
}

static void test_clock(void)
{
	begin();
	tap_ok(strncmp(text(), "cprof ", 6) == 0, "the first line names the program");
	says("\nevent: cpu-clock\n", "the event");
	says("\ncommand: cprof record -p 7\n", "the command line");
	says("\nmachine: box x86_64, Linux 6.1.0, 8 CPUs\n", "the machine");
	says("\nscope: cpu\n", "the scope");
	says("\nrate: 100 Hz requested; mean period 10000000 nanoseconds\n", "the rate");
	says("\nsamples: 200 in 2.000 s, 100.0 per second\n", "the samples");
	says("\ncoverage: samples cover 100.0 % of the CPU time used\n", "the coverage");
	keeps_quiet("losses:", "no losses, no line about them");
	keeps_quiet("counted:", "a clock's own count is omitted");
	keeps_quiet("user code only", "nothing was given up");
	keeps_quiet("stacks:", "no stack was unwound");
	event.freq_hz = 0;
	event.period = 500;
	says("\nrate: period 500 nanoseconds\n", "a fixed period");
	config.command_line = NULL;
	keeps_quiet("command:", "no command line is known");
	event.n_samples = stats.duration_ns = 0;
	says("\nsamples: 0 in 0.000 s, 0.0 per second\n", "an empty recording");
}

static void test_counter(void)
{
	begin();
	event.name = event.sample_type = "page_faults";
	event.unit = "count";
	event.is_clock = false;
	event.counted = 1000;
	event.value = 900;
	event.counted_target = true;
	event.time_enabled_ns = 2000000000;
	event.time_running_ns = 1000000000;
	says("\ncounted: 1000 page_faults by the target; sampled: 900\n", "a counter's count");
	coverage_percent = 90;
	says("\ncoverage: samples cover 90.0 % of the events counted\n", "and coverage");
	says("\nevent time: enabled 2.000000 s, running 1.000000 s (50.0 %)\n", "a shared counter");
	event.counted_target = false;
	says("by all tasks of these CPUs", "a count of whole CPUs");
	coverage_percent = -1;
	keeps_quiet("coverage:", "unknown coverage");
}

static void test_accounts(void)
{
	begin();
	keeps_quiet("cost:", "unknown costs are omitted");
	keeps_quiet("scaled", "nothing was scaled");
	keeps_quiet("rate lowered", "no rate was lowered");
	stats.own_cpu_ns = 12345678;
	says("\ncost: cprof itself 0.012 s of CPU time when this was written\n", "its own cost");
	keeps_quiet("of the target", "the target's cost is unknown");
	stats.cost_known = true;
	stats.cost_ns = 4000000;
	says("\ncost: about 0.004000 s of the target's CPU time for sampling (estimated)\n",
	     "the target's cost");
	event.time_enabled_ns = 3000000000;
	event.time_running_ns = 2000000000;
	event.scale = 1.5;
	says("\nscaled (--scale): values are multiplied by 1.500000, the time enabled by the time "
	     "running; counts of samples are not\n", "that values are scaled");
	cuts[0] = (struct cprof_rate_cut){ 200000000, true, 1000, 500, "samples were lost" };
	cuts[1] = (struct cprof_rate_cut){ 400000000, false, 100, 200, "throttled by the kernel" };
	event.n_rate_cuts = 2;
	says("\nrate lowered (--adaptive): 500 instead of 1000 Hz from 0.200 s on: samples were "
	     "lost\n", "a lowered frequency");
	says("\nrate lowered (--adaptive): period 200 instead of 100 from 0.400 s on: throttled by "
	     "the kernel\n", "a longer period");
	event.n_rate_cuts = 0;
	keeps_quiet("scope changed", "the scope did not change");
	changes[0] = (struct cprof_scope_change){ 1250000000, CPROF_SCOPE_TASK, CPROF_SCOPE_CPU,
						  "short threads were not sampled" };
	stats.n_scope_changes = 1;
	says("\nscope changed: cpu instead of task from 1.250 s on: short threads were not "
	     "sampled\n", "a change of the scope");
	stats.n_scope_changes = 0;
	event.throttled_ns = 5000000;
	says("\nlosses: throttled for 0.005000 s, summed over threads and CPUs\n", "throttling");
	losses.n[cprof_loss_row("lost")] = 5;
	losses.n[cprof_loss_row("lost_by_pmu")] = 2;
	says("\nlosses: 2 of them lost in the PMU's own buffer\n", "the PMU's losses");
	event.precise_asked = 3;
	event.precise = 1;
	says("\nprecise level: 1 instead of 3\n", "a lower precise level");
}

static void test_losses(void)
{
	static const struct { const char *key, *words; } known[] = {
		{ "lost", "7 samples lost" }, { "throttled", "7 times throttled" },
		{ "truncated", "7 stacks truncated" }, { "cut", "7 stacks" },
		{ "unknown_pc", "7 samples at an address outside" },
		{ "shortened", "7 stacks without the innermost" },
		{ "dropped", "7 samples without a stack" },
		{ "labels_dropped", "7 samples without some label" },
		{ "undecodable", "7 records that could not" },
		{ "out_of_order", "7 records out of order" },
		{ "cpus_failed", "7 CPUs" },
	};
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		char line[64];
		begin();
		losses.n[cprof_loss_row(known[i].key)] = 7;
		snprintf(line, sizeof(line), "\nlosses: %s", known[i].words);
		says(line, known[i].words);
		const char *first = strstr(text(), "losses:");
		tap_ok(first && !strstr(first + 1, "losses:"), "and no other loss");
	}
	const struct cprof_loss *loss;
	unsigned n_plural = 0;
	for (size_t i = 0; (loss = cprof_loss(i)); i++) {
		begin();
		losses.n[i] = 1;
		const char *one = strstr(text(), "\nlosses: 1 ");
		n_plural += one && strstr(one, " their ");
	}
	tap_int(n_plural, 0, "texts of one loss are in the singular");
	begin();
	losses.n[cprof_loss_row("debug_misfits")] = 7;
	keeps_quiet("losses:", "losses that are not part of the comments");
	begin();
	stats.user_only = true;
	says("\nuser code only", "the kernel's side was given up");
	begin();
	stats.user_only = true;
	event.value = 500000000;
	says("\nnot in the profile: 1.50 s (75 %) of 2.00 s of CPU time", "and how much it used");
	begin();
	event.value = 500000000;
	keeps_quiet("not in the profile", "samples of both sides");
	begin();
	stats.kernel_names_hidden = true;
	says("\nkernel functions without names", "kernel names are hidden");
	begin();
	ends[0].n[0] = 5;
	ends[0].n_joined = 2;
	stats.stack_bytes = 8192;
	says("\nstacks: 5 unwound by CFI, copies of 8192 bytes, 2 joined",
	     "stacks that were unwound");
	says("\nstack ends: 5 ", "and how they ended");
	ends[1].path = "/lib/odd.so";
	ends[1].n[2] = 7;
	n_ends = 3;
	says("\nstack ends in /lib/odd.so: 7 no CFI\n", "and where they ended early");
}

int main(void)
{
	test_clock();
	test_counter();
	test_accounts();
	test_losses();
	tap_str(comments_scope_name(CPROF_SCOPE_TASK), "task", "names of scopes: task");
	tap_str(comments_scope_name(CPROF_SCOPE_CGROUP), "cgroup", "cgroup");
	return tap_done();
}
