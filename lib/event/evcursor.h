#ifndef CPROF_EVENT_EVCURSOR_H
#define CPROF_EVENT_EVCURSOR_H

/*
 * Shared by the parts of the parser of -e (evparse.c, evkind.c, evterm.c): the text and a
 * position in it, the event that is being built, and error messages that point into the text.
 */

#include <stdbool.h>
#include <stddef.h>

#include "base/vec.h"
#include "event/evpmu.h"
#include "event/evspec.h"

struct err;
struct host;

/* A part of the text: [from, to). */
struct evcursor_span {
	size_t from, to;
};

struct evcursor {
	const char *text;
	size_t at;                 /* the next character */
	const struct host *host;   /* may be NULL */
	struct evspec_list *l;
	size_t first;              /* l->v[first ..] are the variants of the current event */
	VEC(const struct evpmu *) pmu_of;  /* of each variant from first on; NULL: no PMU */
	bool is_pmu;               /* the current event takes the terms of its PMU */
	bool named;                /* it has a name= already */
	struct evpmu_list pmus;
	bool has_pmus;
	struct err *e;
};

/* Sets the error: what is wrong at offset `at`, and what would be right (advice, may be "").
 * Returns -errnum. */
int evcursor_complain(const struct evcursor *p, int errnum, size_t at, const char *advice,
		      const char *fmt, ...) __attribute__((format(printf, 5, 6)));

/* Text for messages: printable ASCII, other bytes as '?', cut at EVCURSOR_SHOWN_MAX. */
#define EVCURSOR_SHOWN_MAX 160
void evcursor_printable(const char *s, size_t n, char ret[EVCURSOR_SHOWN_MAX + 1]);
const char *evcursor_shown(const struct evcursor *p, struct evcursor_span at,
			   char buf[EVCURSOR_SHOWN_MAX + 1]);

/* Reads a number that one of the characters `ends`, or the text's end, follows, and moves p->at
 * there.  False: there is no number. */
bool evcursor_number(struct evcursor *p, const char *ends, uint64_t *ret);

/* Does the text after a colon, up to the event's end, consist of modifier letters only? */
bool evcursor_is_modifiers(const char *text);

/* An empty entry at the end of l, of the next output; NULL: no memory. */
struct evspec *evcursor_append(struct evspec_list *l);

/* Adds a variant with this name to the current event, of this PMU (may be NULL), whose number and
 * CPUs are set.  NULL with e set: no memory. */
struct evspec *evcursor_add(struct evcursor *p, const struct evpmu *pmu, struct evcursor_span name);

/* Lists the PMUs of the machine, once.  -ENOMEM with e set. */
int evcursor_need_pmus(struct evcursor *p);

#endif
