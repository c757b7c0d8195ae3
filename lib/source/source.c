/* The answers of sources that lack an operation. */

#include "source/source.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "source/source-ring.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/utsname.h>

void source_read_facts(struct source_facts *f, uint32_t n_cpus)
{
	struct utsname u;
	if (uname(&u) == 0) {
		snprintf(f->kernel_release, sizeof(f->kernel_release), "%s", u.release);
		snprintf(f->arch, sizeof(f->arch), "%s", u.machine);
		snprintf(f->hostname, sizeof(f->hostname), "%s", u.nodename);
	}
	f->n_cpus = n_cpus;
	f->running_kernel = true;
}

void source_close(struct source *s)
{
	if (s)
		s->ops->close(s);
}

void source_limit(struct source *s, uint64_t until_ns)
{
	if (s->ops->limit)
		s->ops->limit(s, until_ns);
}

int source_enable(struct source *s, struct err *e)
{
	return s->ops->enable ? s->ops->enable(s, e) : 0;
}

void source_disable(struct source *s)
{
	if (s->ops->disable)
		s->ops->disable(s);
}

int source_pause(struct source *s, size_t event, struct err *e)
{
	if (!s->ops->pause)
		return err_set(e, EOPNOTSUPP, "this kind of recording cannot be paused");
	return s->ops->pause(s, event, e);
}

int source_resume(struct source *s, size_t event, struct err *e)
{
	if (!s->ops->resume)
		return err_set(e, EOPNOTSUPP, "this kind of recording cannot be paused");
	return s->ops->resume(s, event, e);
}

static int wait_for_fds(int timeout_ms, const int *fds, size_t n_fds, bool *ret_ready)
{
	CLEANUP_FREE struct pollfd *p = calloc(n_fds + 1, sizeof(*p));
	if (!p)
		return -ENOMEM;
	for (size_t i = 0; i < n_fds; i++)
		p[i] = (struct pollfd){ .fd = fds[i], .events = POLLIN };
	if (poll(p, n_fds, timeout_ms) < 0)
		return -errno;
	for (size_t i = 0; i < n_fds && ret_ready; i++)
		ret_ready[i] = p[i].revents != 0;
	return 0;
}

int source_wait(struct source *s, int timeout_ms, const int *fds, size_t n_fds, bool *ret_ready)
{
	return s->ops->wait ? s->ops->wait(s, timeout_ms, fds, n_fds, ret_ready)
			    : wait_for_fds(timeout_ms, fds, n_fds, ret_ready);
}

int source_poll_fd(const struct source *s, size_t i)
{
	return s->ops->poll_fd ? s->ops->poll_fd(s, i) : -1;
}

void source_count(struct source *s, size_t event, struct source_count *ret)
{
	*ret = (struct source_count){ 0 };
	if (s->ops->count)
		s->ops->count(s, event, ret);
}

size_t source_n_places(const struct source *s, size_t event)
{
	return s->ops->n_places ? s->ops->n_places(s, event) : 1;
}

const struct perf_event_attr *source_attr(const struct source *s, size_t event)
{
	return s->ops->attr ? s->ops->attr(s, event) : NULL;
}

void source_usage(const struct source *s, struct source_usage *ret)
{
	*ret = (struct source_usage){ 0 };
	if (s->ops->usage)
		s->ops->usage(s, ret);
}

int source_set_rate(struct source *s, size_t event, uint64_t rate, struct err *e)
{
	if (!s->ops->set_rate)
		return err_set(e, EOPNOTSUPP, "the rate of this kind of recording is fixed");
	return s->ops->set_rate(s, event, rate, e);
}

bool source_ring(struct source *s, size_t i, struct source_ring *ret)
{
	return s->ops->ring && s->ops->ring(s, i, ret);
}

int source_set_stack(struct source *s, size_t ring, uint32_t stack_bytes, struct err *e)
{
	if (!s->ops->set_stack)
		return err_set(e, EOPNOTSUPP, "stack copies are fixed");
	return s->ops->set_stack(s, ring, stack_bytes, e);
}

int source_grow_ring(struct source *s, size_t ring, uint64_t n_bytes, struct err *e)
{
	if (!s->ops->grow_ring)
		return err_set(e, EOPNOTSUPP, "the size of the rings is fixed");
	return s->ops->grow_ring(s, ring, n_bytes, e);
}

int source_set_user_chain(struct source *s, struct err *e)
{
	if (!s->ops->set_user_chain)
		return err_set(e, EOPNOTSUPP, "stack copies are fixed");
	return s->ops->set_user_chain(s, e);
}

uint64_t source_sample_cost(struct source *s, size_t event)
{
	return s->ops->sample_cost ? s->ops->sample_cost(s, event) : 0;
}
