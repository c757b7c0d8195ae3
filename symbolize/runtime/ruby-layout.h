#ifndef CPROF_SYMBOLIZE_RUNTIME_RUBY_LAYOUT_H
#define CPROF_SYMBOLIZE_RUNTIME_RUBY_LAYOUT_H

/* Where a Ruby for 64-bit machines keeps its threads, frames and functions (vm_core.h,
 * ractor_core.h, thread_pthread.h, iseq.h, and include/ruby/internal/core). */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RUBY_SUPPORTED "3.1 to 3.4"

/* The same in all versions. */
enum {
	RUBY_VM_MAIN_RACTOR = 32,       /* rb_vm_t: ractor.main_ractor */
	RUBY_EC_STACK = 0,              /* rb_execution_context_t, and its size in words */
	RUBY_EC_FRAME = 16,
	RUBY_EC_THREAD = 48,
	RUBY_FRAME_PC = 0,              /* rb_control_frame_t */
	RUBY_FRAME_ISEQ = 16,
	RUBY_FRAME_EP = 32,
	RUBY_ISEQ_BODY = 16,            /* rb_iseq_t, whose body follows */
	RUBY_BODY_SIZE = 4,
	RUBY_BODY_CODE = 8,
	RUBY_BODY_PATH = 64,
	RUBY_BODY_LABEL = 80,
	RUBY_BODY_FIRST_LINE = 88,
	RUBY_BODY_BYTES = 152,          /* what is read of it */
	RUBY_INFO_BYTES = 12,           /* struct iseq_insn_info_entry: line first */
	RUBY_STRING_TEXT = 16,          /* struct RString: the text, or length and address */
	RUBY_ARRAY_ITEMS = 16,          /* struct RArray: likewise */
	RUBY_WORD_BYTES = 8,            /* of an instruction or operand */
	RUBY_FRAME_BYTES_MAX = 64,
};

struct ruby_layout {
	const char *version;            /* "3.1" */
	uint16_t ractor_threads;        /* rb_ractor_t: threads.set, whose elements are threads */
	uint16_t thread_ec;             /* rb_thread_t */
	uint16_t thread_native;         /* its rb_native_thread; 0: the thread is that itself */
	uint16_t native_pthread, native_tid;
	uint16_t frame_bytes;
	uint16_t info, info_size, info_index; /* of a body: insns_info */
	bool has_number_objects;        /* the first line is a number of Ruby */
	bool has_string_length;         /* a text in its object comes after its length */
};

/* That of a version such as "3.1.7"; NULL: it is not known. */
const struct ruby_layout *ruby_layout_find(const char *version);

/* The variable with the address of the VM, in the code of rb_during_gc(), which begins by reading
 * it: n bytes at vaddr.  is_indirect: *ret has the address of the variable.  False: the code is
 * another one. */
bool ruby_layout_vm(const uint8_t *code, size_t n, uint64_t vaddr, uint64_t *ret,
		    bool *ret_is_indirect);

#endif
