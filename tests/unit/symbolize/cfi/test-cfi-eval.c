/* DWARF expressions, and rules of registers. */

#include "symbolize/cfi/cfi-eval.h"
#include "symbolize/cfi/cfi-run.h"
#include "tests/unit/tap.h"

#include <dwarf.h>

/* Register n holds 100 + n, except 9, which is unknown.  Memory at address a holds a * 3, except
 * below 16, where it is unmapped, and from 1000 on, which is beyond the copy. */
static enum cfi_eval get_reg(void *ctx, unsigned int reg, uint64_t *ret)
{
	(void)ctx;
	if (reg == 9)
		return CFI_EVAL_NO_REG;
	*ret = 100 + reg;
	return CFI_EVAL_OK;
}

static enum cfi_eval get_memory(void *ctx, uint64_t at, size_t n_bytes, uint64_t *ret)
{
	(void)ctx;
	if (at < 16)
		return CFI_EVAL_NO_MEMORY;
	if (at >= 1000)
		return CFI_EVAL_BEYOND;
	*ret = n_bytes == 8 ? at * 3 : (at * 3) & ((1ull << 8 * n_bytes) - 1);
	return CFI_EVAL_OK;
}

static const struct cfi_eval_env env = { .bias = 0x10000, .reg = get_reg, .read = get_memory };

struct expr {
	const char *name;
	uint8_t n;
	uint8_t op[24];
	enum cfi_eval outcome;
	uint64_t value;
};

#define OPS(...) sizeof((uint8_t[]){ __VA_ARGS__ }), { __VA_ARGS__ }
#define OK(x) CFI_EVAL_OK, (uint64_t)(x)
#define BINARY(name, op, a, b, x) \
	{ name, OPS(DW_OP_const1s, (uint8_t)(a), DW_OP_const1s, (uint8_t)(b), op), OK(x) }

static const struct expr exprs[] = {
	{ "lit", OPS(DW_OP_lit31), OK(31) },
	{ "addr", OPS(DW_OP_addr, 1, 2, 0, 0, 0, 0, 0, 0), OK(0x10201) },
	{ "const1u", OPS(DW_OP_const1u, 0xff), OK(255) },
	{ "const1s", OPS(DW_OP_const1s, 0xff), OK(-1) },
	{ "const2u", OPS(DW_OP_const2u, 0, 0x80), OK(0x8000) },
	{ "const2s", OPS(DW_OP_const2s, 0, 0x80), OK(-0x8000) },
	{ "const4u", OPS(DW_OP_const4u, 0, 0, 0, 0x80), OK(0x80000000) },
	{ "const4s", OPS(DW_OP_const4s, 0, 0, 0, 0x80), OK(-0x80000000ll) },
	{ "const8u", OPS(DW_OP_const8u, 1, 0, 0, 0, 0, 0, 0, 0x80), OK(0x8000000000000001) },
	{ "constu", OPS(DW_OP_constu, 0x80, 1), OK(128) },
	{ "consts", OPS(DW_OP_consts, 0x7f), OK(-1) },
	{ "breg", OPS(DW_OP_breg7, 8), OK(115) },
	{ "breg, negative", OPS(DW_OP_breg7, 0x78), OK(99) },
	{ "bregx", OPS(DW_OP_bregx, 12, 1), OK(113) },
	{ "breg, unknown value", OPS(DW_OP_breg9, 0), CFI_EVAL_NO_REG },
	{ "bregx, no such register", OPS(DW_OP_bregx, 0xff, 1, 0), CFI_EVAL_NO_REG },
	{ "deref", OPS(DW_OP_const1u, 200, DW_OP_deref), OK(600) },
	{ "deref_size", OPS(DW_OP_const1u, 200, DW_OP_deref_size, 1), OK(600 & 255) },
	{ "deref of an unmapped address", OPS(DW_OP_lit1, DW_OP_deref), CFI_EVAL_NO_MEMORY },
	{ "deref beyond the copy", OPS(DW_OP_const2u, 0, 8, DW_OP_deref), CFI_EVAL_BEYOND },
	{ "deref_size 9", OPS(DW_OP_const1u, 200, DW_OP_deref_size, 9), CFI_EVAL_BAD },
	{ "dup", OPS(DW_OP_lit3, DW_OP_dup, DW_OP_plus), OK(6) },
	{ "drop", OPS(DW_OP_lit3, DW_OP_lit4, DW_OP_drop), OK(3) },
	{ "over", OPS(DW_OP_lit3, DW_OP_lit4, DW_OP_over), OK(3) },
	{ "pick", OPS(DW_OP_lit3, DW_OP_lit4, DW_OP_lit5, DW_OP_pick, 2), OK(3) },
	{ "pick beyond the stack", OPS(DW_OP_lit3, DW_OP_pick, 1), CFI_EVAL_BAD },
	{ "swap", OPS(DW_OP_lit3, DW_OP_lit4, DW_OP_swap), OK(3) },
	{ "rot", OPS(DW_OP_lit1, DW_OP_lit2, DW_OP_lit3, DW_OP_rot), OK(2) },
	{ "rot moves the top to the third place",
	  OPS(DW_OP_lit1, DW_OP_lit2, DW_OP_lit3, DW_OP_rot, DW_OP_drop,
					DW_OP_drop), OK(3) },
	{ "abs", OPS(DW_OP_const1s, 0xf6, DW_OP_abs), OK(10) },
	{ "neg", OPS(DW_OP_lit5, DW_OP_neg), OK(-5) },
	{ "not", OPS(DW_OP_lit0, DW_OP_not), OK(-1) },
	{ "plus_uconst", OPS(DW_OP_lit5, DW_OP_plus_uconst, 0x80, 1), OK(133) },
	BINARY("and", DW_OP_and, 12, 10, 8), BINARY("or", DW_OP_or, 12, 10, 14),
	BINARY("xor", DW_OP_xor, 12, 10, 6), BINARY("plus", DW_OP_plus, 12, 10, 22),
	BINARY("minus", DW_OP_minus, 12, 10, 2), BINARY("mul", DW_OP_mul, 12, -2, -24),
	BINARY("div", DW_OP_div, -12, 5, -2), BINARY("div by -1", DW_OP_div, 12, -1, -12),
	BINARY("mod", DW_OP_mod, 12, 5, 2), BINARY("shl", DW_OP_shl, 3, 4, 48),
	BINARY("shl by 64", DW_OP_shl, 3, 64, 0), BINARY("shr", DW_OP_shr, -1, 60, 15),
	BINARY("shra", DW_OP_shra, -16, 2, -4), BINARY("shra by 99", DW_OP_shra, -16, 99, -1),
	BINARY("eq", DW_OP_eq, 3, 3, 1), BINARY("ne", DW_OP_ne, 3, 3, 0),
	BINARY("lt", DW_OP_lt, -1, 3, 1), BINARY("le", DW_OP_le, 3, 3, 1),
	BINARY("gt", DW_OP_gt, -1, 3, 0), BINARY("ge", DW_OP_ge, 3, 3, 1),
	{ "div by zero", OPS(DW_OP_lit1, DW_OP_lit0, DW_OP_div), CFI_EVAL_BAD },
	{ "mod by zero", OPS(DW_OP_lit1, DW_OP_lit0, DW_OP_mod), CFI_EVAL_BAD },
	{ "skip", OPS(DW_OP_lit1, DW_OP_skip, 1, 0, DW_OP_lit2), OK(1) },
	{ "bra taken", OPS(DW_OP_lit7, DW_OP_lit1, DW_OP_bra, 1, 0, DW_OP_lit2), OK(7) },
	{ "bra not taken", OPS(DW_OP_lit7, DW_OP_lit0, DW_OP_bra, 1, 0, DW_OP_lit2), OK(2) },
	{ "a loop that counts down", OPS(DW_OP_lit20, DW_OP_lit1, DW_OP_minus, DW_OP_dup, DW_OP_bra,
					 0xfa, 0xff), OK(0) },
	{ "an endless loop", OPS(DW_OP_skip, 0xfd, 0xff), CFI_EVAL_BAD },
	{ "skip outside", OPS(DW_OP_skip, 0x7f, 0), CFI_EVAL_BAD },
	{ "skip before the start", OPS(DW_OP_skip, 0xf0, 0xff), CFI_EVAL_BAD },
	{ "endless pushes", OPS(DW_OP_lit1, DW_OP_skip, 0xfc, 0xff), CFI_EVAL_BAD },
	{ "nop", OPS(DW_OP_lit1, DW_OP_nop), OK(1) },
	{ "empty stack", OPS(DW_OP_plus), CFI_EVAL_BAD },
	{ "no result", OPS(DW_OP_nop), CFI_EVAL_BAD },
	{ "an operand that exceeds the expression", OPS(DW_OP_const4u, 1, 2), CFI_EVAL_BAD },
	{ "unknown operation", OPS(0xff), CFI_EVAL_BAD },
	{ "glibc's signal frame", OPS(DW_OP_breg7, 32, DW_OP_deref), OK(417) },
};

