#include "base/err.h"
#include "cprof.h"
#include "recorder/machine.h"
#include "event/evopen.h"
#include "proto/pprof-check.h"
#include "proto/pprof-read.h"
#include "recorder/setup.h"
#include "tests/unit/profile/profile-text.h"
#include "tests/unit/procself.h"
#include "tests/unit/tap.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static struct err e;
static pid_t self;
static const char *const cpu_clock[] = { "cpu-clock" };

/* ---- a system call that fails -------------------------------------------------------- */

static int fail_with, n_calls, fail_from;

static int failing_open(struct perf_event_attr *attr, pid_t pid, int cpu, int group,
			unsigned long flags)
{
	if (++n_calls >= fail_from) {
		errno = fail_with;
		return -1;
	}
	return evopen_syscall(attr, pid, cpu, group, flags);
}

static const struct cprof_machine failing = { .perf_event_open = failing_open };

/* A refusal leaves neither a recorder nor a descriptor behind. */
static bool refuses(const struct cprof_config *c, const char *name)
{
	struct cprof_recorder *r = NULL;
	int n_before = n_descriptors();
	memset(&e, 0, sizeof(e));
	int code = cprof_recorder_new(c, &r, &e);
	int n_after = n_descriptors();
	bool ok = code < 0 && e.code == code && e.what[0] && !r && n_before == n_after;
	tap_ok(ok, "%s: refused, and nothing leaks", name);
	if (!ok)
		printf("# code %d, e.code %d, descriptors %d and %d, '%s'\n", code, e.code,
		       n_before, n_after, e.what);
	if (code == 0)
		cprof_recorder_free(r);
	return ok;
}

static struct cprof_config plain(void)
{
	return (struct cprof_config){ .event = cpu_clock, .n_events = 1, .pid = &self, .n_pids = 1,
				      .scope = CPROF_SCOPE_TASK };
}

static void test_errnos(void)
{
	static const struct { int errnum; const char *name;
	} errnos[] = {
		{ EMFILE, "EMFILE" }, { ENFILE, "ENFILE" }, { EACCES, "EACCES" },
		{ EPERM, "EPERM" },   { ENOENT, "ENOENT" }, { EBUSY, "EBUSY" },
		{ EINVAL, "EINVAL" }, { ENODEV, "ENODEV" }, { EOPNOTSUPP, "EOPNOTSUPP" },
		{ ENOMEM, "ENOMEM" }, { ESRCH, "ESRCH" },   { ENOSYS, "ENOSYS" },
		{ EINTR, "EINTR" },   { E2BIG, "E2BIG" },
	};
	for (size_t i = 0; i < sizeof(errnos) / sizeof(*errnos); i++) {
		for (int scope = CPROF_SCOPE_AUTO; scope <= CPROF_SCOPE_CPU; scope++) {
			struct cprof_config c = plain();
			char name[64];
			c.machine = &failing;
			c.scope = (enum cprof_scope)scope;
			fail_with = errnos[i].errnum;
			n_calls = 0;
			fail_from = 1;
			snprintf(name, sizeof(name), "%s, scope %d", errnos[i].name, scope);
			refuses(&c, name);
			if (e.code != -fail_with || !strstr(e.what, strerror(fail_with)))
				tap_ok(false, "%s: the errno is reported: %d '%s'", name, e.code,
				       e.what);
		}
	}
	struct cprof_config c = plain();
	c.n_events = 0;
	c.machine = &failing;
	fail_with = ENOENT;
	refuses(&c, "no event chosen, and none can be opened");
}

/* Descriptors run out in the middle, at every possible call. */
static void test_middle(void)
{
	const char *const two[] = { "cpu-clock", "page-faults" };
	struct cprof_config c = plain();
	struct cprof_recorder *r;
	c.event = two;
	c.n_events = 2;
	c.machine = &failing;
	n_calls = 0;
	fail_from = INT32_MAX;
	if (cprof_recorder_new(&c, &r, &e) < 0) {
		tap_skip("failures in the middle", "no perf events here");
		return;
	}
	cprof_recorder_free(r);
	int n_all = n_calls;
	fail_with = EMFILE;
	for (fail_from = 1; fail_from <= n_all; fail_from++) {
		char name[64];
		n_calls = 0;
		snprintf(name, sizeof(name), "EMFILE at call %d of %d", fail_from, n_all);
		refuses(&c, name);
	}
}

/* ---- impossible requests -------------------------------------------------------------- */

