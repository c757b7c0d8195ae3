/*
 * All profiles of a window are made from the same counts, with names that are looked up once.
 * Groups are sorted by value: the first ones get a profile each, and the rest one together.  They
 * are made in memory, and again with less detail until all together are small enough.
 */
#include "cmd/agent/agent-window.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "cmd/agent/agent-service.h"
#include "cmd/agent/keyvalue.h"
#include "cprof-groups.h"
#include "cprof.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COMMENT "cprof agent: one service of all processes of a machine"
#define COMMENT_FUNCTIONS "; functions have one address each (window-size)"
#define COMMENT_KEEP "; some samples include the values of their neighbours (window-size)"
#define OTHER "other"

/* A profile in memory. */
struct made {
	struct spool_name name;
	char *meta, *profile;
	size_t n_meta, n_profile;
};

struct window {
	const struct agent_window *w;
	VEC(struct made) made;
	uint64_t n_folded;             /* samples that others stand for */
	struct cprof_groups *groups;
	struct cprof_stats stats;
	struct cprof_event_stats event;
	bool *chosen;                  /* by group: what is written next */
	size_t n_groups;
};

/* What a profile is of: one group, or what is left. */
struct subject {
	struct service service;
	struct cprof_group group;      /* of OTHER: the sums only */
	uint64_t hash;
	size_t n_groups;
};

/* ---- one profile --------------------------------------------------------------------- */

static void print_label(FILE *to, const char *name, const char *value)
{
	char key[64];
	snprintf(key, sizeof(key), "label.%s", name);
	if (*value)
		keyvalue_print(to, key, value);
}

static void print_config_labels(const struct agent_config *c, FILE *to)
{
	for (size_t i = 0; i < c->n_labels; i++) {
		char name[48];
		const char *eq = strchr(c->label[i], '=');
		snprintf(name, sizeof(name), "%.*s", (int)(eq - c->label[i]), c->label[i]);
		print_label(to, name, eq + 1);
	}
}

static void print_meta(const struct window *x, const struct subject *s, FILE *to)
{
	print_config_labels(x->w->config, to);
	print_label(to, "service_name", s->service.name);
	print_label(to, "host", x->w->host);
	print_label(to, "cgroup", s->group.cgroup);
	print_label(to, "exe", s->group.exe);
	print_label(to, "exe_build_id", s->group.exe_build_id);
	print_label(to, "comm", s->group.process_name);
	print_label(to, "container_id", s->service.container_id);
	print_label(to, "pod_uid", s->service.pod_uid);
	print_label(to, "namespace", s->service.namespace);
	print_label(to, "pod", s->service.pod);
	print_label(to, "container", s->service.container);
	keyvalue_print_u64(to, "window_start_ns", (uint64_t)x->stats.start_realtime_ns);
	keyvalue_print_u64(to, "window_ns", x->stats.duration_ns);
	keyvalue_print(to, "event", x->event.name);
	keyvalue_print(to, "sample_type", x->event.sample_type);
	keyvalue_print(to, "unit", x->event.unit);
	uint64_t n = x->event.n_samples;
	keyvalue_print_u64(to, "period", n ? x->event.value / n : 0);
	keyvalue_print_u64(to, "n_samples", s->group.n_samples);
	keyvalue_print_u64(to, "n_processes", s->n_groups);
}

static int append(void *ctx, const void *data, size_t n)
{
	FILE *to = ctx;
	return fwrite(data, 1, n, to) == n ? 0 : -ENOMEM;
}

static int print_profile(struct window *x, const struct subject *s, FILE *to, struct err *e)
{
	char service[SERVICE_TEXT_MAX + 16], host[SERVICE_TEXT_MAX + 16];
	const char *label[AGENT_LABELS_MAX + 2];
	const struct agent_fit *fit = x->w->fit;
	struct cprof_groups_detail detail = {
		.only_functions = fit->only_functions, .keep = fit->keep,
		.seed = s->hash ^ (uint64_t)x->stats.start_realtime_ns,
	};
	char comment[sizeof(COMMENT COMMENT_FUNCTIONS COMMENT_KEEP)];
	size_t n = 0;
	snprintf(comment, sizeof(comment), COMMENT "%s%s",
		 fit->only_functions ? COMMENT_FUNCTIONS : "", fit->keep < 1 ? COMMENT_KEEP : "");
	snprintf(service, sizeof(service), "service_name=%s", s->service.name);
	snprintf(host, sizeof(host), "host=%s", x->w->host);
	label[n++] = service;
	label[n++] = host;
	for (size_t i = 0; i < x->w->config->n_labels; i++)
		label[n++] = x->w->config->label[i];
	int r = cprof_groups_write(x->groups, x->chosen, label, n, comment, &detail, append, to, e);
	x->n_folded += detail.n_folded;
	return r;
}

static void made_done(struct made *m)
{
	free(m->meta);
	free(m->profile);
}

static void drop_made(struct window *x)
{
	for (size_t i = 0; i < x->made.n; i++)
		made_done(&x->made.v[i]);
	x->made.n = 0;
	x->n_folded = 0;
}

static int make_texts(struct window *x, const struct subject *s, struct made *m, struct err *e)
{
	FILE *to = open_memstream(&m->meta, &m->n_meta);
	if (!to)
		return err_errno(e, ENOMEM, "cannot write a profile");
	print_meta(x, s, to);
	FILE *body = fclose(to) == 0 ? open_memstream(&m->profile, &m->n_profile) : NULL;
	if (!body)
		return err_errno(e, ENOMEM, "cannot write a profile");
	int r = print_profile(x, s, body, e);
	if (fclose(body) != 0 && r == 0)
		r = err_errno(e, ENOMEM, "cannot write a profile");
	return r;
}

