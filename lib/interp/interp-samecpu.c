/* A thread that is woken up on a CPU where another one runs mostly gets it at once, because it has
 * slept.  If it does not, the time that it waits is counted as well. */

#include "interp/interp-samecpu.h"

#include "base/clock.h"
#include "base/cleanup.h"
#include "proc/threadtext.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#define STAT_BYTES_MAX 1024

/* At first, */
#define FIRST_N 200u
#define FIRST_NS 40000000u
#define FIRST_ALL_N (5u * FIRST_N)
/* and then at most one part of the time. */
#define PART 512u

/* Where the thread runs; -1: it does not. */
static int cpu_of(uint32_t tid)
{
	char path[32], text[STAT_BYTES_MAX];
	struct threadtext_stat stat;
	snprintf(path, sizeof(path), "/proc/%u/stat", tid);
	CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	text[n > 0 ? n : 0] = '\0';
	return threadtext_stat(text, &stat) && stat.state == 'R' && stat.cpu < CPU_SETSIZE ?
		(int)stat.cpu : -1;
}

static bool move_to(struct interp_samecpu *c, uint32_t tid)
{
	cpu_set_t one;
	c->cpu = cpu_of(tid);
	if (c->cpu < 0 || sched_getaffinity(0, sizeof(c->before), &c->before) < 0 ||
	    !CPU_ISSET(c->cpu, &c->before))
		return false;
	CPU_ZERO(&one);
	CPU_SET(c->cpu, &one);
	return sched_setaffinity(0, sizeof(one), &one) == 0;
}

static void charge(struct interp_samecpu *c)
{
	uint64_t now_ns = clock_monotonic_ns(), ns = now_ns - c->began_ns;
	c->n++;
	c->spent_ns += ns;
	c->free_ns = now_ns + ns * PART;
	if (!c->all)
		return;
	c->all->n++;
	c->all->free_ns = c->free_ns;
}

bool interp_samecpu_enter(struct interp_samecpu *c, uint32_t tid)
{
	uint64_t now_ns = clock_monotonic_ns();
	if ((c->n >= FIRST_N || c->spent_ns >= FIRST_NS) && now_ns < c->free_ns)
		return false;
	if (c->all && c->all->n >= FIRST_ALL_N && now_ns < c->all->free_ns)
		return false;
	c->began_ns = now_ns;
	if (move_to(c, tid))
		return true;
	charge(c);
	return false;
}

void interp_samecpu_leave(struct interp_samecpu *c)
{
	cpu_set_t others = c->before;
	CPU_CLR(c->cpu, &others);
	if (CPU_COUNT(&others))
		sched_setaffinity(0, sizeof(others), &others);
	sched_setaffinity(0, sizeof(c->before), &c->before);
	charge(c);
}
