#ifndef CPROF_SOURCE_MAPS_H
#define CPROF_SOURCE_MAPS_H

/* The text of /proc/PID/maps (proc_pid_maps(5)). */

#include <stdbool.h>
#include <stdint.h>

struct maps_entry {
	uint64_t start, end;   /* start < end */
	uint64_t pgoff;
	uint32_t maj, min;
	uint64_t ino;
	uint32_t prot, flags;  /* PROT_*; MAP_SHARED or MAP_PRIVATE */
	char *name;            /* in the text; "" if there is none; "\012" is a newline again */
};

/*
 * Parses the next line of the NUL-terminated text at *text, which it modifies, and advances *text.
 * Skips lines that the kernel would not write.  False at the end.
 */
bool maps_next(char **text, struct maps_entry *ret);

#endif