static int make_subject(struct window *x, const struct subject *s, struct err *e)
{
	struct made m = { .name = {
		.start_ns = (uint64_t)x->stats.start_realtime_ns,
		.sequence = x->w->spool->n.windows, .service = s->hash,
	} };
	int r = make_texts(x, s, &m, e);
	if (r == 0 && !VEC_PUSH(&x->made, m))
		r = err_errno(e, ENOMEM, "cannot write a profile");
	if (r < 0)
		made_done(&m);
	return r;
}

/* ---- which --------------------------------------------------------------------------- */

static bool has_own_profile(const struct window *x, size_t i, const struct cprof_group *g)
{
	const struct agent_config *c = x->w->config;
	if (x->w->own_exe && strcmp(g->exe, x->w->own_exe) == 0)
		return true;
	return i < x->w->fit->services_max && g->value > 0 &&
	       (double)g->value * 100 >= (double)x->event.value * c->smallest_percent;
}

static int make_group(struct window *x, size_t i, const struct cprof_group *g, struct err *e)
{
	struct subject s = {
		.group = *g, .n_groups = 1,
		.hash = service_hash(g->cgroup, g->exe, g->exe_build_id),
	};
	service_find(g->cgroup, g->exe, g->process_name, x->w->log_fd, &s.service);
	memset(x->chosen, 0, x->n_groups * sizeof(*x->chosen));
	x->chosen[i] = true;
	return make_subject(x, &s, e);
}

static int make_rest(struct window *x, const bool *is_made, struct err *e)
{
	struct subject s = {
		.group = { .cgroup = "", .exe = "", .exe_build_id = "", .process_name = "" },
		.hash = service_hash(OTHER, "", ""), .service = { .name = OTHER },
	};
	for (size_t i = 0; i < x->n_groups; i++) {
		struct cprof_group g;
		cprof_groups_get(x->groups, i, &g);
		x->chosen[i] = !is_made[i];
		s.n_groups += !is_made[i];
		s.group.n_samples += is_made[i] ? 0 : g.n_samples;
		s.group.value += is_made[i] ? 0 : g.value;
	}
	return s.n_groups ? make_subject(x, &s, e) : 0;
}

static int make_all(struct window *x, struct err *e)
{
	CLEANUP_FREE bool *is_made = calloc(x->n_groups + 1, sizeof(*is_made));
	CLEANUP_FREE bool *chosen = calloc(x->n_groups + 1, sizeof(*chosen));
	int result = 0;
	if (!is_made || !chosen)
		return err_errno(e, ENOMEM, "cannot write the profiles");
	x->chosen = chosen;
	for (size_t i = 0; i < x->n_groups; i++) {
		struct cprof_group g;
		cprof_groups_get(x->groups, i, &g);
		is_made[i] = has_own_profile(x, i, &g);
		int r = is_made[i] ? make_group(x, i, &g, e) : 0;
		result = r < 0 ? r : result;
	}
	int r = make_rest(x, is_made, e);
	return r < 0 ? r : result;
}

/* ---- how much ------------------------------------------------------------------------ */

static uint64_t made_bytes(const struct window *x)
{
	uint64_t n = 0;
	for (size_t i = 0; i < x->made.n; i++)
		n += x->made.v[i].n_profile + x->made.v[i].n_meta;
	return n;
}

static int make_small(struct window *x, struct err *e)
{
	const struct agent_window *w = x->w;
	uint64_t limit = agent_fit_limit(w->config, w->n_cpus);
	int r = make_all(x, e);
	while (made_bytes(x) > limit &&
	       agent_fit_shrink(w->fit, made_bytes(x), (unsigned)x->made.n, limit)) {
		drop_made(x);
		r = make_all(x, e);
	}
	return r;
}

static int write_made(struct window *x, struct err *e)
{
	const struct agent_window *w = x->w;
	int result = 0;
	for (size_t i = 0; i < x->made.n; i++) {
		const struct made *m = &x->made.v[i];
		int r = spool_writer_add(w->spool, &m->name, m->profile, m->n_profile, m->meta,
					 m->n_meta);
		if (r < 0)
			result = err_errno(e, -r, "cannot write a profile into the spool");
	}
	return result;
}

static int write_all(struct window *x, struct err *e)
{
	const struct agent_window *w = x->w;
	int r = make_small(x, e), written = write_made(x, e);
	w->spool->n.windows_reduced += w->fit->only_functions || w->fit->keep < 1 ||
				       w->fit->services_max < w->config->services_max;
	w->spool->n.samples_folded += x->n_folded;
	agent_fit_relax(w->fit, w->config, made_bytes(x), (unsigned)x->made.n,
			agent_fit_limit(w->config, w->n_cpus));
	drop_made(x);
	VEC_FREE(&x->made);
	return r < 0 ? r : written;
}

int agent_window_write(const struct agent_window *w, struct err *e)
{
	struct window x = { .w = w };
	struct spool_counters *n = &w->spool->n;
	uint64_t before = n->profiles;
	cprof_recorder_stats(w->recorder, &x.stats);
	cprof_recorder_event_stats(w->recorder, 0, &x.event);
	int r = cprof_groups_new(w->recorder, 0, &x.groups, e);
	if (r == 0) {
		x.n_groups = cprof_groups_n(x.groups);
		r = write_all(&x, e);
	}
	cprof_groups_free(x.groups);
	/* A recorder may be stopped a moment after a window has begun. */
	n->windows += r < 0 || x.n_groups > 0;
	n->windows_failed += r < 0 && n->profiles == before;
	n->samples += x.event.n_samples;
	n->samples_lost += x.event.n_lost;
	return r;
}
