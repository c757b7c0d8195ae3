/*
 * What is opened, in which order and group, and how counts are added up, against a kernel that a
 * function simulates: its events are files with the three numbers that read(2) gives.
 */
#include "cprof-counter.h"

#include "base/err.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "event/machine.h"
#include "tap.h"

static struct kernel {
	bool has_pmu;
	bool denies_kernel;       /* EACCES for the kernel's side */
	unsigned n_counters;      /* members of a group; 0: any number */
	unsigned n_in_group;
	int group;                /* the leader of the last group */
	char opened[400];         /* a word for each event that was opened */
	uint64_t count[3];        /* of the next events */
} kernel;

static void note(const struct perf_event_attr *a, pid_t pid, int cpu, int group)
{
	size_t n = strlen(kernel.opened);
	snprintf(kernel.opened + n, sizeof(kernel.opened) - n, "%s%u:%u@%d/%d%s%s%s%s",
		 n ? " " : "", a->type, (unsigned)a->config, pid, cpu, group >= 0 ? "m" : "",
		 a->inherit ? "i" : "", a->enable_on_exec ? "x" : a->disabled ? "d" : "",
		 a->exclude_kernel ? "u" : "");
}

static int play(struct perf_event_attr *a, pid_t pid, int cpu, int group, unsigned long flags)
{
	(void)flags;
	errno = a->type == PERF_TYPE_SOFTWARE || kernel.has_pmu ? 0 : ENOENT;
	if (kernel.denies_kernel && !a->exclude_kernel)
		errno = EACCES;
	if (group >= 0 && kernel.n_counters) {
		kernel.n_in_group = group == kernel.group ? kernel.n_in_group + 1 : 2;
		kernel.group = group;
		errno = kernel.n_in_group > kernel.n_counters ? EINVAL : errno;
	}
	if (errno)
		return -1;
	note(a, pid, cpu, group);
	int fd = memfd_create("event", MFD_CLOEXEC);
	for (int i = 0; i < 4; i++)
		if (write(fd, kernel.count, sizeof(kernel.count)) != sizeof(kernel.count))
			return -1;
	lseek(fd, 0, SEEK_SET);
	return fd;
}

static struct machine machine;

/* Opens the events for a command of process 77. */
static struct cprof_counter *open_events(const char *const *event, size_t n, struct err *e)
{
	struct cprof_counter *c = NULL;
	kernel.opened[0] = '\0';
	cprof_counter_new(&(struct cprof_counter_config){
		.event = event, .n_events = n, .command_pid = 77, .host = &machine.host,
		.perf_event_open = play,
	}, &c, e);
	return c;
}

static struct cprof_counter_event event_of(struct cprof_counter *c, size_t i)
{
	struct cprof_counter_event ev;
	cprof_counter_event(c, i, &ev);
	return ev;
}

static void defaults(void)
{
	struct err e = { 0 };
	kernel = (struct kernel){ .has_pmu = false };
	struct cprof_counter *c = open_events(NULL, 0, &e);
	tap_str(kernel.opened, "1:1@77/-1ix 1:3@77/-1ix 1:4@77/-1ix 1:2@77/-1ix",
		"without a PMU the software events are counted from exec on");
	tap_int((long long)cprof_counter_n_events(c), 8, "the others keep their rows");
	tap_str(event_of(c, 4).why_not, "there is no PMU", "with the reason");
	tap_ok(!event_of(c, 4).is_denied, "which is not a lack of rights");
	cprof_counter_free(c);
	kernel.denies_kernel = true;
	c = open_events(NULL, 0, &e);
	tap_str(kernel.opened, "1:1@77/-1ixu 1:2@77/-1ixu", "a user counts user code");
	tap_ok(event_of(c, 1).is_denied && event_of(c, 1).why_not, "and no context switches");
	tap_ok(event_of(c, 3).given_up_kernel && event_of(c, 3).is_user, "page faults: user only");
	tap_ok(!event_of(c, 0).given_up_kernel, "a clock counts both sides in any case");
	cprof_counter_free(c);
}

static void refusals(void)
{
	struct err e = { 0 };
	kernel = (struct kernel){ .denies_kernel = true };
	static const char *const switches[] = { "cs" }, *const cycles[] = { "cycles:u" },
		*const wall[] = { "wall" }, *const both[] = { "cycles:u", "faults:u" };
	tap_ok(!open_events(switches, 1, &e) && e.code == -EACCES && !e.is_usage && e.hint[0],
	       "a named event that is not allowed ends the counting, with a remedy");
	tap_ok(!open_events(cycles, 1, &e) && strstr(e.what, "cycles:u"),
	       "so does one that the machine does not have, if it is the only one");
	tap_ok(!open_events(wall, 1, &e) && e.is_usage && strstr(e.hint, "cprof record -e wall"),
	       "times of waits are measured, not counted");
	struct cprof_counter *c = open_events(both, 2, &e);
	tap_str(event_of(c, 0).why_not, "there is no PMU", "beside others it keeps its row");
	cprof_counter_free(c);
	c = NULL;
	int r = cprof_counter_new(&(struct cprof_counter_config){ .host = &machine.host }, &c, &e);
	tap_ok(r == -EINVAL && e.is_usage, "no target");
	r = cprof_counter_new(&(struct cprof_counter_config){
		.host = &machine.host, .all_processes = true, .cpus = "0-x",
	}, &c, &e);
	tap_ok(r == -EINVAL && e.is_usage && strstr(e.what, "0-x"), "not a list of CPUs");
	r = cprof_counter_new(&(struct cprof_counter_config){
		.host = &machine.host, .command_pid = 77, .per_thread = true,
	}, &c, &e);
	tap_ok(r == -EINVAL && e.is_usage, "threads of a command");
}