static void test_configs(void)
{
	struct cprof_config c = plain();
	c.n_pids = 0;
	refuses(&c, "no target");
	c = plain();
	c.scope = CPROF_SCOPE_CGROUP;
	refuses(&c, "a cgroup without a command");
	tap_ok(strstr(e.hint, "--scope cpu"), "and a remedy");

	const pid_t twice[] = { self, self };
	c = plain();
	c.pid = twice;
	c.n_pids = 2;
	refuses(&c, "a process that is given twice");
	tap_ok(strstr(e.what, "twice"), "because its samples would count twice");
	c = plain();
	c.tid = &self;
	c.n_tids = 1;
	c.command_pid = self;
	refuses(&c, "a command and other targets at once");
	c = plain();
	c.all_processes = true;
	c.scope = CPROF_SCOPE_AUTO;
	tap_ok(refuses(&c, "all processes and one of them") && e.is_usage, "which is wrong usage");
	c.n_pids = 0;
	c.scope = CPROF_SCOPE_TASK;
	tap_ok(refuses(&c, "all processes with events of single tasks") && e.is_usage,
	       "so is that");
	c.scope = CPROF_SCOPE_CPU;
	c.no_inherit = true;
	tap_ok(refuses(&c, "all processes without later ones") && e.is_usage, "and that");
	c.no_inherit = false;
	static const char *const bad_cpus[] = {
		"", ",", "0,", "x", "0-", "3-1", "0,,0", "-1", "0 "
	};
	for (size_t i = 0; i < sizeof(bad_cpus) / sizeof(*bad_cpus); i++) {
		char name[64];
		c.cpus = bad_cpus[i];
		snprintf(name, sizeof(name), "the CPUs '%s'", bad_cpus[i]);
		tap_ok(refuses(&c, name) && e.is_usage, "the list is wrong");
	}
	c.cpus = "60000";
	tap_ok(refuses(&c, "a CPU that does not exist") && !e.is_usage && strstr(e.what, "60000"),
	       "the message names the CPU");
	c = plain();
	c.cpus = "0";
	tap_ok(refuses(&c, "CPUs of a single process") && e.is_usage, "wrong usage, too");

	const char *const unknown[] = { "cpu-clok" };
	c = plain();
	c.event = unknown;
	refuses(&c, "an unknown event");
	tap_ok(strstr(e.what, "cpu-clok") &&
		       (strstr(e.what, "cpu-clock") || strstr(e.hint, "cpu-clock")),
	       "the message has the nearest name");
	const char *const again[] = { "cpu-clock", "page-faults,cpu-clock" };
	c = plain();
	c.event = again;
	c.n_events = 2;
	refuses(&c, "an event twice");

	static const char *const bad_labels[] = { "", "=", "key", "=value", "pprof::x=y", "key=" };
	for (size_t i = 0; i < sizeof(bad_labels) / sizeof(*bad_labels); i++) {
		char name[64];
		c = plain();
		c.label = &bad_labels[i];
		c.n_labels = 1;
		snprintf(name, sizeof(name), "label '%s'", bad_labels[i]);
		refuses(&c, name);
		tap_ok(strstr(e.what, "label"), "the message names the label");
	}
	static const char *many[100];
	for (size_t i = 0; i < 100; i++)
		many[i] = "a=b";
	c = plain();
	c.label = many;
	c.n_labels = 100;
	refuses(&c, "100 labels");

	static const uint64_t bad_rings[] = { 1, 4095, 4097, 3 * 65536, UINT64_MAX };
	for (size_t i = 0; i < sizeof(bad_rings) / sizeof(*bad_rings); i++) {
		char name[64];
		c = plain();
		c.ring_bytes = bad_rings[i];
		snprintf(name, sizeof(name), "a ring of %llu bytes",
			 (unsigned long long)bad_rings[i]);
		refuses(&c, name);
		tap_ok(strstr(e.what, "ring size") && e.hint[0],
		       "the message has a remedy");
	}
	static const char *const bad_rates[] = { "0", "-1", "x", "", "99999999999" };
	for (size_t i = 0; i < sizeof(bad_rates) / sizeof(*bad_rates); i++) {
		char name[64];
		c = plain();
		c.freq = bad_rates[i];
		snprintf(name, sizeof(name), "%s Hz", bad_rates[i]);
		refuses(&c, name);
		c.freq = NULL;
		c.period = i < 4 ? bad_rates[i] : "5";
		snprintf(name, sizeof(name), "a period of %s", c.period);
		refuses(&c, name);
	}
	pid_t nobody = fork();
	if (nobody == 0)
		_exit(0);
	waitpid(nobody, NULL, 0);
	c = plain();
	c.pid = &nobody;
	refuses(&c, "a process that does not exist");
	tap_int(e.code, -ESRCH, "with that errno");
}

