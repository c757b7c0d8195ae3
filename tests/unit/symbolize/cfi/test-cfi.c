/* CFI as bytes: all forms of entries, every instruction, search, folding to rules. */

#include "symbolize/cfi/cfi.h"
#include "tests/unit/symbolize/cfibuild.h"
#include "tests/unit/msan.h"
#include "tests/unit/tap.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

static struct cfi *open_eh(const struct cfibuild *b, const struct arch *a)
{
	struct cfi *c;
	const struct cfi_bytes none = { 0 };
	if (cfi_open_sections(a, none, cfibuild_section(b), none, &c))
		abort();
	return c;
}

/* ---- instructions ---------------------------------------------------------------- */

struct program {
	const char *name;
	uint8_t n;
	uint8_t op[24];
	uint8_t at;                     /* the address, relative to the function */
	int cfa_reg;                    /* -1: an expression; -2: malformed */
	int64_t cfa_off;                /* of an expression: its length */
	int reg, how;                   /* a register and its rule; reg -1: none */
	int64_t off;
};

#define OPS(...) sizeof((uint8_t[]){ __VA_ARGS__ }), { __VA_ARGS__ }

/* The initial state is CFA = rsp + 8, return address at CFA - 8; data alignment -8, code 2. */
static const struct program programs[] = {
	{ "no instructions", OPS(DW_CFA_nop), 0, 7, 8, 16, CFI_HOW_OFFSET, -8 },
	{ "before advance_loc", OPS(DW_CFA_advance_loc | 1, DW_CFA_def_cfa_offset, 16), 1, 7, 8,
	  -1 },
	{ "after advance_loc", OPS(DW_CFA_advance_loc | 1, DW_CFA_def_cfa_offset, 16), 2, 7, 16,
	  -1 },
	{ "advance_loc1", OPS(DW_CFA_advance_loc1, 4, DW_CFA_def_cfa_offset, 16), 8, 7, 16, -1 },
	{ "before advance_loc1", OPS(DW_CFA_advance_loc1, 4, DW_CFA_def_cfa_offset, 16), 7, 7, 8,
	  -1 },
	{ "advance_loc2", OPS(DW_CFA_advance_loc2, 4, 0, DW_CFA_def_cfa_offset, 16), 8, 7, 16, -1 },
	{ "advance_loc4", OPS(DW_CFA_advance_loc4, 4, 0, 0, 0, DW_CFA_def_cfa_offset, 16), 8, 7, 16,
	  -1 },
	{ "advance_loc8",
	  OPS(DW_CFA_MIPS_advance_loc8, 4, 0, 0, 0, 0, 0, 0, 0, DW_CFA_def_cfa_offset, 16), 8, 7,
	  16, -1 },
	{ "def_cfa", OPS(DW_CFA_def_cfa, 6, 0x90, 1), 0, 6, 144, -1 },
	{ "def_cfa_sf", OPS(DW_CFA_def_cfa_sf, 6, 0x7e), 0, 6, 16, -1 },
	{ "def_cfa_register", OPS(DW_CFA_def_cfa_register, 3), 0, 3, 8, -1 },
	{ "def_cfa_offset_sf", OPS(DW_CFA_def_cfa_offset_sf, 0x7d), 0, 7, 24, -1 },
	{ "def_cfa_expression", OPS(DW_CFA_def_cfa_expression, 2, DW_OP_breg7, 8), 0, -1, 2, -1 },
	{ "def_cfa after an expression",
	  OPS(DW_CFA_def_cfa_expression, 2, DW_OP_breg7, 8, DW_CFA_def_cfa, 6, 16), 0, 6, 16, -1 },
	{ "offset", OPS(DW_CFA_offset | 6, 2), 0, 7, 8, 6, CFI_HOW_OFFSET, -16 },
	{ "offset_extended", OPS(DW_CFA_offset_extended, 12, 3), 0, 7, 8, 12, CFI_HOW_OFFSET, -24 },
	{ "offset_extended_sf", OPS(DW_CFA_offset_extended_sf, 12, 0x7f), 0, 7, 8, 12,
	  CFI_HOW_OFFSET, 8 },
	{ "GNU_negative_offset_extended", OPS(DW_CFA_GNU_negative_offset_extended, 12, 2), 0, 7, 8,
	  12, CFI_HOW_OFFSET, 16 },
	{ "val_offset", OPS(DW_CFA_val_offset, 3, 2), 0, 7, 8, 3, CFI_HOW_VAL_OFFSET, -16 },
	{ "val_offset_sf", OPS(DW_CFA_val_offset_sf, 3, 0x7e), 0, 7, 8, 3, CFI_HOW_VAL_OFFSET, 16 },
	{ "undefined", OPS(DW_CFA_undefined, 3), 0, 7, 8, 3, CFI_HOW_UNDEFINED, 0 },
	{ "same_value", OPS(DW_CFA_offset | 3, 2, DW_CFA_same_value, 3), 0, 7, 8, 3, CFI_HOW_SAME,
	  0 },
	{ "register", OPS(DW_CFA_register, 3, 12), 0, 7, 8, 3, CFI_HOW_REGISTER, 12 },
	{ "restore", OPS(DW_CFA_offset | 16, 9, DW_CFA_restore | 16), 0, 7, 8, 16, CFI_HOW_OFFSET,
	  -8 },
	{ "restore_extended", OPS(DW_CFA_undefined, 16, DW_CFA_restore_extended, 16), 0, 7, 8, 16,
	  CFI_HOW_OFFSET, -8 },
	{ "remember and restore",
	  OPS(DW_CFA_offset | 3, 2, DW_CFA_remember_state, DW_CFA_def_cfa, 6, 64, DW_CFA_offset | 3,
	      4, DW_CFA_restore_state),
	  0, 7, 8, 3, CFI_HOW_OFFSET, -16 },
	{ "two remembered states",
	  OPS(DW_CFA_def_cfa_offset, 16, DW_CFA_remember_state, DW_CFA_def_cfa_offset, 24,
	      DW_CFA_remember_state, DW_CFA_def_cfa_offset, 32, DW_CFA_restore_state,
	      DW_CFA_restore_state),
	  0, 7, 16, -1 },
	{ "restore_state without remember_state", OPS(DW_CFA_restore_state), 0, -2, 0, -1 },
	{ "expression", OPS(DW_CFA_expression, 3, 1, DW_OP_lit0), 0, 7, 8, 3, CFI_HOW_EXPR, 1 },
	{ "val_expression", OPS(DW_CFA_val_expression, 3, 2, DW_OP_breg7, 0), 0, 7, 8, 3,
	  CFI_HOW_VAL_EXPR, 2 },
	{ "GNU_args_size", OPS(DW_CFA_GNU_args_size, 0xff, 1, DW_CFA_def_cfa_offset, 16), 0, 7, 16,
	  -1 },
	{ "GNU_window_save, negate_ra_state",
	  OPS(DW_CFA_GNU_window_save, 0x2c, DW_CFA_def_cfa_offset, 16), 0, 7, 16, -1 },
	{ "the rule of a vector register",
	  OPS(DW_CFA_offset_extended, 40, 2, DW_CFA_def_cfa_offset, 16), 0, 7,
	  16, -1 },
	{ "unknown instruction", OPS(0x3f, 0, 0), 0, -2, 0, -1 },
	{ "def_cfa_offset when the CFA is an expression",
	  OPS(DW_CFA_def_cfa_expression, 1, DW_OP_lit0, DW_CFA_def_cfa_offset, 8), 0, -2, 0, -1 },
	{ "a CFA relative to an unknown register", OPS(DW_CFA_def_cfa, 77, 8), 0, -2, 0, -1 },
	{ "an expression that exceeds the program",
	  OPS(DW_CFA_def_cfa_expression, 0x7f, 0), 0, -2, 0, -1 },
	{ "too many remembered states", OPS(10, 10, 10, 10, 10, 10, 10, 10, 10, 10), 0, -2, 0, -1 },
	{ "instructions after the address are ignored", OPS(DW_CFA_advance_loc | 8, 0x3f), 0, 7, 8,
	  -1 },
};

