/*
 * The beginning of an event:
 *
 *	what = known name | alias | "r" hex-digit {hex-digit}        evnames.c; up to 16 digits
 *	     | event of a PMU by its name in sysfs                   "mem-loads"
 *	     | PMU "/"                                               "cpu/", followed by its terms
 *	     | SYSTEM ":" PATTERN                                    tracepoints
 *	     | "mem:" ADDRESS [ "/" LENGTH ] [ ":" {"r"|"w"|"x"} ]   breakpoint
 *	     | "uprobe:" PATH ":" SYMBOL [ "+" OFFSET ] [ "%return" ]      evprobe.c
 *	     | "usdt:" [ FILE ":" ] PROVIDER ":" NAME                 evusdt.c
 *	     | an event of libpfm4                                   evpfm.h
 *
 * The meaning of a colon depends on the name before it: modifiers follow the name of an event, and
 * only an unknown name begins a tracepoint.
 */
#include "event/evkind.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "event/evcursor.h"
#include "event/evnames.h"
#include "event/evpfm.h"
#include "event/evprobe.h"
#include "event/evterm.h"
#include "event/evtrace.h"
#include "event/evusdt.h"

#include <ctype.h>
#include <errno.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RAW_DIGITS_MAX 16
#define CONFIG_PMU_SHIFT 32   /* PERF_PMU_TYPE_SHIFT: the PMU of a hardware event */
#define TRACE_NAME_MAX 200

static bool has_prefix(const struct evcursor *p, const char *prefix)
{
	return strncmp(p->text + p->at, prefix, strlen(prefix)) == 0;
}

/* ---- names of the tables, raw codes -------------------------------------------------- */

/* "r" and hex digits: the PMU's own code for an event, used as it is. */
static bool is_raw(const char *s, size_t n)
{
	if (n < 2 || (s[0] | 32) != 'r')
		return false;
	for (size_t i = 1; i < n; i++)
		if (!isxdigit((unsigned char)s[i]))
			return false;
	return true;
}

/* An event that each kind of core counts itself: one variant for each on a hybrid machine. */
static int add_for_cores(struct evcursor *p, struct evcursor_span at, const char *name,
			 uint32_t type, uint64_t config)
{
	int r = evcursor_need_pmus(p);
	if (r < 0)
		return r;
	bool hybrid = evpmu_n_cores(&p->pmus) > 1;
	for (size_t i = 0; i < (hybrid ? p->pmus.n : 1); i++) {
		const struct evpmu *pmu = hybrid ? &p->pmus.v[i] : NULL;
		if (pmu && !pmu->is_core)
			continue;
		struct evspec *s = evcursor_add(p, pmu, at);
		if (!s)
			return -ENOMEM;
		snprintf(s->name, sizeof(s->name), "%s", name);
		s->config = config;
		if (!pmu || type != PERF_TYPE_RAW)
			s->type = type;
		if (pmu && type != PERF_TYPE_RAW)
			s->config |= (uint64_t)pmu->type << CONFIG_PMU_SHIFT;
	}
	return 0;
}

static struct evspec *add_part(struct evcursor *p, struct evcursor_span at,
			       const struct evnames_entry *known)
{
	struct evspec *s = evcursor_add(p, NULL, at);
	if (!s)
		return NULL;
	snprintf(s->name, sizeof(s->name), "%s", known->known.name);
	s->type = PERF_TYPE_SOFTWARE;
	s->waiting = known->waiting;
	return s;
}

/* Runs are sampled by a clock, and wake-ups by a tracepoint, whose number is found when it is
 * opened.  Each switch counts, so there is no rate to choose. */
static int add_waiting(struct evcursor *p, struct evcursor_span at,
		       const struct evnames_entry *known)
{
	struct evspec *s;
	if (known->waiting == EVSPEC_WALL) {
		s = add_part(p, at, known);
		if (!s)
			return -ENOMEM;
		s->config = PERF_COUNT_SW_CPU_CLOCK;
		s->is_clock = true;
	}
	if (known->waiting == EVSPEC_MUTEX) {
		s = add_part(p, at, known);
		if (!s)
			return -ENOMEM;
		s->kind = EVSPEC_TRACEPOINT;
		s->type = PERF_TYPE_TRACEPOINT;
		s->has_raw = true;
		s->rate_kind = EVSPEC_RATE_PERIOD;
		s->rate = 1;
	}
	s = add_part(p, at, known);
	if (!s)
		return -ENOMEM;
	s->config = known->config;
	s->has_switches = true;
	s->rate_kind = EVSPEC_RATE_PERIOD;
	s->rate = 1;
	return 0;
}

