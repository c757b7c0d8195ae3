/*
 * Compilers put the rare parts of the loop, and with GCC 16 most of it, elsewhere: in functions
 * without symbols, to which the loop jumps.  These have entries of their own in the CFI.  Their
 * first rule is not that of a function, because the loop's frame exists already.
 */

#include "symbolize/runtime/runtime-loop.h"

#include "symbolize/arch/arch.h"
#include "symbolize/cfi/cfi.h"

#include <stdlib.h>
#include <string.h>

/* The loop has some 90 KB of code. */
#define PART_BYTES_MAX (1u << 20)

bool runtime_loop_has(const struct runtime_loop *l, uint64_t vaddr)
{
	for (unsigned int i = 0; i < l->n; i++)
		if (vaddr >= l->part[i].start && vaddr < l->part[i].end)
			return true;
	return false;
}

/* Does the code at an FDE's start begin as a function does, with nothing but a return address? */
static bool is_function(struct cfi *c, uint64_t start)
{
	struct cfi_row row;
	if (cfi_row_at(c, start, &row) != CFI_FOUND)
		return true;
	return row.cfa.how == CFI_HOW_REGISTER && row.cfa_reg == c->arch->sp &&
	       row.cfa.off == (arch_pushes_ra(c->arch) ? 8 : 0);
}

static void add_part(struct cfi *c, struct runtime_loop *l, uint64_t target)
{
	struct cfi_fde fde;
	uint32_t off;
	bool is_debug;
	if (l->n == RUNTIME_LOOP_PARTS_MAX || runtime_loop_has(l, target) ||
	    cfi_find_fde(c, target, &fde, &off, &is_debug) != CFI_FOUND ||
	    fde.n_bytes > PART_BYTES_MAX || is_function(c, fde.start))
		return;
	l->part[l->n++] = (struct runtime_range){ fde.start, fde.start + fde.n_bytes };
}

/* Any bytes that could be a jump are treated as one: what is at its target decides. */
static void add_targets(struct cfi *c, struct runtime_loop *l, const uint8_t *code, size_t n,
			uint64_t vaddr)
{
	for (size_t i = 0; i + 6 <= n; i++) {
		bool is_jump = code[i] == 0xe9;
		bool is_branch = code[i] == 0x0f && (code[i + 1] & 0xf0) == 0x80;
		int32_t to;
		if (!is_jump && !is_branch)
			continue;
		size_t n_opcode = is_jump ? 1 : 2;
		memcpy(&to, code + i + n_opcode, sizeof(to));
		add_part(c, l, vaddr + i + n_opcode + 4 + (uint64_t)(int64_t)to);
	}
}

void runtime_loop_find(struct runtime_loop *ret, struct cfi *c, uint64_t start, uint64_t n_bytes)
{
	ret->n = 0;
	if (!start || !n_bytes || n_bytes > PART_BYTES_MAX)
		return;
	ret->part[ret->n++] = (struct runtime_range){ start, start + n_bytes };
	for (unsigned int i = 0; i < ret->n && c->arch == &arch_x86_64; i++) {
		size_t n = ret->part[i].end - ret->part[i].start;
		uint8_t *code = malloc(n);
		if (code)
			add_targets(c, ret, code, cfi_read_code(c, ret->part[i].start, code, n),
				    ret->part[i].start);
		free(code);
	}
}

/* Loops have more. */
#define LOOP_BYTES_MIN 8192u

/* Any bytes that could be a call are treated as one: a function must begin at its target. */
static void take_callee(struct cfi *c, uint64_t target, struct cfi_fde *largest)
{
	struct cfi_fde fde;
	uint32_t off;
	bool is_debug;
	if (cfi_find_fde(c, target, &fde, &off, &is_debug) == CFI_FOUND && fde.start == target &&
	    fde.n_bytes <= PART_BYTES_MAX && fde.n_bytes > largest->n_bytes)
		*largest = fde;
}