static void instructions(void)
{
	for (size_t i = 0; i < sizeof(programs) / sizeof(*programs); i++) {
		const struct program *p = &programs[i];
		struct cfibuild b = { .vaddr = 0x5000, .is_eh = true };
		struct cfi_row row;
		cfibuild_cie(&b, 1, "zR", 2, -8, 16);
		CFIBUILD(&b, DW_CFA_def_cfa, 7, 8, DW_CFA_offset | 16, 1);
		cfibuild_end(&b);
		cfibuild_fde(&b, 0x1000, 0x100);
		cfibuild_bytes(&b, p->op, p->n);
		cfibuild_end(&b);
		cfibuild_terminate(&b);
		struct cfi *c = open_eh(&b, &arch_x86_64);
		enum cfi_found found = cfi_row_at(c, 0x1000 + p->at, &row);
		if (p->cfa_reg == -2) {
			tap_int(found, CFI_MALFORMED, p->name);
			cfi_close(c);
			continue;
		}
		bool ok = found == CFI_FOUND;
		if (ok && p->cfa_reg == -1)
			ok = row.cfa.how == CFI_HOW_VAL_EXPR && row.cfa.n_expr_bytes == p->cfa_off;
		else if (ok)
			ok = row.cfa.how == CFI_HOW_REGISTER &&
			     row.cfa_reg == (unsigned int)p->cfa_reg && row.cfa.off == p->cfa_off;
		if (ok && p->reg >= 0) {
			const struct cfi_reg_rule *r = &row.reg[p->reg];
			ok = r->how == (uint32_t)p->how;
			if (p->how == CFI_HOW_EXPR || p->how == CFI_HOW_VAL_EXPR)
				ok = ok && r->n_expr_bytes == p->off;
			else
				ok = ok && r->off == p->off;
		}
		tap_ok(ok, "%s", p->name);
		cfi_close(c);
	}
}