static int add_known(struct evcursor *p, struct evcursor_span at, const struct evnames_entry *known)
{
	if (known->waiting)
		return add_waiting(p, at, known);
	if (known->type != PERF_TYPE_SOFTWARE)
		return add_for_cores(p, at, known->known.name, known->type, known->config);
	struct evspec *s = evcursor_add(p, NULL, at);
	if (!s)
		return -ENOMEM;
	snprintf(s->name, sizeof(s->name), "%s", known->known.name);
	s->type = known->type;
	s->config = known->config;
	s->is_clock = s->config == PERF_COUNT_SW_CPU_CLOCK ||
		      s->config == PERF_COUNT_SW_TASK_CLOCK;
	return 0;
}

static int add_raw(struct evcursor *p, struct evcursor_span at)
{
	size_t n = at.to - at.from;
	char name[RAW_DIGITS_MAX + 2], shown[EVCURSOR_SHOWN_MAX + 1];
	if (n > 1 + RAW_DIGITS_MAX)
		return evcursor_complain(p, EINVAL, at.from + 1 + RAW_DIGITS_MAX, "",
					"raw event '%s' has more than 16 hex digits",
					evcursor_shown(p, at, shown));
	for (size_t i = 0; i < n; i++)
		name[i] = (char)tolower((unsigned char)p->text[at.from + i]);
	name[n] = '\0';
	return add_for_cores(p, at, name, PERF_TYPE_RAW, strtoull(name + 1, NULL, 16));
}

static int unknown_event(const struct evcursor *p, struct evcursor_span at)
{
	struct evnames_near near;
	char advice[256], shown[EVCURSOR_SHOWN_MAX + 1];
	evnames_nearest(p->text + at.from, at.to - at.from, &near);
	snprintf(advice, sizeof(advice),
		 "nearest names: %s, %s, %s; 'cprof list' shows all; a raw event is 'r' and 1 to "
		 "16 hex digits", near.name[0], near.name[1], near.name[2]);
	return evcursor_complain(p, EINVAL, at.from, advice, "unknown event '%s'",
				evcursor_shown(p, at, shown));
}

/* ---- PMUs ---------------------------------------------------------------------------- */

/* "PMU/": adds a variant for each PMU that the name matches; 0 if there is none. */
static int add_pmus(struct evcursor *p, struct evcursor_span at)
{
	int r = evcursor_need_pmus(p);
	if (r < 0)
		return r;
	for (size_t i = 0; i < p->pmus.n; i++)
		if (evpmu_matches(&p->pmus, &p->pmus.v[i], p->text + at.from, at.to - at.from) &&
		    !evcursor_add(p, &p->pmus.v[i], at))
			return -ENOMEM;
	p->is_pmu = p->l->n > p->first;
	return 0;
}

/* A bare name from a PMU's "events" folder: of the cores first, otherwise of any PMU; 0 if there is
 * none. */
static int add_by_name(struct evcursor *p, struct evcursor_span at)
{
	int r = evcursor_need_pmus(p);
	if (r < 0)
		return r;
	for (unsigned want_core = 2; want_core-- > 0 && p->l->n == p->first;) {
		for (size_t i = 0; i < p->pmus.n; i++) {
			struct evpmu_event ev;
			if (p->pmus.v[i].is_core != want_core ||
			    evpmu_event(p->host, &p->pmus.v[i], p->text + at.from, at.to - at.from,
					&ev) < 0)
				continue;
			r = evcursor_add(p, &p->pmus.v[i], at)
				    ? evterm_apply_event(p, p->l->n - 1, &ev, at.from) : -ENOMEM;
			free(ev.terms);
			if (r < 0)
				return r;
		}
	}
	p->is_pmu = p->l->n > p->first;
	return 0;
}

