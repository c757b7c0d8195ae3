/*
 * The unwinder on untrusted registers, stacks and tables: struct head, the bytes of the stack, then
 * .eh_frame.  Unwinds four stacks of one thread: one, the same again, one with a later innermost pc
 * and perhaps a shorter copy, and one with one word changed.  Each is unwound with the memo, and
 * compared with
 *
 * - what an unwinder finds that has seen the same stacks, but gets no memo for this one: the same
 *   in every bit up to the frame where the memo was met, and from there up to the first heuristic
 *   frame;
 * - what a new unwinder finds: the same frames, up to the first heuristic one of either;
 * - the stack itself: each step, heuristic or not, has read its two words there.
 *
 * Heuristic frames beyond the memo's first one are not compared with the reference.  The rule for
 * code without CFI is one that an earlier stack has confirmed, if this one confirms it, too, and
 * the stack may confirm another one by now.
 */

#include "symbolize/cfi/cfi.h"
#include "symbolize/runtime/runtime.h"
#include "symbolize/unwind/unwind.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define BIAS 0x550000000000ull
#define SP 0x7ffc00001000ull
#define DEPTH 64

struct head {
	uint8_t arch, change_word;
	uint16_t n_stack_bytes, pc, fp; /* pc: vaddr; fp: from sp */
	uint16_t n_later_bytes;         /* of the copy in the later stacks */
	uint16_t reg[6];
};

static void check(bool ok)
{
	if (!ok)
		abort();
}

static bool find_module(void *ctx, uint64_t pc, struct module *ret)
{
	if (pc - BIAS >= 0x10000)
		return false;
	*ret = (struct module){ .cfi = pc - BIAS < 0x8000 ? ctx : NULL,
				.bias = BIAS,
				.id = 1,
				.is_jit = pc - BIAS >= 0xc000,
				.runtime = pc - BIAS >= 0xe000 ?
					runtime_of_library("/libjvm.so") : NULL };
	return true;
}

/* The input also serves as code without CFI. */
static const uint8_t *code;
static size_t n_code;

static size_t read_code(void *ctx, uint64_t pc, void *buf, size_t n_bytes)
{
	(void)ctx;
	uint64_t at = (pc - BIAS) & 0xfff;
	if (at >= n_code)
		return 0;
	if (n_bytes > n_code - at)
		n_bytes = n_code - at;
	memcpy(buf, code + at, n_bytes);
	return n_bytes;
}

/* ---- one result ----------------------------------------------------------------------- */

static bool is_heuristic(const struct unwind_frame *f)
{
	return f->flags & UNWIND_FRAME_HEURISTIC;
}

/* Is the word at `at` in the copy, and does it have this value in the bits of mask? */
static bool has_word(const struct unwind_input *in, uint64_t at, uint64_t mask, uint64_t value)
{
	uint64_t word, off = at - SP;
	if (in->n_stack_bytes < 8 || off > in->n_stack_bytes - 8)
		return false;
	memcpy(&word, in->stack + off, 8);
	return (word & mask) == value;
}

/* Is each step on the stack?  A step that says so has read two words only. */
static void check_slots(const struct arch *a, const struct unwind_input *in,
			const struct unwind_result *r)
{
	for (uint32_t i = 0; i + 1 < r->n - r->n_joined; i++) {
		const struct unwind_frame *f = &r->frame[i], *o = f + 1;
		if (!(f->flags & UNWIND_STEP_SLOTS))
			continue;
		check(has_word(in, o->sp + (uint64_t)(f->ra_off8 * 8l), a->pc_mask, o->pc));
		check(f->flags & UNWIND_STEP_FP ?
			has_word(in, o->sp + (uint64_t)(f->fp_off8 * 8l), ~0ull, o->fp) :
			o->fp == f->fp);
	}
}

