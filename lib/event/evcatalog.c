/*
 * Events beyond the table of names: the PMUs of sysfs with their events, tracepoints, and what
 * libpfm4 has for this machine's CPU.
 */
#include "cprof-events.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "event/evlist.h"
#include "event/evpfm.h"
#include "event/evpmu.h"
#include "event/evspec.h"
#include "event/evtrace.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_MAX 512

/* Splits text at '\n': returns the next line, or NULL. */
static char *next_line(char **text)
{
	char *line = *text && **text ? *text : NULL;
	if (line) {
		char *end = strchr(line, '\n');
		*text = end ? end + 1 : NULL;
		if (end)
			*end = '\0';
	}
	return line;
}

/* libpfm4 also has the kernel's own names, as PMUs "perf" and "perf_raw". */
static bool is_of_cpu(const struct evpfm_pmu *p)
{
	return p->name && strncmp(p->name, "perf", 4) != 0;
}

/* ---- events -------------------------------------------------------------------------- */

struct walk {
	const struct host *host;
	cprof_event_fn *fn;
	void *ctx;
	bool more;
};

static void give(struct walk *w, const char *name, const char *pmu, const char *what)
{
	const struct cprof_event ev = { name, "", pmu, what };
	w->more = w->more && w->fn(w->ctx, &ev);
}

static int walk_pmu(struct walk *w, const struct evpmu *p)
{
	CLEANUP_FREE char *names = evpmu_names(w->host, p, "events");
	if (!names)
		return -ENOMEM;
	char *rest = names;
	for (char *name; w->more && (name = next_line(&rest));) {
		char full[TEXT_MAX], what[TEXT_MAX];
		struct evpmu_event ev;
		if (evpmu_event(w->host, p, name, strlen(name), &ev) < 0)
			continue;
		snprintf(full, sizeof(full), "%s/%s/", p->name, name);
		if (ev.unit[0] || ev.scale != 0)
			snprintf(what, sizeof(what), "%s, each %g %s", ev.terms,
				 ev.scale != 0 ? ev.scale : 1.0, ev.unit);
		else
			snprintf(what, sizeof(what), "%s", ev.terms);
		give(w, full, p->name, what);
		free(ev.terms);
	}
	return 0;
}

static bool walk_pfm_event(void *ctx, const struct evpfm_event *ev)
{
	struct walk *w = ctx;
	const char *colons = strstr(ev->name, "::");
	char pmu[64];
	snprintf(pmu, sizeof(pmu), "%.*s", colons ? (int)(colons - ev->name) : 0, ev->name);
	give(w, ev->name, pmu, ev->what);
	return w->more;
}

static void walk_pfm(struct walk *w, const char *pmu)
{
	struct evpfm_pmu p;
	for (int i = 0; w->more && evpfm_pmu_at(i, &p); i++)
		if (is_of_cpu(&p) && (pmu ? strcmp(p.name, pmu) == 0 : p.is_here))
			evpfm_each(i, walk_pfm_event, w);
}

static int walk_tracepoints(struct walk *w)
{
	CLEANUP_FREE char *names = evtrace_names(w->host);
	if (!names)
		return -ENOMEM;
	char *rest = names;
	for (char *name; w->more && (name = next_line(&rest));)
		give(w, name, "tracepoint", "tracepoint of the kernel");
	return 0;
}

int cprof_event_each(const struct cprof_event_probe *probe, const char *pmu, cprof_event_fn *fn,
		     void *ctx, struct err *e)
{
	struct walk w = { evlist_host(probe), fn, ctx, true };
	CLEANUP(evpmu_list_done) struct evpmu_list pmus = { 0 };
	struct cprof_event known;
	for (size_t i = 0; !pmu && w.more && cprof_event_at(i, &known); i++)
		w.more = fn(ctx, &known);
	int r = evpmu_list(w.host, &pmus);
	if (r < 0)
		return err_errno(e, -r, "cannot list events");
	for (size_t i = 0; i < pmus.n; i++) {
		if (pmu && !evpmu_matches(&pmus, &pmus.v[i], pmu, strlen(pmu)))
			continue;
		r = walk_pmu(&w, &pmus.v[i]);
		if (r < 0)
			return err_errno(e, -r, "cannot list events");
	}
	if (!pmu || strcmp(pmu, "tracepoint") == 0) {
		r = walk_tracepoints(&w);
		if (r < 0)
			return err_errno(e, -r, "cannot list events");
	}
	walk_pfm(&w, pmu);
	return 0;
}

/* ---- PMUs ------------------------------------------------------------------------------ */

static size_t count_lines(const char *text)
{
	size_t n = *text != '\0';
	for (; *text; text++)
		n += *text == '\n';
	return n;
}

static int give_pmu(const struct host *h, const struct evpmu *p, cprof_pmu_fn *fn, void *ctx)
{
	CLEANUP_FREE char *fields = evpmu_names(h, p, "format");
	CLEANUP_FREE char *events = evpmu_names(h, p, "events");
	if (!fields || !events)
		return -ENOMEM;
	size_t n_events = count_lines(events);
	for (char *c = fields; *c; c++)
		if (*c == '\n')
			*c = ' ';
	const struct cprof_pmu pmu = {
		.name = p->name, .type = p->type, .is_core = p->is_core,
		.cpus = p->cpus ? p->cpus : "", .fields = fields, .n_events = n_events,
		.what = p->is_core ? "the CPU's cores" : "", .is_here = true,
	};
	return fn(ctx, &pmu) ? 0 : 1;
}

int cprof_pmu_each(const struct cprof_event_probe *probe, cprof_pmu_fn *fn, void *ctx,
		   struct err *e)
{
	const struct host *h = evlist_host(probe);
	CLEANUP(evpmu_list_done) struct evpmu_list pmus = { 0 };
	struct evpfm_pmu p;
	int r = evpmu_list(h, &pmus);
	if (r < 0)
		return err_errno(e, -r, "cannot list PMUs");
	for (size_t i = 0; i < pmus.n; i++) {
		r = give_pmu(h, &pmus.v[i], fn, ctx);
		if (r < 0)
			return err_errno(e, -r, "cannot list PMUs");
		if (r > 0)
			return 0;
	}
	for (int i = 0; evpfm_pmu_at(i, &p); i++) {
		if (!is_of_cpu(&p))
			continue;
		const struct cprof_pmu pmu = {
			.name = p.name, .is_model = true, .is_here = p.is_here, .cpus = "",
			.fields = "", .n_events = (size_t)p.n_events, .what = p.what,
		};
		if (!fn(ctx, &pmu))
			return 0;
	}
	return 0;
}

bool cprof_has_models(void)
{
	return evpfm_is_there();
}