static int unknown_pmu(const struct evcursor *p, struct evcursor_span at)
{
	char shown[EVCURSOR_SHOWN_MAX + 1], advice[400] = "";
	size_t n = 0;
	for (size_t i = 0; i < p->pmus.n && n < sizeof(advice); i++)
		n += (size_t)snprintf(advice + n, sizeof(advice) - n, "%s%s",
				      i ? ", " : "this machine has: ", p->pmus.v[i].name);
	return evcursor_complain(p, ENOENT, at.from, advice,
				"this machine has no event or PMU '%s'",
				evcursor_shown(p, at, shown));
}

/* ---- tracepoints --------------------------------------------------------------------- */

static int add_tracepoints(struct evcursor *p, struct evcursor_span system)
{
	char sys[TRACE_NAME_MAX], pattern[TRACE_NAME_MAX];
	size_t from = system.to + 1, n = strcspn(p->text + from, ":/,{}");
	struct evcursor_span whole = { system.from, from + n };
	CLEANUP(evtrace_list_done) struct evtrace_list points = { 0 };
	struct err why = { 0 };
	if (n == 0)
		return evcursor_complain(p, EINVAL, from, "", "name of a tracepoint missing");
	if (n >= sizeof(pattern) || system.to - system.from >= sizeof(sys))
		return unknown_event(p, system);
	snprintf(sys, sizeof(sys), "%.*s", (int)(system.to - system.from), p->text + system.from);
	snprintf(pattern, sizeof(pattern), "%.*s", (int)n, p->text + from);
	int r = evtrace_find(p->host, sys, pattern, &points, &why);
	if (r < 0)
		return evcursor_complain(p, -r, system.from, why.hint, "%s", why.what);
	for (size_t i = 0; i < points.points.n; i++) {
		struct evspec *s = evcursor_add(p, NULL, whole);
		if (!s)
			return -ENOMEM;
		snprintf(s->name, sizeof(s->name), "%.60s:%.60s", sys, points.points.v[i].name);
		s->kind = EVSPEC_TRACEPOINT;
		s->type = PERF_TYPE_TRACEPOINT;
		s->config = points.points.v[i].id;
		/* Each tracepoint is an event of its own; the caller counts the last one. */
		s->output = p->l->n_outputs + (uint32_t)i;
	}
	p->l->n_outputs += (uint32_t)points.points.n - 1;
	p->at = whole.to;
	return 0;
}

/* ---- breakpoints --------------------------------------------------------------------- */

/* The access after a colon, if all its letters are in "rwx"; otherwise they are modifiers. */
static uint32_t take_access(struct evcursor *p)
{
	uint32_t type = 0;
	if (p->text[p->at] != ':')
		return 0;
	size_t n = strcspn(p->text + p->at + 1, ":/,{}");
	if (n == 0 || strspn(p->text + p->at + 1, "rwx") < n)
		return 0;
	for (size_t i = 0; i < n; i++) {
		char c = p->text[p->at + 1 + i];
		type |= c == 'r' ? HW_BREAKPOINT_R : c == 'w' ? HW_BREAKPOINT_W : HW_BREAKPOINT_X;
	}
	p->at += 1 + n;
	return type;
}

static int add_breakpoint(struct evcursor *p)
{
	size_t from = p->at;
	uint64_t vaddr, len = 0;
	p->at += strlen("mem:");
	if (!evcursor_number(p, "/:,{}", &vaddr))
		return evcursor_complain(p, EINVAL, p->at, "write 'mem:0x601040/8:rw'",
					"a breakpoint needs an address");
	size_t len_at = p->at + 1;
	if (p->text[p->at] == '/' && isdigit((unsigned char)p->text[p->at + 1])) {
		p->at++;
		if (!evcursor_number(p, "/:,{}", &len) ||
		    (len != 1 && len != 2 && len != 4 && len != 8))
			return evcursor_complain(p, EINVAL, len_at, "",
						"a breakpoint is 1, 2, 4 or 8 bytes long");
	}
	size_t access_at = p->at + 1;
	uint32_t type = take_access(p);
	if (type & HW_BREAKPOINT_X && type != HW_BREAKPOINT_X)
		return evcursor_complain(p, EINVAL, access_at, "",
					"'x' (execution) excludes 'r' and 'w'");
	if (!type)
		type = HW_BREAKPOINT_RW;
	struct evspec *s = evcursor_add(p, NULL, (struct evcursor_span){ from, p->at });
	if (!s)
		return -ENOMEM;
	s->kind = EVSPEC_BREAKPOINT;
	s->type = PERF_TYPE_BREAKPOINT;
	s->bp_type = type;
	s->config1 = vaddr;
	/* For execution the kernel requires the size of a long, whatever the size of the
	 * instruction. */
	s->config2 = type == HW_BREAKPOINT_X ? sizeof(long) : len ? len : 4;
	return 0;
}

