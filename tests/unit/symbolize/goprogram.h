#ifndef CPROF_TESTS_GOPROGRAM_H
#define CPROF_TESTS_GOPROGRAM_H

/*
 * A small program of Go for x86-64: main.outer calls runtime.worker, which gives
 * runtime.worker.func1 to runtime.systemstack, at the second of two calls.
 */

#include <stdbool.h>
#include <stddef.h>

#include "tests/unit/symbolize/gocode.h"

enum goprogram_layout { GOPROGRAM_1_16, GOPROGRAM_1_18, GOPROGRAM_1_20, GOPROGRAM_N };

/* Addresses in it. */
enum {
	GOPROGRAM_GOEXIT = GOCODE_TEXT,
	GOPROGRAM_SYSTEMSTACK = GOCODE_TEXT + 0x20,
	GOPROGRAM_SYSTEMSTACK_RA = GOCODE_TEXT + 0x2f,  /* it has called on the other stack */
	GOPROGRAM_FUNC1 = GOCODE_TEXT + 0x40,           /* 16 bytes of frame */
	GOPROGRAM_WORKER = GOCODE_TEXT + 0x60,
	GOPROGRAM_WORKER_RA1 = GOCODE_TEXT + 0x6c,
	GOPROGRAM_WORKER_RA2 = GOCODE_TEXT + 0x78,
	GOPROGRAM_OUTER = GOCODE_TEXT + 0x80,
	GOPROGRAM_OUTER_RA = GOCODE_TEXT + 0x85,        /* after its call of worker */
	GOPROGRAM_OUTER_ANY_RA = GOCODE_TEXT + 0x87,    /* after a call through a register */
	GOPROGRAM_END = GOCODE_TEXT + 0x90,
};

static const uint8_t goprogram_code[0x90] = {
	[0x00] = 0x90, 0xe8, 0x00, 0x00, 0x00, 0x00, 0x90,
	[0x20] = 0x48, 0x8b, 0x5a, 0x38,                /* mov 0x38(%rdx), %rbx */
	0x48, 0x89, 0xdc, 0x48, 0x89, 0xfa,             /* mov %rbx, %rsp; mov %rdi, %rdx */
	0x48, 0x8b, 0x3f, 0xff, 0xd7,                   /* mov (%rdi), %rdi; call *%rdi */
	0x48, 0x8b, 0x60, 0x38, 0xc3,                   /* mov 0x38(%rax), %rsp; ret */
	[0x40] = 0x48, 0x83, 0xec, 0x10,                /* sub $16, %rsp */
	0x48, 0x89, 0x6c, 0x24, 0x08,                   /* mov %rbp, 8(%rsp) */
	0x48, 0x8d, 0x6c, 0x24, 0x08, 0x90, 0x90, 0xc3, /* lea 8(%rsp), %rbp */
	[0x60] = 0x48, 0x8d, 0x05, 0x99, 0xff, 0xff, 0xff, /* lea goexit(%rip), %rax */
	0xe8, 0xb4, 0xff, 0xff, 0xff,                   /* call systemstack */
	0x48, 0x8d, 0x05, 0xcd, 0xff, 0xff, 0xff,       /* lea func1(%rip), %rax */
	0xe8, 0xa8, 0xff, 0xff, 0xff, 0xc3,             /* call systemstack */
	[0x80] = 0xe8, 0xdb, 0xff, 0xff, 0xff,          /* call worker */
	0xff, 0xd0, 0xc3,                               /* call *%rax */
};

struct goprogram {
	uint8_t table[1024];
	size_t n_table;
};

static inline void goprogram_put(struct goprogram *g, const void *p, size_t n)
{
	memcpy(g->table + g->n_table, p, n);
	g->n_table += n;
}

static inline void goprogram_put_number(struct goprogram *g, uint64_t x, size_t n)
{
	goprogram_put(g, &x, n);
}

#define GOPROGRAM_FUNCTIONS 5
static const char *const goprogram_names[GOPROGRAM_FUNCTIONS] = {
	"runtime.goexit", "runtime.systemstack", "runtime.worker.func1", "runtime.worker",
	"main.outer",
};

/* Makes its table with other names; with is_pie the start of the code is left to a relocation. */
static inline void goprogram_make_as(struct goprogram *g, enum goprogram_layout layout,
				     bool is_pie, const char *const *names)
{
	static const uint32_t magic[] = { 0xfffffffa, 0xfffffff0, 0xfffffff1 };
	static const struct { uint8_t at, flags, steps; } f[GOPROGRAM_FUNCTIONS] = {
		{ 0x00, 1, 1 }, { 0x20, 6, 1 }, { 0x40, 0, 5 }, { 0x60, 0, 1 }, { 0x80, 0, 1 },
	};
	/* from 1 on: 0 for 127 bytes; from 5 on: 0 for 4 bytes, 16 for 120 */
	static const uint8_t steps[] = { 0, 2, 127, 0, 0, 2, 4, 32, 120, 0, 0, 0 };
	enum { N = GOPROGRAM_FUNCTIONS };
	bool is_old = layout == GOPROGRAM_1_16;
	size_t n = is_old ? 8 : 4, n_header = is_old ? 64 : 72;
	uint32_t name[N];
	*g = (struct goprogram){ .n_table = n_header };
	for (size_t i = 0; i < N; i++) {
		name[i] = (uint32_t)(g->n_table - n_header);
		goprogram_put(g, names[i], strlen(names[i]) + 1);
	}
	g->n_table = (g->n_table + 7) & ~(size_t)7;
	size_t steps_off = g->n_table, functions;
	goprogram_put(g, steps, sizeof(steps));
	functions = g->n_table = (g->n_table + 7) & ~(size_t)7;
	size_t at = functions + (2 * N + 1) * n, n_function = n + 32 + (layout == 2 ? 4 : 0) + 4;
	for (size_t i = 0; i <= N; i++) {
		uint64_t off = i < N ? f[i].at : 0x90;
		goprogram_put_number(g, is_old ? GOCODE_TEXT + off : off, n);
		if (i < N)
			goprogram_put_number(g, at + i * n_function - functions, n);
	}
	for (size_t i = 0; i < N; i++) {
		goprogram_put_number(g, is_old ? GOCODE_TEXT + f[i].at : f[i].at, n);
		const uint32_t fixed[9] = { name[i], 0, 0, f[i].steps };
		goprogram_put(g, fixed, layout == GOPROGRAM_1_20 ? 36 : 32);
		const uint8_t last[4] = { 0, f[i].flags };
		goprogram_put(g, last, sizeof(last));
	}
	size_t end = g->n_table;
	const uint64_t offsets[5] = { n_header, 0, 0, steps_off, functions };
	g->n_table = 0;
	goprogram_put_number(g, magic[layout], 4);
	goprogram_put(g, "\0\0\1\x8", 4);
	goprogram_put_number(g, N, 8);
	goprogram_put_number(g, 1, 8);
	if (!is_old)
		goprogram_put_number(g, is_pie ? 0 : GOCODE_TEXT, 8);
	goprogram_put(g, offsets, sizeof(offsets));
	g->n_table = end;
}

static inline void goprogram_make(struct goprogram *g, enum goprogram_layout layout, bool is_pie)
{
	goprogram_make_as(g, layout, is_pie, goprogram_names);
}

#endif
