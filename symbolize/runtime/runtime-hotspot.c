/*
 * Java's compilers use the frame pointer as a general register unless -XX:+PreserveFramePointer is
 * given.  But the stack pointer stays where the prologue has set it, so the prologue, which is
 * searched backwards from the pc, says how large the frame is.  x86-64 only.
 *
 * HotSpot's C1 and C2 begin a method in one of two ways (MacroAssembler::verified_entry of JDK 8
 * to 21):
 *
 *	mov %eax, -OFFSET(%rsp); push %rbp; sub $N, %rsp	with a check for stack overflow
 *	sub $N, %rsp; mov %rbp, N-8(%rsp)			small leaf methods
 *
 * With -XX:+PreserveFramePointer, mov %rsp, %rbp follows the push or the end; such methods are
 * left to the rules by the frame pointer.  The epilogue is add $N, %rsp; pop %rbp; a safepoint
 * poll; ret.  Between the two, only a few intrinsics move the stack pointer.  The slow paths and
 * handlers after a method's end have the same frame.
 *
 * Where the JVM's own description of the code is known (hotspot-code.c), it has the frame's size.
 */

#include "symbolize/runtime/runtime-private.h"

#include "symbolize/arch/x86-64/x86insn.h"
#include "symbolize/runtime/hotspot-code.h"

#include <string.h>

/* The longest method, and what is read at once: a page. */
#define HOTSPOT_BYTES_MAX (64u << 10)
#define HOTSPOT_CHUNK 4096u

/* The longest prologue, and the longest epilogue after its pop. */
#define HOTSPOT_ENTER_BYTES 18u
#define HOTSPOT_LEAVE_BYTES 32u

/* A method's frame. */
struct hotspot {
	bool has_fp;                    /* rbp is the frame pointer */
	uint32_t n_bytes;               /* from the stack pointer to the saved frame pointer */
	uint32_t n_sub;                 /* N */
};

/* sub or add $N, %rsp.  Returns the bytes of the instruction; 0: another one. */
static size_t hotspot_by_sp(const uint8_t *p, uint8_t modrm, uint32_t *ret)
{
	if (p[0] != 0x48 || (p[1] != 0x83 && p[1] != 0x81) || p[2] != modrm)
		return 0;
	*ret = p[3];
	if (p[1] == 0x81)
		memcpy(ret, p + 3, sizeof(*ret));
	return p[1] == 0x83 ? 4 : 7;
}

/* mov %rsp, %rbp */
static bool hotspot_is_mov_fp(const uint8_t *p)
{
	return p[0] == 0x48 && ((p[1] == 0x89 && p[2] == 0xe5) || (p[1] == 0x8b && p[2] == 0xec));
}

/* Is there a prologue at p, where HOTSPOT_ENTER_BYTES are readable?  Returns its bytes; 0: no. */
static size_t hotspot_enter(const uint8_t *p, struct hotspot *ret)
{
	static const uint8_t sub = 0xec;
	size_t n;
	uint32_t disp;
	if (p[0] == 0x89) {
		if (p[1] != 0x84 || p[2] != 0x24 || p[6] != 0xff || p[7] != 0x55)
			return 0;
		ret->has_fp = hotspot_is_mov_fp(p + 8);
		n = ret->has_fp ? 3 : 0;
		n += hotspot_by_sp(p + 8 + n, sub, &ret->n_sub);
		ret->n_bytes = ret->n_sub;
		return n > 3 && ret->n_sub % 8 == 0 ? 8 + n : 0;
	}
	n = hotspot_by_sp(p, sub, &ret->n_sub);
	if (!n || ret->n_sub < 8 || ret->n_sub % 8 || p[n] != 0x48 || p[n + 1] != 0x89 ||
	    p[n + 3] != 0x24)
		return 0;
	disp = p[n + 4];
	if (p[n + 2] == 0xac)
		memcpy(&disp, p + n + 4, sizeof(disp));
	else if (p[n + 2] != 0x6c)
		return 0;
	ret->n_bytes = disp;
	n += p[n + 2] == 0x6c ? 5 : 8;
	ret->has_fp = hotspot_is_mov_fp(p + n);
	return disp == ret->n_sub - 8 ? n : 0;
}

/* Finds the last prologue before pc, page by page, because the previous page may not be mapped. */
static bool hotspot_find(const struct cfi_code *c, uint64_t pc, struct hotspot *ret)
{
	uint8_t b[HOTSPOT_CHUNK + HOTSPOT_ENTER_BYTES];
	uint64_t at = pc & ~(uint64_t)(HOTSPOT_CHUNK - 1), n_bytes = pc - at;
	for (; pc - at < HOTSPOT_BYTES_MAX; at -= HOTSPOT_CHUNK, n_bytes = HOTSPOT_CHUNK) {
		size_t n_read = n_bytes + HOTSPOT_ENTER_BYTES;
		if (c->read(c->ctx, at, b, n_read) != n_read)
			return false;
		for (size_t i = n_bytes; i-- > 0;) {
			size_t n = b[i] == 0x89 || b[i] == 0x48 ? hotspot_enter(b + i, ret) : 0;
			if (n && at + i + n <= pc)
				return true;
		}
	}
	return false;
}

