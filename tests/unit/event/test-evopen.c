/*
 * The ladder, against kernels that a function simulates: which attempts are made, in which order,
 * what finally opens, and what is reported if nothing does.
 */
#include "event/evopen.h"

#include "base/err.h"
#include "base/log.h"
#include "event/evattr.h"
#include "event/evparse.h"
#include "event/evspec.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <time.h>

#include "event/machine.h"
#include "tap.h"

/* A kernel: what it refuses, in the order of the real checks. */
static struct kernel {
	int old;          /* errno for recent bits; 0: knows them */
	int kernel_side;  /* errno for events that include the kernel's side */
	int imprecise;    /* errno for a precise_ip above max_precise */
	unsigned max_precise;
	int guests;       /* errno for exclude_guest */
	int no_pmu;       /* errno for all but software events */
	int always;       /* errno for everything else */
	uint64_t config1; /* refused with EINVAL if equal; 0: never */
	int interrupted;  /* number of EINTR at first */
	uint32_t known;   /* bytes of the attr that it knows; 0: all */
	char tried[300];  /* attempts: [n]ew bits, [g]uests out, precise 0-3, [k]ernel side; ?:
			   * does it know a new bit? c: cpu-clock */
	pid_t pid;
	int cpu, group;
	unsigned long flags;
} kernel;

static int play(struct perf_event_attr *a, pid_t pid, int cpu, int group, unsigned long flags)
{
	bool new_bits = a->read_format & PERF_FORMAT_LOST || a->ksymbol;
	bool software = a->type == PERF_TYPE_SOFTWARE;
	bool probe = software && a->config == PERF_COUNT_SW_DUMMY && !a->sample_type;
	size_t n = strlen(kernel.tried);
	if (probe) {
		snprintf(kernel.tried + n, sizeof(kernel.tried) - n, " ?");
		errno = kernel.old;
		return errno ? -1 : open("/dev/null", O_RDONLY | O_CLOEXEC);
	}
	kernel.pid = pid;
	kernel.cpu = cpu;
	kernel.group = group;
	kernel.flags = flags;
	snprintf(kernel.tried + n, sizeof(kernel.tried) - n, "%s%s%s%s%u%s", n ? " " : "",
		 software && kernel.no_pmu ? "c" : "", new_bits ? "n" : "",
		 a->exclude_guest ? "g" : "", (unsigned)a->precise_ip,
		 a->exclude_kernel ? "" : "k");
	errno = EINTR;
	if (kernel.interrupted && kernel.interrupted--)
		return -1;
	errno = kernel.old;
	if (errno && new_bits) {
		a->size = kernel.known; /* as the real kernel does with E2BIG */
		return -1;
	}
	errno = kernel.kernel_side;
	if (errno && !a->exclude_kernel)
		return -1;
	errno = kernel.no_pmu;
	if (errno && !software)
		return -1;
	errno = kernel.guests;
	if (errno && a->exclude_guest)
		return -1;
	errno = kernel.imprecise;
	if (errno && a->precise_ip > kernel.max_precise)
		return -1;
	errno = EINVAL;
	if (kernel.config1 && a->config1 == kernel.config1)
		return -1;
	errno = kernel.always;
	return errno ? -1 : open("/dev/null", O_RDONLY | O_CLOEXEC);
}

static struct machine m;
static const struct evattr_options options = { .rate_default_hz = 999, .rate_max_hz = 50000 };
static struct evopen o = { .fn = play, .host = &m.host, .allow_user_only = true };

static struct evspec spec_of(const char *text)
{
	struct evspec_list l = { NULL, 0 };
	struct evspec s = { .rate = 0 };
	if (evparse_list(&l, NULL, text, NULL) == 0)
		s = l.v[0];
	else
		tap_ok(false, "event '%s'", text);
	evspec_list_done(&l);
	return s;
}

static const struct evopen_place there = { 12, 2, -1, 0 };

