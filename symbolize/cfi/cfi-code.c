/*
 * Follows the code from the pc as if no conditional branch were taken, and then from the branch
 * targets, one after the other.  Unconditional jumps are followed, calls are stepped over.  Only
 * the stack pointer, the frame pointer and the return address are tracked, each as a base (a
 * register at the pc) plus an offset.  A path ends where the stack pointer changes in any other
 * way.  The architecture's step function knows the instructions.
 *
 * A function that never returns has no such path.  But its start is known when a call of it is
 * found on the stack.  Then the code is followed from its start to the pc.
 */

#include "symbolize/cfi/cfi-code.h"

#include "base/hash.h"

#include <string.h>

#define CODE_STEPS_MAX 1024u    /* instructions read for one rule */
#define CODE_PATHS_MAX 64u      /* branches to be followed later */
#define CODE_SEEN_MAX 2048u     /* slots for addresses seen: twice as many, a power of two */
#define CODE_STUB_BYTES 32u     /* around a pc: they show whether it is in a stub */
#define CODE_SEEN_FEW 64u       /* the same for a short path, as most are */

struct code {
	const struct cfi_code *c;
	uint8_t buf[256];
	uint64_t buf_at;
	size_t n_buf;
	struct code_path path[CODE_PATHS_MAX];
	unsigned int n_paths, n_steps;
	unsigned int n_slots;           /* of seen that are in use */
	uint64_t seen[CODE_SEEN_MAX];   /* addresses, hashed; 0: free */
};

/* The code at `at`: *ret_n bytes, enough for the longest instruction if so many can be read. */
static const uint8_t *code_bytes(struct code *k, uint64_t at, size_t *ret_n)
{
	uint64_t in = at - k->buf_at;
	if (in >= k->n_buf || k->n_buf - in < k->c->arch->insn_bytes_max) {
		k->n_buf = k->c->read(k->c->ctx, at, k->buf, sizeof(k->buf));
		k->buf_at = at;
		in = 0;
	}
	*ret_n = k->n_buf - in;
	return k->buf + in;
}

/* Keeps the path that takes the branch, to be followed when earlier ones have failed. */
static void code_branch(struct code *k, const struct code_path *path)
{
	for (unsigned int i = 0; i < k->n_paths; i++)
		if (k->path[i].at == path->branch)
			return;
	if (k->n_paths == CODE_PATHS_MAX)
		return;
	k->path[k->n_paths] = *path;
	k->path[k->n_paths++].at = path->branch;
}

/* The slot of key, an address plus one, or a free slot for it. */
static uint64_t *code_slot(struct code *k, uint64_t key)
{
	uint64_t i = hash_u64(key);
	while (k->seen[i % k->n_slots] && k->seen[i % k->n_slots] != key)
		i++;
	return &k->seen[i % k->n_slots];
}

/* From few slots to all.  Clearing all takes longer than reading a few instructions. */
static void code_more_slots(struct code *k)
{
	uint64_t few[CODE_SEEN_FEW];
	memcpy(few, k->seen, sizeof(few));
	memset(k->seen, 0, sizeof(k->seen));
	k->n_slots = CODE_SEEN_MAX;
	for (unsigned int i = 0; i < CODE_SEEN_FEW; i++)
		if (few[i])
			*code_slot(k, few[i]) = few[i];
}

/* Was the instruction at `at` seen before?  A path that reaches a place again finds nothing new: in
 * compiled code the stack depth at an address is always the same. */
static bool code_is_seen(struct code *k, uint64_t at)
{
	uint64_t key = at + 1, *slot;
	if (k->n_steps == CODE_SEEN_FEW / 2 && k->n_slots == CODE_SEEN_FEW)
		code_more_slots(k);
	slot = code_slot(k, key);
	if (*slot == key)
		return true;
	*slot = key;
	return false;
}

/* Executes one instruction of a path. */
static enum code_next code_step(struct code *k, struct code_path *path)
{
	size_t n;
	const uint8_t *p = code_bytes(k, path->at, &n);
	enum code_next next = k->c->arch->step(p, n, path);
	if (next != CODE_BRANCH)
		return next;
	code_branch(k, path);
	return CODE_ON;
}

/* The offset of a slot from the CFA; false: the slot is not in the frame. */
static bool code_slot_off8(const struct code_path *path, const struct code_value *v, int64_t cfa,
			   int16_t *ret)
{
	int64_t off = v->off - cfa;
	if (v->base != CODE_BASE_SLOT || v->slot_base != path->sp.base || off & 7 || off >= 0 ||
	    off / 8 < INT16_MIN)
		return false;
	*ret = (int16_t)(off / 8);
	return true;
}