int main(void)
{
	uint64_t x = 0, first = 5;
	for (size_t i = 0; i < sizeof(exprs) / sizeof(*exprs); i++) {
		const struct expr *e = &exprs[i];
		enum cfi_eval got = cfi_eval_expr(&env, e->op, e->n, NULL, &x);
		bool ok = got == e->outcome && (got != CFI_EVAL_OK || x == e->value);
		if (!tap_ok(ok, "%s", e->name))
			printf("# outcome %d value %#lx\n", (int)got, (unsigned long)x);
	}
	const uint8_t plus[] = { DW_OP_lit2, DW_OP_plus };
	tap_ok(cfi_eval_expr(&env, plus, 2, &first, &x) == CFI_EVAL_OK && x == 7,
	       "an initial word on the stack");

	const struct { const char *name; struct cfi_reg_rule rule; uint64_t want;
	} r[] = {
		{ "unspecified", { .how = CFI_HOW_UNSPECIFIED }, 103 },
		{ "same", { .how = CFI_HOW_SAME }, 103 },
		{ "at CFA + off", { .how = CFI_HOW_OFFSET, .off = -8 }, (500 - 8) * 3 },
		{ "CFA + off", { .how = CFI_HOW_VAL_OFFSET, .off = -8 }, 492 },
		{ "in another register", { .how = CFI_HOW_REGISTER, .reg = 12 }, 112 },
		{ "saved at the address of an expression",
		  { .how = CFI_HOW_EXPR, .n_expr_bytes = 2, .expr = plus },
		  1506 },
		{ "the value of an expression",
		  { .how = CFI_HOW_VAL_EXPR, .n_expr_bytes = 2, .expr = plus },
		  502 },
	};
	for (size_t i = 0; i < sizeof(r) / sizeof(*r); i++)
		tap_ok(cfi_eval_reg(&env, &r[i].rule, 3, 500, &x) == CFI_EVAL_OK && x == r[i].want,
		       "register: %s", r[i].name);
	struct cfi_reg_rule undefined = { .how = CFI_HOW_UNDEFINED };
	tap_int(cfi_eval_reg(&env, &undefined, 3, 500, &x), CFI_EVAL_NO_REG, "register: undefined");
	return tap_done();
}