/* ---- libpfm4 ------------------------------------------------------------------------- */

/* -ENOENT if libpfm4 has no such name (without a message unless must_be). */
static int add_pfm(struct evcursor *p, struct evcursor_span at, bool must_be)
{
	struct evpfm_attr a;
	struct err why = { 0 };
	CLEANUP_FREE char *text = strndup(p->text + at.from, at.to - at.from);
	if (!text)
		return err_errno(p->e, ENOMEM, "cannot store an event");
	int r = evpfm_find(text, &a, &why);
	if (r < 0 && !must_be)
		return -ENOENT;
	if (r < 0)
		return evcursor_complain(p, -r, at.from, why.hint, "%s", why.what);
	struct evspec *s = evcursor_add(p, NULL, at);
	if (!s)
		return -ENOMEM;
	s->type = a.type;
	s->config = a.config;
	s->config1 = a.config1;
	s->config2 = a.config2;
	s->only_user = a.only_user;
	s->only_kernel = a.only_kernel;
	s->precise_ip = a.precise_ip;
	if (a.period) {
		s->rate_kind = a.is_freq ? EVSPEC_RATE_FREQ : EVSPEC_RATE_PERIOD;
		s->rate = a.period;
	}
	p->at = at.to;
	return 0;
}

/* ---- all kinds ----------------------------------------------------------------------- */

/* A name that is in no table: an event of libpfm4, or a tracepoint if a colon follows. */
static int parse_other(struct evcursor *p, struct evcursor_span name)
{
	const char *after = p->text + name.to;
	struct evcursor_span all = { name.from, name.to + strcspn(after, "/,{}") };
	if (strncmp(after, "::", 2) == 0)
		return add_pfm(p, all, true);
	/* libpfm4 would take "r0x1d1" for a raw code; we do not. */
	bool like_raw = (p->text[name.from] | 32) == 'r' &&
			isdigit((unsigned char)p->text[name.from + 1]);
	int r = p->host && !like_raw && evpfm_is_there() ? add_pfm(p, all, false) : -ENOENT;
	if (r != -ENOENT)
		return r;
	return *after != ':' || evcursor_is_modifiers(after + 1) ? unknown_event(p, name)
								  : add_tracepoints(p, name);
}

int evkind_parse(struct evcursor *p)
{
	if (has_prefix(p, "mem:"))
		return add_breakpoint(p);
	if (has_prefix(p, "uprobe:"))
		return evprobe_parse(p);
	if (has_prefix(p, "usdt:"))
		return evusdt_parse(p);
	struct evcursor_span name = { p->at, p->at + strcspn(p->text + p->at, "/:,{}") };
	const char *text = p->text + name.from;
	size_t n = name.to - name.from;
	if (n == 0)
		return evcursor_complain(p, EINVAL, name.from, "'cprof list' shows all names",
					 "event name missing");
	p->at = name.to;
	const struct evnames_entry *known = evnames_find(text, n);
	if (known)
		return add_known(p, name, known);
	if (is_raw(text, n))
		return add_raw(p, name);
	bool slash = p->text[name.to] == '/';
	int r = slash ? add_pmus(p, name) : 0;
	if (r == 0 && p->l->n == p->first)
		r = add_by_name(p, name);
	if (r < 0 || p->l->n > p->first)
		return r;
	return slash && p->host ? unknown_pmu(p, name) : parse_other(p, name);
}
