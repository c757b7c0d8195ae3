/* The labels of samples, without an engine. */
#include "agg/labels.h"
#include "base/budget.h"
#include "base/host.h"
#include "base/strtab.h"
#include "labels/samplelabels.h"
#include "proc/procs.h"
#include "source/record.h"
#include "symbolize/elf/dso.h"
#include "tests/unit/tap.h"

#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static struct budget budget;
static struct strtab strings;
static struct labels labels;
static struct samplelabels all;
static struct procs_process process;
static struct procs_thread thread;
static struct samplelabels_memo memo;

/* "key=value" of a set, in the order of the keys' ids. */
static const char *text_of(uint32_t set)
{
	static char text[256];
	uint32_t n;
	const struct label *l = labels_get(&labels, set, &n);
	text[0] = '\0';
	for (uint32_t i = 0; i < n; i++) {
		size_t len = strlen(text);
		snprintf(text + len, sizeof(text) - len, "%s%s=%s", i ? " " : "",
			 strtab_get(&strings, l[i].key), strtab_get(&strings, l[i].value));
	}
	return text;
}

static bool has(uint32_t set, const char *pair)
{
	return strstr(text_of(set), pair) != NULL;
}

static void open_labels(unsigned wanted, const char *const *fixed, size_t n_fixed)
{
	static const char *const pmu[] = { NULL, "cpu_atom" };
	samplelabels_done(&all);
	memo = (struct samplelabels_memo){ 0 };
	samplelabels_init(&all, &(struct samplelabels_options){
		.budget = &budget, .strings = &strings, .labels = &labels, .wanted = wanted,
		.fixed = fixed, .n_fixed = n_fixed, .pmu = pmu, .n_events = 2,
	});
}

static void test_builtin(void)
{
	struct record r = { .cpu = 3, .event = 0 };
	open_labels(SAMPLELABELS_DEFAULT, NULL, 0);
	uint32_t set = samplelabels_of(&all, &thread, &memo, &r);
	tap_ok(has(set, "pid=7") && has(set, "tid=8") && has(set, "thread_name=worker") &&
		       has(set, "process_name=server") && !has(set, "cpu"),
	       "the default labels: %s", text_of(set));
	tap_int(samplelabels_of(&all, &thread, &memo, &r), set, "the memo gives the same set");
	r.event = 1;
	set = samplelabels_of(&all, &thread, &memo, &r);
	tap_ok(has(set, "pmu=cpu_atom"), "an event of one of several PMUs");
	open_labels(SAMPLELABEL_CPU, NULL, 0);
	tap_str(text_of(samplelabels_of(&all, &thread, NULL, &r)), "pmu=cpu_atom cpu=3",
		"only the requested labels, without a memo");
	process.title = strtab_add_cstr(&strings, "server: busy");
	open_labels(SAMPLELABEL_PROCESS_TITLE, NULL, 0);
	tap_ok(has(samplelabels_of(&all, &thread, &memo, &r), "process_title=server: busy"),
	       "the title of the process");
	process.title = strtab_add_cstr(&strings, "server: idle");
	tap_ok(has(samplelabels_of(&all, &thread, &memo, &r), "process_title=server: idle"),
	       "a new title needs a new set");
	tap_ok(samplelabels_is_key(&all, "thread_name") && !samplelabels_is_key(&all, "request"),
	       "built-in keys are reserved");
}

static void test_own(void)
{
	const char *const fixed[] = { "tier=web", "stack=mine" };
	const struct stack_marks mark = { .n_joined = 2 };
	struct record r = { .cpu = 0, .event = 0 };
	open_labels(SAMPLELABEL_PID | SAMPLELABEL_STACK, fixed, 2);
	uint32_t set = samplelabels_of(&all, &thread, &memo, &r);
	tap_ok(has(set, "tier=web") && has(set, "stack=mine"), "the user's labels");
	tap_ok(samplelabels_is_key(&all, "tier"), "their keys are reserved, too");
	tap_int(samplelabels_marked(&all, set, &mark), set,
		"the user's label replaces that of marks");
	uint32_t with = samplelabels_with(&all, set, "lock", "queue");
	tap_ok(has(with, "lock=queue") && has(with, "tier=web"), "one more label");
	tap_int(samplelabels_with(&all, set, "lock", "queue"), with, "again: the same set");
	open_labels(SAMPLELABEL_PID | SAMPLELABEL_STACK, NULL, 0);
	set = samplelabels_of(&all, &thread, &memo, &r);
	tap_ok(has(samplelabels_marked(&all, set, &mark), "stack="), "the label of marks");
}

static void test_memory(void)
{
	struct record r = { .cpu = 0, .event = 0 };
	open_labels(SAMPLELABELS_DEFAULT, NULL, 0);
	budget.limit_bytes = budget.used_bytes;
	uint32_t set = samplelabels_of(&all, &thread, NULL, &r);
	tap_ok(!has(set, "thread_name"), "when memory is short, few labels are kept");
	tap_int((long long)all.n_dropped, 1, "and that is counted");
	tap_int(samplelabels_with(&all, set, "lock", "queue"), set, "further ones are not added");
	budget.limit_bytes = 0;
}

#define ENDED 0x7ffffff0u         /* no kernel has such ids */

static void fork_one(struct procs *p, uint32_t ppid, uint32_t pid)
{
	const struct record r = {
		.type = PERF_RECORD_FORK, .pid = pid, .tid = pid,
		.fork = { .ppid = ppid, .ptid = ppid },
	};
	procs_feed(p, &r, false);
}

/* Three generations that were never sampled, and have ended. */
static void test_ancestors(void)
{
	struct record r = { .cpu = 0, .event = 0 };
	struct dso_table dsos;
	struct procs p;
	struct host h;
	if (host_open(&h, NULL, NULL, NULL, NULL) < 0 || dso_table_init(&dsos, &budget) < 0 ||
	    procs_init(&p, &budget, &strings, &dsos, NULL) < 0)
		return;
	fork_one(&p, (uint32_t)getpid(), ENDED);
	fork_one(&p, ENDED, ENDED + 1);
	fork_one(&p, ENDED + 1, ENDED + 2);
	open_labels(SAMPLELABEL_CGROUP, NULL, 0);
	all.options.host = &h;
	all.options.procs = &p;
	uint32_t own = samplelabels_of(&all, procs_thread(&p, (uint32_t)getpid(), 1), NULL, &r);
	procs_find(&p, (uint32_t)getpid())->cgroup = 0;
	uint32_t set = samplelabels_of(&all, procs_thread(&p, ENDED + 2, ENDED + 2), NULL, &r);
	tap_ok(set == own && has(set, "cgroup=/"),
	       "the cgroup of a process that has ended is that of an ancestor: %s", text_of(set));
	open_labels(SAMPLELABEL_CGROUP, NULL, 0);
	procs_done(&p);
	dso_table_done(&dsos);
	host_close(&h);
}

int main(void)
{
	budget_init(&budget, 0);
	if (strtab_init(&strings, &budget) < 0 || labels_init(&labels, &budget) < 0)
		return 1;
	process = (struct procs_process){ .pid = 7, .name = strtab_add_cstr(&strings, "server") };
	thread = (struct procs_thread){ .tid = 8, .name = strtab_add_cstr(&strings, "worker"),
					.process = &process };
	test_builtin();
	test_own();
	test_memory();
	test_ancestors();
	samplelabels_done(&all);
	labels_done(&labels);
	strtab_done(&strings);
	return tap_done();
}
