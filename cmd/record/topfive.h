#ifndef CPROF_CMD_RECORD_TOPFIVE_H
#define CPROF_CMD_RECORD_TOPFIVE_H

/* The last lines of a recording on a terminal: what was hottest in the file just written. */

/* Prints the five hottest functions of the profile and the command that shows more, to stderr.
 * Nothing when it cannot be read or has no samples: the recording is complete without. */
void topfive_print(const char *path);

#endif
