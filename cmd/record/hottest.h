#ifndef CPROF_CMD_RECORD_HOTTEST_H
#define CPROF_CMD_RECORD_HOTTEST_H

/* The last lines of a recording on a terminal: what was hottest in the file just written. */

/* Prints the five hottest functions of the profile and the command that shows more, to stderr.
 * Nothing when it cannot be read or has no samples: the recording is complete without. */
void hottest_print(const char *path);

#endif