static void test_optional_labels(void)
{
	const char *const label[] = { "pid=x", "tidy=1", "process_name=web" };
	struct cprof_config c = { .label = label, .n_labels = 3 };
	tap_int(setup_optional_labels(&c), CPROF_LABEL_TID | CPROF_LABEL_THREAD_NAME,
		"the user's labels are not left out");
}

/* ---- from start to end -------------------------------------------------------------------- */

/* CPU time that a recording of this process has to find in burn(). */
#define BURN_NS 300000000

static double used_cpu_s(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void __attribute__((noinline)) burn(double seconds)
{
	/* nearly all of it in user code, since the kernel may not be sampled */
	double end = used_cpu_s() + seconds;
	do
		for (volatile int i = 0; i < 50000; i++)
			;
	while (used_cpu_s() < end);
}

static void test_recording(enum cprof_scope scope)
{
	struct cprof_config c = plain();
	struct cprof_recorder *r = NULL;
	const char *const label[] = { "service=unit test" };
	int n_before = n_descriptors();
	c.scope = scope;
	c.label = label;
	c.n_labels = 1;
	c.freq = "1999";
	if (cprof_recorder_new(&c, &r, &e) < 0) {
		tap_skip("a recording of this process", e.what);
		return;
	}
	tap_int((long long)cprof_recorder_n_events(r), 1, "one event");
	tap_int(cprof_recorder_stop(r, &e), -EINVAL, "stop before start");
	tap_int(cprof_recorder_start(r, &e), 0, "start");
	tap_int(cprof_recorder_start(r, &e), -EALREADY, "start again");
	int fds[2];
	bool ready = true;
	if (pipe(fds) == 0) {
		tap_int(cprof_recorder_step(r, 0, &fds[0], 1, &ready, &e), CPROF_RUNNING, "a step");
		tap_ok(!ready, "our descriptor is not readable");
		for (int i = 0; i < 30; i++) {
			burn(BURN_NS / 30 / 1e9);
			cprof_recorder_step(r, 0, NULL, 0, NULL, &e);
		}
		tap_int((int)write(fds[1], "x", 1), 1, "something is written there");
		cprof_recorder_step(r, 0, &fds[0], 1, &ready, &e);
		tap_ok(ready, "now it is readable");
		close(fds[0]);
		close(fds[1]);
	}
	tap_int(cprof_recorder_stop(r, &e), 0, "stop");
	tap_int(cprof_recorder_stop(r, &e), -EINVAL, "stop again");
	bool zero = true;
	tap_int(cprof_recorder_check(r, 0, &zero, &e), 0, "there are samples");

	struct cprof_stats st;
	struct cprof_event_stats ev;
	cprof_recorder_stats(r, &st);
	cprof_recorder_event_stats(r, 0, &ev);
	tap_ok(st.scope == scope && st.n_processes == 1 && st.n_cpus_failed == 0, "facts of it");
	tap_ok(st.duration_ns > 150000000 && st.duration_ns < 60000000000u, "its length");
	tap_ok(ev.n_samples > 50 && ev.value > 100000000, "some hundred samples for 0.3 s");
	tap_ok(strcmp(ev.name, "cpu-clock") == 0 && strcmp(ev.sample_type, "cpu") == 0 &&
		       ev.is_clock,
	       "facts of the event");
	double percent = cprof_coverage_percent(r, 0);
	tap_ok(st.user_only || (percent > 50 && percent < 150), "coverage is %.0f %%", percent);

	for (int round = 0; round < 2; round++) {
		struct profile_text_bytes bytes = { 0 };
		struct profile *p = NULL;
		size_t n_errors = 1;
		tap_int(cprof_recorder_write(r, 0, profile_text_take, &bytes, &e), 0, "a profile");
		if (profile_read(bytes.v, bytes.n, 0, &p, &e) == 0)
			n_errors = profile_text_errors(p);
		tap_int((long long)n_errors, 0, "consumers accept it");
		int64_t value = 0, in_burn = 0;
		bool labelled = true;
		for (size_t i = 0; p && i < p->n_samples; i++) {
			const struct profile_sample *s = &p->sample[i];
			value += s->value[1];
			for (size_t k = 0; k < s->n_locations; k++)
				for (size_t l = 0; l < s->location[k]->n_lines; l++)
					if (!strcmp(s->location[k]->line[l].function->name,
						    "burn")) {
						in_burn += s->value[1];
						k = s->n_locations - 1;
						break;
					}
			labelled &= s->n_labels > 0 || s->location[0]->mapping == NULL;
		}
		tap_ok(value >= (int64_t)ev.value, "its sum is the recorder's");
		tap_ok(labelled, "with the given label");
		/* not a share: on a busy machine the recorder itself uses more CPU time */
		tap_ok(in_burn > BURN_NS / 10 * 6, "%.0f ms in the function that burnt %d ms",
		       (double)in_burn / 1e6, BURN_NS / 1000000);
		profile_free(p);
		free(bytes.v);
	}
	cprof_recorder_free(r);
	tap_int(n_descriptors(), n_before, "no descriptor is left open");
}

/* A command that waits in a child, as on the command line. */
static void test_command(enum cprof_scope scope, const char *name)
{
	const char *const two[] = { "cpu-clock", "page-faults/period=1/" };
	int go[2];
	char byte;
	if (pipe(go) < 0)
		return;
	pid_t child = fork();
	if (child == 0) {
		close(go[1]);
		/* this is not part of the command */
		for (volatile int i = 0; i < 30000000; i++)
			;
		if (read(go[0], &byte, 1) == 1)
			execlp("sh", "sh", "-c",
			       "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; exit 4", NULL);
		_exit(99);
	}
	close(go[0]);
	struct cprof_config c = {
		.event = two, .n_events = 2, .command_pid = child, .scope = scope
	};
	struct cprof_recorder *r = NULL;
	if (cprof_recorder_new(&c, &r, &e) < 0) {
		tap_skip(name, e.what);
		close(go[1]);
		waitpid(child, NULL, 0);
		return;
	}
	tap_int(cprof_recorder_start(r, &e), 0, name);
	int status = 0;
	struct rusage use;
	bool told = write(go[1], "", 1) == 1;
	close(go[1]);
	for (int i = 0; i < 1000 && told; i++) {
		cprof_recorder_step(r, 20, NULL, 0, NULL, &e);
		if (wait4(child, &status, WNOHANG, &use) == child)
			break;
	}
	tap_int(WEXITSTATUS(status), 4, "the command ran");
	cprof_recorder_command_used(
		r, (uint64_t)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) * 1000000000 +
			   (uint64_t)(use.ru_utime.tv_usec + use.ru_stime.tv_usec) * 1000);
	tap_int(cprof_recorder_stop(r, &e), 0, "stop");
	struct cprof_event_stats ev;
	cprof_recorder_event_stats(r, 0, &ev);
	uint64_t n_lost = ev.n_lost;
	cprof_recorder_event_stats(r, 1, &ev);
	n_lost += ev.n_lost;
	/* In scope cpu other programs' page faults can fill the rings; that must be reported. */
	tap_ok(ev.n_samples > 0 || n_lost > 0, "its %llu page faults, %llu lost",
	       (unsigned long long)ev.n_samples, (unsigned long long)n_lost);
	tap_str(ev.sample_type, "page_faults", "their sample type");
	cprof_recorder_event_stats(r, 0, &ev);
	tap_ok(ev.n_samples > 20 || n_lost > 0, "%s: its CPU time: %llu samples, %llu lost",
	       name, (unsigned long long)ev.n_samples, (unsigned long long)n_lost);

	struct profile_text_bytes bytes = { 0 };
	struct profile *p = NULL;
	bool own_code = false, shell = false;
	if (cprof_recorder_write(r, 0, profile_text_take, &bytes, &e) == 0 &&
	    profile_read(bytes.v, bytes.n, 0, &p, &e) == 0) {
		tap_int((long long)profile_text_errors(p), 0, "consumers accept it");
		for (size_t i = 0; i < p->n_mappings; i++) {
			own_code |= strstr(p->mapping[i].filename, "test-setup") != NULL;
			shell |= i == 0 && strstr(p->mapping[i].filename, "sh") != NULL;
		}
	}
	tap_ok(shell || n_lost > 0, "the command is the main binary");
	tap_ok(!own_code, "our own code in the child is left out");
	profile_free(p);
	free(bytes.v);
	cprof_recorder_free(r);
}