static void set_loc(void)
{
	struct cfibuild b = { .vaddr = 0x5000, .is_eh = true };
	struct cfi_row row;
	cfibuild_cie_x86(&b, "zR");
	cfibuild_fde(&b, 0x1000, 0x100);
	CFIBUILD(&b, DW_CFA_set_loc);
	cfibuild_pointer(&b, 0x1040, DW_EH_PE_pcrel | DW_EH_PE_sdata4);
	CFIBUILD(&b, DW_CFA_def_cfa_offset, 16);
	cfibuild_end(&b);
	struct cfi *c = open_eh(&b, &arch_x86_64);
	tap_ok(cfi_row_at(c, 0x103f, &row) == CFI_FOUND && row.cfa.off == 8, "before set_loc");
	tap_ok(cfi_row_at(c, 0x1040, &row) == CFI_FOUND && row.cfa.off == 16, "after set_loc");
	cfi_close(c);
}

/* ---- entries ------------------------------------------------------------------------ */

static void check_forms(const char *name, bool is_eh, bool is_64, uint8_t version, const char *aug,
			uint8_t enc)
{
	struct cfibuild b = {
		.vaddr = is_eh ? 0x5000 : 0, .is_eh = is_eh, .is_64 = is_64, .enc = enc
	};
	const struct cfi_bytes none = { 0 };
	struct cfi *c;
	struct cfi_row row;
	cfibuild_cie(&b, version, aug, 1, -8, 16);
	CFIBUILD(&b, DW_CFA_def_cfa, 7, 8, DW_CFA_offset | 16, 1);
	cfibuild_end(&b);
	cfibuild_fde(&b, 0x1000, 0x100);
	cfibuild_end(&b);
	cfibuild_fde(&b, 0x1200, 0x80);
	CFIBUILD(&b, DW_CFA_def_cfa_offset, 24);
	cfibuild_end(&b);
	if (is_eh)
		cfibuild_terminate(&b);
	if (cfi_open_sections(&arch_x86_64, none, is_eh ? cfibuild_section(&b) : none,
			      is_eh ? none : cfibuild_section(&b), &c))
		abort();
	bool ok = cfi_row_at(c, 0x10ff, &row) == CFI_FOUND && row.cfa.off == 8 &&
		cfi_row_at(c, 0x127f, &row) == CFI_FOUND && row.cfa.off == 24 &&
		row.is_signal == !!strchr(aug, 'S') &&
		cfi_row_at(c, 0x1100, &row) == CFI_NOT_FOUND &&
		cfi_row_at(c, 0x1280, &row) == CFI_NOT_FOUND &&
		cfi_row_at(c, 0xfff, &row) == CFI_NOT_FOUND;
	tap_ok(ok, "%s", name);
	cfi_close(c);
}

static void forms(void)
{
	check_forms(".eh_frame, version 1, zR", true, false, 1, "zR", 0);
	check_forms("version 3", true, false, 3, "zR", 0);
	check_forms("version 4", true, false, 4, "zR", 0);
	check_forms("64-bit length", true, true, 1, "zR", 0);
	check_forms("zPLR", true, false, 1, "zPLR", 0);
	check_forms("signal frame", true, false, 1, "zRS", 0);
	check_forms("arm64 key B, tagged", true, false, 1, "zRBG", 0);
	check_forms("an unknown letter after z", true, false, 1, "zRx", 0);
	check_forms("absolute addresses", true, false, 1, "", DW_EH_PE_udata8);
	check_forms("udata2", true, false, 1, "zR", DW_EH_PE_udata2);
	check_forms("pcrel sdata8", true, false, 1, "zR", DW_EH_PE_pcrel | DW_EH_PE_sdata8);
	check_forms("uleb128", true, false, 1, "zR", DW_EH_PE_uleb128);
	check_forms(".debug_frame, version 1", false, false, 1, "", 0);
	check_forms(".debug_frame, version 3", false, false, 3, "", 0);
	check_forms(".debug_frame, version 4", false, false, 4, "", 0);
	check_forms(".debug_frame, 64-bit", false, true, 4, "", 0);
}