/* Opens under k; want: 0 or the -errno. */
static void ladder(struct kernel k, const char *event, bool user_only, int want,
		   const char *want_tried, unsigned want_given_up)
{
	struct evspec s = spec_of(event);
	struct perf_event_attr asked, a;
	unsigned given_up = 77;
	struct err e = { 0 };
	evattr_sampling(&s, &options, &asked);
	a = asked;
	kernel = k;
	o.allow_user_only = user_only;
	s.by_default = k.no_pmu != 0;
	int fd = evopen_first(&o, &s, &a, &there, &given_up, &e);
	tap_ok(want ? fd == want : fd >= 0, "%s: %s", event, want ? strerror(-want) : "opens");
	if (want == -EINVAL)  /* followed by the search for the field */
		kernel.tried[strlen(want_tried)] = '\0';
	tap_str(kernel.tried, want_tried, "  attempts");
	if (want) {
		tap_ok(given_up == 77 && memcmp(&a, &asked, sizeof(a)) == 0, "  outputs unchanged");
		tap_ok(e.code == want && e.what[0], "  error is set");
		return;
	}
	tap_int(given_up, want_given_up, "  given up");
	tap_ok(a.size == sizeof(a) && a.sample_type == asked.sample_type, "  layout stays");
	tap_ok(!(given_up & EVOPEN_NO_KERNEL) == !(a.exclude_kernel && !asked.exclude_kernel),
	       "  attr is what opened");
	tap_ok(!(given_up & EVOPEN_CLOCK) == (a.type == asked.type), "  and the event");
	close(fd);
}

static void ladders(void)
{
	ladder((struct kernel){ 0 }, "cycles", true, 0, "ng0k", 0);
	ladder((struct kernel){ 0 }, "cycles:upp", true, 0, "ng2", 0);
	ladder((struct kernel){ .interrupted = 3 }, "cycles", true, 0, "ng0k ng0k ng0k ng0k", 0);
	ladder((struct kernel){ .old = EINVAL }, "cycles", true, 0, "ng0k ? g0k",
	       EVOPEN_NO_NEW_BITS);
	ladder((struct kernel){ .old = E2BIG }, "cycles", true, 0, "ng0k ? g0k",
	       EVOPEN_NO_NEW_BITS);
	ladder((struct kernel){ .guests = EINVAL }, "cycles", true, 0, "ng0k ? n0k",
	       EVOPEN_WITH_GUESTS);
	ladder((struct kernel){ .imprecise = EOPNOTSUPP, .max_precise = 1 }, "cycles:ppp", true, 0,
	       "ng3k n3k ng2k ng1k", EVOPEN_NO_PRECISE);
	ladder((struct kernel){ .imprecise = EOPNOTSUPP }, "cycles:p", true, 0, "ng1k n1k ng0k",
	       EVOPEN_NO_PRECISE);
	/* Bits that the kernel knows stay, whatever else is refused with the same errno. */
	ladder((struct kernel){ .imprecise = EINVAL, .max_precise = 2 }, "cycles:ppp", true, 0,
	       "ng3k ? n3k ? ng2k", EVOPEN_NO_PRECISE);
	ladder((struct kernel){ .old = EINVAL, .imprecise = EINVAL, .max_precise = 2 },
	       "cycles:ppp", true, 0, "ng3k ? g3k 3k g2k", EVOPEN_NO_NEW_BITS | EVOPEN_NO_PRECISE);
	ladder((struct kernel){ .kernel_side = EACCES }, "cpu-clock", true, 0, "ng0k ng0",
	       EVOPEN_NO_KERNEL);
	ladder((struct kernel){ .kernel_side = EPERM }, "cpu-clock", true, 0, "ng0k ng0",
	       EVOPEN_NO_KERNEL);
	ladder((struct kernel){ .old = EINVAL, .kernel_side = EACCES, .imprecise = EOPNOTSUPP },
	       "cycles:pp", true, 0, "ng2k ? g2k g2 2 g1 g0",
	       EVOPEN_NO_NEW_BITS | EVOPEN_NO_KERNEL | EVOPEN_NO_PRECISE);

	/* A clock, for an event that the user did not name. */
	static const int no_pmu[] = { ENOENT, ENODEV, ENXIO, EBUSY };
	for (size_t i = 0; i < sizeof(no_pmu) / sizeof(*no_pmu); i++)
		ladder((struct kernel){ .no_pmu = no_pmu[i] }, "cycles", true, 0, "ng0k cng0k",
		       EVOPEN_CLOCK);
	ladder((struct kernel){ .no_pmu = EOPNOTSUPP }, "cycles:p", true, 0,
	       "ng1k n1k ng0k cng0k", EVOPEN_NO_PRECISE | EVOPEN_CLOCK);
	ladder((struct kernel){ .no_pmu = ENOENT, .kernel_side = EACCES }, "cycles", true, 0,
	       "ng0k ng0 cng0", EVOPEN_NO_KERNEL | EVOPEN_CLOCK);

	/* Not all rungs apply to all events. */
	ladder((struct kernel){ .kernel_side = EACCES }, "cpu-clock", false, -EACCES, "ng0k", 0);
	ladder((struct kernel){ .kernel_side = EACCES }, "cpu-clock:k", true, -EACCES, "ng0k", 0);
	ladder((struct kernel){ .kernel_side = EACCES }, "cs", true, -EACCES, "ng0k", 0);
	ladder((struct kernel){ .kernel_side = EACCES }, "migrations", true, -EACCES, "ng0k", 0);
	ladder((struct kernel){ .kernel_side = EACCES, .always = EACCES }, "cpu-clock", true,
	       -EACCES, "ng0k ng0", 0);
	ladder((struct kernel){ .kernel_side = EACCES, .always = ENOENT }, "cycles", true, -ENOENT,
	       "ng0k ng0", 0);
	ladder((struct kernel){ .always = EINVAL }, "cycles:pp", true, -EINVAL,
	       "ng2k ? n2k ? ng1k ? ng0k", 0);
	ladder((struct kernel){ .always = EOPNOTSUPP }, "cycles", true, -EOPNOTSUPP, "ng0k n0k", 0);
	ladder((struct kernel){ .no_pmu = ENOENT, .always = EMFILE }, "cycles", true, -EMFILE,
	       "ng0k cng0k", 0);
	static const int hopeless[] = { ENOENT, ENODEV, EBUSY, EMFILE, ENFILE, ESRCH, ENOSYS,
		ENOMEM };
	for (size_t i = 0; i < sizeof(hopeless) / sizeof(*hopeless); i++)
		ladder((struct kernel){ .always = hopeless[i] }, "cycles:ppp", true, -hopeless[i],
		       "ng3k", 0);

	struct evspec s = spec_of("cycles");
	struct perf_event_attr a;
	evattr_sampling(&s, &options, &a);
	kernel = (struct kernel){ .interrupted = 1000000 };
	unsigned given_up;
	const struct evopen_place self = { 0, -1, -1, 0 };
	tap_int(evopen_first(&o, &s, &a, &self, &given_up, NULL), -EINTR,
		"endless signals are an error");
}

