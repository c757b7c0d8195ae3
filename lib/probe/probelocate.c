/*
 * A file of another mount namespace has no name here, and a deleted one has no name at all.  So the
 * kernel finds it by a descriptor of cprof, which stays open as long as the event may be opened
 * again.
 */
#include "probe/probelocate.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "event/evsdt.h"
#include "event/evspec.h"
#include "event/evusdt.h"
#include "probe/probefiles.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct search {
	const struct host *host;
	const struct evspec *pending;
	const struct probelocate_options *options;
	struct evspec_list found;
	char near[200];         /* names of the first file with probes of this provider */
	bool has_provider;
};

static int add_location(struct search *s, const struct probefiles_file *file, size_t at,
			struct err *e)
{
	char path[64];
	struct evspec spec;
	CLEANUP_CLOSE int fd = fcntl(file->fd, F_DUPFD_CLOEXEC, 0);
	if (fd < 0)
		return err_errno(e, errno, "cannot keep '%s' open", file->name);
	if (s->found.n == EVUSDT_LOCATIONS_MAX)
		return err_set(e, E2BIG, "probe '%s' has more than %u locations",
			       s->pending->name, EVUSDT_LOCATIONS_MAX);
	/* Not /proc/self: a helper may open the event (evopen_call). */
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)getpid(), fd);
	if (!evusdt_copy(s->pending, &spec))
		return err_errno(e, ENOMEM, "cannot store an event");
	int r = evusdt_locate(&spec, s->host, file->probes, &file->probes->locations.v[at], path,
			      fd, e);
	if (r == 0) {
		(void)TAKE_FD(fd);
		r = VEC_PUSH(&s->found, spec) ? 0 : err_errno(e, ENOMEM, "cannot store an event");
	}
	if (r < 0)
		evspec_done(&spec);
	return r;
}

static void note_near(struct search *s, const struct evsdt *probes)
{
	const struct evusdt *u = s->pending->usdt;
	bool has = false;
	for (size_t i = 0; !has && i < probes->locations.n; i++)
		has = strcmp(probes->locations.v[i].provider, u->provider) == 0;
	if (s->near[0] && (s->has_provider || !has))
		return;
	evsdt_nearest(probes, u->provider, u->name, s->near, sizeof(s->near));
	s->has_provider = has;
}

static int search_file(void *ctx, const struct probefiles_file *file, struct err *e)
{
	struct search *s = ctx;
	const struct evusdt *u = s->pending->usdt;
	size_t first = 0, n = evsdt_find(file->probes, u->provider, u->name, &first);
	int r = 0;
	if (s->options->skips && s->options->skips(file))
		return 0;
	if (!n)
		note_near(s, file->probes);
	for (size_t i = 0; r == 0 && i < n; i++)
		r = add_location(s, file, first + i, e);
	return r;
}

static int nothing_found(const struct search *s, const struct probefiles *files, struct err *e)
{
	const struct evusdt *u = s->pending->usdt;
	err_set(e, ENOENT, "the targets have mapped no file with the probe '%s:%s'", u->provider,
		u->name);
	if (files->n_unread)
		err_hint(e, "%zu of their files could not be opened; 'usdt:FILE:%s:%s' names one",
			 files->n_unread, u->provider, u->name);
	else if (s->near[0])
		err_hint(e, "nearest names: %s; 'cprof list --probes=PID' shows all", s->near);
	else
		err_hint(e, "none of their files has USDT probes");
	return -ENOENT;
}

/* Puts the events that were found in the place of number `at`. */
static int replace(struct evspec_list *l, size_t at, struct evspec_list *found, struct err *e)
{
	if (!VEC_RESERVE(l, found->n))
		return err_errno(e, ENOMEM, "cannot store an event");
	evspec_done(&l->v[at]);
	memmove(l->v + at + found->n, l->v + at + 1, (l->n - at - 1) * sizeof(*l->v));
	memcpy(l->v + at, found->v, found->n * sizeof(*l->v));
	l->n += found->n - 1;
	found->n = 0;
	return 0;
}

static void remove_event(struct evspec_list *l, size_t at)
{
	evspec_done(&l->v[at]);
	memmove(l->v + at, l->v + at + 1, (--l->n - at) * sizeof(*l->v));
}

static int locate(struct evspec_list *l, size_t at, const struct host *h, const pid_t *ids,
		  size_t n, const struct probelocate_options *o, struct err *e)
{
	struct search s = { .host = h, .pending = &l->v[at], .options = o };
	struct probefiles files = { .host = h };
	int r = 0;
	for (size_t i = 0; r == 0 && i < n; i++) {
		r = probefiles_each(&files, ids[i], search_file, &s, e);
		if (o->is_optional && (r == -EACCES || r == -EPERM || r == -ENOENT || r == -ESRCH))
			r = 0;
	}
	if (r == 0 && o->is_optional && !s.found.n)
		remove_event(l, at);
	else if (r == 0)
		r = s.found.n ? replace(l, at, &s.found, e) : nothing_found(&s, &files, e);
	evspec_list_done(&s.found);
	probefiles_done(&files);
	return r;
}

int probelocate_pending(struct evspec_list *l, const struct host *h, const pid_t *ids, size_t n,
			const struct probelocate_options *o, struct err *e)
{
	for (size_t i = 0; i < l->n;) {
		const struct evusdt *u = l->v[i].usdt;
		if (!u || u->is_located) {
			i++;
			continue;
		}
		if (!n) {
			err_set(e, EINVAL, "'%s' names no file, and only those of processes given "
				"with -p or -t are known", l->v[i].name);
			err_hint(e, "write 'usdt:FILE:%s:%s'", u->provider, u->name);
			return -EINVAL;
		}
		int r = locate(l, i, h, ids, n, o, e);
		if (r < 0)
			return r;
	}
	return 0;
}
