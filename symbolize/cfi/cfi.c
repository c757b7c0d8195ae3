/*
 * Linkers write .eh_frame_hdr: a sorted table of {function start, FDE}, usually as pairs of 32-bit
 * numbers relative to the header (cfi-table.c).  A binary search needs no preparation and touches
 * some ten pages of the largest file.  Where the table is missing (static programs by Debian's gcc,
 * gold with odd input, .debug_frame), one pass over the section builds an index.
 *
 * A rule is folded into 8 bytes.  So is an expression that amounts to "stack pointer plus a number
 * that depends only on the pc", which linkers write for the PLT: it is evaluated with two different
 * stack pointers.
 */

#include "symbolize/cfi/cfi.h"

#include "base/hash.h"
#include "base/search.h"
#include "symbolize/arch/arch.h"
#include "symbolize/cfi/cfi-eval.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

/* ---- the sorted table of .eh_frame_hdr --------------------------------------- */

/* The start and the FDE address of table entry i. */
static bool table_entry(struct cfi *c, uint64_t i, uint64_t *ret_start, uint64_t *ret_fde)
{
	size_t n = cfi_entry_pointer_bytes(c->table_enc, 8);
	uint64_t off = c->table_off + i * 2 * n;
	const uint8_t *p = cfi_section_get(&c->hdr, off, 2 * n);
	if (!p)
		return false;
	struct cfi_frames f = { .arch = c->arch, .data_vaddr = c->hdr.vaddr,
		.text_vaddr = c->eh_frames.text_vaddr };
	const uint8_t *end = p + 2 * n;
	uint64_t vaddr = c->hdr.vaddr + off;
	return cfi_entry_pointer(&f, c->table_enc, 8, vaddr, &p, end, ret_start) &&
		cfi_entry_pointer(&f, c->table_enc, 8, vaddr + n, &p, end, ret_fde);
}

/* Offset in .eh_frame of the last FDE that starts at or below vaddr. */
static bool table_search(struct cfi *c, uint64_t vaddr, uint64_t *ret_off)
{
	uint64_t lo = 0, hi = c->n_table, start, fde = 0, found = 0;
	if (c->table_enc == (DW_EH_PE_datarel | DW_EH_PE_sdata4)) {
		bool is_found = cfi_table_search(&c->table, vaddr, &fde);
		*ret_off = fde - c->eh.vaddr;
		return is_found;
	}
	while (lo < hi) {
		uint64_t mid = lo + (hi - lo) / 2;
		if (!table_entry(c, mid, &start, &fde))
			return false;
		if (start <= vaddr) {
			found = fde;
			lo = mid + 1;
		} else {
			hi = mid;
		}
	}
	*ret_off = found - c->eh.vaddr;
	return lo > 0;
}

/* ---- the index where there is no table ---------------------------------------- */

/* 32 MB.  The largest programs have some 300,000 functions. */
#define INDEX_ENTRIES_MAX (1u << 21)

static int index_cmp(const void *a, const void *b)
{
	const struct cfi_index_entry *x = a, *y = b;
	return x->start < y->start ? -1 : x->start > y->start;
}

/* One pass over all entries.  A malformed one hides those after it. */
static void index_make(struct cfi_index *ix, const struct cfi_frames *f)
{
	struct cfi_fde fde;
	uint64_t off = 0, next = 0;
	ix->is_built = true;
	for (;; off = next) {
		enum cfi_entry kind = cfi_entry_parse(f, off, &fde, &next);
		/* rules refer to entries by 32 bits */
		if (kind == CFI_ENTRY_END || kind == CFI_ENTRY_BAD || off > UINT32_MAX)
			break;
		/* Linkers leave the FDEs of dropped functions in .debug_frame, at 0 or -1. */
		if (kind == CFI_ENTRY_CIE || !fde.start || !fde.n_bytes ||
		    fde.n_bytes > UINT32_MAX || fde.start + fde.n_bytes < fde.start)
			continue;
		if (ix->entry.n == INDEX_ENTRIES_MAX)
			break;
		if (!VEC_PUSH(&ix->entry, ((struct cfi_index_entry){ .start = fde.start,
				.n_bytes = (uint32_t)fde.n_bytes, .entry_off = (uint32_t)off })))
			break;
	}
	if (ix->entry.n)
		qsort(ix->entry.v, ix->entry.n, sizeof(*ix->entry.v), index_cmp);
}

