#ifndef CPROF_TESTS_V8VM_H
#define CPROF_TESTS_V8VM_H

/*
 * The memory of a program with V8, as small as it can be: the constants that it exports, the
 * interpreted functions "outer" and "Kind.method" of /app/main.js, compiled code of "inner", and
 * baseline code of "outer".  Versions differ as in V8.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

#include "symbolize/runtime/runtime-code.h"

struct cfi;

#define V8VM_BASE 0x10000u
#define V8VM_BYTES 0x10000u
#define V8VM_CONSTANTS 0x10400u
#define V8VM_OBJECTS 0x12000u
#define V8VM_CODE 0x18000u              /* of "inner" */
#define V8VM_CODE_BYTES 0x140u
#define V8VM_BASELINE 0x18400u          /* of "outer" */
#define V8VM_STUB 0x18800u              /* without a function: its data is an empty array */
#define V8VM_BUILTINS 0x50000u          /* vaddr, without memory */
#define V8VM_BUILTINS_BYTES 0x1000u

/* An interpreted function. */
struct v8vm_function {
	uint64_t function, shared, bytecode;    /* objects */
};

struct v8vm {
	uint8_t b[V8VM_BYTES];
	unsigned int major;             /* 10 to 14, of V8 */
	uint64_t next;                  /* free among the objects */
	bool is_gone;
	struct v8vm_function outer, method;
	/* Strings. */
	uint64_t one_byte, two_byte, cons, sliced, thin, external;
	struct cfi *cfi;
	int fd;                         /* of its library */
	const char *without;            /* the start of a name that is left out, or NULL */
};

/* Fills v, whose major and without are set; v8vm_done afterwards. */
bool v8vm_init(struct v8vm *v);
void v8vm_done(struct v8vm *v);

/* Reads its memory, as struct runtime_memory; ctx: the struct v8vm. */
long v8vm_read(void *ctx, const struct iovec *local, size_t n_local, const struct iovec *remote,
	       size_t n_remote);

/* Changes n_bytes of its memory. */
void v8vm_put(struct v8vm *v, uint64_t at, uint64_t value, size_t n_bytes);

/* The frame of an interpreted function at an offset of its bytecode. */
struct runtime_frame v8vm_frame(const struct v8vm *v, struct v8vm_function f, uint32_t off);

/* Where bytecode begins in its object. */
uint32_t v8vm_bytecode_first(const struct v8vm *v);

#endif
