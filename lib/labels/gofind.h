#ifndef CPROF_LABELS_GOFIND_H
#define CPROF_LABELS_GOFIND_H

/* Can a process have goroutines with labels, and how are they read? */

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "labels/gobirth.h"
#include "labels/goread.h"
#include "proc/goprocess.h"
#include "symbolize/runtime/go-layout.h"
#include "symbolize/runtime/go-version.h"

/* What is known of a file, so that it is searched once.  Addresses: vaddr; 0: it is not linked. */
struct gofind_file {
	uint32_t serial;
	uint64_t change_vaddr, do_vaddr, do_end, goexit_vaddr;
	struct gobirth_code birth; /* vaddrs */
};

struct gofind {                    /* all zero */
	VEC(struct gofind_file) file;
};

struct gofind_program {
	struct goprocess process;
	struct go_version version;
	struct go_layout layout;
	uint64_t change_at;        /* the function that changes labels; 0: it is not linked */
	struct goread_code code;
	struct gobirth_code birth;
};

enum gofind_result {
	GOFIND_NONE,               /* it is not written in Go, or its functions set no labels */
	GOFIND_OK,
	GOFIND_UNSUPPORTED,        /* its version is set, and nothing is open */
	GOFIND_UNREADABLE,         /* process.code says why */
};

void gofind_done(struct gofind *f);

/* With OK, ret->process is open, and must not be moved.  all: also one that sets no labels. */
enum gofind_result gofind_open(struct gofind *f, const struct dso_table *dsos,
			       const struct procs_space *space, const struct host *host,
			       uint32_t pid, bool all, struct gofind_program *ret);

/* The address of the list of all goroutines; 0: unknown.  This may take a while. */
uint64_t gofind_allgs(const struct gofind_program *p);

#endif