static void groups(void)
{
	struct err e = { 0 };
	static const char *const group[] = { "{cycles,instructions,branches}" },
		*const weak[] = { "{cycles,instructions,branches}:W" };
	kernel = (struct kernel){ .has_pmu = true };
	struct cprof_counter *c = open_events(group, 1, &e);
	tap_str(kernel.opened, "0:0@77/-1ix 0:1@77/-1mi 0:4@77/-1mi",
		"members are enabled with the first event of their group");
	tap_ok(event_of(c, 0).group && event_of(c, 0).group == event_of(c, 2).group, "one group");
	cprof_counter_free(c);
	kernel = (struct kernel){ .has_pmu = true, .n_counters = 2 };
	c = open_events(group, 1, &e);
	tap_ok(!c && strstr(e.what, "does not fit into its group"), "a group that is too large");
	kernel = (struct kernel){ .has_pmu = true, .n_counters = 2 };
	c = open_events(weak, 1, &e);
	tap_str(kernel.opened, "0:0@77/-1ix 0:1@77/-1mi 0:4@77/-1ix", "a weak one breaks up");
	cprof_counter_free(c);
}

static void cpus(void)
{
	struct err e = { 0 };
	static const char *const event[] = { "faults" };
	struct cprof_counter *c = NULL;
	struct cprof_counter_value v;
	kernel = (struct kernel){ .count = { 10, 300, 200 } };
	cprof_counter_new(&(struct cprof_counter_config){
		.event = event, .n_events = 1, .all_processes = true, .host = &machine.host,
		.perf_event_open = play,
	}, &c, &e);
	tap_str(kernel.opened, "1:2@-1/0d 1:2@-1/1d 1:2@-1/2d 1:2@-1/4d", "an event on each CPU");
	tap_int((long long)cprof_counter_n_cpus(c), 4, "how many there are");
	tap_int(cprof_counter_read(c, &e), 0, "reads them");
	cprof_counter_value(c, 0, 0, &v);
	tap_ok(v.value == 40 && v.enabled_ns == 1200 && v.running_ns == 800, "the sums");
	tap_ok(!cprof_counter_is_over(c), "CPUs do not end");
	cprof_counter_read(c, &e);
	cprof_counter_value(c, 0, 0, &v);
	tap_ok(v.value == 40, "a second reading starts from nothing");
	cprof_counter_free(c);
}

/* Two kinds of cores: the times of a thread's events are parts of the thread's time. */
static void hybrid(void)
{
	struct err e = { 0 };
	static const char *const event[] = { "cpu_core/config=0/,page-faults", "cpu/config=7/" };
	struct cprof_counter_value v;
	machine_file(&machine, "sys/bus/event_source/devices/cpu_core/type", "4\n");
	machine_file(&machine, "sys/bus/event_source/devices/cpu_core/cpus", "0-1\n");
	machine_file(&machine, "sys/bus/event_source/devices/cpu_atom/type", "10\n");
	machine_file(&machine, "sys/bus/event_source/devices/cpu_atom/cpus", "2,4\n");
	machine_file(&machine, "sys/bus/event_source/devices/cpu_core/format/config",
		     "config:0-63\n");
	machine_file(&machine, "sys/bus/event_source/devices/cpu_atom/format/config",
		     "config:0-63\n");
	kernel = (struct kernel){ .has_pmu = true, .count = { 100, 1000, 500 } };
	struct cprof_counter *c = open_events(event, 2, &e);
	tap_ok(c != NULL, "opened: %s", kernel.opened);
	cprof_counter_read(c, &e);
	cprof_counter_value(c, 0, 2, &v);
	tap_ok(v.value == 200 && v.enabled_ns == 1000 && v.running_ns == 1000,
	       "both kinds of cores together ran all the time");
	cprof_counter_value(c, 0, 0, &v);
	tap_ok(v.value == 100 && v.running_ns == 500, "one kind alone did not");
	cprof_counter_free(c);
}

int main(void)
{
	machine_open(&machine);
	defaults();
	refusals();
	groups();
	cpus();
	hybrid();
	machine_close(&machine);
	return tap_done();
}