static void check_result(const struct unwind_result *r, const struct unwind_memo *m)
{
	check(r->n >= 1 && r->n <= DEPTH && r->n_same <= r->n && r->n_joined < r->n);
	check(r->frame[0].flags & UNWIND_FRAME_EXACT);
	for (uint32_t i = 0; i < r->n; i++)
		check(!!(r->frame[i].flags & UNWIND_FRAME_JOINED) == (i >= r->n - r->n_joined));
	if (!m || !r->is_kept)
		return;
	check(m->n == r->n);
	for (uint32_t i = 0; i < r->n; i++)
		check(!memcmp(&m->frame[i], &r->frame[r->n - 1 - i], sizeof(*m->frame)));
}

/* ---- two results ---------------------------------------------------------------------- */

static bool is_one_place(const struct unwind_frame *a, const struct unwind_frame *b)
{
	return a->pc == b->pc && a->sp == b->sp && a->fp == b->fp;
}

static void check_places(const struct unwind_result *a, const struct unwind_result *b, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		check(i < b->n && is_one_place(&a->frame[i], &b->frame[i]));
}

static void check_equal(const struct unwind_result *a, const struct unwind_result *b)
{
	check(a->n == b->n && a->n_same == b->n_same && a->n_joined == b->n_joined);
	check(a->end == b->end && a->is_whole == b->is_whole && a->is_kept == b->is_kept);
	check(a->cut_cfa == b->cut_cfa);
	check(!memcmp(a->frame, b->frame, a->n * sizeof(*a->frame)));
}

/* The first frame at or after from that is heuristic; n without one. */
static uint32_t first_heuristic(const struct unwind_result *r, uint32_t from)
{
	while (from < r->n && !is_heuristic(&r->frame[from]))
		from++;
	return from;
}

/* A memo before the call that changes it. */
struct old_memo {
	struct unwind_frame frame[DEPTH];
	uint32_t n;
};

static void old_memo_set(struct old_memo *old, const struct unwind_memo *m)
{
	old->n = m->n;
	if (m->n)
		memcpy(old->frame, m->frame, m->n * sizeof(*m->frame));
}

/* The first frame at which the walk may have met the memo; n without one. */
static uint32_t first_met(const struct unwind_result *r, const struct old_memo *old)
{
	for (uint32_t i = 0; i < r->n; i++)
		for (uint32_t k = 0; k < old->n; k++)
			if (is_one_place(&r->frame[i], &old->frame[k]))
				return i;
	return r->n;
}

/* a: with the memo; b: by an unwinder in the same state, without. */
static void check_memo(const struct unwind_result *a, const struct unwind_result *b,
		       const struct old_memo *old)
{
	check(!b->n_joined && !b->n_same);
	for (uint32_t i = 0; i < a->n_same; i++)
		check(is_one_place(&old->frame[i], &a->frame[a->n - 1 - i]));
	uint32_t n_met = first_met(a, old);
	check(n_met <= b->n && !memcmp(a->frame, b->frame, n_met * sizeof(*a->frame)));
	if (n_met == a->n) {
		check(a->n == b->n && a->end == b->end && a->is_whole == b->is_whole);
		check(a->cut_cfa == b->cut_cfa);
		return;
	}
	uint32_t n = first_heuristic(a, n_met + 1), n_walked = a->n - a->n_joined;
	if (n_met == n_walked) {
		check(b->n == n_walked);
		return;
	}
	check(n_met < b->n && is_heuristic(&a->frame[n_met]) == is_heuristic(&b->frame[n_met]));
	check_places(a, b, n < n_walked ? n : n_walked);
	if (!a->n_joined && n == a->n)
		check(a->n == b->n && a->end == b->end);
}

/* b: by a new unwinder.  Where the stacks before have shown a function to switch stacks, a ends. */
static void check_new(const struct unwind_result *a, const struct unwind_result *b)
{
	uint32_t n = first_heuristic(a, 1), m = first_heuristic(b, 1);
	uint32_t n_walked = a->n - a->n_joined;
	n = n < n_walked ? n : n_walked;
	check_places(a, b, n < m ? n : m);
}

/* ---- stacks --------------------------------------------------------------------------- */

/* An unwinder with tables and a memo of its own. */
struct walker {
	struct unwind *u;
	struct cfi *cfi;
	struct unwind_memo memo;
};

