#ifndef CPROF_CMD_PERFWORDS_H
#define CPROF_CMD_PERFWORDS_H

/* Commands and options that perf has and cprof has not: what to type instead. */

/* command: "" for a command itself.  NULL: not one of perf's, or cprof has nothing like it. */
const char *perfwords_instead(const char *command, const char *word);

#endif
