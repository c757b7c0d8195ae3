#ifndef CPROF_CMD_RECORD_EXCLUSIVE_H
#define CPROF_CMD_RECORD_EXCLUSIVE_H

/* Recordings that do not disturb each other (--exclusive), and the settings of a machine that make
 * its speed vary. */

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct err;
struct host;

/* Takes the machine's lock and holds it until the process ends.  While it waits, reports the holder
 * on stderr unless quiet.  -errno with e set. */
int exclusive_take(const struct host *h, bool quiet, struct err *e);

/* The frequency and SMT settings in one line: "governor performance, turbo off, SMT on"; "unknown"
 * for settings that the machine does not have. */
#define EXCLUSIVE_TEXT_MAX 256
const char *exclusive_describe(const struct host *h, char buf[EXCLUSIVE_TEXT_MAX]);

/* The beginning of a process's command line; "" when it cannot be read. */
const char *exclusive_command_line(const struct host *h, pid_t pid, char buf[EXCLUSIVE_TEXT_MAX]);

#endif
