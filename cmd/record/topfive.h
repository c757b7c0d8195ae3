#ifndef CPROF_CMD_RECORD_TOPFIVE_H
#define CPROF_CMD_RECORD_TOPFIVE_H

/* The last lines of a recording on a terminal: the hottest functions of the new profile. */

/* Prints the five hottest functions of the profile to stderr, and the command that shows more.
 * Prints nothing if it cannot be read or has no samples: the recording is complete anyway. */
void topfive_print(const char *path);

#endif
