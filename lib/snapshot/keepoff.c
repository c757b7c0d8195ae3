#include "snapshot/keepoff.h"

#include "base/cleanup.h"
#include "base/host.h"
#include "snapshot/idlecpus.h"
#include "snapshot/threadtext.h"
#include "source/synth.h"

#include <stdio.h>

/* Each costs some 10 us. */
#define THREADS_MAX 256
#define STAT_BYTES_MAX 1024
/* Threads of the kernel run for some ten microseconds at a time. */
#define LOOK_US 200

void keepoff_begin(struct keepoff *k, const struct host *h)
{
	keepoff_end(k);
	int cpu = sched_getcpu();
	*k = (struct keepoff){ .host = h };
	if (cpu < 0 || cpu >= CPU_SETSIZE ||
	    sched_getaffinity(0, sizeof(k->before), &k->before) < 0)
		return;
	unsigned n_cpus = (unsigned)CPU_COUNT(&k->before);
	unsigned n_runnable = idlecpus_runnable(h, n_cpus, LOOK_US);
	if (n_cpus < 2 || !n_runnable || n_runnable > n_cpus)
		return;
	cpu_set_t here;
	CPU_ZERO(&here);
	CPU_SET(cpu, &here);
	k->rest = k->before;
	k->version = 1;
	k->is_on = sched_setaffinity(0, sizeof(here), &here) == 0;
}

void keepoff_add(struct keepoff *k, uint32_t cpu)
{
	if (cpu < CPU_SETSIZE)
		CPU_SET(cpu, &k->used);
}

void keepoff_add_process(struct keepoff *k, uint32_t pid)
{
	CLEANUP_FREE pid_t *tids = NULL;
	int n = k->is_on ? synth_list(k->host, (pid_t)pid, &tids) : 0;
	for (int i = 0; i < n && i < THREADS_MAX; i++) {
		char text[STAT_BYTES_MAX], path[48];
		struct threadtext_stat stat;
		snprintf(path, sizeof(path), "task/%d/stat", tids[i]);
		if (host_read_process_line(k->host, pid, path, text, sizeof(text)) > 0 &&
		    threadtext_stat(text, &stat) && stat.state == 'R')
			keepoff_add(k, stat.cpu);
	}
}

void keepoff_apply(struct keepoff *k)
{
	cpu_set_t shared;
	if (!k->is_on)
		return;
	CPU_AND(&shared, &k->before, &k->used);
	CPU_XOR(&k->rest, &k->before, &shared);
	if (!CPU_COUNT(&k->rest))
		k->rest = k->before;
	sched_setaffinity(0, sizeof(k->rest), &k->rest);
	k->version++;
}

void keepoff_help(const struct keepoff *k, unsigned *version)
{
	if (*version == k->version)
		return;
	sched_setaffinity(0, sizeof(k->rest), &k->rest);
	*version = k->version;
}

void keepoff_end(struct keepoff *k)
{
	if (k->is_on)
		sched_setaffinity(0, sizeof(k->before), &k->before);
	k->is_on = false;
}