static void walker_init(struct walker *w, const struct arch *a, struct cfi_bytes eh)
{
	const struct cfi_bytes none = { 0 };
	const struct unwind_options o = { .arch = a, .find_module = find_module,
		.read_code = read_code, .max_depth = DEPTH, .n_cache = 64 };
	*w = (struct walker){ .u = unwind_new(&o) };
	check(w->u && cfi_open_sections(a, none, eh, none, &w->cfi) == 0);
}

static void walker_done(struct walker *w)
{
	unwind_memo_done(&w->memo);
	unwind_free(w->u);
	cfi_close(w->cfi);
}

static void walker_walk(struct walker *w, struct unwind_input in, struct unwind_memo *m,
			struct unwind_result *ret)
{
	in.ctx = w->cfi;
	unwind_stack(w->u, &in, m, ret);
	check_result(ret, m);
}

#define STACKS 4

struct scene {
	const struct arch *a;
	struct cfi_bytes eh;
	struct walker with;
	struct walker later[STACKS];    /* later[k] has seen the stacks before k, as `with` has */
};

static void scene_init(struct scene *s, const struct arch *a, struct cfi_bytes eh)
{
	s->a = a;
	s->eh = eh;
	walker_init(&s->with, a, eh);
	for (unsigned int k = 0; k < STACKS; k++)
		walker_init(&s->later[k], a, eh);
}

static void scene_done(struct scene *s)
{
	walker_done(&s->with);
	for (unsigned int k = 0; k < STACKS; k++)
		walker_done(&s->later[k]);
}

static void scene_stack(struct scene *s, unsigned int k, const struct unwind_input *in)
{
	struct unwind_result a, b;
	struct walker w;
	static struct old_memo old;
	old_memo_set(&old, &s->with.memo);
	walker_walk(&s->with, *in, &s->with.memo, &a);
	check_slots(s->a, in, &a);
	walker_walk(&s->later[k], *in, NULL, &b);
	check_memo(&a, &b, &old);
	for (unsigned int i = k + 1; i < STACKS; i++) {
		walker_walk(&s->later[i], *in, &s->later[i].memo, &b);
		check_equal(&a, &b);
	}
	if (k == 0)
		return;
	walker_init(&w, s->a, s->eh);
	walker_walk(&w, *in, NULL, &b);
	check_new(&a, &b);
	walker_done(&w);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct head h;
	if (size < sizeof(h))
		return 0;
	memcpy(&h, data, sizeof(h));
	data += sizeof(h);
	size -= sizeof(h);
	size_t n = h.n_stack_bytes < size ? h.n_stack_bytes : size;
	uint8_t *stack = malloc(n ? n : 1);
	if (!stack)
		abort();
	memcpy(stack, data, n);

	const struct arch *a = h.arch & 1 ? &arch_arm64 : &arch_x86_64;
	code = data;
	n_code = size;
	struct scene s;
	scene_init(&s, a, (struct cfi_bytes){ data + n, size - n, 0x9000 });

	struct unwind_regs regs = { .valid = ~0ull };
	for (unsigned int i = 0; i < ARCH_REGS_MAX; i++)
		regs.r[i] = h.reg[i % 6] & 1 ? BIAS + h.reg[i % 6] : SP + h.reg[i % 6];
	regs.r[a->sp] = SP;
	regs.r[a->fp] = SP + h.fp;
	regs.r[a->pc] = BIAS + h.pc;
	struct unwind_input in = { .regs = &regs, .stack = stack, .n_stack_bytes = n, .space = 1 };
	scene_stack(&s, 0, &in);
	scene_stack(&s, 1, &in);
	regs.r[a->pc] += 4;
	in.n_stack_bytes = h.n_later_bytes < n ? h.n_later_bytes : n;
	scene_stack(&s, 2, &in);
	in.n_stack_bytes = n;
	if (n)
		stack[h.change_word * 8u % n] ^= 0x40;
	scene_stack(&s, 3, &in);

	scene_done(&s);
	free(stack);
	return 0;
}
