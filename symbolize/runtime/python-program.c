/*
 * Compilers put the rare parts of the loop, and with GCC 16 most of it, elsewhere: in functions
 * without symbols, to which the loop jumps.  These have entries of their own in the CFI.  Their
 * first rule is not that of a function, because the loop's frame exists already.
 */

#include "symbolize/runtime/python-program.h"

#include "symbolize/arch/arch.h"
#include "symbolize/cfi/cfi.h"
#include "symbolize/runtime/runtime-memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- version ------------------------------------------------------------------------------- */

/* PY_VERSION_HEX */
static void set_version(struct python_program *ret, uint32_t hex)
{
	snprintf(ret->version, sizeof(ret->version), "%u.%u.%u", hex >> 24, hex >> 16 & 0xff,
		 hex >> 8 & 0xff);
}

/* "python3.8" in the path's last part; false: there is none. */
static bool version_of_path(const char *path, unsigned int *ret_minor)
{
	static const char name[] = "python3.";
	const char *slash = strrchr(path, '/'), *at = strstr(slash ? slash : path, name);
	if (!at)
		return false;
	at += strlen(name);
	char *end;
	unsigned long minor = strtoul(at, &end, 10);
	*ret_minor = (unsigned int)minor;
	return end > at && minor < 100;
}

static enum python_program_result find_layout(const struct python_places *from,
					      struct python_program *ret)
{
	uint8_t table[PYTHON_LAYOUT_TABLE_BYTES];
	uint32_t hex = 0;
	unsigned int minor;
	if (!runtime_memory_read(from->memory, ret->runtime, table, sizeof(table)))
		return PYTHON_PROGRAM_UNREADABLE;
	enum python_layout_table found = python_layout_read(table, &ret->layout, &hex);
	if (found != PYTHON_LAYOUT_NO_TABLE) {
		set_version(ret, hex);
		return found == PYTHON_LAYOUT_OK ? PYTHON_PROGRAM_OK :
		       found == PYTHON_LAYOUT_UNKNOWN ? PYTHON_PROGRAM_UNSUPPORTED :
							PYTHON_PROGRAM_FREE_THREADED;
	}
	if (from->version) {
		if (!runtime_memory_read(from->memory, from->version + from->bias, &hex,
					 sizeof(hex)))
			return PYTHON_PROGRAM_UNREADABLE;
		set_version(ret, hex);
		minor = hex >> 24 == 3 ? hex >> 16 & 0xff : 0;
	} else {
		if (!version_of_path(from->path, &minor))
			return PYTHON_PROGRAM_UNSUPPORTED;
		snprintf(ret->version, sizeof(ret->version), "3.%u", minor);
	}
	return python_layout_of(minor, &ret->layout) ? PYTHON_PROGRAM_OK :
						       PYTHON_PROGRAM_UNSUPPORTED;
}

/* ---- the loop ------------------------------------------------------------------------------ */

/* The loop has some 90 KB of code. */
#define PART_BYTES_MAX (1u << 20)

bool python_program_is_loop(const struct python_program *p, uint64_t vaddr)
{
	for (unsigned int i = 0; i < p->n_parts; i++)
		if (vaddr >= p->part[i].start && vaddr < p->part[i].end)
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

static void add_part(struct cfi *c, struct python_program *p, uint64_t target)
{
	struct cfi_fde fde;
	uint32_t off;
	bool is_debug;
	if (p->n_parts == PYTHON_PARTS_MAX || python_program_is_loop(p, target) ||
	    cfi_find_fde(c, target, &fde, &off, &is_debug) != CFI_FOUND ||
	    fde.n_bytes > PART_BYTES_MAX || is_function(c, fde.start))
		return;
	p->part[p->n_parts++] = (struct python_range){ fde.start, fde.start + fde.n_bytes };
}

/* Any bytes that could be a jump are treated as one: what is at its target decides. */
static void add_targets(struct cfi *c, struct python_program *p, const uint8_t *code, size_t n,
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
		add_part(c, p, vaddr + i + n_opcode + 4 + (uint64_t)(int64_t)to);
	}
}

static void find_parts(const struct python_places *from, struct python_program *p)
{
	if (!from->loop || !from->n_loop_bytes || from->n_loop_bytes > PART_BYTES_MAX)
		return;
	p->part[p->n_parts++] = (struct python_range){ from->loop,
						       from->loop + from->n_loop_bytes };
	for (unsigned int i = 0; i < p->n_parts && from->cfi->arch == &arch_x86_64; i++) {
		size_t n = p->part[i].end - p->part[i].start;
		uint8_t *code = malloc(n);
		if (code)
			add_targets(from->cfi, p, code,
				    cfi_read_code(from->cfi, p->part[i].start, code, n),
				    p->part[i].start);
		free(code);
	}
}

enum python_program_result python_program_open(const struct python_places *from,
					       struct python_program *ret)
{
	*ret = (struct python_program){
		.runtime = from->runtime + from->bias, .code_type = from->code_type + from->bias,
	};
	enum python_program_result r = find_layout(from, ret);
	/* threads are found by the C library's structures, whose layout differs elsewhere */
	if (r == PYTHON_PROGRAM_OK && ret->layout.thread_native_id == PYTHON_LAYOUT_NONE &&
	    from->cfi->arch != &arch_x86_64)
		return PYTHON_PROGRAM_UNSUPPORTED;
	if (r == PYTHON_PROGRAM_OK)
		find_parts(from, ret);
	return r;
}
