#ifndef CPROF_EVENT_EVPARSE_H
#define CPROF_EVENT_EVPARSE_H

/* What the parser of -e (evparse.c) and the kinds of events (evkind.c, evterm.c) share. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "event/evpmu.h"
#include "event/evspec.h"

struct err;
struct host;

/* A stretch of the text: [from, to). */
struct evparse_span {
	size_t from, to;
};

struct evparse {
	const char *text;
	size_t at;                 /* the next character */
	const struct host *host;   /* may be NULL */
	struct evspec_list *l;
	size_t first;              /* l->v[first ..] are the variants of the event in work */
	VEC(const struct evpmu *) pmu_of;  /* of each variant from first on; NULL: of none */
	bool is_pmu;               /* that event takes the terms of its PMU */
	bool named;                /* it has had name= */
	struct evpmu_list pmus;
	bool has_pmus;
	struct err *e;
};

/* -errnum, saying what is wrong at offset `at`, and what would be right (advice, may be ""). */
int evparse_complain(const struct evparse *p, int errnum, size_t at, const char *advice,
		     const char *fmt, ...) __attribute__((format(printf, 5, 6)));

/* The text of a stretch as printable ASCII for messages, cut at 160 characters. */
#define EVPARSE_SHOWN_MAX 160
const char *evparse_shown(const struct evparse *p, struct evparse_span at,
			  char buf[EVPARSE_SHOWN_MAX + 1]);

/* What evspec_parse and evspec_parse_rate do. */
int evparse_list(struct evspec_list *l, const struct host *h, const char *text, struct err *e);
int evparse_rate(const char *text, bool is_freq, enum evspec_rate *ret_kind, uint64_t *ret_rate,
		 struct err *e);

/* NULL, or what is wrong with text as a frequency or a period; outputs untouched then. */
const char *evparse_rate_problem(const char *text, bool is_freq, enum evspec_rate *ret_kind,
				 uint64_t *ret_rate);

/* Adds a variant to the event in work, of this PMU (may be NULL), named so.  Fields that follow
 * from the PMU are set.  NULL with e set: no memory. */
struct evspec *evparse_add(struct evparse *p, const struct evpmu *pmu, struct evparse_span name);

/* The PMUs of the machine, read at the first call.  -ENOMEM with e set. */
int evparse_need_pmus(struct evparse *p);

/* evkind.c: what stands before terms and modifiers. */
int evkind_parse(struct evparse *p);

/* evterm.c: "/term,term/" at p->at, for all variants of the event in work. */
int evterm_parse(struct evparse *p);
/* The terms of a sysfs event, to one variant; `at` is where the user named it. */
int evterm_apply_event(struct evparse *p, size_t variant, const struct evpmu_event *ev, size_t at);

#endif