static bool index_search(struct cfi_index *ix, const struct cfi_frames *f, uint64_t vaddr,
			 uint64_t *ret_off)
{
	if (!f->section->n_bytes)
		return false;
	if (!ix->is_built)
		index_make(ix, f);
	size_t lo = SEARCH_COUNT(ix->entry.n, i, ix->entry.v[i].start <= vaddr);
	if (!lo || vaddr - ix->entry.v[lo - 1].start >= ix->entry.v[lo - 1].n_bytes)
		return false;
	*ret_off = ix->entry.v[lo - 1].entry_off;
	return true;
}

/* ---- search ------------------------------------------------------------------- */

/* The FDE at off, if it covers vaddr. */
static enum cfi_found find_check(const struct cfi_frames *f, uint64_t off, uint64_t vaddr,
				struct cfi_fde *ret)
{
	struct cfi_fde fde;
	if (off > UINT32_MAX || cfi_entry_parse(f, off, &fde, NULL) != CFI_ENTRY_FDE)
		return CFI_MALFORMED;
	if (vaddr - fde.start >= fde.n_bytes)
		return CFI_NOT_FOUND;
	*ret = fde;
	return CFI_FOUND;
}

/* The offset in .eh_frame of the FDE that may cover vaddr. */
static bool find_off(struct cfi *c, uint64_t vaddr, uint64_t *ret_off)
{
	return c->n_table ? table_search(c, vaddr, ret_off) :
		index_search(&c->eh_index, &c->eh_frames, vaddr, ret_off);
}

/* Continues after find_off. */
static enum cfi_found find_from(struct cfi *c, uint64_t vaddr, bool is_found, uint64_t off,
			       struct cfi_fde *ret, uint32_t *ret_off, bool *ret_is_debug)
{
	enum cfi_found r = is_found ? find_check(&c->eh_frames, off, vaddr, ret) : CFI_NOT_FOUND;
	if (r == CFI_FOUND) {
		*ret_off = (uint32_t)off;
		*ret_is_debug = false;
		return r;
	}
	if (!c->is_debug_searched)
		cfi_seek_debug(c);
	if (!index_search(&c->debug_index, &c->debug_frames, vaddr, &off))
		return r;
	r = find_check(&c->debug_frames, off, vaddr, ret);
	*ret_off = (uint32_t)off;
	*ret_is_debug = true;
	return r;
}

enum cfi_found cfi_find_fde(struct cfi *c, uint64_t vaddr, struct cfi_fde *ret,
			    uint32_t *ret_off, bool *ret_is_debug)
{
	uint64_t off = 0;
	bool is_found = find_off(c, vaddr, &off);
	return find_from(c, vaddr, is_found, off, ret, ret_off, ret_is_debug);
}

/* ---- rules -------------------------------------------------------------------- */

static bool rule_off8(int64_t off, int16_t *ret)
{
	if (off & 7 || off / 8 > INT16_MAX || off / 8 < INT16_MIN)
		return false;
	*ret = (int16_t)(off / 8);
	return true;
}

struct rule_probe {
	const struct arch *arch;
	uint64_t sp, vaddr;
};

static enum cfi_eval rule_probe_reg(void *ctx, unsigned int reg, uint64_t *ret)
{
	struct rule_probe *p = ctx;
	if (reg != p->arch->sp && reg != p->arch->pc)
		return CFI_EVAL_NO_REG;
	*ret = reg == p->arch->sp ? p->sp : p->vaddr;
	return CFI_EVAL_OK;
}

static enum cfi_eval rule_probe_read(void *ctx, uint64_t at, size_t n_bytes, uint64_t *ret)
{
	(void)ctx, (void)at, (void)n_bytes, (void)ret;
	return CFI_EVAL_NO_MEMORY;
}

/* The CFA as sp + off, if the expression amounts to that at this address.  Segments are mapped
 * page-aligned, so the low bits of vaddr, on which PLT rules depend, are those of the pc. */