static void messages(void)
{
	static const struct {
		struct kernel k;
		const char *event, *what, *hint_has;
	} fails[] = {
		{ { .always = ENOENT }, "cycles", "cannot open event 'cycles' for thread 12 on "
			"cpu 2: "
		  "No such file or directory", "no PMU" },
		{ { .kernel_side = EACCES, .always = ENOENT }, "LLC-loads",
		  "cannot open event 'LLC-loads' for thread 12 on cpu 2: No such file or directory",
		  "no PMU" },
		{ { .kernel_side = EACCES }, "cs", "cannot open event 'context-switches' for "
			"thread 12 "
		  "on cpu 2: Permission denied", "kernel.perf_event_paranoid is 2" },
		{ { .kernel_side = EACCES, .always = EACCES }, "cpu-clock",
		  "cannot open event 'cpu-clock' for thread 12 on cpu 2: Permission denied",
		  "belongs to another user" },
		{ { .always = EINVAL }, "cpu-clock",
		  "cannot open event 'cpu-clock' for thread 12 on cpu 2: Invalid argument",
		  "does not know part" },
		{ { .config1 = 0x77 }, "cpu-clock",
		  "cannot open event 'cpu-clock' for thread 12 on cpu 2: Invalid argument",
		  "the field 'config1' is refused, which is 0x77" },
		{ { .imprecise = EINVAL }, "again cycles:pp",
		  "cannot open event 'cycles:pp' for thread 12 on cpu 2: Invalid argument",
		  "no PMU" },
		{ { .old = EINVAL }, "again cpu-clock",
		  "cannot open event 'cpu-clock' for thread 12 on cpu 2: Invalid argument",
		  "the field 'read_format PERF_FORMAT_LOST' is refused" },
		{ { .old = E2BIG, .known = 64 }, "again cpu-clock",
		  "cannot open event 'cpu-clock' for thread 12 on cpu 2: Argument list too long",
		  "the field 'clockid' is refused" },
		{ { .always = EMFILE }, "cpu-clock",
		  "cannot open event 'cpu-clock' for thread 12 on cpu 2: Too many open files",
		  "may open only" },
	};
	for (size_t i = 0; i < sizeof(fails) / sizeof(*fails); i++) {
		bool again = strncmp(fails[i].event, "again ", 6) == 0;
		struct evspec s = spec_of(fails[i].event + (again ? 6 : 0));
		struct perf_event_attr a;
		struct err e = { 0 };
		unsigned given_up;
		evattr_sampling(&s, &options, &a);
		a.config1 = fails[i].k.config1;
		kernel = fails[i].k;
		o.allow_user_only = true;
		int fd = again ? evopen_again(&o, &s, &a, &there, &e)
			       : evopen_first(&o, &s, &a, &there, &given_up, &e);
		tap_ok(fd < 0, "%s", fails[i].event);
		tap_str(e.what, fails[i].what, "  what");
		if (!tap_ok(strstr(e.hint, fails[i].hint_has), "  hint: %s", fails[i].hint_has))
			printf("# got %s\n", e.hint);
	}
}

