/*
 * Follows the code from the pc as it would run if no conditional branch were taken, and then,
 * one after the other, from the branches' targets.  Unconditional jumps are followed, calls
 * stepped over.  Only the stack pointer and rbp are tracked, each as a base (the stack
 * pointer or frame pointer at the pc) and an offset; whatever else is done to the stack pointer
 * ends that way.  A jump through a pointer in memory relative to rip is a tail call or a PLT entry,
 * which leaves the stack as a return would.
 *
 * A function that never returns has no such way.  Where it begins is known when a call of it is
 * found on the stack; then the code is followed from there to the pc.
 */

#include "symbolize/cfi-code.h"

#include "base/hash.h"
#include "symbolize/x86insn.h"

#include <string.h>

#define CODE_STEPS_MAX 1024u    /* instructions looked at for one rule */
#define CODE_WAYS_MAX 64u       /* branches kept for later */
#define CODE_SEEN_MAX 2048u     /* slots for the instructions seen: twice as many, a power of two */
#define CODE_SEEN_FEW 64u       /* the same for the short way that most rules take */

enum base { BASE_SP, BASE_FP, BASE_SLOT, BASE_LOST };

/* A register: base + off, or with BASE_SLOT the word that lay at slot_base + off. */
struct value {
	uint8_t base, slot_base;
	int64_t off;
};

struct way {
	uint64_t at;
	struct value sp, fp;
	int64_t fp_slot;                /* from a function's start: where it pushed rbp; 0: not */
};

struct code {
	const struct cfi_code *c;
	uint8_t buf[256];
	uint64_t buf_at;
	size_t n_buf;
	struct way way[CODE_WAYS_MAX];
	unsigned int n_ways, n_steps;
	unsigned int n_slots;           /* of seen, in use */
	uint64_t seen[CODE_SEEN_MAX];   /* addresses, hashed; 0: free */
};

/* What an instruction makes of a way. */
enum code_next { CODE_ON, CODE_RETURN, CODE_LOST };

static const uint8_t *code_bytes(struct code *k, uint64_t at, size_t *ret_n)
{
	uint64_t in = at - k->buf_at;
	if (in >= k->n_buf || k->n_buf - in < X86INSN_BYTES_MAX) {
		k->n_buf = k->c->read(k->c->ctx, at, k->buf, sizeof(k->buf));
		k->buf_at = at;
		in = 0;
	}
	*ret_n = k->n_buf - in;
	return k->buf + in;
}

static int64_t code_imm(const uint8_t *p, size_t n_bytes)
{
	int8_t b;
	int32_t w;
	if (n_bytes == 1)
		return memcpy(&b, p, 1), b;
	return memcpy(&w, p, 4), w;
}

static void code_pop_fp(struct way *w)
{
	w->fp = (struct value){ .base = BASE_SLOT, .slot_base = w->sp.base, .off = w->sp.off };
	w->sp.off += 8;
}

