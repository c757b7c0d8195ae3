#ifndef CPROF_SYMBOLIZE_RUNTIME_GO_PROGRAM_H
#define CPROF_SYMBOLIZE_RUNTIME_GO_PROGRAM_H

/*
 * A running Go program: its version, the layout of its goroutines, and where they are.  Everything
 * is read from its file and its memory, without stopping it.
 */

#include <stdbool.h>
#include <stdint.h>

#include "symbolize/runtime/go-places.h"
#include "symbolize/runtime/go-version.h"

/* From where the layout is known. */
enum go_program_layout {
	GO_PROGRAM_KNOWN,               /* that of its version */
	GO_PROGRAM_DEBUG,               /* that of its debug information */
	GO_PROGRAM_PROVEN,              /* an earlier version's, which fits its goroutines */
};

struct go_program {
	struct go_version version;
	struct go_layout layout;
	enum go_program_layout layout_from;
	enum go_place place;
	uint64_t allgs;                 /* address of the slice */
	struct go_reasons reasons;
};

enum go_program_result {
	GO_PROGRAM_OK,
	GO_PROGRAM_NOT_GO,              /* no version of Go in the file, or no table of functions */
	GO_PROGRAM_UNREADABLE,          /* its memory cannot be read */
	GO_PROGRAM_UNSUPPORTED,         /* its layout is unknown; ret->version is set */
	GO_PROGRAM_NO_LIST,             /* its goroutines were not found: likewise */
};

/* ret holds no memory. */
enum go_program_result go_program_open(const struct go_places *from, struct go_program *ret);

#endif
