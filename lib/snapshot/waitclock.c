/*
 * A clock of a CPU can be read only on that CPU, where a thread of the target may be running.  So
 * this thread goes there for a moment, and then back to where it was: it would otherwise stay for
 * the rest of its time slice.
 */

#include "snapshot/waitclock.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/host.h"
#include "proc/threadtext.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define CPUS_MAX 64u                    /* each costs some 100 us */
#define TEXT_BYTES 4096

void waitclock_init(struct waitclock *w, const struct host *h, uint64_t at_ns)
{
	*w = (struct waitclock){ .host = h, .at_ns = at_ns };
}

void waitclock_done(struct waitclock *w)
{
	VEC_FREE(&w->cpus);
}

static bool move_to(uint32_t cpu)
{
	cpu_set_t one;
	if (cpu >= CPU_SETSIZE)
		return false;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	return sched_setaffinity(0, sizeof(one), &one) == 0;
}

/* The CPU's clock at w->at_ns, read on it: the thread's own time, which begins when it gets the
 * CPU. */
static bool read_here(const struct waitclock *w, uint64_t *ret_ns)
{
	const struct timespec moment = { .tv_nsec = 1000 };
	char text[TEXT_BYTES];
	uint64_t ns;
	nanosleep(&moment, NULL);
	uint64_t now_ns = clock_monotonic_ns();
	CLEANUP_CLOSE int fd = host_open_file(w->host, HOST_PROC, O_RDONLY, "self/task/%ld/sched",
					      syscall(SYS_gettid));
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (n <= 0)
		return false;
	text[n] = '\0';
	if (!threadtext_sched(text, &ns) || now_ns < w->at_ns || ns < now_ns - w->at_ns)
		return false;
	*ret_ns = ns - (now_ns - w->at_ns);
	return true;
}

static bool read_clock(const struct waitclock *w, uint32_t cpu, uint64_t *ret_ns)
{
	cpu_set_t before;
	int home = sched_getcpu();
	if (sched_getaffinity(0, sizeof(before), &before) < 0 || !move_to(cpu))
		return false;
	bool is_read = read_here(w, ret_ns);
	if (home >= 0)
		move_to((uint32_t)home);
	sched_setaffinity(0, sizeof(before), &before);
	return is_read;
}

static const struct waitclock_cpu *find_cpu(struct waitclock *w, uint32_t cpu)
{
	for (size_t i = 0; i < w->cpus.n; i++)
		if (w->cpus.v[i].cpu == cpu)
			return &w->cpus.v[i];
	if (w->cpus.n >= CPUS_MAX)
		return NULL;
	struct waitclock_cpu fresh = { .cpu = cpu };
	fresh.is_known = read_clock(w, cpu, &fresh.ns);
	return VEC_PUSH(&w->cpus, fresh) ? &w->cpus.v[w->cpus.n - 1] : NULL;
}

bool waitclock_of(struct waitclock *w, uint32_t cpu, uint64_t exec_start_ns, uint64_t *ret_ns)
{
	/* 0 since the thread was woken up for another CPU (migrate_task_rq_fair), until it runs */
	const struct waitclock_cpu *c = exec_start_ns ? find_cpu(w, cpu) : NULL;
	if (!c || !c->is_known)
		return false;
	*ret_ns = c->ns > exec_start_ns ? c->ns - exec_start_ns : 0;
	return true;
}

uint64_t waitclock_round(uint64_t ns)
{
	uint64_t unit = 1;
	while (ns / unit >= 100)
		unit *= 10;
	return (ns + unit / 2) / unit * unit;
}