static void take_callees(struct cfi *c, uint64_t caller, uint64_t n_bytes, bool has_jumps,
			 struct cfi_fde *largest)
{
	if (!caller || n_bytes > PART_BYTES_MAX || c->arch != &arch_x86_64)
		return;
	uint8_t *code = malloc(n_bytes + 1);
	size_t n = code ? cfi_read_code(c, caller, code, n_bytes) : 0;
	for (size_t i = 0; i + 5 <= n; i++) {
		int32_t to;
		memcpy(&to, code + i + 1, sizeof(to));
		if (code[i] == 0xe8 || (has_jumps && code[i] == 0xe9))
			take_callee(c, caller + i + 5 + (uint64_t)(int64_t)to, largest);
	}
	free(code);
}

void runtime_loop_find_callee(struct runtime_loop *ret, struct cfi *c, uint64_t caller,
			      uint64_t n_bytes)
{
	struct cfi_fde largest = { .n_bytes = LOOP_BYTES_MIN };
	ret->n = 0;
	take_callees(c, caller, n_bytes, false, &largest);
	if (largest.start)
		runtime_loop_find(ret, c, largest.start, largest.n_bytes);
}

bool runtime_loop_callee(struct cfi *c, uint64_t caller, uint64_t n_bytes,
			 struct runtime_range *ret)
{
	struct cfi_fde largest = { .n_bytes = 0 };
	take_callees(c, caller, n_bytes, true, &largest);
	*ret = (struct runtime_range){ largest.start, largest.start + largest.n_bytes };
	return largest.start;
}

/* ---- threaded code ------------------------------------------------------------------------- */

/* Loops have some 70; no other function of Ruby's has more than one. */
#define THREADED_MIN 16u
#define PIECE_BYTES (64u << 10)

struct threaded {
	struct cfi *c;
	struct cfi_fde fde, best;       /* that of the last jump */
	uint32_t n, n_best;             /* jumps in them */
};

static void take_jump(struct threaded *t, uint64_t vaddr)
{
	uint32_t off;
	bool is_debug;
	if (vaddr - t->fde.start >= t->fde.n_bytes) {
		t->n = 0;
		if (cfi_find_fde(t->c, vaddr, &t->fde, &off, &is_debug) != CFI_FOUND)
			t->fde = (struct cfi_fde){ .n_bytes = 0 };
	}
	if (!t->fde.n_bytes || t->fde.n_bytes > PART_BYTES_MAX || ++t->n <= t->n_best)
		return;
	t->n_best = t->n;
	t->best = t->fde;
}

/* jmp *disp(%r8 to %r15) */
static bool is_jump(const uint8_t *code)
{
	return code[0] == 0x41 && code[1] == 0xff && (code[2] & 0x38) == 0x20 &&
	       code[2] >> 6 != 3;
}

/* Jumps across the end of a piece are left out. */
static void take_section(struct threaded *t, const struct cfi_place *text)
{
	uint8_t *piece = malloc(PIECE_BYTES);
	for (uint64_t done = 0; piece && done < text->n_bytes; done += PIECE_BYTES) {
		uint64_t left = text->n_bytes - done;
		size_t n = cfi_read_code(t->c, text->vaddr + done, piece,
					 left < PIECE_BYTES ? (size_t)left : PIECE_BYTES);
		for (size_t i = 0; i + 3 <= n; i++)
			if (is_jump(piece + i))
				take_jump(t, text->vaddr + done + i);
	}
	free(piece);
}

void runtime_loop_find_threaded(struct runtime_loop *ret, struct cfi *c)
{
	struct threaded t = { .c = c };
	struct cfi_place text;
	ret->n = 0;
	if (c->arch != &arch_x86_64 || !cfi_find_section(c, ".text", &text))
		return;
	take_section(&t, &text);
	if (t.n_best >= THREADED_MIN)
		runtime_loop_find(ret, c, t.best.start, t.best.n_bytes);
}