/* What happens before the end of the delay is left out. */
static void test_delay(void)
{
	struct cprof_config c = plain();
	struct cprof_recorder *r = NULL;
	c.delay_ns = 3600000000000u;
	if (cprof_recorder_new(&c, &r, &e) < 0) {
		tap_skip("a delay", e.what);
		return;
	}
	struct cprof_stats st;
	struct cprof_event_stats ev;
	cprof_recorder_start(r, &e);
	burn(0.05);
	cprof_recorder_step(r, 0, NULL, 0, NULL, &e);
	cprof_recorder_stats(r, &st);
	tap_int((long long)st.duration_ns, 0, "nothing is recorded before the delay is over");
	cprof_recorder_stop(r, &e);
	cprof_recorder_stats(r, &st);
	cprof_recorder_event_stats(r, 0, &ev);
	tap_ok(ev.n_samples == 0 && ev.value == 0 && ev.n_lost == 0,
	       "nothing at all if the recording ends before");
	tap_ok(st.duration_ns < 1000000000, "and its duration is short");
	cprof_recorder_free(r);

	c.delay_ns = 1000000;
	if (cprof_recorder_new(&c, &r, &e) == 0) {
		cprof_recorder_start(r, &e);
		burn(0.05);
		for (int i = 0; i < 20; i++) {
			burn(0.01);
			cprof_recorder_step(r, 0, NULL, 0, NULL, &e);
		}
		cprof_recorder_stop(r, &e);
		cprof_recorder_event_stats(r, 0, &ev);
		tap_ok(ev.n_samples > 100, "after the delay everything is");
		cprof_recorder_free(r);
	}
}