static void hostile_entries(void)
{
	struct cfi_row row;
	struct cfibuild b = { .vaddr = 0x5000, .is_eh = true };
	cfibuild_cie(&b, 2, "zR", 1, -8, 16);
	cfibuild_end(&b);
	cfibuild_fde(&b, 0x1000, 0x100);
	cfibuild_end(&b);
	struct cfi *c = open_eh(&b, &arch_x86_64);
	tap_int(cfi_row_at(c, 0x1000, &row), CFI_NOT_FOUND,
		"an FDE whose CIE has an unknown version");
	cfi_close(c);

	b = (struct cfibuild){ .vaddr = 0x5000, .is_eh = true };
	cfibuild_cie_x86(&b, "zR");
	cfibuild_fde(&b, 0x1000, 0x100);
	cfibuild_end(&b);
	uint32_t len = 0xfffffff0;
	memcpy(b.v + b.n, &len, 4);
	b.n += 8;
	c = open_eh(&b, &arch_x86_64);
	tap_int(cfi_row_at(c, 0x1000, &row), CFI_FOUND,
		"an entry that exceeds the section ends the index");
	cfi_close(c);

	b = (struct cfibuild){ .vaddr = 0x5000, .is_eh = true };
	cfibuild_cie_x86(&b, "zR");
	cfibuild_fde(&b, 0x1000, 0x100);
	uint32_t id = 0x7fffffff; /* the CIE is before the section */
	memcpy(b.v + b.entry + 4, &id, 4);
	cfibuild_end(&b);
	c = open_eh(&b, &arch_x86_64);
	tap_int(cfi_row_at(c, 0x1000, &row), CFI_NOT_FOUND, "a CIE outside the section");
	cfi_close(c);

	b = (struct cfibuild){ .vaddr = 0x5000, .is_eh = true };
	size_t off = cfibuild_fde(&b, 0x1000, 0x100);
	id = 4; /* its own CIE */
	memcpy(b.v + off + 4, &id, 4);
	cfibuild_end(&b);
	c = open_eh(&b, &arch_x86_64);
	tap_int(cfi_row_at(c, 0x1000, &row), CFI_NOT_FOUND, "an FDE that is its own CIE");
	cfi_close(c);
}

/* ---- search --------------------------------------------------------------------------- */

static void check_table(const char *name, uint8_t enc)
{
	struct cfibuild b = { .vaddr = 0x9000, .is_eh = true }, h = { .vaddr = 0x8000 };
	uint64_t entry[40][2];
	struct cfi *c;
	const struct cfi_bytes none = { 0 };
	struct cfi_row row;
	cfibuild_cie_x86(&b, "zR");
	for (size_t i = 0; i < 40; i++) {
		entry[i][0] = 0x1000 + i * 0x100;
		entry[i][1] = cfibuild_fde(&b, entry[i][0], 0x80);
		CFIBUILD(&b, DW_CFA_def_cfa_offset, (uint8_t)(8 + i));
		cfibuild_end(&b);
	}
	cfibuild_hdr(&h, &b, enc, entry, 40);
	if (cfi_open_sections(&arch_x86_64, cfibuild_section(&h), cfibuild_section(&b), none, &c))
		abort();
	bool ok = c->n_table == 40;
	for (size_t i = 0; i < 40; i++) {
		uint64_t at = entry[i][0];
		ok = ok && cfi_row_at(c, at, &row) == CFI_FOUND &&
		     row.cfa.off == (int64_t)(8 + i);
		ok = ok && cfi_row_at(c, at + 0x7f, &row) == CFI_FOUND &&
		     row.cfa.off == (int64_t)(8 + i);
		ok = ok && cfi_row_at(c, at + 0x80, &row) == CFI_NOT_FOUND;
	}
	ok = ok && cfi_row_at(c, 0, &row) == CFI_NOT_FOUND &&
		cfi_row_at(c, ~0ull, &row) == CFI_NOT_FOUND;
	tap_ok(ok && !c->eh_index.is_built, "%s", name);
	cfi_close(c);
}

