/*
 * Each part tries operations as the recorder would, and reads /proc and /sys only to find the
 * reasons.  The remedies of a finding are in the order of their reach: this recording, this
 * program, the whole machine.
 */
#include "doctor/doctor.h"

#include "base/err.h"
#include "base/host.h"
#include "event/evadvice.h"
#include "event/evspec.h"
#include "proc/targetcheck.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *cprof_remedy_kind_name(enum cprof_remedy_kind kind)
{
	static const char *const name[] = {
		[CPROF_REMEDY_OPTION] = "option", [CPROF_REMEDY_RLIMIT] = "rlimit",
		[CPROF_REMEDY_PROGRAM] = "program", [CPROF_REMEDY_CAPABILITY] = "capability",
		[CPROF_REMEDY_CONTAINER] = "container", [CPROF_REMEDY_MOUNT] = "mount",
		[CPROF_REMEDY_SYSCTL] = "sysctl", [CPROF_REMEDY_BOOT] = "boot",
	};
	return name[kind];
}

/* ---- findings -------------------------------------------------------------------- */

struct cprof_finding *doctor_find(struct cprof_doctor *d, const char *group, const char *id,
				  const char *title, const char *fmt, ...)
{
	struct cprof_finding *f = calloc(1, sizeof(*f));
	if (!f || !VEC_PUSH(&d->list, f)) {
		free(f);
		d->failed = true;
		return &d->nowhere;
	}
	f->group = group;
	f->id = id;
	f->title = title;
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(f->what, sizeof(f->what), fmt, ap);
	va_end(ap);
	return f;
}

void doctor_worse(struct cprof_finding *f, enum cprof_finding_state state, const char *fmt, ...)
{
	if (state > f->state)
		f->state = state;
	size_t n = strlen(f->what);
	if (n && n + 2 < sizeof(f->what)) {
		strcpy(f->what + n, "; ");
		n += 2;
	}
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(f->what + n, sizeof(f->what) - n, fmt, ap);
	va_end(ap);
}

void doctor_remedy(struct cprof_finding *f, enum cprof_remedy_kind kind, const char *fmt, ...)
{
	struct cprof_remedy x = { .kind = kind };
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(x.text, sizeof(x.text), fmt, ap);
	va_end(ap);
	for (size_t i = 0; i < f->n_remedies; i++)
		if (strcmp(f->remedy[i].text, x.text) == 0)
			return;
	if (f->n_remedies == CPROF_REMEDIES_MAX)
		return;
	size_t at = f->n_remedies++;
	for (; at && f->remedy[at - 1].kind > kind; at--)
		f->remedy[at] = f->remedy[at - 1];
	f->remedy[at] = x;
}

void doctor_remedy_capability(const struct cprof_doctor *d, struct cprof_finding *f,
			      const char *capability)
{
	bool refused = d->rights.paranoid > EVCAUSE_PARANOID_PERFMON && !d->rights.admin &&
		       strstr(capability, "cap_perfmon");
	if (d->rights.lost_in_ns)
		doctor_remedy(f, CPROF_REMEDY_CAPABILITY,
			      "%s outside of this user namespace (inside, it does not count)",
			      capability);
	else
		doctor_remedy(f, CPROF_REMEDY_CAPABILITY, "%ssudo setcap %s+ep %s",
			      refused ? "sudo sysctl kernel.perf_event_paranoid=2 && " : "",
			      capability, d->program);
}

void doctor_remedies_for(struct cprof_doctor *d, struct cprof_finding *f,
			 const struct evcause_request *r, int errnum)
{
	struct evadvice advice;
	evadvice_find(d->host, r, evcause_find(d->host, r, errnum), &advice);
	for (size_t i = 0; i < advice.n_remedies; i++) {
		const struct evadvice_remedy *x = &advice.remedy[i];
		if (x->kind == CPROF_REMEDY_CAPABILITY && x->command[0])
			doctor_remedy_capability(d, f, x->command);
		else if (x->kind == CPROF_REMEDY_SYSCTL && x->command[0])
			doctor_remedy(f, x->kind, "sudo %s", x->command);
		else
			doctor_remedy(f, x->kind, "%s", x->command[0] ? x->command : x->words);
	}
}

/* ---- life --------------------------------------------------------------------------- */

int cprof_doctor_new(const struct cprof_doctor_options *o, struct cprof_doctor **ret_doctor,
		     struct err *e)
{
	struct cprof_doctor *d = calloc(1, sizeof(*d));
	int r = d ? 0 : err_errno(e, ENOMEM, "cannot examine the machine");
	if (r < 0)
		return r;
	d->host = o->host;
	d->pid = o->pid;
	d->program = o->program ? o->program : "cprof";
	if (!d->host) {
		d->own_host = calloc(1, sizeof(*d->own_host));
		r = d->own_host ? host_open(d->own_host, NULL, NULL, NULL, e)
				   : err_errno(e, ENOMEM, "cannot examine the machine");
		if (r < 0) {
			free(d->own_host);
			free(d);
			return r;
		}
		d->host = d->own_host;
	}
	d->open = (struct evopen){
		.fn = o->perf_event_open ? o->perf_event_open : evopen_syscall,
		.host = d->host, .allow_user_only = true,
	};
	if (d->pid)
		r = targetcheck(d->host, d->pid, false, e);
	if (r >= 0) {
		evcause_rights(d->host, &d->rights);
		doctor_events(d);
		doctor_limits(d);
		doctor_names(d);
		doctor_machine(d);
		r = d->failed ? err_errno(e, ENOMEM, "cannot examine the machine") : 0;
	}
	if (r < 0) {
		cprof_doctor_free(d);
		return r;
	}
	*ret_doctor = d;
	return 0;
}

void cprof_doctor_free(struct cprof_doctor *d)
{
	if (!d)
		return;
	for (size_t i = 0; i < d->list.n; i++)
		free(d->list.v[i]);
	VEC_FREE(&d->list);
	if (d->own_host)
		host_close(d->own_host);
	free(d->own_host);
	free(d);
}

const struct cprof_finding *cprof_doctor_finding(const struct cprof_doctor *d, size_t i)
{
	return i < d->list.n ? d->list.v[i] : NULL;
}
