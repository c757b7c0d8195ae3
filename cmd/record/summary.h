#ifndef CPROF_CMD_RECORD_SUMMARY_H
#define CPROF_CMD_RECORD_SUMMARY_H

/* What a recording came to, for people (stderr) and for programs (JSON on stdout). */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct cprof_recorder;

struct summary_file {
	const char *path;        /* NULL: nothing was written for this event */
	uint64_t n_bytes;
	char problem[256];       /* why, "" when there is none */
	bool silent;             /* because it did not happen once */
};

struct summary {
	struct cprof_recorder *recorder;
	const struct summary_file *file;  /* per event */
	bool verbose;
	const char *command_name;/* NULL: attached */
	int command_status;      /* as a shell has it */
	int command_signal;      /* that has killed it, or 0 */
	bool command_ended;
	double own_cpu_s;        /* of cprof itself */
	bool used_by_ticks;      /* the CPU time used was counted in clock ticks */
};

/* CPU time of this process up to now. */
double summary_own_cpu_s(void);

/* True when something was lost, throttled or truncated (--strict). */
bool summary_has_losses(const struct summary *s);

void summary_print(const struct summary *s, FILE *to);
void summary_print_json(const struct summary *s, FILE *to);

#endif