static void search(void)
{
	check_table("table of datarel sdata4", DW_EH_PE_datarel | DW_EH_PE_sdata4);
	check_table("table of datarel sdata8", DW_EH_PE_datarel | DW_EH_PE_sdata8);
	check_table("table of absolute udata4", DW_EH_PE_udata4);
	check_table("table of pcrel sdata4", DW_EH_PE_pcrel | DW_EH_PE_sdata4);

	/* a table that claims more entries than it holds, and entries that are not FDEs */
	struct cfibuild b = { .vaddr = 0x9000, .is_eh = true }, h = { .vaddr = 0x8000 };
	const struct cfi_bytes none = { 0 };
	struct cfi *c;
	struct cfi_row row;
	uint64_t entry[2][2] = { { 0x1000, 0 }, { 0x2000, 0xffffff } };
	cfibuild_cie_x86(&b, "zR");
	cfibuild_hdr(&h, &b, DW_EH_PE_datarel | DW_EH_PE_sdata4, entry, 2);
	memset(h.v + 8, 0xff, 4);
	if (cfi_open_sections(&arch_x86_64, cfibuild_section(&h), cfibuild_section(&b), none, &c))
		abort();
	tap_int((long long)c->n_table, 2, "a table that claims to be longer than its section");
	tap_int(cfi_row_at(c, 0x1000, &row), CFI_MALFORMED, "a table entry that refers to a CIE");
	tap_int(cfi_row_at(c, 0x2000, &row), CFI_MALFORMED,
		"a table entry that refers to no entry");
	cfi_close(c);

	/* dropped functions stay in .debug_frame at address 0 */
	struct cfibuild d = { .is_eh = false };
	cfibuild_cie_x86(&d, "");
	cfibuild_fde(&d, 0, 0x8000);
	cfibuild_end(&d);
	cfibuild_fde(&d, 0x3000, 0x10);
	cfibuild_end(&d);
	struct cfibuild e = { .vaddr = 0x5000, .is_eh = true };
	cfibuild_cie_x86(&e, "zR");
	cfibuild_fde(&e, 0x1000, 0x100);
	cfibuild_end(&e);
	if (cfi_open_sections(&arch_x86_64, none, cfibuild_section(&e), cfibuild_section(&d), &c))
		abort();
	tap_ok(cfi_row_at(c, 0x1000, &row) == CFI_FOUND &&
		       cfi_row_at(c, 0x3000, &row) == CFI_FOUND &&
		       cfi_row_at(c, 0x2000, &row) == CFI_NOT_FOUND,
	       ".debug_frame fills the gaps of .eh_frame");
	cfi_close(c);
}

/* ---- rules ------------------------------------------------------------------------------ */

static struct cfi_rule rule_of(const struct arch *a, const char *aug, uint64_t at,
			       const uint8_t *op, size_t n)
{
	struct cfibuild b = { .vaddr = 0x5000, .is_eh = true };
	struct cfi_rule r;
	if (a == &arch_x86_64)
		cfibuild_cie_x86(&b, aug);
	else
		cfibuild_cie_arm(&b, aug);
	cfibuild_fde(&b, 0x1000, 0x100);
	cfibuild_bytes(&b, op, n);
	cfibuild_end(&b);
	struct cfi *c = open_eh(&b, a);
	cfi_rule_at(c, at, &r);
	cfi_close(c);
	return r;
}
#define RULE(a, aug, at, ...) \
	rule_of(a, aug, at, (const uint8_t[]){ __VA_ARGS__ }, sizeof((uint8_t[]){ __VA_ARGS__ }))

static bool plain(struct cfi_rule r, uint8_t flags, int cfa_off, int ra_off, int fp_off)
{
	return r.kind == CFI_PLAIN && r.flags == flags && r.cfa_off8 * 8 == cfa_off &&
		(flags & CFI_FLAG_RA_REG || r.ra_off8 * 8 == ra_off) &&
		(!(flags & CFI_FLAG_FP_SAVED) || r.fp_off8 * 8 == fp_off);
}