static void again(void)
{
	struct evspec s = spec_of("cycles:pp");
	struct perf_event_attr a, before;
	struct err e = { 0 };
	evattr_sampling(&s, &options, &a);
	before = a;
	kernel = (struct kernel){ .interrupted = 1 };
	const struct evopen_place cgroup = { 33, 1, 5, PERF_FLAG_PID_CGROUP };
	const struct evopen_place of = { 33, 1, -1, 0 };
	int fd = evopen_again(&o, &s, &a, &cgroup, &e);
	tap_ok(fd >= 0, "the event opens with the same attr for another target");
	close(fd);
	tap_str(kernel.tried, "ng2k ng2k", "  interrupted once");
	tap_ok(kernel.pid == 33 && kernel.cpu == 1 && kernel.group == 5, "  requested target");
	tap_int((long long)kernel.flags, PERF_FLAG_PID_CGROUP | PERF_FLAG_FD_CLOEXEC, "  flags");
	kernel = (struct kernel){ .imprecise = EOPNOTSUPP };
	tap_int(evopen_again(&o, &s, &a, &of, &e), -EOPNOTSUPP, "no fallback is tried");
	tap_str(kernel.tried, "ng2k", "  one attempt");
	tap_ok(memcmp(&a, &before, sizeof(a)) == 0, "  attr untouched");
	tap_int(evopen_again(&o, &s, &a, &of, NULL), -EOPNOTSUPP, "  e may be NULL");

	evattr_sideband(&options, &a);
	kernel = (struct kernel){ .always = ESRCH };
	tap_int(evopen_again(&o, NULL, &a, &of, &e), -ESRCH, "the side band");
	tap_str(e.what, "cannot open the side-band event for thread 33 on cpu 1: No such process",
		"  what");
	tap_int(evopen_explain(&o, &s, &a, 33, -1, EMFILE, &e), -EMFILE, "an errno from elsewhere");
	tap_str(e.what, "cannot open event 'cycles:pp' for thread 33: Too many open files", "  "
		"what");
}

static char logged[2000];

static void log_sink(void *ctx, enum log_level level, const char *text)
{
	(void)ctx;
	size_t n = strlen(logged);
	snprintf(logged + n, sizeof(logged) - n, "%d %s\n", level, text);
}

static void logging(void)
{
	struct log log = { .line = log_sink, .max = LOG_EXPLAIN };
	struct evspec s = spec_of("cs");
	struct perf_event_attr a = { .size = sizeof(a), .type = 1, .config = 3 };
	unsigned given_up;
	const struct evopen_place five = { 5, -1, -1, 0 };
	o.log = &log;
	kernel = (struct kernel){ .always = EACCES };
	evopen_first(&o, &s, &a, &five, &given_up, NULL);
	kernel = (struct kernel){ 0 };
	close(evopen_first(&o, &s, &a, &five, &given_up, NULL));
	tap_str(logged,
		"2 event 'context-switches' pid 5 cpu -1: type 1 config 0x3: Permission denied\n"
		"2 event 'context-switches' pid 5 cpu -1: type 1 config 0x3: opened\n",
		"-v shows each attempt");
	logged[0] = '\0';
	log.max = LOG_NOTE;
	close(evopen_first(&o, &s, &a, &five, &given_up, NULL));
	tap_str(logged, "", "and without it there is nothing");
	o.log = NULL;
}

