#ifndef CPROF_SYMBOLIZE_RUNTIME_RUBY_PROGRAM_H
#define CPROF_SYMBOLIZE_RUNTIME_RUBY_PROGRAM_H

/* A running Ruby: its version, the functions that its threads execute, and what they are called. */

#include <stdbool.h>
#include <stdint.h>

#include "symbolize/runtime/runtime-frames.h"

struct runtime_pages;

/*
 * The layout of Ruby 3.1 for 64-bit machines (vm_core.h, ractor_core.h, iseq.h, and
 * include/ruby/internal/core).
 */
#define RUBY_SUPPORTED "3.1"
enum {
	RUBY_VM_MAIN_RACTOR = 32,       /* rb_vm_t: ractor.main_ractor */
	RUBY_RACTOR_THREADS = 304,      /* rb_ractor_t: threads.set, whose elements are threads */
	RUBY_THREAD_EC = 40,            /* rb_thread_t */
	RUBY_THREAD_PTHREAD = 80,
	RUBY_THREAD_TID = 88,
	RUBY_EC_STACK = 0,              /* rb_execution_context_t, and its size in words */
	RUBY_EC_FRAME = 16,
	RUBY_FRAME_PC = 0,              /* rb_control_frame_t */
	RUBY_FRAME_ISEQ = 16,
	RUBY_FRAME_EP = 32,
	RUBY_FRAME_BYTES = 64,
	RUBY_ISEQ_BODY = 16,            /* rb_iseq_t, whose body follows */
	RUBY_BODY_SIZE = 4,
	RUBY_BODY_CODE = 8,
	RUBY_BODY_PATH = 64,
	RUBY_BODY_LABEL = 80,
	RUBY_BODY_FIRST_LINE = 88,
	RUBY_BODY_INFO = 120,           /* insns_info: body, size and succ_index_table */
	RUBY_BODY_INFO_SIZE = 136,
	RUBY_BODY_INFO_INDEX = 144,
	RUBY_BODY_BYTES = 152,
	RUBY_INFO_BYTES = 12,           /* struct iseq_insn_info_entry: line first */
	RUBY_STRING_TEXT = 16,          /* struct RString: the text, or length and address */
	RUBY_ARRAY_ITEMS = 16,          /* struct RArray: likewise */
	RUBY_WORD_BYTES = 8,            /* of an instruction or operand */
};

#define RUBY_VERSION_BYTES 16u

struct ruby_program {
	char version[RUBY_VERSION_BYTES]; /* "3.1.7"; "": unknown */
	uint64_t vm;                    /* the variable ruby_current_vm_ptr, in the process */
};

enum ruby_program_result {
	RUBY_PROGRAM_OK,
	RUBY_PROGRAM_UNREADABLE,        /* its memory cannot be read */
	RUBY_PROGRAM_UNSUPPORTED,       /* of another version; ret->version is set */
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
bool ruby_program_frames(struct runtime_pages *pages, const struct ruby_stack *s,
			 struct runtime_frames *ret);

/* What describes the function of the frame at an address; false: it cannot be read. */
bool ruby_program_code(struct runtime_pages *pages, uint64_t at, uint64_t *ret);

/* What identifies a function, and the function itself; the caller frees ret->lines.line.  False: it
 * is no function of Ruby, or cannot be read. */
bool ruby_function_key(struct runtime_pages *pages, uint64_t at, struct runtime_function_key *ret);
bool ruby_function_read(struct runtime_pages *pages, uint64_t at, struct runtime_function *ret);

#endif
