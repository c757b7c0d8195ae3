/*
 * A function without a frame leaves its caller's frame pointer in place, so the chain that starts
 * there begins with the return address of the caller's frame.  The direct caller of systemstack is
 * missing, as always in Go for x86-64 before 1.21.  It is found in one of two ways:
 *
 * - The call before that return address usually names it.
 * - The function that systemstack calls has a name derived from its caller's: a.b.func1 of a.b.
 *
 * The result is accepted if its code calls systemstack.  Of several such calls, the one after an
 * instruction that takes the address of the called function is used.
 */

#include "symbolize/runtime/go-switch.h"

#include "base/cleanup.h"
#include "symbolize/cfi/cfi-code.h"
#include "symbolize/runtime/go-table.h"
#include "symbolize/runtime/runtime-file.h"
#include "symbolize/runtime/runtime-private.h"
#include "symbolize/arch/x86-64/x86insn.h"

#include <stdlib.h>
#include <string.h>

#define GO_CODE_BYTES_MAX (256u << 10)

struct go_place {
	struct module m;
	struct go_table *table;
	struct go_table_function f;
};

static bool go_place(const struct runtime_switch *s, uint64_t at, struct go_place *ret)
{
	if (!s->find_module(s->ctx, at, &ret->m))
		return false;
	ret->table = runtime_file_data(ret->m.file, &runtime_go);
	return ret->table && go_table_find(ret->table, at - ret->m.bias, &ret->f);
}

/* The vaddr that the call before return address ra calls; 0: no call, or through a pointer. */
static uint64_t go_target(const struct arch *arch, const struct module *m, uint64_t ra,
			  bool *ret_is_call)
{
	uint8_t b[ARCH_CALL_BYTES];
	uint64_t vaddr = ra - m->bias, target;
	enum arch_call call = ARCH_CALL_NONE;
	if (cfi_read_code(m->cfi, vaddr - sizeof(b), b, sizeof(b)) == sizeof(b))
		call = arch->call(b, sizeof(b), vaddr, &target);
	*ret_is_call = call != ARCH_CALL_NONE;
	return call == ARCH_CALL_DIRECT ? target : 0;
}

/* Is vaddr, whose address was taken, the function's code or a word with the address of its code? */
static bool go_stands_for(struct cfi *c, uint64_t vaddr, uint64_t function)
{
	uint64_t word;
	return vaddr == function || (cfi_read_code(c, vaddr, &word, sizeof(word)) == sizeof(word) &&
				     word == function);
}

/* The return address of a call of `target` in f, x86-64; 0: there is no such call. */
static uint64_t go_call_site(struct cfi *c, const struct go_table_function *f, uint64_t target,
			     uint64_t called)
{
	size_t n = f->end - f->start;
	CLEANUP_FREE uint8_t *b = n <= GO_CODE_BYTES_MAX ? malloc(n) : NULL;
	uint64_t first = 0;
	bool is_taken = false;
	if (!b || cfi_read_code(c, f->start, b, n) < n)
		return 0;
	for (size_t i = 0; i < n;) {
		struct x86insn x = x86insn_decode(b + i, n - i);
		int32_t rel;
		if (x.n_bytes == 0)
			return 0;
		i += x.n_bytes;
		uint64_t next = f->start + i;
		memcpy(&rel, b + i - sizeof(rel), x.n_bytes > sizeof(rel) ? sizeof(rel) : 0);
		if (x.n_bytes <= sizeof(rel) || x.is_vector)
			continue;
		uint64_t there = next + (uint64_t)(int64_t)rel;
		if (x.p[0] == 0xe8 && there == target) {
			if (is_taken || !called)
				return next;
			first = first ? first : next;
			is_taken = false;
		} else if (x.p[0] == 0x8d && x.modrm && (*x.modrm & 0xc7) == 0x05) {
			/* lea rel(%rip), REG */
			is_taken |= called && go_stands_for(c, there, called);
		}
	}
	return first;
}

/* The function that f is a part of, by its name. */
static bool go_whole(struct go_table *g, const struct go_table_function *f,
		     struct go_table_function *ret)
{
	char part[GO_TABLE_NAME_BYTES_MAX];
	if (!go_table_name(g, f, part, sizeof(part)))
		return false;
	char *dot = strrchr(part, '.');
	if (!dot || (strncmp(dot, ".func", 5) != 0 && strspn(dot + 1, "0123456789") == 0))
		return false;
	*dot = '\0';
	return go_table_near(g, f, part, ret);
}

static bool go_is_root_ra(const struct module *m, uint64_t ra)
{
	struct cfi_rule rule;
	runtime_file_rule(m, ra - 1 - m->bias, &rule);
	return rule.kind == CFI_ROOT;
}

enum runtime_caller go_switch_caller(const struct runtime_switch *s, uint64_t *ret_ra)
{
	struct go_place to, called, outer, caller;
	bool is_call;
	if (!go_place(s, s->at, &to) || !go_place(s, s->ra - 1, &outer) || to.m.cfi != outer.m.cfi)
		return RUNTIME_CALLER_DENIED;
	uint64_t target = go_target(s->arch, &outer.m, s->ra, &is_call), bias = to.m.bias;
	if (!is_call && !go_is_root_ra(&outer.m, s->ra))
		return RUNTIME_CALLER_DENIED;
	if (target && target == to.f.start)
		return RUNTIME_CALLER_NEXT;
	/* the link register is saved, so no caller can be missing */
	if (!arch_pushes_ra(s->arch))
		return RUNTIME_CALLER_DENIED;
	bool is_known = s->called_at && go_place(s, s->called_at, &called);
	uint64_t start = is_known ? called.f.start : 0;
	if (!(target && go_table_find(to.table, target, &caller.f)) &&
	    !(is_known && go_whole(to.table, &called.f, &caller.f)))
		return RUNTIME_CALLER_DENIED;
	*ret_ra = go_call_site(to.m.cfi, &caller.f, to.f.start, start);
	if (!*ret_ra)
		return RUNTIME_CALLER_DENIED;
	*ret_ra += bias;
	return RUNTIME_CALLER_BETWEEN;
}