static void rules(void)
{
	tap_ok(plain(RULE(&arch_x86_64, "zR", 0x1000, DW_CFA_nop), 0, 8, -8, 0), "x86-64: entry");
	tap_ok(plain(RULE(&arch_x86_64, "zR", 0x1000, DW_CFA_def_cfa, 6, 16, DW_CFA_offset | 6, 2),
		     CFI_FLAG_CFA_FP | CFI_FLAG_FP_SAVED, 16, -8, -16), "x86-64: frame pointer");
	tap_ok(plain(RULE(&arch_x86_64, "zR", 0x1000, DW_CFA_def_cfa_offset, 0x80, 0x80, 0x0c),
		     0, 0x30000, -8, 0), "x86-64: a frame of 192 KiB");
	tap_int(RULE(&arch_x86_64, "zR", 0x1000, DW_CFA_def_cfa_offset, 0x80, 0x80, 0x40).kind,
		CFI_UNUSUAL, "x86-64: a frame of 1 MiB");
	tap_int(RULE(&arch_x86_64, "zR", 0x1000, DW_CFA_undefined, 16).kind, CFI_ROOT,
		"x86-64: root");
	tap_int(RULE(&arch_x86_64, "zRS", 0x1000, DW_CFA_nop).kind, CFI_UNUSUAL, "signal frame");
	tap_int(RULE(&arch_x86_64, "zR", 0x1000, DW_CFA_def_cfa, 10, 0).kind, CFI_UNUSUAL,
		"CFA relative to r10");
	tap_int(RULE(&arch_x86_64, "zR", 0x1000, DW_CFA_val_offset, 7, 0).kind, CFI_UNUSUAL,
		"sp with a rule of its own");
	tap_int(RULE(&arch_x86_64, "zR", 0x2000, DW_CFA_nop).kind, CFI_NONE, "no FDE");
	tap_int(RULE(&arch_x86_64, "zR", 0x1000, 0x3f).kind, CFI_BAD, "malformed");
#define PLT                                                                                        \
	DW_CFA_def_cfa_expression, 11, DW_OP_breg7, 8, DW_OP_breg16, 0, DW_OP_lit15, DW_OP_and,    \
		DW_OP_lit11, DW_OP_ge, DW_OP_lit3, DW_OP_shl, DW_OP_plus
	tap_ok(plain(RULE(&arch_x86_64, "zR", 0x100a, PLT), 0, 8, -8, 0),
	       "PLT expression, before the push");
	tap_ok(plain(RULE(&arch_x86_64, "zR", 0x100b, PLT), 0, 16, -8, 0),
	       "PLT expression, after the push");
	tap_int(RULE(&arch_x86_64, "zR", 0x1000, DW_CFA_def_cfa_expression, 3, DW_OP_breg6, 0x78,
		     DW_OP_deref).kind, CFI_UNUSUAL, "an expression that loads");
	tap_int(RULE(&arch_x86_64, "zR", 0x1000, DW_CFA_def_cfa_expression, 5, DW_OP_breg7, 0,
		     DW_OP_const1u, 0xf0, DW_OP_and)
			.kind,
		CFI_UNUSUAL, "an expression other than sp + off");

	tap_ok(plain(RULE(&arch_arm64, "zR", 0x1000, DW_CFA_nop), CFI_FLAG_RA_REG, 0, 0, 0),
	       "arm64: a leaf keeps its return address in the link register");
	tap_ok(plain(RULE(&arch_arm64, "zR", 0x1000, DW_CFA_def_cfa_offset, 32,
			  DW_CFA_offset | 29, 4, DW_CFA_offset | 30, 3),
		     CFI_FLAG_FP_SAVED, 32, -24, -32),
	       "arm64: frame record");
	tap_ok(plain(RULE(&arch_arm64, "zRB", 0x1000, DW_CFA_GNU_window_save, DW_CFA_def_cfa, 29,
			  16, DW_CFA_offset | 29, 2, DW_CFA_offset | 30, 1),
		     CFI_FLAG_FP_SAVED | CFI_FLAG_CFA_FP, 16, -8, -16),
	       "arm64: signed return address");
	tap_int(RULE(&arch_arm64, "zR", 0x1000, DW_CFA_undefined, 30).kind, CFI_ROOT,
		"arm64: root");
	tap_int(RULE(&arch_arm64, "zR", 0x1000, DW_CFA_register, 30, 16).kind, CFI_UNUSUAL,
		"arm64: return address in another register");
	tap_ok(plain(RULE(&arch_arm64, "zR", 0x1000, DW_CFA_offset_extended_sf, 30, 0x7f,
			  DW_CFA_def_cfa_offset, 32), 0, 48, -8, 0),
	       "arm64: the frame of _dl_runtime_resolve includes the words pushed by the PLT");
}

/* ---- files --------------------------------------------------------------------------------- */

/* An ELF file with .eh_frame_hdr and .eh_frame in one segment, or with sections only.  Its
 * .debug_frame is optionally compressed. */