static void probes(void)
{
	kernel = (struct kernel){ 0 };
	tap_ok(evopen_may_sample_cpus(&o), "CPUs may be sampled if that opens");
	tap_ok(kernel.pid == -1 && kernel.cpu >= 0, "  all tasks of a CPU");
	tap_str(kernel.tried, "0", "  only user code is requested");
	tap_ok(!evopen_why_not_cpus(&o), "  there is no reason against it");
	kernel = (struct kernel){ .always = EACCES };
	tap_ok(!evopen_may_sample_cpus(&o), "and not otherwise");
	tap_str(evopen_why_not_cpus(&o), "kernel.perf_event_paranoid is above 0", "  why");

	const char *why = NULL;
	kernel = (struct kernel){ .always = ENOENT };
	tap_ok(!evopen_pmu_interrupts(&o, &why), "no PMU");
	tap_str(why, "there is no PMU", "  why");
	tap_str(kernel.tried, "0", "  user code only, one attempt");
	kernel = (struct kernel){ .always = EACCES };
	machine_rights(&m, 4, 0, 0);
	tap_ok(!evopen_pmu_interrupts(&o, &why), "no permission");
	tap_str(why, "kernel.perf_event_paranoid is above 2", "  why");
	machine_rights(&m, 2, 0, 0);
	kernel = (struct kernel){ 0 };
	tap_ok(!evopen_pmu_interrupts(&o, &why), "a descriptor that has no ring");
	tap_str(why, "cannot map a ring", "  why");

	tap_int((long long)evopen_max_rate_hz(&m.host), 50000, "the limit of rates");
	machine_file(&m, "proc/sys/kernel/perf_event_max_sample_rate", NULL);
	tap_int((long long)evopen_max_rate_hz(&m.host), 100000, "  if it is missing");
	machine_file(&m, "proc/sys/kernel/perf_event_max_sample_rate", "0\n");
	tap_int((long long)evopen_max_rate_hz(&m.host), 100000, "  if it is not a rate");
}

/* A file that can be mapped like a ring: its head stays 0, or is where a sample has moved it. */
static uint64_t head;

static int ring_file(struct perf_event_attr *a, pid_t pid, int cpu, int group, unsigned long flags)
{
	(void)a, (void)pid, (void)cpu, (void)group, (void)flags;
	char path[] = "/tmp/cprof-ring-XXXXXX";
	int fd = mkstemp(path);
	struct perf_event_mmap_page page = { .data_head = head };
	if (fd < 0)
		return -1;
	unlink(path);
	if (ftruncate(fd, 2 * sysconf(_SC_PAGESIZE)) ||
	    pwrite(fd, &page, sizeof(page), 0) != (ssize_t)sizeof(page)) {
		close(fd);
		return -1;
	}
	return fd;
}

static void interrupts(void)
{
	struct evopen ring = { .fn = ring_file, .host = &m.host };
	const char *why = NULL;
	struct timespec from, to;
	head = 64;
	tap_ok(evopen_pmu_interrupts(&ring, &why), "a PMU that interrupts");
	tap_ok(!why, "  needs no reason");
	head = 0;
	clock_gettime(CLOCK_MONOTONIC, &from);
	tap_ok(!evopen_pmu_interrupts(&ring, &why), "a PMU that never does");
	clock_gettime(CLOCK_MONOTONIC, &to);
	tap_str(why, "the PMU opens 'cycles' but never interrupts", "  why");
	double ms = (double)(to.tv_sec - from.tv_sec) * 1e3 +
		    (double)(to.tv_nsec - from.tv_nsec) / 1e6;
	tap_ok(ms >= 5, "  not before 5 ms are over (%.1f ms)", ms);
}

int main(void)
{
	machine_open(&m);
	ladders();
	messages();
	again();
	logging();
	probes();
	interrupts();
	machine_close(&m);
	return tap_done();
}
