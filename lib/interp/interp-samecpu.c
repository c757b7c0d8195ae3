/* A thread that is woken up on a CPU where another one runs mostly gets it at once, because it has
 * slept.  If it does not, the time that it waits is counted as well. */

#include "interp/interp-samecpu.h"

#include "base/clock.h"
#include "base/cleanup.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* At first, */
#define FIRST_N 200u
#define FIRST_NS 40000000u
/* and then at most one part of the time. */
#define PART 512u

#define CPU_FIELD 39

int interp_samecpu_parse(const char *stat)
{
	/* the second field, the name, may contain anything */
	const char *at = strrchr(stat, ')');
	char *end;
	for (int field = 2; at && field < CPU_FIELD; field++)
		at = strchr(at + 1, ' ');
	long cpu = at ? strtol(at, &end, 10) : -1;
	return at && end > at + 1 && cpu >= 0 && cpu < CPU_SETSIZE ? (int)cpu : -1;
}

static int cpu_of(uint32_t tid)
{
	char path[32], text[1024];
	snprintf(path, sizeof(path), "/proc/%u/stat", tid);
	CLEANUP(cleanup_close) int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (n < 0)
		return -1;
	text[n] = '\0';
	return interp_samecpu_parse(text);
}

bool interp_samecpu_enter(struct interp_samecpu *c, uint32_t tid)
{
	uint64_t now_ns = clock_monotonic_ns();
	cpu_set_t one;
	if ((c->n >= FIRST_N || c->spent_ns >= FIRST_NS) && now_ns < c->free_ns)
		return false;
	c->began_ns = now_ns;
	c->cpu = cpu_of(tid);
	if (c->cpu < 0 || sched_getaffinity(0, sizeof(c->before), &c->before) < 0 ||
	    !CPU_ISSET(c->cpu, &c->before))
		return false;
	CPU_ZERO(&one);
	CPU_SET(c->cpu, &one);
	return sched_setaffinity(0, sizeof(one), &one) == 0;
}

void interp_samecpu_leave(struct interp_samecpu *c)
{
	cpu_set_t others = c->before;
	CPU_CLR(c->cpu, &others);
	if (CPU_COUNT(&others))
		sched_setaffinity(0, sizeof(others), &others);
	sched_setaffinity(0, sizeof(c->before), &c->before);
	uint64_t now_ns = clock_monotonic_ns(), ns = now_ns - c->began_ns;
	c->n++;
	c->spent_ns += ns;
	c->free_ns = now_ns + ns * PART;
}
