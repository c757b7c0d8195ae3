#ifndef CPROF_TESTS_BENCH_UNWIND_H
#define CPROF_TESTS_BENCH_UNWIND_H

/* Captured stacks in memory, to be unwound repeatedly by cprof and its peers. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbolize/unwind/unwind.h"

struct cfi;
struct runtime_file;

struct bench_file {                     /* a mapped file, shared by all processes */
	char *path;
	uint64_t id;
	int fd;                         /* -1: not opened, or not a file */
	struct cfi *cfi;                /* NULL: none */
	struct runtime_file *runtime;
	const uint8_t *bytes;           /* the whole file, for the peers; may be NULL */
	size_t n_bytes;
};

struct bench_map {
	uint64_t start, end, bias;
	struct bench_file *file;
};

struct bench_space {                    /* executable mappings of a process at one time */
	uint64_t serial;
	uint32_t pid, n;
	struct bench_map *map;          /* sorted */
	void *dwfl, *libunwind;         /* state of the peers */
};

struct bench_sample {
	struct unwind_regs regs;
	const uint8_t *stack;
	uint64_t n_stack_bytes;
	uint32_t tid;
	uint32_t thread;                /* the tid as a small number */
	struct bench_space *space;
};

struct bench_capture {
	uint8_t *bytes;
	const uint8_t *vdso;
	size_t n_vdso_bytes;
	struct bench_file **file;
	size_t n_files, cap_files;
	struct bench_space **space;
	size_t n_spaces, cap_spaces;
	struct bench_sample *sample;
	size_t n_samples, cap_samples;
	uint32_t *tid;
	size_t n_threads, cap_threads;
};

/* Reads a file written by tests/tools/stackcap; exits on failure. */
void bench_load(const char *path, struct bench_capture *ret);

bool bench_find(const struct bench_space *s, uint64_t pc, const struct bench_map **ret);

#define BENCH_DEPTH_MAX 1024

/* A peer: the pcs of one sample, innermost first, with unchanged return addresses. */
size_t bench_dwfl(struct bench_capture *c, const struct bench_sample *s, uint64_t *ret_pc);
/* The same peer: opens a file's CFI and finds the rule at an address. */
bool bench_dwfl_first(int fd, uint64_t vaddr);
size_t bench_libunwind(struct bench_capture *c, const struct bench_sample *s, uint64_t *ret_pc);

#endif
