#ifndef CPROF_EVENT_EVTERM_H
#define CPROF_EVENT_EVTERM_H

/* Terms in slashes. */

#include <stddef.h>

struct evcursor;
struct evpmu_event;

/* "/term,term/" at p->at, for all variants of the current event. */
int evterm_parse(struct evcursor *p);

/* The terms of a sysfs event, for one variant; `at` is where the user named it. */
int evterm_apply_event(struct evcursor *p, size_t variant, const struct evpmu_event *ev, size_t at);

#endif
