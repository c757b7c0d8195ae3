/*
 * A stack machine of 64-bit words.  Branches may go backwards, so steps are counted.  The longest
 * expressions that compilers and C libraries are known to write (glibc's signal trampoline, PLT
 * headers) take fewer than twenty.
 */

#include "symbolize/cfi/cfi-eval.h"

#include "symbolize/cfi/cfi-run.h"

#include <dwarf.h>
#include <stdbool.h>
#include <string.h>

#define EVAL_STACK_MAX 64
#define EVAL_STEPS_MAX 512

struct eval {
	const struct cfi_eval_env *env;
	const uint8_t *start, *p, *end;
	uint64_t stack[EVAL_STACK_MAX];
	unsigned int n;
};

static bool eval_push(struct eval *e, uint64_t x)
{
	if (e->n == EVAL_STACK_MAX)
		return false;
	e->stack[e->n++] = x;
	return true;
}

/* An operand of n_bytes. */
static bool eval_operand(struct eval *e, size_t n_bytes, bool is_signed, uint64_t *ret)
{
	uint64_t x = 0;
	if ((size_t)(e->end - e->p) < n_bytes)
		return false;
	memcpy(&x, e->p, n_bytes);
	e->p += n_bytes;
	if (is_signed && n_bytes < 8 && x >> (8 * n_bytes - 1))
		x |= ~0ull << (8 * n_bytes);
	*ret = x;
	return true;
}

static bool eval_branch(struct eval *e, bool taken)
{
	uint64_t x;
	if (!eval_operand(e, 2, true, &x))
		return false;
	if (!taken)
		return true;
	int64_t to = e->p - e->start + (int64_t)x;
	if (to < 0 || to > e->end - e->start)
		return false;
	e->p = e->start + to;
	return true;
}

/* Constants. */
static bool eval_const(struct eval *e, uint8_t op)
{
	uint64_t x;
	switch (op) {
	case DW_OP_addr:
		return eval_operand(e, 8, false, &x) && eval_push(e, x + e->env->bias);
	case DW_OP_const1u: case DW_OP_const1s:
		return eval_operand(e, 1, op == DW_OP_const1s, &x) && eval_push(e, x);
	case DW_OP_const2u: case DW_OP_const2s:
		return eval_operand(e, 2, op == DW_OP_const2s, &x) && eval_push(e, x);
	case DW_OP_const4u: case DW_OP_const4s:
		return eval_operand(e, 4, op == DW_OP_const4s, &x) && eval_push(e, x);
	case DW_OP_const8u: case DW_OP_const8s:
		return eval_operand(e, 8, false, &x) && eval_push(e, x);
	case DW_OP_constu:
		return cfi_entry_uleb(&e->p, e->end, &x) && eval_push(e, x);
	default:
		return cfi_entry_sleb(&e->p, e->end, (int64_t *)&x) && eval_push(e, x);
	}
}

/* Operations that reorder the stack. */
static bool eval_shuffle(struct eval *e, uint8_t op)
{
	uint64_t x, *top = e->stack + e->n;
	switch (op) {
	case DW_OP_dup:
		return e->n >= 1 && eval_push(e, top[-1]);
	case DW_OP_drop:
		return e->n >= 1 && (e->n--, true);
	case DW_OP_over:
		return e->n >= 2 && eval_push(e, top[-2]);
	case DW_OP_pick:
		return eval_operand(e, 1, false, &x) && x < e->n && eval_push(e, top[-1 - (int)x]);
	case DW_OP_swap:
		if (e->n < 2)
			return false;
		x = top[-1], top[-1] = top[-2], top[-2] = x;
		return true;
	default: /* DW_OP_rot */
		if (e->n < 3)
			return false;
		x = top[-1], top[-1] = top[-2], top[-2] = top[-3], top[-3] = x;
		return true;
	}
}

static bool eval_unary(struct eval *e, uint8_t op)
{
	uint64_t x;
	if (!e->n)
		return false;
	uint64_t *top = &e->stack[e->n - 1];
	switch (op) {
	case DW_OP_abs: *top = (int64_t)*top < 0 ? -*top : *top; return true;
	case DW_OP_neg: *top = -*top; return true;
	case DW_OP_not: *top = ~*top; return true;
	default: /* DW_OP_plus_uconst */
		if (!cfi_entry_uleb(&e->p, e->end, &x))
			return false;
		*top += x;
		return true;
	}
}

static bool eval_binary(struct eval *e, uint8_t op)
{
	if (e->n < 2)
		return false;
	uint64_t b = e->stack[--e->n], *a = &e->stack[e->n - 1];
	int64_t sa = (int64_t)*a, sb = (int64_t)b;
	switch (op) {
	case DW_OP_and: *a &= b; break;
	case DW_OP_or: *a |= b; break;
	case DW_OP_xor: *a ^= b; break;
	case DW_OP_plus: *a += b; break;
	case DW_OP_minus: *a -= b; break;
	case DW_OP_mul: *a *= b; break;
	case DW_OP_div:
		if (!b)
			return false;
		*a = sb == -1 ? -*a : (uint64_t)(sa / sb);
		break;
	case DW_OP_mod:
		if (!b)
			return false;
		*a %= b;
		break;
	case DW_OP_shl: *a = b < 64 ? *a << b : 0; break;
	case DW_OP_shr: *a = b < 64 ? *a >> b : 0; break;
	case DW_OP_shra: *a = (uint64_t)(sa >> (b < 64 ? b : 63)); break;
	case DW_OP_eq: *a = sa == sb; break;
	case DW_OP_ne: *a = sa != sb; break;
	case DW_OP_lt: *a = sa < sb; break;
	case DW_OP_le: *a = sa <= sb; break;
	case DW_OP_gt: *a = sa > sb; break;
	default: *a = sa >= sb; break; /* DW_OP_ge */
	}
	return true;
}