/* The rule that follows from a path to a return. */
static bool code_fold(const struct code_path *path, struct cfi_rule *ret)
{
	struct cfi_rule r = { .kind = CFI_PLAIN, .flags = CFI_FLAG_HEURISTIC };
	int64_t cfa = path->sp.off;
	if (cfa < 0 || cfa & 7 || cfa / 8 > INT16_MAX)
		return false;
	if (path->sp.base == CODE_BASE_FP)
		r.flags |= CFI_FLAG_CFA_FP;
	r.cfa_off8 = (int16_t)(cfa / 8);
	bool is_ahead = path->sp.base == CODE_BASE_SP;
	if (path->ra.base == CODE_BASE_LINK)
		r.flags |= CFI_FLAG_RA_REG;
	else if (cfa == 0 || (is_ahead && path->ra.off < 0) ||
		 !code_slot_off8(path, &path->ra, cfa, &r.ra_off8))
		return false;
	/* a slot below the stack pointer has not been written yet */
	if (path->fp.base == CODE_BASE_SLOT && path->fp.slot_base == path->sp.base &&
	    (!is_ahead || path->fp.off >= 0)) {
		if (!code_slot_off8(path, &path->fp, cfa, &r.fp_off8))
			return false;
		r.flags |= CFI_FLAG_FP_SAVED;
	}
	*ret = r;
	return true;
}

/* Starts with one path, at `at`. */
static void code_begin(struct code *k, const struct cfi_code *c, uint64_t at)
{
	k->c = c;
	k->n_buf = k->n_steps = 0;
	k->buf_at = 0;
	k->n_paths = 1;
	k->n_slots = CODE_SEEN_FEW;
	memset(k->seen, 0, CODE_SEEN_FEW * sizeof(*k->seen));
	k->path[0] = (struct code_path){ .at = at, .sp = { .base = CODE_BASE_SP },
		.fp = { .base = CODE_BASE_FP },
		.ra = { .base = arch_pushes_ra(c->arch) ? CODE_BASE_LOST : CODE_BASE_LINK },
		.fp_slot = { .base = CODE_BASE_LOST }, .ra_slot = { .base = CODE_BASE_LOST } };
}

static bool code_stub_rule(struct code *k, uint64_t pc, struct cfi_rule *ret)
{
	uint8_t b[CODE_STUB_BYTES];
	const struct arch *a = k->c->arch;
	size_t n_before = a->stub_bytes_before, n;
	if (k->c->read(k->c->ctx, pc - n_before, b, n_before) != n_before)
		n_before = 0;
	const uint8_t *p = code_bytes(k, pc, &n);
	n = n < a->insn_bytes_max ? n : a->insn_bytes_max;
	memcpy(b + n_before, p, n);
	return a->stub_rule(b + n_before, n_before, n, pc, ret);
}

bool cfi_code_rule(const struct cfi_code *c, uint64_t pc, struct cfi_rule *ret)
{
	struct code k;
	struct cfi_rule r;
	code_begin(&k, c, pc);
	if (c->is_return)
		k.path[0].ra.base = CODE_BASE_LOST;
	if (code_stub_rule(&k, pc, &r) && c->accept(c->ctx, &r))
		return *ret = r, true;
	for (unsigned int i = 0; i < k.n_paths; i++) {
		enum code_next next = CODE_ON;
		struct code_path path = k.path[i];
		while (next == CODE_ON && k.n_steps++ < CODE_STEPS_MAX)
			next = code_is_seen(&k, path.at) ? CODE_LOST : code_step(&k, &path);
		if (next == CODE_RETURN && code_fold(&path, &r) && c->accept(c->ctx, &r))
			return *ret = r, true;
	}
	return false;
}

/* The rule at the end of a path from the function's start, where the return address was pushed last
 * (x86-64) or is in the link register (arm64). */
static bool code_fold_back(const struct cfi_code *c, const struct code_path *path,
			   struct cfi_rule *ret)
{
	int64_t cfa_at_start = arch_pushes_ra(c->arch) ? 8 : 0, cfa = cfa_at_start - path->sp.off;
	if (path->sp.base != CODE_BASE_SP || cfa < cfa_at_start || cfa & 7 || cfa / 8 > INT16_MAX)
		return false;
	struct cfi_rule r = { .kind = CFI_PLAIN, .flags = CFI_FLAG_HEURISTIC,
			      .cfa_off8 = (int16_t)(cfa / 8), .ra_off8 = -1 };
	if (!arch_pushes_ra(c->arch) &&
	    (path->ra_slot.off < path->sp.off ||
	     !code_slot_off8(path, &path->ra_slot, cfa_at_start, &r.ra_off8))) {
		if (path->ra.base != CODE_BASE_LINK)
			return false;
		r.flags |= CFI_FLAG_RA_REG;
		r.ra_off8 = 0;
	}
	if (path->fp_slot.off >= path->sp.off &&
	    code_slot_off8(path, &path->fp_slot, cfa_at_start, &r.fp_off8))
		r.flags |= CFI_FLAG_FP_SAVED;
	*ret = r;
	return true;
}

bool cfi_code_rule_from(const struct cfi_code *c, uint64_t start, uint64_t pc, struct cfi_rule *ret)
{
	struct code k;
	code_begin(&k, c, start);
	for (unsigned int i = 0; i < k.n_paths; i++) {
		enum code_next next = CODE_ON;
		struct code_path path = k.path[i];
		while (next == CODE_ON && path.at != pc && k.n_steps++ < CODE_STEPS_MAX)
			next = code_is_seen(&k, path.at) ? CODE_LOST : code_step(&k, &path);
		if (next == CODE_ON && path.at == pc)
			return code_fold_back(c, &path, ret);
	}
	return false;
}
