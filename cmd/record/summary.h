#ifndef CPROF_CMD_RECORD_SUMMARY_H
#define CPROF_CMD_RECORD_SUMMARY_H

/* The results of a recording, for people (stderr) and for programs (JSON on stdout). */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "cmd/realtime.h"

struct cprof_recorder;

struct summary_file {
	const char *path;        /* NULL: nothing was written for this event */
	uint64_t n_bytes;
	char problem[256];       /* why nothing was written; "": no problem */
	bool silent;             /* the event did not happen */
};

struct summary {
	struct cprof_recorder *recorder;
	const struct summary_file *file;  /* per event */
	bool verbose;
	const char *command_name;/* NULL: attached */
	int command_status;      /* as in a shell */
	int command_signal;      /* the signal that killed it, or 0 */
	bool command_ended;
	double own_cpu_s;        /* of cprof itself */
	bool used_by_ticks;      /* the CPU time used is known in clock ticks */
	enum realtime_state realtime;
};

/* The CPU time of this process so far. */
double summary_own_cpu_s(void);

/* True when something was lost, throttled or truncated (--strict). */
bool summary_has_losses(const struct summary *s);

void summary_print(const struct summary *s, FILE *to);

/* With -q: only losses that affect more than 5 % of the samples, or any. */
void summary_print_quiet(const struct summary *s, bool any, FILE *to);
void summary_print_json(const struct summary *s, FILE *to);

#endif
