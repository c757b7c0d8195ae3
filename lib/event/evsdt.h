#ifndef CPROF_EVENT_EVSDT_H
#define CPROF_EVENT_EVSDT_H

/* The USDT probes of an ELF file. */

#include "base/vec.h"

struct arch_probe;
struct err;

struct evsdt_location {
	const char *provider, *name, *args;     /* of struct evsdt */
	uint64_t file_off;      /* where the probe is in the file, */
	uint64_t semaphore_off; /* and the counter of its users; 0: none */
};

struct evsdt {
	const struct arch_probe *arch;  /* NULL: not supported, so arguments cannot be read */
	VEC(struct evsdt_location) locations;   /* by provider and name */
	/* Notes without code, or whose semaphore has no place in the file; and what is beyond the
	 * limits: 65 536 locations, 16 MiB of notes. */
	size_t n_unusable;
	bool is_cut;
	bool is_alloc_library;  /* libcprof-alloc.so, by the name of its note's section */
	char *notes;            /* private */
};

/*
 * Reads those of the file that fd has open (path is for messages), or of a regular file.  A file
 * without probes has no locations.  -ENOEXEC: it is not a 64-bit ELF file of this byte order;
 * or why it cannot be read; e is set.
 */
int evsdt_read(int fd, const char *path, struct evsdt *ret, struct err *e);
int evsdt_read_path(const char *path, struct evsdt *ret, struct err *e);
void evsdt_done(struct evsdt *s);

/* The locations of one probe, neighbours in the list: their number, and the index of the first. */
size_t evsdt_find(const struct evsdt *s, const char *provider, const char *name, size_t *ret_first);

/* Names of probes, "PROVIDER:NAME", that are the fewest edits away: up to three, separated by ", ".
 * "" if there is none. */
void evsdt_nearest(const struct evsdt *s, const char *provider, const char *name, char *ret,
		   size_t n_bytes);

#endif
