#ifndef CPROF_CMD_FILEMODE_H
#define CPROF_CMD_FILEMODE_H

/* The permissions of files that commands write, and the option --mode.  A file gets no permission
 * for the group or others that one of its inputs denies them. */

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct argp_state;
struct outfile;

struct filemode {
	bool is_given;         /* --mode */
	mode_t mode;           /* its value */
	mode_t denied;         /* otherwise: bits that the file must not have */
};

/* The row of an option table, and its key. */
#define FILEMODE_KEY 900
#define FILEMODE_ROW(group) \
	{ "mode", FILEMODE_KEY, "OCTAL", 0, \
	  "Permissions of the file, such as 0640; default: by the umask, or 0600 if it shows " \
	  "what others may not see", group }

#define FILEMODE_PRIVATE 0077u

/* Parses the value of --mode; reports a wrong one with argp_error, which ends the program. */
void filemode_parse(struct filemode *m, struct argp_state *state, const char *arg);

/* Reports --mode without a file to write: output is its name, "-" or NULL. */
void filemode_check(const struct filemode *m, struct argp_state *state, const char *output);

/* Adds what the inputs deny; "-" is stdin.  A folder counts with its file "data" (perf.data). */
void filemode_add_inputs(struct filemode *m, const char *const *path, size_t n);

void filemode_apply(const struct filemode *m, struct outfile *f);

#endif