/* Instructions that have the stack pointer as their destination, by modrm. */
static enum code_next code_modrm(struct way *w, const struct x86insn *i)
{
	uint8_t op = *i->p, m = *i->modrm;
	unsigned int reg = (m >> 3 & 7) | (i->rex & 4) << 1, rm = (m & 7) | (i->rex & 1) << 3;
	bool is_reg = m >> 6 == 3;
	switch (op) {
	case 0x81: case 0x83: {
		int64_t imm = code_imm(i->modrm + 1, op == 0x83 ? 1 : 4);
		if (!is_reg || rm != 4 || reg == 7)     /* not on rsp, or cmp */
			return CODE_ON;
		if ((reg != 0 && reg != 5) || i->is_16)
			return CODE_LOST;
		w->sp.off += reg == 0 ? imm : -imm;
		return CODE_ON;
	}
	case 0x89:
		if (is_reg && rm == 4) {
			if (reg != 5 || w->fp.base > BASE_FP)
				return CODE_LOST;
			w->sp = w->fp;
		} else if (is_reg && rm == 5) {
			w->fp = reg == 4 ? w->sp : (struct value){ .base = BASE_LOST };
		}
		return CODE_ON;
	case 0x8b:
		if (reg == 4) {
			if (!is_reg || rm != 5 || w->fp.base > BASE_FP)
				return CODE_LOST;
			w->sp = w->fp;
		} else if (reg == 5 && is_reg) {
			w->fp = rm == 4 ? w->sp : (struct value){ .base = BASE_LOST };
		} else if (reg == 5) {
			/* mov rbp, [rsp + disp]: as Go's epilogues restore it */
			bool of_sp = (i->rex & 8) && rm == 4 && i->modrm[1] == 0x24;
			unsigned int mod = m >> 6;
			int64_t disp = mod ? code_imm(i->modrm + 2, mod == 1 ? 1 : 4) : 0;
			w->fp = of_sp ? (struct value){ .base = BASE_SLOT, .slot_base = w->sp.base,
							.off = w->sp.off + disp }
				      : (struct value){ .base = BASE_LOST };
		}
		return CODE_ON;
	case 0x8d:
		if (reg == 5 && w->fp.base != BASE_SLOT)
			w->fp.base = BASE_LOST;
		if (reg != 4)
			return CODE_ON;
		/* lea rsp, [rsp + disp] or [rbp + disp] */
		if (rm == 4 && i->modrm[1] == 0x24 && (m >> 6 == 1 || m >> 6 == 2)) {
			w->sp.off += code_imm(i->modrm + 2, m >> 6 == 1 ? 1 : 4);
		} else if (rm == 5 && (m >> 6 == 1 || m >> 6 == 2) && w->fp.base <= BASE_FP) {
			w->sp = w->fp;
			w->sp.off += code_imm(i->modrm + 1, m >> 6 == 1 ? 1 : 4);
		} else {
			return CODE_LOST;
		}
		return CODE_ON;
	case 0x8f:
		w->sp.off += 8;
		return is_reg && rm == 4 ? CODE_LOST : CODE_ON;
	case 0xff:
		if ((reg & 7) == 6)
			w->sp.off -= 8;
		/* by register: a switch, or an interpreter's way on to the next handler, which may
		 * have popped what was pushed before the pc (node) */
		if ((reg & 7) == 4)
			return m == 0x25 ? CODE_RETURN : CODE_LOST;
		return CODE_ON;
	case 0x01: case 0x29: case 0x31: case 0x21: case 0x09: case 0x87:
		return is_reg && rm == 4 ? CODE_LOST : CODE_ON;
	case 0x03: case 0x2b: case 0x33: case 0x23: case 0x0b:
		return reg == 4 ? CODE_LOST : CODE_ON;
	default:
		return CODE_ON;
	}
}

static void code_branch(struct code *k, const struct way *w, uint64_t to)
{
	for (unsigned int i = 0; i < k->n_ways; i++)
		if (k->way[i].at == to)
			return;
	if (k->n_ways == CODE_WAYS_MAX)
		return;
	k->way[k->n_ways] = *w;
	k->way[k->n_ways++].at = to;
}

/* The slot that holds key, an address plus one, or is free for it. */
static uint64_t *code_slot(struct code *k, uint64_t key)
{
	uint64_t i = hash_u64(key);
	while (k->seen[i % k->n_slots] && k->seen[i % k->n_slots] != key)
		i++;
	return &k->seen[i % k->n_slots];
}

/* From few slots to all of them, which takes longer to clear than to look at few instructions. */
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

/* Was the instruction at `at` seen before?  A way that comes to where another way has been, or
 * itself, leads nowhere new: in what compilers write, an address has one stack depth. */
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

/* Is that a function which only calls what its argument says, as musl's qsort() has one?  The jump
 * of a switch has something before it, and rarely stands where functions are aligned to. */
static bool code_is_thunk(struct code *k, uint64_t pc)
{
	size_t n;
	const uint8_t *p = code_bytes(k, pc, &n);
	return pc % 16 == 0 && n >= 2 && p[0] == 0xff && (p[1] & 0xf8) == 0xe0;
}

