/* Rates, memory for rings, descriptors and priority: what they allow a recording. */
#include "doctor/doctor.h"

#include "base/cleanup.h"
#include "base/cpus.h"
#include "base/host.h"
#include "base/units.h"
#include "source/ring.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#define RING_BYTES (4u << 20)       /* what live_open requests */
#define RATE_WANTED_HZ 10000
#define NOFILE_WANTED 4096
#define CPU_PERCENT_DEFAULT 25

static void find_rate(struct cprof_doctor *d)
{
	long percent, hz = (long)evopen_max_rate_hz(d->host);
	struct cprof_finding *f = doctor_find(d, "limits", "max-rate", "Highest rate",
					      "%ld Hz (kernel.perf_event_max_sample_rate)", hz);
	bool known = host_read_long(d->host, HOST_PROC, &percent,
				    "sys/kernel/perf_cpu_time_max_percent") == 0;
	if (hz < RATE_WANTED_HZ) {
		doctor_worse(f, CPROF_FINDING_LIMITED, "the kernel lowers it itself when "
			     "interrupts take long");
		doctor_remedy(f, CPROF_REMEDY_OPTION, "cprof record -F max: the highest rate "
			      "allowed");
		doctor_remedy(f, CPROF_REMEDY_SYSCTL,
			      "sudo sysctl kernel.perf_event_max_sample_rate=100000");
	}
	if (!known)
		return;
	f = doctor_find(d, "limits", "cpu-time", "CPU time for sampling", "%s", "");
	if (percent == 0 || percent == 100)
		doctor_worse(f, CPROF_FINDING_OK,
			     "not watched (kernel.perf_cpu_time_max_percent is %ld)", percent);
	else
		doctor_worse(f, CPROF_FINDING_OK, "at most %ld %% "
			     "(kernel.perf_cpu_time_max_percent), else the kernel lowers the "
			     "highest rate", percent);
	if (percent && percent < CPU_PERCENT_DEFAULT) {
		doctor_worse(f, CPROF_FINDING_LIMITED, "less than the usual %d",
			     CPU_PERCENT_DEFAULT);
		doctor_remedy(f, CPROF_REMEDY_SYSCTL,
			      "sudo sysctl kernel.perf_cpu_time_max_percent=%d",
			      CPU_PERCENT_DEFAULT);
	}
}

/* Maps rings of n_bytes on all CPUs: 0, or the negative errno of the first that cannot be
 * mapped. */
static int try_rings(struct cprof_doctor *d, const int *cpus, size_t n_cpus, uint64_t n_bytes)
{
	int r = 0;
	VEC(struct ring) rings = { 0 };
	VEC(int) fds = { 0 };
	for (size_t i = 0; i < n_cpus; i++) {
		struct perf_event_attr a = {
			.type = PERF_TYPE_SOFTWARE, .size = sizeof(a),
			.config = PERF_COUNT_SW_DUMMY, .disabled = 1,
			.exclude_kernel = 1, .exclude_hv = 1,
		};
		struct ring ring = { 0 };
		int fd = d->open.fn(&a, 0, cpus[i], -1, PERF_FLAG_FD_CLOEXEC);
		if (fd < 0)
			break;  /* another finding reports it */
		if (!VEC_PUSH(&fds, fd)) {
			close(fd);
			r = -ENOMEM;
			break;
		}
		r = ring_open(&ring, d->host, fd, n_bytes / (uint64_t)sysconf(_SC_PAGESIZE), NULL);
		if (r < 0)
			break;
		if (!VEC_PUSH(&rings, ring)) {
			ring_close(&ring);
			r = -ENOMEM;
			break;
		}
	}
	for (size_t i = 0; i < rings.n; i++)
		ring_close(&rings.v[i]);
	for (size_t i = 0; i < fds.n; i++)
		close(fds.v[i]);
	VEC_FREE(&rings);
	VEC_FREE(&fds);
	return r;
}

