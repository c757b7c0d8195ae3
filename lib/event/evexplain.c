/* The hint of an error message: the first line says why, the second what to do. */
#include "event/evexplain.h"

#include "base/err.h"
#include "event/evadvice.h"
#include "event/evspec.h"

#include <stdio.h>
#include <string.h>

/* "A: command, or B, or C; D" */
static void list_remedies(const struct evadvice *a, char *text, size_t n_bytes)
{
	size_t n = 0;
	text[0] = '\0';
	for (size_t i = 0; i < a->n_remedies && n < n_bytes; i++) {
		const struct evadvice_remedy *r = &a->remedy[i];
		bool has_command = r->command[0] && r->kind != CPROF_REMEDY_CAPABILITY;
		if (r->only_doctor)
			continue;
		n += (size_t)snprintf(text + n, n_bytes - n, "%s%s%s%s",
				      n == 0 ? "" : r->also ? "; " : ", or ", r->words,
				      has_command ? ": " : "", has_command ? r->command : "");
	}
}

int evexplain_set(const struct host *h, const struct evcause_request *r, int errnum,
		  struct err *e)
{
	char where[64] = "", cpu[32] = "", remedies[ERR_TEXT_MAX];
	if (!e)
		return -errnum;
	if (r->cpu >= 0)
		snprintf(cpu, sizeof(cpu), " on cpu %d", r->cpu);
	if (r->flags & PERF_FLAG_PID_CGROUP)
		snprintf(where, sizeof(where), " for the cgroup");
	else if (r->pid > 0)
		snprintf(where, sizeof(where), " for thread %d", (int)r->pid);
	else if (r->pid == 0)
		snprintf(where, sizeof(where), " for this process");
	if (r->spec)
		err_errno(e, errnum, "cannot open event '%s'%s%s", r->spec->name, where, cpu);
	else
		err_errno(e, errnum, "cannot open the side-band event%s%s", where, cpu);
	struct evadvice advice;
	evadvice_find(h, r, evcause_find(h, r, errnum), &advice);
	list_remedies(&advice, remedies, sizeof(remedies));
	err_hint(e, "%s%s%s", advice.reason, remedies[0] ? "\n" : "", remedies);
	return -errnum;
}