/* One instruction of a way. */
static enum code_next code_step(struct code *k, struct way *w)
{
	size_t n;
	const uint8_t *p = code_bytes(k, w->at, &n);
	struct x86insn i = x86insn_decode(p, n);
	if (!i.n_bytes)
		return CODE_LOST;
	uint64_t next = w->at + i.n_bytes;
	const uint8_t *end = p + i.n_bytes;
	uint8_t op = *i.p;
	w->at = next;
	if (i.is_vector)
		return CODE_ON;
	if (op == 0x0f) {
		if (i.p[1] == 0x0b) /* ud2 */
			return CODE_LOST;
		if ((i.p[1] & 0xf0) == 0x80)
			code_branch(k, w, next + (uint64_t)code_imm(end - 4, 4));
		return CODE_ON;
	}
	switch (op) {
	case 0xc3: case 0xc2:
		return CODE_RETURN;
	case 0xcc: case 0xf4:
		return CODE_LOST;
	case 0x50 ... 0x57: case 0x6a: case 0x9c:
		w->sp.off -= 8;
		return CODE_ON;
	case 0x68:
		/* a PLT entry that was not resolved yet: push the index, jump to the first entry */
		if (n > i.n_bytes &&
		    (*end == 0xe9 || (*end == 0xf2 && n > i.n_bytes + 1u && end[1] == 0xe9)))
			return CODE_RETURN;
		w->sp.off -= 8;
		return CODE_ON;
	case 0x58 ... 0x5f:
		if (op == 0x5d && !(i.rex & 1)) {
			code_pop_fp(w);
			return CODE_ON;
		}
		w->sp.off += 8;
		return op == 0x5c && !(i.rex & 1) ? CODE_LOST : CODE_ON;
	case 0x9d:
		w->sp.off += 8;
		return CODE_ON;
	case 0xc9:
		if (w->fp.base > BASE_FP)
			return CODE_LOST;
		w->sp = w->fp;
		code_pop_fp(w);
		return CODE_ON;
	case 0x70 ... 0x7f: case 0xe0 ... 0xe3:
		code_branch(k, w, next + (uint64_t)code_imm(end - 1, 1));
		return CODE_ON;
	case 0xe9:
		w->at = next + (uint64_t)code_imm(end - 4, 4);
		return CODE_ON;
	case 0xeb:
		w->at = next + (uint64_t)code_imm(end - 1, 1);
		return CODE_ON;
	default:
		return i.modrm ? code_modrm(w, &i) : CODE_ON;
	}
}

/* The rule that a way to a return amounts to. */
static bool code_fold(const struct way *w, struct cfi_rule *ret)
{
	struct cfi_rule r = { .kind = CFI_PLAIN, .flags = CFI_FLAG_GUESSED, .ra_off8 = -1 };
	int64_t cfa = w->sp.off + 8;
	if (cfa <= 0 || cfa & 7 || cfa / 8 > INT16_MAX)
		return false;
	if (w->sp.base == BASE_FP)
		r.flags |= CFI_FLAG_CFA_FP;
	r.cfa_off8 = (int16_t)(cfa / 8);
	/* a slot below the stack pointer is one that will be pushed yet */
	if (w->fp.base == BASE_SLOT && w->fp.slot_base == w->sp.base &&
	    (w->sp.base != BASE_SP || w->fp.off >= 0)) {
		int64_t slot = w->fp.off - cfa;
		if (slot & 7 || slot / 8 < INT16_MIN || slot >= 0)
			return false;
		r.fp_off8 = (int16_t)(slot / 8);
		r.flags |= CFI_FLAG_FP_SAVED;
	}
	*ret = r;
	return true;
}

/* One way, from `at`. */
static void code_begin(struct code *k, const struct cfi_code *c, uint64_t at)
{
	k->c = c;
	k->n_buf = k->n_steps = 0;
	k->buf_at = 0;
	k->n_ways = 1;
	k->n_slots = CODE_SEEN_FEW;
	memset(k->seen, 0, CODE_SEEN_FEW * sizeof(*k->seen));
	k->way[0] = (struct way){ .at = at, .sp = { .base = BASE_SP }, .fp = { .base = BASE_FP } };
}

bool cfi_code_rule(const struct cfi_code *c, uint64_t pc, struct cfi_rule *ret)
{
	struct code k;
	struct cfi_rule r;
	uint8_t before[5];
	code_begin(&k, c, pc);
	/* between a PLT entry's push and its jump */
	if (c->read(c->ctx, pc - 5, before, 5) == 5 && before[0] == 0x68) {
		size_t n;
		const uint8_t *p = code_bytes(&k, pc, &n);
		if (n && (*p == 0xe9 || (*p == 0xf2 && n > 1 && p[1] == 0xe9))) {
			r = (struct cfi_rule){ .kind = CFI_PLAIN, .flags = CFI_FLAG_GUESSED,
				.cfa_off8 = 2, .ra_off8 = -1 };
			if (c->accept(c->ctx, &r))
				return *ret = r, true;
		}
	}
	if (code_is_thunk(&k, pc)) {
		r = (struct cfi_rule){ .kind = CFI_PLAIN, .flags = CFI_FLAG_GUESSED, .cfa_off8 = 1,
			.ra_off8 = -1 };
		if (c->accept(c->ctx, &r))
			return *ret = r, true;
	}
	for (unsigned int i = 0; i < k.n_ways; i++) {
		enum code_next next = CODE_ON;
		struct way w = k.way[i];
		while (next == CODE_ON && k.n_steps++ < CODE_STEPS_MAX)
			next = code_is_seen(&k, w.at) ? CODE_LOST : code_step(&k, &w);
		if (next == CODE_RETURN && code_fold(&w, &r) && c->accept(c->ctx, &r))
			return *ret = r, true;
	}
	return false;
}