static void find_memory(struct cprof_doctor *d)
{
	CLEANUP_FREE int *cpus = NULL;
	struct rlimit lim;
	long kb = 0;
	int n_cpus = cpus_online(d->host, &cpus, NULL);
	struct cprof_finding *f = doctor_find(d, "limits", "locked-memory", "Memory for rings",
					      "%s", "");
	if (n_cpus < 0 || getrlimit(RLIMIT_MEMLOCK, &lim) < 0)
		return;
	host_read_long(d->host, HOST_PROC, &kb, "sys/kernel/perf_event_mlock_kb");
	if (lim.rlim_cur == RLIM_INFINITY)
		doctor_worse(f, CPROF_FINDING_OK, "no limit on locked memory; "
			     "kernel.perf_event_mlock_kb is %ld", kb);
	else
		doctor_worse(f, CPROF_FINDING_OK, "%llu KiB may be locked (ulimit -l), and %ld KiB "
			     "a CPU (kernel.perf_event_mlock_kb)",
			     (unsigned long long)lim.rlim_cur / 1024, kb);
	uint64_t bytes = RING_BYTES;
	int r = 0;
	while ((r = try_rings(d, cpus, (size_t)n_cpus, bytes)) < 0 && bytes > 65536)
		bytes /= 2;
	if (r < 0) {
		doctor_worse(f, CPROF_FINDING_NO, "not even rings of 64 KiB fit");
	} else if (bytes < RING_BYTES) {
		doctor_worse(f, CPROF_FINDING_LIMITED, "only rings of %llu KiB instead of %u KiB "
			     "fit: high rates lose samples", (unsigned long long)bytes / 1024,
			     RING_BYTES / 1024);
		doctor_remedy(f, CPROF_REMEDY_OPTION, "cprof record -F with a lower rate, or "
			      "--call-graph fp");
	}
	if (r == 0 && bytes == RING_BYTES)
		return;
	doctor_remedy(f, CPROF_REMEDY_RLIMIT, "ulimit -l unlimited (limits.conf: memlock; systemd: "
		      "LimitMEMLOCK=infinity)");
	doctor_remedy_capability(d, f, "cap_ipc_lock");
	doctor_remedy(f, CPROF_REMEDY_SYSCTL, "sudo sysctl kernel.perf_event_mlock_kb=%u",
		      RING_BYTES / 1024 + 4);
}

static void find_files(struct cprof_doctor *d)
{
	struct rlimit lim;
	CLEANUP_FREE int *cpus = NULL;
	int n_cpus = cpus_online(d->host, &cpus, NULL);
	if (getrlimit(RLIMIT_NOFILE, &lim) < 0 || n_cpus <= 0)
		return;
	unsigned long long max = lim.rlim_max;
	struct cprof_finding *f = doctor_find(d, "limits", "open-files", "Open files",
					      "%llu (hard limit; cprof raises the soft one)", max);
	unsigned long long n = max > 600 ? (max - 512) / (unsigned)n_cpus : 0;
	doctor_worse(f, CPROF_FINDING_OK, "enough for %llu thread%s with --scope task", n,
		     units_s(n));
	if (max >= NOFILE_WANTED)
		return;
	doctor_worse(f, CPROF_FINDING_LIMITED, "few");
	doctor_remedy(f, CPROF_REMEDY_OPTION, "cprof record with fewer events, or --scope cpu");
	doctor_remedy(f, CPROF_REMEDY_RLIMIT, "ulimit -n 65536, in a root shell "
		      "(limits.conf: nofile; systemd: LimitNOFILE=65536)");
}

static void find_priority(struct cprof_doctor *d)
{
	struct sched_param old, p = { .sched_priority = 1 };
	int policy = sched_getscheduler(0);
	struct cprof_finding *f = doctor_find(d, "limits", "priority", "Real-time priority",
					      "%s", "");
	if (policy >= 0 && sched_getparam(0, &old) == 0 &&
	    sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &p) == 0) {
		/* Without CAP_SYS_NICE the flag cannot be cleared again. */
		if (sched_setscheduler(0, policy, &old) < 0)
			sched_setscheduler(0, policy | SCHED_RESET_ON_FORK, &old);
		doctor_worse(f, CPROF_FINDING_OK, "allowed: the reader of the rings is never late");
		return;
	}
	doctor_worse(f, CPROF_FINDING_LIMITED, "not allowed: with more busy threads than CPUs, "
		     "high rates lose samples");
	doctor_remedy(f, CPROF_REMEDY_OPTION, "cprof record with a larger --ring-size or lower -F");
	doctor_remedy(f, CPROF_REMEDY_RLIMIT, "ulimit -r 1, in a root shell (limits.conf: "
		      "rtprio; systemd: LimitRTPRIO=1)");
	doctor_remedy_capability(d, f, "cap_sys_nice");
}

void doctor_limits(struct cprof_doctor *d)
{
	find_rate(d);
	find_memory(d);
	find_files(d);
	find_priority(d);
}