static bool rule_fold_cfa(const struct arch *arch, uint64_t vaddr, const struct cfi_reg_rule *cfa,
			  int64_t *ret_off)
{
	struct rule_probe p = { .arch = arch, .vaddr = vaddr };
	struct cfi_eval_env env = { .ctx = &p, .reg = rule_probe_reg, .read = rule_probe_read };
	uint64_t got[2], sp[2] = { 0x7ffe5a5a5a50, 0x10000a5a50 };
	for (int i = 0; i < 2; i++) {
		p.sp = sp[i];
		if (cfi_eval_expr(&env, cfa->expr, cfa->n_expr_bytes, NULL, &got[i]) != CFI_EVAL_OK)
			return false;
	}
	*ret_off = (int64_t)(got[0] - sp[0]);
	return got[0] - sp[0] == got[1] - sp[1];
}

/* Folds a row into *ret; false: it does not fit. */
static bool rule_fold(const struct arch *arch, uint64_t vaddr, const struct cfi_row *row,
		      struct cfi_rule *ret)
{
	unsigned int sp = arch->sp, fp = arch->fp;
	const struct cfi_reg_rule *ra = &row->reg[row->ra_reg], *f = &row->reg[fp];
	int64_t cfa_off = row->cfa.off;
	struct cfi_rule r = { .kind = CFI_PLAIN };

	if (row->is_signal || row->reg[sp].how > CFI_HOW_SAME)
		return false;
	/* only functions with __builtin_eh_return save these: see unwind-slow.c */
	if (row->reg[arch->eh_data[0]].how == CFI_HOW_OFFSET &&
	    row->reg[arch->eh_data[1]].how == CFI_HOW_OFFSET)
		return false;
	if (row->cfa.how == CFI_HOW_VAL_EXPR) {
		if (!rule_fold_cfa(arch, vaddr, &row->cfa, &cfa_off))
			return false;
	} else if (row->cfa_reg == fp) {
		r.flags |= CFI_FLAG_CFA_FP;
	} else if (row->cfa_reg != sp) {
		return false;
	}
	if (!rule_off8(cfa_off, &r.cfa_off8))
		return false;

	if (ra->how == CFI_HOW_OFFSET) {
		if (!rule_off8(ra->off, &r.ra_off8))
			return false;
	} else if (ra->how <= CFI_HOW_SAME && row->ra_reg == arch->link) {
		r.flags |= CFI_FLAG_RA_REG;
	} else {
		return false;
	}
	if (f->how == CFI_HOW_OFFSET) {
		if (!rule_off8(f->off, &r.fp_off8))
			return false;
		r.flags |= CFI_FLAG_FP_SAVED;
	} else if (f->how > CFI_HOW_UNDEFINED) {
		return false;
	}
	*ret = r;
	return true;
}

/* Is it the trampoline by which a signal handler returns to the kernel?  musl has no CFI for it. */
static bool rule_is_sigreturn(const struct cfi *c, uint64_t vaddr)
{
	uint8_t b[ARCH_BYTES_MAX];
	/* A handler returns to the first instruction, and the look-up address is one less. */
	size_t n = cfi_read_code(c, vaddr + 1, b, sizeof(b));
	return arch_begins(b, n, &c->arch->sigreturn[0]) ||
	       arch_begins(b, n, &c->arch->sigreturn[1]);
}

/* ---- the last rule of an FDE ----------------------------------------------------- */

/* One entry for LAST_OF functions, and at most LAST_MAX entries: 96 KB. */
#define LAST_OF 16u
#define LAST_MAX 4096u

static struct cfi_last_rule *last_of(const struct cfi *c, uint64_t off)
{
	return &c->last[hash_u64(off) & (c->n_last - 1)];
}

static bool last_get(const struct cfi *c, uint64_t off, uint64_t vaddr, struct cfi_rule *ret)
{
	const struct cfi_last_rule *l = c->last ? last_of(c, off) : NULL;
	if (!l || l->entry_off != off || vaddr - l->start >= l->n_bytes)
		return false;
	*ret = l->rule;
	return true;
}

/* A rule whose CFA is an expression holds for its address only. */
static void last_put(struct cfi *c, uint32_t off, const struct cfi_row *row, struct cfi_rule rule)
{
	uint64_t n_bytes = row->end - row->start;
	if (!c->last) {
		for (c->n_last = 16; c->n_last < LAST_MAX && c->n_last < c->n_table / LAST_OF;)
			c->n_last *= 2;
		c->last = calloc(c->n_last, sizeof(*c->last));
	}
	if (!c->last || row->cfa.how != CFI_HOW_REGISTER || n_bytes > UINT32_MAX)
		return;
	*last_of(c, off) = (struct cfi_last_rule){ .entry_off = off, .n_bytes = (uint32_t)n_bytes,
		.start = row->start, .rule = rule };
}