/* The rule at the end of a way from the function's start, where the return address was pushed
 * last. */
static bool code_fold_back(const struct way *w, struct cfi_rule *ret)
{
	int64_t cfa = 8 - w->sp.off;
	if (w->sp.base != BASE_SP || cfa < 8 || cfa & 7 || cfa / 8 > INT16_MAX)
		return false;
	*ret = (struct cfi_rule){ .kind = CFI_PLAIN, .flags = CFI_FLAG_GUESSED,
		.cfa_off8 = (int16_t)(cfa / 8), .ra_off8 = -1 };
	if (w->fp_slot < 0 && w->fp_slot >= w->sp.off) {
		ret->fp_off8 = (int16_t)((w->fp_slot - 8) / 8);
		ret->flags |= CFI_FLAG_FP_SAVED;
	}
	return true;
}

bool cfi_code_rule_from(const struct cfi_code *c, uint64_t start, uint64_t pc, struct cfi_rule *ret)
{
	struct code k;
	code_begin(&k, c, start);
	for (unsigned int i = 0; i < k.n_ways; i++) {
		enum code_next next = CODE_ON;
		struct way w = k.way[i];
		while (next == CODE_ON && w.at != pc && k.n_steps++ < CODE_STEPS_MAX) {
			size_t n;
			const uint8_t *p = code_bytes(&k, w.at, &n);
			bool is_push_fp = n && *p == 0x55 && w.fp.base == BASE_FP && !w.fp_slot;
			next = code_is_seen(&k, w.at) ? CODE_LOST : code_step(&k, &w);
			if (is_push_fp)
				w.fp_slot = w.sp.off;
		}
		if (next == CODE_ON && w.at == pc)
			return code_fold_back(&w, ret);
	}
	return false;
}

bool cfi_code_is_root(const uint8_t *code, size_t n_bytes)
{
	/* mov %eax, %edi; xor %eax, %eax; mov $60, %al; syscall: the end of clone */
	static const uint8_t clone_end[] = { 0x89, 0xc7, 0x31, 0xc0, 0xb0, 60, 0x0f, 0x05 };
	if (n_bytes >= sizeof(clone_end) && !memcmp(code, clone_end, sizeof(clone_end)))
		return true;
	if (n_bytes >= 4 && code[0] == 0x48) { /* mov %rax, %rdi */
		code++;
		n_bytes--;
	}
	return n_bytes >= 3 && code[0] == 0x89 && code[1] == 0xc7 && code[2] == 0xe8;
}

bool cfi_code_is_exit(const uint8_t *code, size_t n_bytes)
{
	/* [endbr64;] xor %rdi, %rdi; call ...; hlt */
	size_t i = n_bytes >= 4 && !memcmp(code, "\xf3\x0f\x1e\xfa", 4) ? 4 : 0;
	i += n_bytes > i && code[i] == 0x48;
	return n_bytes >= i + 8 && code[i] == 0x31 && code[i + 1] == 0xff && code[i + 2] == 0xe8 &&
	       code[i + 7] == 0xf4;
}

bool cfi_code_ends_with_call(const uint8_t *before, size_t n_bytes)
{
	const uint8_t *end = before + n_bytes;
	if (n_bytes >= 5 && end[-5] == 0xe8)
		return true;
	for (unsigned int n = 2; n <= 7 && n <= n_bytes; n++) {
		const uint8_t *p = end - n;
		if (p[0] == 0xff && (p[1] >> 3 & 7) == 2 &&
		    x86insn_modrm_bytes(p + 1, end) == n - 1)
			return true;
	}
	return false;
}