/* A forked copy of a recorder, which writes a snapshot, knows the CPU time that its parent had
 * used, although its own clock starts again. */
static void test_copy(void)
{
	struct cprof_config c = { .self = CPROF_SELF_THREAD };
	struct cprof_stats stats;
	struct cprof_recorder *r = NULL;
	int status = -1;
	burn(0.2);
	if (cprof_recorder_new(&c, &r, &e) < 0) {
		tap_skip("a copy of a recorder", e.what);
		return;
	}
	cprof_recorder_start(r, &e);
	burn(0.1);
	tap_int(cprof_recorder_snapshot(r, &e), 0, "a snapshot");
	pid_t child = fork();
	if (child == 0) {
		cprof_recorder_stats(r, &stats);
		_exit(stats.own_cpu_ns > 50000000 && stats.own_cpu_ns < 10000000000 ? 3 : 4);
	}
	waitpid(child, &status, 0);
	tap_ok(WIFEXITED(status) && WEXITSTATUS(status) == 3,
	       "a copy knows the recorder's CPU time");
	cprof_recorder_free(r);
}

/* The end of a target is reported; a target that never ran gives a reason. */
static void test_idle_child(void)
{
	pid_t child = fork();
	if (child == 0) {
		pause();
		_exit(0);
	}
	struct cprof_config c = plain();
	struct cprof_recorder *r = NULL;
	c.pid = &child;
	if (cprof_recorder_new(&c, &r, &e) == 0) {
		bool zero;
		cprof_recorder_start(r, &e);
		tap_int(cprof_recorder_step(r, 150, NULL, 0, NULL, &e), CPROF_RUNNING,
			"a child that sleeps");
		kill(child, SIGKILL);
		int state = CPROF_RUNNING;
		for (int i = 0; i < 100 && state == CPROF_RUNNING; i++)
			state = cprof_recorder_step(r, 50, NULL, 0, NULL, &e);
		tap_int(state, CPROF_TARGET_GONE, "its end is reported");
		cprof_recorder_stop(r, &e);
		if (cprof_recorder_check(r, 0, &zero, &e) < 0)
			tap_ok(e.what[0] && e.hint[0],
			       "no samples: there is a reason and a remedy");
		else
			tap_skip("no samples", "the exiting child was sampled");
		cprof_recorder_free(r);
	} else {
		tap_skip("a child that sleeps", e.what);
	}
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

int main(void)
{
	self = getpid();
	cprof_recorder_free(NULL);
	test_errnos();
	test_middle();
	test_configs();
	test_optional_labels();
	test_recording(CPROF_SCOPE_TASK);
	test_recording(CPROF_SCOPE_CPU);
	test_command(CPROF_SCOPE_TASK, "a command, scope task");
	test_command(CPROF_SCOPE_CPU, "a command, scope cpu");
	test_command(CPROF_SCOPE_CGROUP, "a command, scope cgroup");
	test_delay();
	test_copy();
	test_idle_child();
	return tap_done();
}
