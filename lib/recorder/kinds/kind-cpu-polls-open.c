/* When waits are measured by polling /proc alone: kind-cpu-polls.c. */

#include "recorder/kinds/kind-cpu-polls.h"

#include "base/log.h"
#include "recorder/kinds/kind-cpu.h"
#include "source/silent.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <sys/resource.h>
#include <unistd.h>

static bool is_closed(const struct evopen *open)
{
	struct perf_event_attr a = {
		.type = PERF_TYPE_SOFTWARE, .size = sizeof(a), .config = PERF_COUNT_SW_DUMMY,
		.disabled = 1, .exclude_kernel = 1, .exclude_hv = 1,
	};
	int fd = open->fn(&a, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		return errno == EPERM || errno == EACCES || errno == ENOSYS;
	close(fd);
	return false;
}

/* Do the events of threads need more descriptors than there may be?  One per thread and CPU. */
static bool has_too_many_threads(const struct kind_session *k)
{
	struct rlimit limit;
	uint64_t n = kind_cpu_n_threads(k) * (uint64_t)sysconf(_SC_NPROCESSORS_ONLN);
	return k->scope == CPROF_SCOPE_TASK && k->config->scope == CPROF_SCOPE_AUTO &&
	       getrlimit(RLIMIT_NOFILE, &limit) == 0 && n >= limit.rlim_max;
}

const char *kind_cpu_polls_why(const struct kind_session *k)
{
	const struct kind_cpu *c = k->state;
	for (size_t i = 0; i < c->events.n; i++)
		if (!c->events.v[i].waiting || c->events.v[i].has_raw)
			return NULL;
	if (k->config->all_processes)
		return NULL;
	return is_closed(&c->open) ? "perf events are closed" :
	       has_too_many_threads(k) ?
	       "events of so many threads need more descriptors than the limit (ulimit -n)" : NULL;
}

int kind_cpu_polls_open(struct kind_session *k, struct err *e)
{
	struct kind_cpu *c = k->state;
	struct source *s;
	int r = silent_open(&s, e);
	if (r < 0)
		return r;
	k->source = s;
	k->only_targets = true;
	for (size_t i = 0; i < k->n_events; i++)
		k->event[i].rate = k->event[i].period = 1;
	copysize_init(&c->copysize, 0, true);
	log_line(k->log, LOG_NOTE, "waits: read in /proc every %u ms, since %s: short waits, and "
		 "where threads run, are not seen", KIND_CPU_POLLS_EVERY_NS / 1000000,
		 c->waits.only_polls);
	return 0;
}
