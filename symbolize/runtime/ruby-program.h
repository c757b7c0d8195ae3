#ifndef CPROF_SYMBOLIZE_RUNTIME_RUBY_PROGRAM_H
#define CPROF_SYMBOLIZE_RUNTIME_RUBY_PROGRAM_H

/* A running Ruby: its version, the functions that its threads execute, and what they are called. */

#include <stdbool.h>
#include <stdint.h>

#include "symbolize/runtime/ruby-layout.h"
#include "symbolize/runtime/runtime-frames.h"

struct runtime_pages;

#define RUBY_VERSION_BYTES 16u

struct ruby_program {
	char version[RUBY_VERSION_BYTES]; /* "3.1.7"; "": unknown */
	const struct ruby_layout *layout;
	uint64_t vm;                    /* the variable ruby_current_vm_ptr, in the process */
};

enum ruby_program_result {
	RUBY_PROGRAM_OK,
	RUBY_PROGRAM_UNREADABLE,        /* its memory cannot be read */
	RUBY_PROGRAM_STARTING,          /* it has no thread yet */
	RUBY_PROGRAM_UNSUPPORTED,       /* of an unknown version; ret->version is set */
	RUBY_PROGRAM_NO_VM,             /* the variable is not known: likewise */
	RUBY_PROGRAM_MISFIT,            /* its threads do not look as in that version: likewise */
};

/* Addresses of ruby_version, and of ruby_current_vm_ptr (0: there is none). */
enum ruby_program_result ruby_program_open(struct runtime_pages *pages, uint64_t version,
					   uint64_t vm, struct ruby_program *ret);

/* A thread's frames, of which the innermost one is the first. */
struct ruby_stack { uint64_t at, end; };

/* False: no thread of the first ractor has that id in its own namespace (*ret_is_known), or they
 * cannot be read. */
bool ruby_program_stack(const struct ruby_program *p, struct runtime_pages *pages, uint32_t tid,
			struct ruby_stack *ret, bool *ret_is_known);

/* The frames of a stack, without functions of C; false: no memory. */
bool ruby_program_frames(const struct ruby_program *p, struct runtime_pages *pages,
			 const struct ruby_stack *s, struct runtime_frames *ret);

/* What describes the function of the frame at an address; false: it cannot be read. */
bool ruby_program_code(struct runtime_pages *pages, uint64_t at, uint64_t *ret);

/* What identifies a function, and the function itself; the caller frees ret->lines.line.  False: it
 * is no function of Ruby, or cannot be read. */
bool ruby_function_key(const struct ruby_program *p, struct runtime_pages *pages, uint64_t at,
		       struct runtime_function_key *ret);
bool ruby_function_read(const struct ruby_program *p, struct runtime_pages *pages, uint64_t at,
			struct runtime_function *ret);

#endif
