#ifndef CPROF_DOCTOR_DOCTOR_H
#define CPROF_DOCTOR_DOCTOR_H

/* What the parts of the examination share: doctor-events.c, doctor-limits.c, doctor-names.c. */

#include <stdbool.h>

#include "base/vec.h"
#include "cprof-doctor.h"
#include "event/evcause.h"
#include "event/evopen.h"

struct cprof_doctor {
	struct host *own_host;             /* NULL: the caller's */
	const struct host *host;
	struct evopen open;
	struct evcause_rights rights;
	pid_t pid;
	const char *program;
	bool nothing_works;                /* this process cannot sample even its own code */
	bool failed;                       /* out of memory */
	struct cprof_finding nowhere;      /* receives findings after a lack of memory */
	VEC(struct cprof_finding *) list;
};

/* Adds a finding with the state OK and the text of fmt.  Never NULL: without memory it is a finding
 * that nobody sees, and d->failed is set. */
struct cprof_finding *doctor_find(struct cprof_doctor *d, const char *group, const char *id,
				  const char *title, const char *fmt, ...)
	__attribute__((format(printf, 5, 6)));

/* Lowers the state, and appends to the text. */
void doctor_worse(struct cprof_finding *f, enum cprof_finding_state state, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Adds a remedy; remedies are sorted by kind. */
void doctor_remedy(struct cprof_finding *f, enum cprof_remedy_kind kind, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Adds the remedies for a refusal of perf_event_open(2). */
void doctor_remedies_for(struct cprof_doctor *d, struct cprof_finding *f,
			 const struct evcause_request *r, int errnum);

/* "setcap cap_perfmon+ep FILE": how the program gets a capability, so that it counts. */
void doctor_remedy_capability(const struct cprof_doctor *d, struct cprof_finding *f,
			      const char *capability);

/* The examination: each function appends its findings. */
void doctor_events(struct cprof_doctor *d);   /* system call, PMU, events, scopes, stacks */
void doctor_limits(struct cprof_doctor *d);   /* sysctls, rlimits, priority */
void doctor_names(struct cprof_doctor *d);    /* symbols of kernel and programs, /proc */
void doctor_machine(struct cprof_doctor *d);  /* container, seccomp, lockdown, security modules */

#endif