static int make_file(bool with_phdr, bool compress_debug, size_t cut)
{
	struct { Elf64_Ehdr h; Elf64_Phdr ph[2]; } e = { 0 };
	struct cfibuild b = { .vaddr = 0x400800, .is_eh = true }, h = { .vaddr = 0x400400 };
	struct cfibuild d = { .is_eh = false };
	static const char names[] = "\0.eh_frame\0.debug_frame";
	static const uint8_t sigreturn[] = { 0x48, 0xc7, 0xc0, 15, 0, 0, 0, 0x0f, 0x05 };
	static uint8_t file[65536], packed[8192];
	uint64_t entry[1][2] = { { 0x401000, 0 } };
	memset(file, 0, sizeof(file));
	cfibuild_cie_x86(&b, "zR");
	entry[0][1] = cfibuild_fde(&b, 0x401000, 0x100);
	cfibuild_end(&b);
	cfibuild_terminate(&b);
	cfibuild_hdr(&h, &b, DW_EH_PE_datarel | DW_EH_PE_sdata4, entry, 1);
	cfibuild_cie_x86(&d, "");
	cfibuild_fde(&d, 0x402000, 0x100);
	cfibuild_end(&d);

	memcpy(e.h.e_ident, ELFMAG "\2\1\1", 7);
	e.h.e_type = ET_EXEC;
	e.h.e_machine = EM_X86_64;
	e.h.e_phoff = offsetof(__typeof__(e), ph);
	e.h.e_phentsize = sizeof(Elf64_Phdr);
	e.h.e_phnum = 2;
	e.ph[0] = (Elf64_Phdr){ .p_type = PT_LOAD, .p_flags = PF_R, .p_vaddr = 0x400000,
		.p_filesz = 0x1000, .p_memsz = 0x1000 };
	e.ph[1] = (Elf64_Phdr){ .p_type = with_phdr ? PT_GNU_EH_FRAME : PT_NULL, .p_offset = 0x400,
		.p_vaddr = h.vaddr, .p_filesz = h.n, .p_memsz = h.n };
	e.h.e_shoff = 0x3000;
	e.h.e_shentsize = sizeof(Elf64_Shdr);
	e.h.e_shnum = 4;
	e.h.e_shstrndx = 3;
	size_t n_debug = d.n;
	memcpy(file + 0x1000, d.v, d.n);
	if (compress_debug) {
		Elf64_Chdr ch = { .ch_type = ELFCOMPRESS_ZLIB, .ch_size = d.n, .ch_addralign = 8 };
		uLongf n = sizeof(packed);
		compress(packed, &n, d.v, d.n);
		MSAN_WRITTEN(packed, sizeof(packed));
		memcpy(file + 0x1000, &ch, sizeof(ch));
		memcpy(file + 0x1000 + sizeof(ch), packed, n);
		n_debug = sizeof(ch) + n;
	}
	Elf64_Shdr sh[4] = {
		{ 0 },
		{ .sh_name = 1,
		  .sh_type = SHT_PROGBITS,
		  .sh_addr = b.vaddr,
		  .sh_offset = 0x800,
		  .sh_size = b.n },
		{ .sh_name = 11,
		  .sh_type = SHT_PROGBITS,
		  .sh_offset = 0x1000,
		  .sh_size = n_debug,
		  .sh_flags = compress_debug ? SHF_COMPRESSED : 0 },
		{ .sh_type = SHT_STRTAB, .sh_offset = 0x2000, .sh_size = sizeof(names) },
	};
	memcpy(file, &e, sizeof(e));
	memcpy(file + 0x400, h.v, h.n);
	memcpy(file + 0x800, b.v, b.n);
	memcpy(file + 0x2000, names, sizeof(names));
	memcpy(file + 0xc00, sigreturn, sizeof(sigreturn));
	memcpy(file + 0x3000, sh, sizeof(sh));
	FILE *f = tmpfile();
	size_t n = 0x3000 + sizeof(sh);
	if (cut && cut < n)
		n = cut;
	if (!f || fwrite(file, n, 1, f) != 1 || fflush(f))
		abort();
	int fd = dup(fileno(f));
	fclose(f);
	return fd;
}

static void check_file(const char *name, bool with_phdr, bool compress_debug)
{
	int fd = make_file(with_phdr, compress_debug, 0);
	struct cfi *c;
	struct cfi_row row;
	if (!tap_int(cfi_open_file(fd, &c), 0, name))
		return;
	tap_ok(!!c->n_table == with_phdr, "%s: table", name);
	tap_ok(cfi_row_at(c, 0x401010, &row) == CFI_FOUND && row.cfa.off == 8, "%s: .eh_frame",
	       name);
	tap_ok(cfi_row_at(c, 0x402010, &row) == CFI_FOUND && row.cfa.off == 8, "%s: .debug_frame",
	       name);
	tap_int(cfi_row_at(c, 0x403010, &row), CFI_NOT_FOUND, "an address outside all entries");
	cfi_close(c);
	close(fd);
}

