#ifndef CPROF_EVENT_EVUSDT_H
#define CPROF_EVENT_EVUSDT_H

/*
 * USDT probes as events: usdt:FILE:PROVIDER:NAME, or usdt:PROVIDER:NAME in the files that the
 * targets have mapped.  The latter is pending until somebody who knows the targets locates it.
 * Each location of a probe is a variant of the event.
 */

#include "event/evarg.h"
#include "event/evspec.h"

struct err;
struct evcursor;
struct evcursor_span;
struct evsdt;
struct evsdt_location;
struct host;

#define EVUSDT_LABELS_MAX 4
#define EVUSDT_KEY_MAX 31
#define EVUSDT_LOCATIONS_MAX 128        /* of one event; each is opened on each CPU */

/* What the arguments of one location's samples are used for. */
struct evusdt_args {
	uint8_t sp;                     /* perf's number of the stack pointer */
	bool has_value;
	struct evarg value;             /* how much a sample counts */
	unsigned n_labels;
	struct evarg label[EVUSDT_LABELS_MAX];
	const char *key[EVUSDT_LABELS_MAX];     /* of struct evusdt */
};

/* Of one struct evspec, which owns it. */
struct evusdt {
	char *provider, *name;
	const char *unit;               /* of the value; NULL: none was given; static */
	uint8_t value_arg;              /* which argument is the value, from 1; 0: none */
	unsigned n_labels;
	uint8_t label_arg[EVUSDT_LABELS_MAX];
	char key[EVUSDT_LABELS_MAX][EVUSDT_KEY_MAX + 1];
	bool is_located;                /* otherwise pending, and nothing below is set */
	const struct arch_probe *arch;
	char *text;                     /* of the location's arguments, in its note */
	struct evusdt_args args;
	int fd;                         /* what the event's path leads to; -1: none */
};

/* At p->at the text begins with "usdt:". */
int evusdt_parse(struct evcursor *p);

/* Applies a term of probes (value, label, unit) to a spec.  1; 0: it is another term; or -errno
 * with e set. */
int evusdt_term(const struct evcursor *p, struct evcursor_span key, struct evcursor_span value,
		struct evspec *s);

/* Once all terms were applied: do they fit together?  -EINVAL with e set. */
int evusdt_check(const struct evcursor *p, const struct evspec *s);

/*
 * Turns the pending spec into one for a location.  path leads to the file; fd, which the spec owns
 * from now on, keeps it valid, or is -1.  -errno with e set: nothing has changed.
 */
int evusdt_locate(struct evspec *s, const struct host *h, const struct evsdt *file,
		  const struct evsdt_location *at, const char *path, int fd, struct err *e);

/* Finds the arguments that the terms name among those of the location.  -errno with e set. */
int evusdt_find_args(struct evusdt *u, struct err *e);

/* A copy of a pending spec.  False: no memory. */
bool evusdt_copy(const struct evspec *pending, struct evspec *ret);

/* What samples of the event use; NULL: no argument. */
const struct evusdt_args *evusdt_args(const struct evspec *s);

void evusdt_free(struct evusdt *u);

#endif
