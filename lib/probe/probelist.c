/* The probes of a file or a process, for `cprof list`. */

#include "cprof-events.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "event/evlist.h"
#include "event/evsdt.h"
#include "probe/probefiles.h"
#include "proc/targetcheck.h"

#include <errno.h>
#include <string.h>

struct list {
	cprof_probe_fn *fn;
	void *ctx;
	bool any, is_over;
};

/* Calls fn once for each probe: its locations are neighbours. */
static void show_probes(struct list *l, const char *file, const struct evsdt *s)
{
	for (size_t i = 0, end; i < s->locations.n && !l->is_over; i = end) {
		const struct evsdt_location *at = &s->locations.v[i];
		for (end = i; end < s->locations.n; end++)
			if (strcmp(s->locations.v[end].provider, at->provider) != 0 ||
			    strcmp(s->locations.v[end].name, at->name) != 0)
				break;
		const struct cprof_probe probe = {
			.file = file, .provider = at->provider, .name = at->name, .args = at->args,
			.n_locations = end - i, .has_semaphore = at->semaphore_off != 0,
		};
		l->any = true;
		l->is_over = !l->fn(l->ctx, &probe);
	}
}

static int show_file(void *ctx, const struct probefiles_file *file, struct err *e)
{
	show_probes(ctx, file->name, file->probes);
	return 0;
}

static int each_of_process(const struct host *h, pid_t pid, struct list *l, struct err *e)
{
	struct probefiles files = { .host = h };
	int r = targetcheck(h, pid, false, e);
	if (r < 0)
		return r;
	r = probefiles_each(&files, pid, show_file, l, e);
	if (r == 0 && !l->any) {
		r = err_set(e, ENOENT, "no file of process %d has USDT probes", pid);
		if (files.n_unread)
			err_hint(e, "%zu of its files could not be opened", files.n_unread);
	}
	probefiles_done(&files);
	return r;
}

static int each_of_file(const char *path, struct list *l, struct err *e)
{
	CLEANUP(evsdt_done) struct evsdt probes = { 0 };
	int r = evsdt_read_path(path, &probes, e);
	if (r < 0)
		return r;
	show_probes(l, path, &probes);
	if (l->any)
		return 0;
	err_set(e, ENOENT, "'%s' has no USDT probes", path);
	err_hint(e, "'cprof list --probes=PID' shows those of all files of a process");
	return -ENOENT;
}

int cprof_probe_each(const struct cprof_event_probe *p, const char *file, int pid,
		     cprof_probe_fn *fn, void *ctx, struct err *e)
{
	struct list l = { .fn = fn, .ctx = ctx };
	return file ? each_of_file(file, &l, e) : each_of_process(evlist_host(p), pid, &l, e);
}
