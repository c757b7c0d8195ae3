#ifndef CPROF_PROC_GOPROCESS_H
#define CPROF_PROC_GOPROCESS_H

/* The Go program that a process executes: its file, and its memory while it runs. */

#include <stdbool.h>
#include <stdint.h>

#include "symbolize/runtime/go-places.h"
#include "symbolize/runtime/runtime-memory.h"

struct cfi;
struct dso;
struct dso_table;
struct go_table;
struct host;
struct procs_space;

/* Must not be moved after goprocess_attach. */
struct goprocess {
	const struct dso *dso;          /* borrowed */
	struct cfi *cfi;
	struct go_table *table;
	const struct host *host;
	uint32_t tid;                   /* a living thread of the process */
	int code;                       /* why nothing could be read, -errno; 0: something was */
	struct runtime_memory memory;
	struct go_places places;
};

/* Opens the first of the mapped files that contains Go's runtime: a program, or a library.  False:
 * there is none, and nothing is open. */
bool goprocess_open(struct goprocess *x, const struct dso_table *dsos,
		    const struct procs_space *space);

/* Sets memory and places for a process that executes the file. */
void goprocess_attach(struct goprocess *x, const struct host *host, uint32_t pid);

void goprocess_close(struct goprocess *x);

#endif
