/*
 * All profiles of a window are written from the same counts, with names that are looked up once.
 * Groups are sorted by value: the first ones get a profile each, and the rest one together.
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
#define OTHER "other"

struct window {
	const struct agent_window *w;
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

static int print_profile(const struct window *x, const struct subject *s, FILE *to, struct err *e)
{
	char service[SERVICE_TEXT_MAX + 16], host[SERVICE_TEXT_MAX + 16];
	const char *label[AGENT_LABELS_MAX + 2];
	size_t n = 0;
	snprintf(service, sizeof(service), "service_name=%s", s->service.name);
	snprintf(host, sizeof(host), "host=%s", x->w->host);
	label[n++] = service;
	label[n++] = host;
	for (size_t i = 0; i < x->w->config->n_labels; i++)
		label[n++] = x->w->config->label[i];
	return cprof_groups_write(x->groups, x->chosen, label, n, COMMENT, NULL, append, to, e);
}

static int write_subject(const struct window *x, const struct subject *s, struct err *e)
{
	CLEANUP_FREE char *meta = NULL, *profile = NULL;
	size_t n_meta = 0, n_profile = 0;
	FILE *to = open_memstream(&meta, &n_meta);
	if (!to)
		return err_errno(e, ENOMEM, "cannot write a profile");
	print_meta(x, s, to);
	FILE *body = fclose(to) == 0 ? open_memstream(&profile, &n_profile) : NULL;
	if (!body)
		return err_errno(e, ENOMEM, "cannot write a profile");
	int r = print_profile(x, s, body, e);
	if (fclose(body) != 0 && r == 0)
		r = err_errno(e, ENOMEM, "cannot write a profile");
	if (r < 0)
		return r;
	struct spool_name name = {
		.start_ns = (uint64_t)x->stats.start_realtime_ns,
		.sequence = x->w->spool->n.windows, .service = s->hash,
	};
	r = spool_writer_add(x->w->spool, &name, profile, n_profile, meta, n_meta);
	return r < 0 ? err_errno(e, -r, "cannot write a profile into the spool") : 0;
}

/* ---- which --------------------------------------------------------------------------- */

static bool has_own_profile(const struct window *x, size_t i, const struct cprof_group *g)
{
	const struct agent_config *c = x->w->config;
	if (x->w->own_exe && strcmp(g->exe, x->w->own_exe) == 0)
		return true;
	return i < c->services_max && g->value > 0 &&
	       (double)g->value * 100 >= (double)x->event.value * c->smallest_percent;
}

static int write_group(struct window *x, size_t i, const struct cprof_group *g, struct err *e)
{
	struct subject s = {
		.group = *g, .n_groups = 1,
		.hash = service_hash(g->cgroup, g->exe, g->exe_build_id),
	};
	service_find(g->cgroup, g->exe, g->process_name, x->w->log_fd, &s.service);
	memset(x->chosen, 0, x->n_groups * sizeof(*x->chosen));
	x->chosen[i] = true;
	return write_subject(x, &s, e);
}

static int write_rest(struct window *x, const bool *is_written, struct err *e)
{
	struct subject s = {
		.group = { .cgroup = "", .exe = "", .exe_build_id = "", .process_name = "" },
		.hash = service_hash(OTHER, "", ""), .service = { .name = OTHER },
	};
	for (size_t i = 0; i < x->n_groups; i++) {
		struct cprof_group g;
		cprof_groups_get(x->groups, i, &g);
		x->chosen[i] = !is_written[i];
		s.n_groups += !is_written[i];
		s.group.n_samples += is_written[i] ? 0 : g.n_samples;
		s.group.value += is_written[i] ? 0 : g.value;
	}
	return s.n_groups ? write_subject(x, &s, e) : 0;
}

static int write_all(struct window *x, struct err *e)
{
	CLEANUP_FREE bool *is_written = calloc(x->n_groups + 1, sizeof(*is_written));
	CLEANUP_FREE bool *chosen = calloc(x->n_groups + 1, sizeof(*chosen));
	int result = 0;
	if (!is_written || !chosen)
		return err_errno(e, ENOMEM, "cannot write the profiles");
	x->chosen = chosen;
	for (size_t i = 0; i < x->n_groups; i++) {
		struct cprof_group g;
		cprof_groups_get(x->groups, i, &g);
		is_written[i] = has_own_profile(x, i, &g);
		int r = is_written[i] ? write_group(x, i, &g, e) : 0;
		result = r < 0 ? r : result;
	}
	int r = write_rest(x, is_written, e);
	return r < 0 ? r : result;
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
