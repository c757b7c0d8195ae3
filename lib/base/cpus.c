/* Lists of CPUs in the format of sysfs, and the CPU time of /proc/stat. */

#include "base/cpus.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/host.h"
#include "base/vec.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A bound far above any machine, for what a broken file can make us allocate. */
#define CPUS_MAX 65536

int cpus_parse(const char *text, int **ret_cpus)
{
	VEC(int) cpus = { 0 };
	const char *p = text;
	while (*p && *p != '\n') {
		char *end;
		if (!isdigit((unsigned char)*p))
			goto bad;
		long first = strtol(p, &end, 10), last = first;
		if (*end == '-') {
			if (!isdigit((unsigned char)end[1]))
				goto bad;
			last = strtol(end + 1, &end, 10);
		}
		if (first > last || last >= CPUS_MAX || (cpus.n && cpus.v[cpus.n - 1] >= first))
			goto bad;
		for (long cpu = first; cpu <= last; cpu++)
			if (!VEC_PUSH(&cpus, (int)cpu))
				goto bad;
		if (*end == ',' ? !isdigit((unsigned char)end[1]) : *end && *end != '\n')
			goto bad;
		p = *end == ',' ? end + 1 : end;
	}
	if (cpus.n == 0)
		goto bad;
	*ret_cpus = cpus.v;
	return (int)cpus.n;
bad:
	VEC_FREE(&cpus);
	return -EINVAL;
}

bool cpus_contain(const char *text, int cpu)
{
	for (const char *p = text; p && *p;) {
		char *end;
		long first = strtol(p, &end, 10), last = first;
		if (end == p)
			return true;
		if (*end == '-')
			last = strtol(end + 1, &end, 10);
		if (first <= cpu && cpu <= last)
			return true;
		if (*end != ',')
			return false;
		p = end + 1;
	}
	return true;
}

int cpus_online(const struct host *h, int **ret_cpus, struct err *e)
{
	CLEANUP_FREE char *text = NULL;
	int r = host_read_file(h, HOST_SYS, &text, NULL, "devices/system/cpu/online");
	if (r == 0) {
		text[strcspn(text, "\n")] = '\0';
		r = cpus_parse(text, ret_cpus);
		return r > 0 ? r
			     : err_set(e, -r, "cannot parse the list of online CPUs '%s'",
				       text);
	}
	long n = sysconf(_SC_NPROCESSORS_ONLN);
	if (n < 1)
		n = 1;
	int *cpus = calloc((size_t)n, sizeof(*cpus));
	if (!cpus)
		return err_errno(e, ENOMEM, "cannot list the CPUs");
	for (int i = 0; i < n; i++)
		cpus[i] = i;
	*ret_cpus = cpus;
	return (int)n;
}

int cpus_busy_ns(const struct host *h, const char *list, uint64_t *ret_ns)
{
	CLEANUP_FREE char *text = NULL;
	uint64_t ticks = 0;
	bool any = false;
	int r = host_read_file(h, HOST_PROC, &text, NULL, "stat");
	if (r < 0)
		return r;
	for (char *line = text; line && *line;) {
		int cpu;
		unsigned long long user, nice, system, irq, softirq;
		/* The first line, "cpu ", is the sum; %d would skip the blank. */
		if (strncmp(line, "cpu", 3) == 0 && isdigit((unsigned char)line[3]) &&
		    sscanf(line, "cpu%d %llu %llu %llu %*u %*u %llu %llu", &cpu, &user, &nice,
			   &system, &irq, &softirq) == 6 && cpus_contain(list, cpu)) {
			ticks += user + nice + system + irq + softirq;
			any = true;
		}
		line = strchr(line, '\n');
		line += line != NULL;
	}
	if (!any)
		return -EINVAL;
	*ret_ns = ticks * (CLOCK_SECOND_NS / (uint64_t)sysconf(_SC_CLK_TCK));
	return 0;
}
