#ifndef CPROF_CMD_RECORD_EXCLUSIVE_H
#define CPROF_CMD_RECORD_EXCLUSIVE_H

/* Recordings that do not disturb each other (--exclusive), and what else makes a machine's speed
 * vary. */

#include <stdbool.h>
#include <stddef.h>

struct err;

/* Takes the machine's lock, waiting for it; while it waits, says for whom on stderr unless quiet.
 * It is held until the process ends.  -errno with e set. */
int exclusive_take(bool quiet, struct err *e);

/*
 * What the folder sys (as /sys/devices/system/cpu is) says of frequencies and threads of cores, as
 * one line: "governor performance, turbo off, SMT on"; "unknown" where it does not tell.
 */
#define EXCLUSIVE_TEXT_MAX 256
const char *exclusive_describe(const char *sys, char buf[EXCLUSIVE_TEXT_MAX]);

#endif
