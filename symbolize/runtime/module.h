#ifndef CPROF_SYMBOLIZE_RUNTIME_MODULE_H
#define CPROF_SYMBOLIZE_RUNTIME_MODULE_H

/* What is mapped at a pc of a process, as its owner shows it to the unwinder and to runtimes. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cfi;
struct runtime;
struct runtime_file;

struct module {
	struct cfi *cfi;                /* NULL: none, as for JIT code */
	struct runtime_file *file;      /* what runtimes know of its file; NULL: nothing */
	const struct runtime *runtime;  /* whose JIT code it is; NULL: unknown, or not JIT code */
	uint64_t bias;                  /* vaddr = pc - bias, modulo 2^64 */
	uint64_t id;                    /* of the file: files with equal ids have equal CFI */
	bool is_jit;                    /* JIT code, which is in no file */
	/* JIT code of a runtime that tells the size of its frames, from the stack pointer to the
	 * caller's; 0: unknown.  is_body: pc is where the frame is complete. */
	uint32_t frame_words;
	bool is_body;
};

/* Finds the executable mapping that contains pc; false: nothing is mapped there. */
typedef bool module_find(void *ctx, uint64_t pc, struct module *ret);

/* Copies up to n bytes of code at pc and returns how many, 0 when it cannot: for code that is in no
 * file.  Called only to derive rules. */
typedef size_t module_read_code(void *ctx, uint64_t pc, void *buf, size_t n_bytes);

#endif
