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
	char *name;            /* in the text, "" when there is none; "\012" made a newline again */
};

/*
 * Takes the next line of the NUL-terminated text at *text (which is written to) and moves
 * *text behind it.  Lines that are not as the kernel writes them are skipped.  False at the end.
 */
bool maps_next(char **text, struct maps_entry *ret);

#endif
