#ifndef CPROF_SYMBOLIZE_RUNTIME_RUNTIME_H
#define CPROF_SYMBOLIZE_RUNTIME_RUNTIME_H

/*
 * What is known of language runtimes and libraries beyond the ABI and the CFI.  Each has one
 * runtime-NAME.c with a struct runtime.  The unwinder and the symbolizer ask the functions below,
 * which ask the table of runtimes, and know no runtime by name.
 *
 * A runtime recognises files by what is in them (open_file), and processes by the files that they
 * have mapped (library).  Questions without a file are asked about any code: libraries may be
 * linked statically, so their files cannot be recognised by name.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbolize/arch/arch.h"
#include "symbolize/cfi/cfi-code.h"
#include "symbolize/cfi/cfi-eval.h"
#include "symbolize/runtime/module.h"

struct Elf;
struct runtime_code_ops;
struct runtime_lost_cfa;
struct runtime_switch;
struct symdwarf_frame;

/* Is a frame the outermost one, by the code at the return address that leads to it? */
enum runtime_root {
	RUNTIME_ROOT_NO,
	RUNTIME_ROOT_FRAME,
	RUNTIME_ROOT_TRAP,      /* no frame, but the program's end, unless a call precedes it */
};

/* How the chain of return addresses continues beyond a switch of stacks. */
enum runtime_caller {
	RUNTIME_CALLER_DENIED,  /* what is further out cannot have led to the switch */
	RUNTIME_CALLER_NEXT,    /* the next return address is the function's own */
	RUNTIME_CALLER_BETWEEN, /* its own is missing in the chain, but known */
};

/* NULL members: the runtime has no answer. */
struct runtime {
	const char *name;
	const char *library, *program;  /* the start of its name; the name of a program with it */
	/* What the runtime knows of a file; NULL: it is not the runtime's, or no memory. */
	void *(*open_file)(struct cfi *c);
	void (*close_file)(void *file);
	/* The rule at vaddr of a file, where its CFI has none or only one of .debug_frame. */
	bool (*rule)(void *file, uint64_t vaddr, struct cfi_rule *ret);
	/* Where the function that contains vaddr starts; does it only pass on its arguments? */
	bool (*function)(void *file, uint64_t vaddr, uint64_t *ret_start);
	bool (*is_wrapper)(void *file, uint64_t vaddr);
	/* The rule for a frame of the runtime's JIT code that was interrupted at pc (is_exact) or
	 * will continue there, if c->accept confirms it. */
	bool (*jit_rule)(const struct cfi_code *c, uint64_t pc, bool is_exact,
			 struct cfi_rule *ret);
	const struct runtime_code_ops *code;    /* what its JIT code is called */
	/* The caller's stack pointer of an interpreter's frame: its frame pointer, the CFA by that,
	 * and the words below the saved frame pointer, lowest first.  0: not such a frame. */
	uint64_t (*interpreter_sp)(uint64_t fp, uint64_t cfa, const uint64_t *below);
	/* The CFA of a frame whose CFI depends on an unknown value. */
	bool (*cfa)(const struct runtime_lost_cfa *l, uint64_t *ret);
	/* Is that the return address of a stack's first frame, which was laid out by hand, so that
	 * no call precedes it?  code: n bytes from RUNTIME_BEFORE_BYTES before it on. */
	bool (*is_first)(const struct arch *arch, const uint8_t *code, size_t n_bytes);
	/* code: n bytes from the return address on, at most RUNTIME_ROOT_BYTES. */
	enum runtime_root (*root)(const struct arch *arch, const uint8_t *code, size_t n_bytes);
	/* Who called a function of the runtime that has switched stacks. */
	enum runtime_caller (*caller)(const struct runtime_switch *s, uint64_t *ret_ra);

	/* Names from the runtime's own tables; as runtime_names_*. */
	int (*open_names)(struct Elf *elf, void **ret);
	void (*close_names)(void *names);
	size_t (*names)(const void *names, uint64_t vaddr, struct symdwarf_frame *frame,
			size_t max);
};

#define RUNTIME_BEFORE_BYTES 4u
#define RUNTIME_FIRST_BYTES 20u
#define RUNTIME_ROOT_BYTES ARCH_EXIT_BYTES
#define RUNTIME_BELOW_WORDS 3u

/* ---- processes -------------------------------------------------------------------------- */

/* The runtime whose library has that path, or NULL.  The second: that is linked into a program. */
const struct runtime *runtime_of_library(const char *path);
const struct runtime *runtime_of_program(const char *path);

/* May sp, in the word below a saved frame pointer, be the stack pointer of a caller whose frame
 * does not begin at the CFA?  Such frames are the interpreters'. */
#define RUNTIME_ARGS_BYTES_MAX 2048u    /* of one call: at most 255 words */
static inline bool runtime_is_moved_sp(uint64_t sp, uint64_t cfa)
{
	return sp - cfa - 1 < RUNTIME_ARGS_BYTES_MAX && sp % 8 == 0;
}

/* ---- any code ---------------------------------------------------------------------------- */

/* As the members of struct runtime. */
bool runtime_is_first(const struct arch *arch, const uint8_t *code, size_t n_bytes);
enum runtime_root runtime_root(const struct arch *arch, const uint8_t *code, size_t n_bytes);

/* A frame whose CFI says where its CFA is by a value that is unknown. */
struct runtime_lost_cfa {
	void *ctx;
	enum cfi_eval why;              /* NO_REG or NO_MEMORY */
	bool is_innermost;
	uint64_t stack, n_stack_bytes;  /* address and size of the stack's copy */
	bool (*load)(void *ctx, uint64_t at, uint64_t *ret);
	/* Each evaluates the CFA under an assumption, and is false unless a return address is where
	 * the CFI then says: all functions that the frame has called kept all registers; the word
	 * below the stack pointer was this one. */
	bool (*if_kept)(void *ctx, uint64_t *ret);
	bool (*if_below)(void *ctx, uint64_t word, uint64_t *ret);
};
bool runtime_cfa(const struct runtime_lost_cfa *l, uint64_t *ret);

/* ---- switches ---------------------------------------------------------------------------- */

/* Addresses in the process. */
struct runtime_switch {
	const struct arch *arch;
	module_find *find_module;
	void *ctx;
	uint64_t at;                    /* in the function that has switched stacks */
	uint64_t called_at;             /* in the function that it called there; 0: none */
	uint64_t ra;                    /* the innermost return address of the other stack */
};

/* *ret_ra is set with BETWEEN.  Reads code from files: not for every sample. */
enum runtime_caller runtime_caller(const struct runtime_switch *s, uint64_t *ret_ra);

/* ---- names ------------------------------------------------------------------------------- */

struct runtime_names {
	const struct runtime *runtime;  /* NULL: no runtime has names for the file */
	void *data;
};

/* 1; 0: no runtime has names for the file; -errno.  elf must outlive ret. */
int runtime_names_open(struct Elf *elf, struct runtime_names *ret);
void runtime_names_close(struct runtime_names *n);

/* The frames at vaddr, innermost first, at most max; 0: unknown.  Strings are elf's. */
size_t runtime_names_find(const struct runtime_names *n, uint64_t vaddr,
			  struct symdwarf_frame *frame, size_t max);

#endif
