#ifndef CPROF_DOCTOR_H
#define CPROF_DOCTOR_H

/*
 * What works on this machine for this user, found out by trying it, and the remedies for what does
 * not work, the weakest first.  Changes nothing.
 */

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct err;
struct host;
struct perf_event_attr;
struct cprof_doctor;

struct cprof_doctor_options {
	pid_t pid;                 /* also examine this process; 0: none */
	const char *program;       /* its file, for remedies that name it; NULL: "cprof" */
	/* For tests: another machine, another system call; NULL: the real ones. */
	const struct host *host;
	int (*perf_event_open)(struct perf_event_attr *, pid_t, int, int, unsigned long);
};

enum cprof_finding_state {
	CPROF_FINDING_OK,
	CPROF_FINDING_LIMITED,     /* works in part, or with another method */
	CPROF_FINDING_NO,          /* does not work */
};

/* The reach of a remedy, from weak to strong. */
enum cprof_remedy_kind {
	CPROF_REMEDY_OPTION,       /* an option that requires less */
	CPROF_REMEDY_RLIMIT,       /* a limit of this shell or service */
	CPROF_REMEDY_PROGRAM,      /* install or set something in this user's environment */
	CPROF_REMEDY_CAPABILITY,   /* of the program's file */
	CPROF_REMEDY_CONTAINER,    /* how the container is started */
	CPROF_REMEDY_MOUNT,
	CPROF_REMEDY_SYSCTL,       /* a setting of the whole machine */
	CPROF_REMEDY_BOOT,         /* kernel, boot or hypervisor */
};

#define CPROF_REMEDIES_MAX 5

struct cprof_remedy {
	enum cprof_remedy_kind kind;
	char text[320];            /* a command, or else a description */
};

struct cprof_finding {
	const char *group;         /* "events", "scopes", "stacks", "names", "limits", "machine" */
	const char *id;            /* "pmu", "kernel-code" ...; stays the same between versions */
	const char *title;         /* for people */
	enum cprof_finding_state state;
	bool essential;            /* without it nothing can be recorded */
	char what[512];            /* what was found, one line */
	struct cprof_remedy remedy[CPROF_REMEDIES_MAX];  /* the weakest first */
	size_t n_remedies;
};

/* Examines with a few hundred system calls, and 5 ms of spinning if there is a PMU.  -errno with e
 * set if that fails (-ESRCH: no such process); the caller frees. */
int cprof_doctor_new(const struct cprof_doctor_options *o, struct cprof_doctor **ret_doctor,
		     struct err *e);
void cprof_doctor_free(struct cprof_doctor *d);

/* Finding i, in groups; NULL after the last one.  Borrowed until the doctor is freed. */
const struct cprof_finding *cprof_doctor_finding(const struct cprof_doctor *d, size_t i);

/* "option", "capability" ...; static. */
const char *cprof_remedy_kind_name(enum cprof_remedy_kind kind);

#endif
