#ifndef CPROF_EVENT_EVADVICE_H
#define CPROF_EVENT_EVADVICE_H

/*
 * One table: a cause of failure -> a few words for it, the reason, and the remedies.  Error
 * messages (evexplain.h) and cprof doctor show the same remedies.
 */

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "cprof-doctor.h"
#include "event/evcause.h"

#define EVADVICE_REMEDIES_MAX 4

struct evadvice_remedy {
	enum cprof_remedy_kind kind;
	char words[240];         /* "allow it for all users" */
	char command[160];       /* "sysctl NAME=VALUE"; names for setcap(8); "": none */
	bool also;               /* helps only together with the one before */
	bool only_doctor;        /* too long for an error message */
};

struct evadvice {
	char reason[ERR_TEXT_MAX];  /* one line; "": the errno's text says it all */
	struct evadvice_remedy remedy[EVADVICE_REMEDIES_MAX];  /* the least far-reaching first */
	size_t n_remedies;
};

/* What to report about a refused request, and why (evcause_find); it reads /proc and /sys. */
void evadvice_find(const struct host *h, const struct evcause_request *r, enum evcause cause,
		   struct evadvice *ret);

/* A cause in a few words ("there is no PMU"), for a table; static. */
const char *evadvice_brief(enum evcause cause);

#endif
