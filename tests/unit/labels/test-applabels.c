/* Labels of the test itself, at the times when they were set. */
#include "labels/applabels.h"

#include "agg/labels.h"
#include "base/budget.h"
#include "base/host.h"
#include "base/strtab.h"
#include "proc/procs.h"
#include "symbolize/elf/dso.h"
#include "tests/unit/tap.h"

#include "cprof-labels.h"

#include <stdlib.h>

static struct budget budget;
static struct strtab strings;
static struct labels labels;
static struct dso_table dsos;
static struct applabels app;
static struct procs_process process;
static uint32_t tid;

static bool is_pid(void *ctx, const char *key)
{
	(void)ctx;
	return strcmp(key, "pid") == 0;
}

static const char *text_of(uint32_t set)
{
	static char text[8192];
	uint32_t n;
	const struct label *l = labels_get(&labels, set, &n);
	text[0] = '\0';
	for (uint32_t i = 0; i < n; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s=%s", i ? " " : "",
			 strtab_get(&strings, l[i].key), strtab_get(&strings, l[i].value));
	return text;
}

static const char *at(uint64_t time_ns)
{
	return text_of(applabels_at(&app, &process, tid, time_ns));
}

/* A moment with nothing else close to it: two clocks agree within a microsecond. */
static uint64_t moment(void)
{
	usleep(100);
	uint64_t now = cprof_labels_monotonic();
	usleep(100);
	return now;
}

static void set_up(const struct host *host)
{
	budget_init(&budget, 0);
	strtab_init(&strings, &budget);
	labels_init(&labels, &budget);
	dso_table_init(&dsos, &budget);
	applabels_init(&app, &budget, &strings, &labels, &dsos, host);
	app.values.is_taken = is_pid;
	struct dso_key key = { .kind = DSO_ELF, .ino = 1 };
	struct dso *d = dso_table_add(&dsos, &key, "/bin/me");
	d->segment[d->n_segments++] =
		(struct dso_segment){ .n_file_bytes = 4096, .n_mem_bytes = 4096 };
	d->labels_vaddr = 0x100;
	process.pid = (uint32_t)getpid();
	tid = (uint32_t)gettid();
	uint64_t start = (uint64_t)(uintptr_t)&cprof_labels_registry - 0x100;
	procs_space_insert(&process.space, (struct procs_map){ start, start + 4096, 0, d->id });
	process.space.n_changes = 1;
}

static void test_times(void)
{
	uint64_t before = moment();
	cprof_label_set("request", "/a");
	uint64_t a = moment();
	cprof_label_set("request", "/b");
	uint64_t b = moment();
	cprof_label_set("pid", "mine");
	cprof_label_set("pprof::x", "y");
	cprof_label_set("bad", "\xff!");
	uint64_t c = moment();
	cprof_labels_adopt((struct cprof_labels){ 0 });
	uint64_t end = moment();
	tap_str(at(before), "", "before the first label");
	tap_str(at(a), "request=/a", "a label");
	tap_str(at(b), "request=/b", "the next");
	tap_str(at(a), "request=/a", "and back");
	tap_str(at(c), "request=/b app.pid=mine app.pprof::x=y bad=\xef\xbf\xbd!",
		"keys that have a meaning get a prefix, texts become UTF-8");
	tap_str(at(end), "", "the label was removed");
	tap_str(text_of(applabels_at(&app, &process, tid + 1, a)), "", "another thread has no "
		"labels");
	tap_int((long long)app.stats.n_processes, 1, "one process with labels");
	tap_int((long long)app.stats.n_unknown, 0, "the labels of all samples are known");
}

static void test_limits(void)
{
	char value[16];
	for (int i = 0; i < 1100; i++) {
		snprintf(value, sizeof(value), "%d", i);
		cprof_label_set("id", value);
		if (i % 50 == 0)
			at(moment());
	}
	uint64_t last = moment();
	tap_str(at(last), "id=[other]", "a value beyond the limit");
	tap_ok(app.stats.n_other >= 100, "is counted (%llu)",
	       (unsigned long long)app.stats.n_other);

	uint64_t between = 0;
	for (int i = 0; i < 600; i++) {
		cprof_label_set("id", i & 1 ? "0" : "1");
		if (i == 20)
			between = moment();
	}
	last = moment();
	tap_str(at(between), "", "overwritten changes are unknown");
	tap_int((long long)app.stats.n_unknown, 1, "and counted");
	tap_str(at(last), "id=0", "later it is known again");
}

/* How long until the program is read again. */
static void test_pace(void)
{
	cprof_label_set("id", "1");
	at(moment());
	cprof_label_set("id", "0");
	at(moment());
	tap_ok(applabels_timeout_ms(&app) <= 21, "a program is read again soon");
	app.is_frugal = true;
	usleep(25000);
	applabels_poll(&app);
	int ms = applabels_timeout_ms(&app);
	tap_ok(ms > 500 && ms <= 1001, "much later in a frugal recording");
	app.is_frugal = false;
}

static void test_fork(void)
{
	struct procs_process child = { .pid = (uint32_t)getpid() + 1 };
	applabels_fork(&app, &process, tid, child.pid, moment());
	cprof_label_set("id", "1");
	tap_str(text_of(applabels_at(&app, &child, child.pid, moment())), "id=0",
		"a forked child begins with its parent's labels, registry or none");
	applabels_forget(&app, child.pid);
	tap_str(text_of(applabels_at(&app, &child, child.pid, moment())), "",
		"until it becomes another program");
}

int main(void)
{
	struct host host;
	if (host_open(&host, NULL, NULL, NULL, NULL) < 0)
		return 1;
	set_up(&host);
	tap_int(applabels_timeout_ms(&app), -1, "without labels there is nothing to wait for");
	test_times();
	tap_ok(applabels_timeout_ms(&app) >= 0 && applabels_timeout_ms(&app) <= 21,
	       "with labels there is");
	test_limits();
	test_pace();
	test_fork();
	applabels_done(&app);
	VEC_FREE(&process.space.map);
	labels_done(&labels);
	dso_table_done(&dsos);
	strtab_done(&strings);
	tap_int((long long)budget.used_bytes, 0, "all memory is released");
	host_close(&host);
	return tap_done();
}