/* ---- the rule -------------------------------------------------------------------- */

/* The rule in the FDE at off. */
static void rule_of_fde(struct cfi *c, uint64_t vaddr, const struct cfi_fde *fde, uint32_t off,
			bool is_debug, struct cfi_rule *ret)
{
	struct cfi_row row;
	bool is_row = cfi_run_row(is_debug ? &c->debug_frames : &c->eh_frames, fde, vaddr, &row);
	c->n_bytes_run += is_row ? row.n_bytes_run :
		(uint64_t)(fde->cie.program_end - fde->cie.program) +
		(uint64_t)(fde->program_end - fde->program);
	if (!is_row)
		ret->kind = CFI_BAD;
	else if (row.reg[row.ra_reg].how == CFI_HOW_UNDEFINED)
		ret->kind = CFI_ROOT;
	else if (row.cfa.how == CFI_HOW_UNSPECIFIED)
		ret->kind = CFI_BAD;
	else if (!rule_fold(c->arch, vaddr, &row, ret))
		*ret = (struct cfi_rule){ .kind = CFI_UNUSUAL, .entry_off = off };
	else if (!is_debug)
		last_put(c, off, &row, *ret);
}

void cfi_rule_at(struct cfi *c, uint64_t vaddr, struct cfi_rule *ret)
{
	struct cfi_fde fde;
	uint64_t off = 0;
	uint32_t fde_off = 0;
	bool is_debug = false, is_found = find_off(c, vaddr, &off);
	c->n_searches++;
	if (is_found && off < c->eh.n_bytes) {
		__builtin_prefetch(c->eh.base + off);
		__builtin_prefetch(c->eh.base + off + 32);
	}
	if (is_found && last_get(c, off, vaddr, ret))
		return;
	enum cfi_found found = find_from(c, vaddr, is_found, off, &fde, &fde_off, &is_debug);
	*ret = (struct cfi_rule){ .kind = found == CFI_MALFORMED ? CFI_BAD : CFI_NONE };
	if (found == CFI_NOT_FOUND && rule_is_sigreturn(c, vaddr))
		ret->kind = CFI_SIGRETURN;
	if (found == CFI_FOUND) {
		rule_of_fde(c, vaddr, &fde, fde_off, is_debug, ret);
		ret->flags |= is_debug ? CFI_FLAG_DEBUG : 0;
	}
	c->n_bad += ret->kind == CFI_BAD;
}

enum cfi_found cfi_row_at(struct cfi *c, uint64_t vaddr, struct cfi_row *ret)
{
	struct cfi_fde fde;
	uint32_t off;
	bool is_debug;
	enum cfi_found r = cfi_find_fde(c, vaddr, &fde, &off, &is_debug);
	if (r != CFI_FOUND)
		return r;
	const struct cfi_frames *f = is_debug ? &c->debug_frames : &c->eh_frames;
	return cfi_run_row(f, &fde, vaddr, ret) ? CFI_FOUND : CFI_MALFORMED;
}

enum cfi_found cfi_row_again(struct cfi *c, const struct cfi_rule *rule, uint64_t vaddr,
			     struct cfi_row *ret)
{
	const struct cfi_frames *f = rule->flags & CFI_FLAG_DEBUG ?
		&c->debug_frames : &c->eh_frames;
	struct cfi_fde fde;
	if (find_check(f, rule->entry_off, vaddr, &fde) != CFI_FOUND)
		return CFI_MALFORMED;
	return cfi_run_row(f, &fde, vaddr, ret) ? CFI_FOUND : CFI_MALFORMED;
}

size_t cfi_bytes_held(const struct cfi *c)
{
	return sizeof(*c) + c->hdr.n_bytes_read + c->eh.n_bytes_read + c->debug.n_bytes_read +
		cfi_table_bytes_held(&c->table) + (c->last ? c->n_last * sizeof(*c->last) : 0) +
		(c->eh_index.entry.n + c->debug_index.entry.n) * sizeof(struct cfi_index_entry);
}
