#ifndef CPROF_SYMBOLIZE_RUNTIME_RUNTIME_CODE_H
#define CPROF_SYMBOLIZE_RUNTIME_RUNTIME_CODE_H

/*
 * Code that a runtime has compiled in a process, as its own tables in memory describe it.  They are
 * read while the process goes on; the process may be hostile, so that each question costs a bounded
 * number of reads.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arch;
struct cfi;
struct runtime;
struct runtime_memory;

/* All borrowed while the program is open. */
struct runtime_code_source {
	const struct arch *arch;
	const struct runtime_memory *memory;
	struct cfi *cfi;                /* of the runtime's library; needed by open only */
	uint64_t bias;                  /* of the library */
};

enum runtime_code_result {
	RUNTIME_CODE_OK,
	RUNTIME_CODE_UNREADABLE,        /* the memory may not be read, or not now */
	RUNTIME_CODE_UNSUPPORTED,       /* the version is not known: see why */
};

/* What was read of a process's runtime. */
struct runtime_code_program {
	void *data;                     /* the runtime's */
	char version[16];               /* "17"; empty: unknown */
	const char *missing;            /* UNSUPPORTED: what it lacks, a constant; or NULL */
};

/* Bytes that are as long the same as the code is, in some places. */
#define RUNTIME_CODE_WITNESSES 8u
#define RUNTIME_CODE_WITNESS_BYTES 16u
struct runtime_code_witness {
	uint64_t at;
	uint8_t n_bytes;                /* 0: nothing */
	uint8_t bytes[RUNTIME_CODE_WITNESS_BYTES];
};

/* One piece: a method, a stub. */
struct runtime_code {
	uint64_t start, n_bytes;
	uint64_t serial;                /* of the compilation; 0: it has none */
	const char *name;               /* the runtime's, as long as data */
	const char *linkage;            /* or NULL */
	uint32_t frame_words;           /* from the stack pointer to the caller's; 0: unknown */
	uint32_t body_off;              /* from where on it is complete; UINT32_MAX: unknown */
	struct runtime_code_witness witness[RUNTIME_CODE_WITNESSES];
	size_t n_held_bytes;            /* of memory that data takes */
	void *data;
};

/* A function at a pc. */
struct runtime_call {
	const char *name, *linkage;     /* as long as the code; linkage may be NULL */
	const char *file;               /* NULL: unknown */
	uint32_t line, first_line;      /* of the function; 0: unknown */
};
#define RUNTIME_CALLS_MAX 64u

enum runtime_frame_kind {
	RUNTIME_FRAME_PLAIN,            /* its pc says what it executes */
	RUNTIME_FRAME_FOUND,            /* another one says it, which find and calls know */
	RUNTIME_FRAME_NEW,              /* PLAIN, but find may know now what it did not */
	RUNTIME_FRAME_OTHER_CODE,       /* at its pc is other code than what find has found */
};

/* A frame whose frame pointer is known. */
#define RUNTIME_FRAME_WORDS 8u
struct runtime_frame {
	uint64_t pc, fp;
	uint64_t vaddr;                 /* of pc in its file; 0: it is in no file */
	bool is_found;                  /* pc is what it executes */
	/* words below the frame pointer, highest first; 0 where the frame has fewer */
	uint64_t below[RUNTIME_FRAME_WORDS];
	const uint64_t *reg;            /* the registers of the innermost frame, by DWARF number */
	uint64_t reg_valid;             /* bit n: reg[n] is known */
};

/* The functions of a runtime for this; see struct runtime. */
struct runtime_code_ops {
	enum runtime_code_result (*open)(const struct runtime_code_source *from,
					 struct runtime_code_program *ret);
	void (*close)(void *program);
	/* The code at pc.  False: there is none, or it cannot be read now. */
	bool (*find)(void *program, const struct runtime_code_source *from, uint64_t pc,
		     struct runtime_code *ret);
	void (*release)(struct runtime_code *code);
	/* A number that changes before memory of code is used for other functions.  NULL, or false:
	 * it is not known. */
	bool (*epoch)(void *program, const struct runtime_code_source *from, uint64_t *ret);
	/* The functions at pc within the code, innermost first.  Returns their number, at least 1:
	 * inlined ones, and the code's own. */
	size_t (*calls)(void *program, const struct runtime_code_source *from,
			struct runtime_code *code, uint64_t pc,
			struct runtime_call ret[RUNTIME_CALLS_MAX]);
	/* NULL: all frames are known by their pc. */
	enum runtime_frame_kind (*frame)(void *program, const struct runtime_code_source *from,
					 const struct runtime_frame *f, uint64_t *ret_pc);
};

#endif