static void files(void)
{
	check_file("file with .eh_frame_hdr", true, false);
	check_file("file without .eh_frame_hdr", false, false);
	check_file("file with compressed .debug_frame", true, true);

	struct cfi *c;
	struct cfi_row row;
	int fd = make_file(true, false, 0x780);
	tap_int(cfi_open_file(fd, &c), 0, "a truncated file can be opened");
	tap_int(cfi_row_at(c, 0x401010, &row), CFI_NOT_FOUND, "a truncated file has no CFI");
	cfi_close(c);
	close(fd);

	/* musl's signal trampoline at 0x400c00 is looked up one byte before it */
	struct cfi_rule rule;
	fd = make_file(true, false, 0);
	tap_int(cfi_open_file(fd, &c), 0, "a file with a signal trampoline");
	cfi_rule_at(c, 0x400bff, &rule);
	tap_int(rule.kind, CFI_SIGRETURN, "a signal trampoline without CFI");
	cfi_rule_at(c, 0x400c00, &rule);
	tap_int(rule.kind, CFI_NONE, "only its start is recognised");
	cfi_close(c);
	close(fd);

	/* the file shrinks after it was opened */
	fd = make_file(true, false, 0);
	tap_int(cfi_open_file(fd, &c), 0, "a file that is going to shrink");
	if (ftruncate(fd, 0x500))
		abort();
	tap_ok(cfi_row_at(c, 0x401010, &row) != CFI_FOUND,
	       "a file that has shrunk has no CFI there");
	cfi_close(c);
	close(fd);

	fd = make_file(false, false, 10);
	tap_int(cfi_open_file(fd, &c), -ENOEXEC, "10 bytes are not an ELF file");
	close(fd);
}

/*
 * A section of 4 GiB and one FDE.  Offsets of FDEs have 32 bits, so functions beyond 4 GiB have no
 * CFI, and must not get that of another function.  The section maps one file repeatedly, whose
 * entries are a CIE and an FDE of the largest size.
 */
#define STRIDE 0x20000u
#define FILE_BYTES (128u * STRIDE)
#define LARGE_VADDR 0x100000000u
#define FUNCTION_AHEAD 0x10000000u       /* from an FDE to its function */

static void put_fde(uint8_t *p, uint32_t n_bytes, uint32_t to_cie)
{
	const uint32_t head[] = { n_bytes - 4, to_cie, FUNCTION_AHEAD, 0x100 };
	memcpy(p, head, sizeof(head));
}

static uint8_t *large_section(void)
{
	const size_t n_bytes = (1ull << 32) + 4096;
	struct cfibuild b = { .is_eh = true };
	cfibuild_cie_x86(&b, "zR");
	int fd = memfd_create("section", MFD_CLOEXEC);
	uint8_t *p = mmap(NULL, n_bytes, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p == MAP_FAILED || fd < 0 || ftruncate(fd, FILE_BYTES))
		return NULL;
	for (uint64_t at = 0; at < 1ull << 32; at += FILE_BYTES)
		if (mmap(p + at, FILE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd,
			 0) == MAP_FAILED)
			return NULL;
	close(fd);
	for (uint8_t *at = p; at < p + FILE_BYTES; at += STRIDE) {
		memcpy(at, b.v, b.n);
		put_fde(at + b.n, STRIDE - (uint32_t)b.n, (uint32_t)b.n + 4);
	}
	put_fde(p + (1ull << 32), 24, STRIDE + 4);
	return p;
}

static void large(void)
{
	const uint64_t n_bytes = (1ull << 32) + 4096;
	uint8_t *p = large_section();
	struct cfi *c;
	struct cfi_rule rule;
	if (!p) {
		tap_skip("a section of more than 4 GiB", "no address space");
		return;
	}
	struct cfi_bytes none = { 0 }, eh = { p, n_bytes, LARGE_VADDR };
	if (cfi_open_sections(&arch_x86_64, none, eh, none, &c) < 0)
		abort();
	size_t n_cie = 4 + *(uint32_t *)p;
	uint64_t first = LARGE_VADDR + n_cie + 8 + FUNCTION_AHEAD;
	cfi_rule_at(c, first + 5 * STRIDE, &rule);
	tap_int(rule.kind, CFI_PLAIN, "the sixth function of a section larger than 4 GiB");
	cfi_rule_at(c, first + (1ull << 32) - STRIDE, &rule);
	tap_int(rule.kind, CFI_PLAIN, "the last function below 4 GiB");
	cfi_rule_at(c, LARGE_VADDR + (1ull << 32) + 8 + FUNCTION_AHEAD, &rule);
	tap_int(rule.kind, CFI_NONE, "a function beyond 4 GiB does not get another function's CFI");
	tap_int((int64_t)c->n_bad, 0, "and no entry is reported as malformed");
	cfi_close(c);
	munmap(p, n_bytes);
}

int main(void)
{
	instructions();
	set_loc();
	forms();
	hostile_entries();
	search();
	rules();
	files();
	large();
	return tap_done();
}
