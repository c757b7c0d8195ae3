/*
 * An event is tested as `cprof record` would open it on a process of the user: sampling, per task,
 * at the lowest rate, with the same ladder of fallbacks.  Nothing is enabled, so the whole table
 * costs one system call per event.
 */
#include "cprof-events.h"

#include "base/err.h"
#include "base/host.h"
#include "event/evattr.h"
#include "event/evadvice.h"
#include "event/evlist.h"
#include "event/evopen.h"
#include "event/evparse.h"
#include "event/evspec.h"
#include "event/evusdt.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

struct cprof_event_probe {
	struct evopen open;
	struct host host;       /* this machine; the descriptors are -1 if o was borrowed */
	struct cprof_event_machine machine;
};

bool cprof_event_at(size_t i, struct cprof_event *ret)
{
	static const char *const group[EVSPEC_N_GROUPS] = {
		[EVSPEC_SOFTWARE] = "software",
		[EVSPEC_HARDWARE] = "hardware",
		[EVSPEC_CACHE] = "cache",
	};
	const struct evspec_known *k = evspec_known(i);
	if (!k)
		return false;
	*ret = (struct cprof_event){ k->name, k->aliases, group[k->group], k->what };
	return true;
}

static void find_machine(struct cprof_event_probe *p)
{
	const char *why;
	p->machine.max_rate_hz = evopen_max_rate_hz(p->open.host);
	p->machine.why_no_pmu = evopen_pmu_interrupts(&p->open, &why) ? NULL : why;
	p->machine.why_not_cpus = evopen_why_not_cpus(&p->open);
}

int cprof_event_probe_new(struct cprof_event_probe **ret_probe, struct err *e)
{
	struct cprof_event_probe *p = calloc(1, sizeof(*p));
	if (!p)
		return err_errno(e, ENOMEM, "cannot list events");
	int r = host_open(&p->host, NULL, NULL, NULL, e);
	if (r < 0) {
		free(p);
		return r;
	}
	p->open = (struct evopen){
		.fn = evopen_syscall,
		.host = &p->host,
		.allow_user_only = true,
	};
	find_machine(p);
	*ret_probe = p;
	return 0;
}

int cprof_event_probe_new_at(const struct evopen *o, struct cprof_event_probe **ret_probe,
			     struct err *e)
{
	struct cprof_event_probe *p = calloc(1, sizeof(*p));
	if (!p)
		return err_errno(e, ENOMEM, "cannot list events");
	p->host = (struct host){ .fd = { -1, -1, -1 } };
	p->open = *o;
	find_machine(p);
	*ret_probe = p;
	return 0;
}

void cprof_event_probe_free(struct cprof_event_probe *p)
{
	if (!p)
		return;
	host_close(&p->host);
	free(p);
}

const struct host *evlist_host(const struct cprof_event_probe *p)
{
	return p->open.host;
}

const struct cprof_event_machine *cprof_event_machine(const struct cprof_event_probe *p)
{
	return &p->machine;
}

/* PMUs outside the cores have counters without interrupts. */
static bool only_counts(const struct cprof_event_probe *p, const struct perf_event_attr *requested)
{
	struct perf_event_attr a = *requested;
	if (a.type <= PERF_TYPE_BREAKPOINT)
		return false;
	evattr_member(&a, true);
	a.disabled = 1;
	a.inherit = a.exclude_guest = 0;
	const struct evopen_place self = { 0, -1, -1, 0 }, cpu = { -1, 0, -1, 0 };
	int fd = evopen_again(&p->open, NULL, &a, &self, NULL);
	if (fd < 0)
		fd = evopen_again(&p->open, NULL, &a, &cpu, NULL);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

/* Can its switches be recorded, although they cannot be sampled? */
static bool opens_as_records(const struct cprof_event_probe *p, const struct evspec *s)
{
	const struct evattr_options options = { .rate_default_hz = 1 };
	const struct evopen_place self = { 0, -1, -1, 0 };
	struct evspec records = *s;
	struct perf_event_attr a;
	evspec_use_records(&records);
	evattr_sampling(&records, &options, &a);
	int fd = evopen_again(&p->open, &records, &a, &self, NULL);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static void test_spec(const struct cprof_event_probe *p, const struct evspec *s,
		      enum cprof_event_state *ret_state, const char **ret_reason)
{
	const struct evattr_options options = {
		.rate_default_hz = 1,
		.rate_max_hz = p->machine.max_rate_hz,
	};
	struct perf_event_attr requested, opened;
	evattr_sampling(s, &options, &requested);
	const struct evopen_place self = { 0, -1, -1, 0 };
	struct evcause_request r = { s, &requested, 0, -1, 0, NULL };
	unsigned given_up;
	opened = requested;
	int fd = evopen_first(&p->open, s, &opened, &self, &given_up, NULL);
	if (fd < 0 && s->has_switches && opens_as_records(p, s)) {
		*ret_state = CPROF_EVENT_USER_ONLY;
		*ret_reason = evadvice_brief(evcause_find(p->open.host, &r, -fd));
		return;
	}
	if (fd < 0 && only_counts(p, &requested)) {
		*ret_state = CPROF_EVENT_NO;
		*ret_reason = "counts, but cannot sample: as a member of a group with :S";
		return;
	}
	if (fd < 0) {
		*ret_state = CPROF_EVENT_NO;
		*ret_reason = evadvice_brief(evcause_find(p->open.host, &r, -fd));
		return;
	}
	close(fd);
	if (s->type != PERF_TYPE_SOFTWARE && !evspec_is_mark(s) && p->machine.why_no_pmu) {
		/* Some hypervisors let a PMU be programmed and never deliver its interrupt. */
		*ret_state = CPROF_EVENT_NO;
		*ret_reason = p->machine.why_no_pmu;
	} else if (given_up & EVOPEN_NO_KERNEL) {
		*ret_state = CPROF_EVENT_USER_ONLY;
		*ret_reason = evadvice_brief(evcause_find(p->open.host, &r, EACCES));
	} else {
		*ret_state = CPROF_EVENT_YES;
		*ret_reason = "";
	}
}

/* An event of several PMUs can be sampled if one of them can sample it. */
static void test_variants(const struct cprof_event_probe *p, const struct evspec_list *l,
			  enum cprof_event_state *ret_state, const char **ret_reason)
{
	test_spec(p, &l->v[0], ret_state, ret_reason);
	for (size_t i = 1; i < l->n && *ret_state == CPROF_EVENT_NO; i++)
		test_spec(p, &l->v[i], ret_state, ret_reason);
}

int cprof_event_test(const struct cprof_event_probe *p, const char *text,
		     enum cprof_event_state *ret_state, const char **ret_reason, struct err *e)
{
	struct evspec_list l = { NULL, 0 };
	int r = evparse_list(&l, p->open.host, text, e);
	if (r < 0)
		return r;
	if (l.v[0].usdt && !l.v[0].usdt->is_located)
		r = err_set(e, EINVAL, "'%s' names no file: write 'usdt:FILE:PROVIDER:NAME'",
			    text);
	else if (l.n_outputs == 1)
		test_variants(p, &l, ret_state, ret_reason);
	else
		r = err_set(e, EINVAL, "'%s' is more than one event", text);
	evspec_list_done(&l);
	return r;
}