/* The rule within a prologue; true with CFI_NONE where rbp becomes the frame pointer. */
static bool hotspot_entering(const struct cfi_code *c, uint64_t pc, struct cfi_rule *ret)
{
	const size_t n_back = 8;
	uint8_t b[8 + HOTSPOT_ENTER_BYTES];
	struct hotspot h;
	if (c->read(c->ctx, pc - n_back, b, sizeof(b)) != sizeof(b))
		return false;
	*ret = (struct cfi_rule){ .kind = CFI_PLAIN, .flags = CFI_FLAG_HEURISTIC | CFI_FLAG_JIT,
				  .cfa_off8 = 1, .ra_off8 = -1 };
	for (size_t i = 0; i <= n_back; i++) {
		size_t n = hotspot_enter(b + i, &h), in = n_back - i;
		if (n <= in)
			continue;
		if (h.has_fp || h.n_sub / 8 >= INT16_MAX)
			ret->kind = CFI_NONE;
		if (b[i] == 0x89 && in == 8) {
			ret->cfa_off8 = 2;
			ret->fp_off8 = -2;
			ret->flags |= CFI_FLAG_FP_SAVED;
		} else if (b[i] == 0x48 && in > 0) {
			ret->cfa_off8 = (int16_t)(h.n_sub / 8 + 1);
		}
		return true;
	}
	return false;
}

/* Bytes that the epilogue has removed from the stack at pc. */
static uint32_t hotspot_left(const struct cfi_code *c, uint64_t pc, const struct hotspot *h)
{
	static const uint8_t add = 0xc4;
	uint8_t b[HOTSPOT_LEAVE_BYTES];
	uint32_t n_add;
	if (c->read(c->ctx, pc - sizeof(b), b, sizeof(b)) != sizeof(b))
		return 0;
	for (size_t i = sizeof(b) - 3; i-- > 0;) {
		size_t at = i, n = i + 7 <= sizeof(b) || b[i + 1] == 0x83 ?
			hotspot_by_sp(b + i, add, &n_add) : 0;
		if (!n || n_add != h->n_bytes)
			continue;
		at += n;
		if (at == sizeof(b))
			return h->n_bytes;
		if (b[at++] != 0x5d)
			continue;
		/* no jump or return between the pop and pc */
		while (at < sizeof(b)) {
			struct x86insn x = x86insn_decode(b + at, sizeof(b) - at);
			if (!x.n_bytes || (!x.is_vector && (*x.p == 0xc3 || *x.p == 0xe9 ||
							    *x.p == 0xeb)))
				break;
			at += x.n_bytes;
		}
		if (at == sizeof(b))
			return h->n_bytes + 8;
	}
	return 0;
}

static bool hotspot_rule(const struct cfi_code *c, uint64_t pc, bool is_exact,
			 struct cfi_rule *ret)
{
	struct hotspot h;
	if (c->arch != &arch_x86_64)
		return false;
	if (is_exact && hotspot_entering(c, pc, ret))
		return ret->kind == CFI_PLAIN && c->accept(c->ctx, ret);
	bool is_known = c->frame_words >= 2;
	if (is_known)
		h = (struct hotspot){ .n_bytes = 8 * (c->frame_words - 2) };
	else if (!hotspot_find(c, pc, &h) || h.has_fp)
		return false;
	if (h.n_bytes > 8u * INT16_MAX - 16)
		return false;
	uint32_t left = is_exact ? hotspot_left(c, pc, &h) : 0;
	struct cfi_rule r = { .kind = CFI_PLAIN, .flags = CFI_FLAG_HEURISTIC | CFI_FLAG_JIT,
		.cfa_off8 = (int16_t)((h.n_bytes + 16 - left) / 8), .ra_off8 = -1 };
	if (left <= h.n_bytes) {
		r.flags |= CFI_FLAG_FP_SAVED;
		r.fp_off8 = -2;
	}
	bool is_so = c->accept(c->ctx, &r);
	if (!is_so && is_exact && !left) {
		/* an intrinsic that has pushed a register */
		r.cfa_off8++;
		is_so = c->accept(c->ctx, &r);
	}
	/* at a leaf the stack has confirmed it, and it does not change */
	if (is_so && is_known)
		r.flags &= (uint8_t)~(CFI_FLAG_HEURISTIC | CFI_FLAG_JIT);
	if (is_so)
		*ret = r;
	return is_so;
}

/* ---- the interpreter ---------------------------------------------------------------------- */

/*
 * The interpreter keeps below its frame pointer (interpreter_frame_sender_sp_offset, last_sp and
 * method in HotSpot's frame_x86.hpp) the stack pointer of its sender, its own before it called
 * another function (0: it has not), and the method.  It takes its arguments from the stack, but
 * compiled code has them in registers: when that calls it, the stack pointer is moved between the
 * two.
 */
static uint64_t hotspot_interpreter_sp(uint64_t fp, uint64_t cfa, const uint64_t *below)
{
	uint64_t method = below[0], last_sp = below[1], sp = below[2];
	bool is_last = last_sp == 0 || fp - last_sp < RUNTIME_ARGS_BYTES_MAX * 8 ||
		       -last_sp < RUNTIME_ARGS_BYTES_MAX; /* since JDK 22 in words from fp */
	return is_last && method && method % 8 == 0 &&
	       (sp == cfa || runtime_is_moved_sp(sp, cfa)) ? sp : 0;
}

const struct runtime runtime_hotspot = {
	.name = "HotSpot",
	.library = "libjvm.so",
	.jit_rule = hotspot_rule,
	.code = &hotspot_code_ops,
	.interpreter_sp = hotspot_interpreter_sp,
};