static enum cfi_eval eval_deref(struct eval *e, uint8_t op)
{
	uint64_t n_bytes = 8;
	if (op == DW_OP_deref_size && !eval_operand(e, 1, false, &n_bytes))
		return CFI_EVAL_BAD;
	if (!e->n || !n_bytes || n_bytes > 8)
		return CFI_EVAL_BAD;
	uint64_t *top = &e->stack[e->n - 1];
	return e->env->read(e->env->ctx, *top, n_bytes, top);
}

static enum cfi_eval eval_breg(struct eval *e, uint8_t op)
{
	uint64_t reg = op - DW_OP_breg0, x;
	int64_t off;
	if (op == DW_OP_bregx && !cfi_entry_uleb(&e->p, e->end, &reg))
		return CFI_EVAL_BAD;
	if (!cfi_entry_sleb(&e->p, e->end, &off))
		return CFI_EVAL_BAD;
	if (reg >= ARCH_REGS_MAX)
		return CFI_EVAL_NO_REG;
	enum cfi_eval r = e->env->reg(e->env->ctx, (unsigned int)reg, &x);
	if (r == CFI_EVAL_OK && !eval_push(e, x + (uint64_t)off))
		r = CFI_EVAL_BAD;
	return r;
}

static enum cfi_eval eval_op(struct eval *e, uint8_t op)
{
	bool ok;
	if (op >= DW_OP_lit0 && op <= DW_OP_lit31)
		return eval_push(e, op - DW_OP_lit0) ? CFI_EVAL_OK : CFI_EVAL_BAD;
	if ((op >= DW_OP_breg0 && op <= DW_OP_breg31) || op == DW_OP_bregx)
		return eval_breg(e, op);
	switch (op) {
	case DW_OP_deref: case DW_OP_deref_size:
		return eval_deref(e, op);
	case DW_OP_nop:
		ok = true;
		break;
	case DW_OP_addr: case DW_OP_const1u ... DW_OP_consts:
		ok = eval_const(e, op);
		break;
	case DW_OP_dup ... DW_OP_rot:
		ok = eval_shuffle(e, op);
		break;
	case DW_OP_abs: case DW_OP_neg: case DW_OP_not: case DW_OP_plus_uconst:
		ok = eval_unary(e, op);
		break;
	case DW_OP_skip:
		ok = eval_branch(e, true);
		break;
	case DW_OP_bra:
		ok = e->n && eval_branch(e, e->stack[--e->n] != 0);
		break;
	case DW_OP_and: case DW_OP_div ... DW_OP_mul: case DW_OP_or: case DW_OP_plus:
	case DW_OP_shl ... DW_OP_xor: case DW_OP_eq ... DW_OP_ne:
		ok = eval_binary(e, op);
		break;
	default:
		ok = false;
	}
	return ok ? CFI_EVAL_OK : CFI_EVAL_BAD;
}

enum cfi_eval cfi_eval_expr(const struct cfi_eval_env *env, const uint8_t *expr, size_t n_bytes,
			    const uint64_t *first, uint64_t *ret)
{
	struct eval e = { .env = env, .start = expr, .p = expr, .end = expr + n_bytes };
	if (first)
		eval_push(&e, *first);
	for (unsigned int n_steps = 0; e.p < e.end; n_steps++) {
		if (n_steps == EVAL_STEPS_MAX)
			return CFI_EVAL_BAD;
		uint8_t op = *e.p++;
		enum cfi_eval r = eval_op(&e, op);
		if (r != CFI_EVAL_OK)
			return r;
	}
	if (!e.n)
		return CFI_EVAL_BAD;
	*ret = e.stack[e.n - 1];
	return CFI_EVAL_OK;
}

enum cfi_eval cfi_eval_reg(const struct cfi_eval_env *env, const struct cfi_reg_rule *rule,
			   unsigned int reg, uint64_t cfa, uint64_t *ret)
{
	uint64_t at;
	enum cfi_eval r;
	switch ((enum cfi_how)rule->how) {
	case CFI_HOW_UNSPECIFIED: case CFI_HOW_SAME:
		return env->reg(env->ctx, reg, ret);
	case CFI_HOW_UNDEFINED:
		return CFI_EVAL_NO_REG;
	case CFI_HOW_OFFSET:
		return env->read(env->ctx, cfa + (uint64_t)rule->off, 8, ret);
	case CFI_HOW_VAL_OFFSET:
		*ret = cfa + (uint64_t)rule->off;
		return CFI_EVAL_OK;
	case CFI_HOW_REGISTER:
		return rule->reg < ARCH_REGS_MAX ?
			env->reg(env->ctx, (unsigned int)rule->reg, ret) : CFI_EVAL_NO_REG;
	case CFI_HOW_EXPR:
		r = cfi_eval_expr(env, rule->expr, rule->n_expr_bytes, &cfa, &at);
		return r == CFI_EVAL_OK ? env->read(env->ctx, at, 8, ret) : r;
	case CFI_HOW_VAL_EXPR:
		return cfi_eval_expr(env, rule->expr, rule->n_expr_bytes, &cfa, ret);
	}
	return CFI_EVAL_BAD;
}
