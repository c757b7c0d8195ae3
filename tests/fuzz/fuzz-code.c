/*
 * The unwinder on untrusted code, which it follows where there is no CFI: hand-written functions,
 * PLT entries, JIT code.  The input is struct head, the code and .eh_frame, each preceded by its
 * length (u16), and the stack.
 *
 * The same code is mapped four times: in a file with that .eh_frame, in one without CFI, as JIT
 * code, and as JIT code of HotSpot.  Words of the stack lead to all of them.
 */

#include "symbolize/cfi/cfi.h"
#include "symbolize/runtime/runtime-file.h"
#include "symbolize/runtime/runtime-loop.h"
#include "symbolize/runtime/runtime.h"
#include "symbolize/unwind/unwind-call.h"
#include "symbolize/unwind/unwind.h"

#include "fuzzdir.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define BIAS 0x550000000000ull
#define SP 0x7ffc00001000ull
#define PART_BYTES 0x4000u       /* of each mapping, most of them zeros */
#define EH_VADDR 0x9000u
#define DEPTH 48

enum { PART_FILE, PART_PLAIN, PART_JIT, PART_HOTSPOT, N_PARTS };

struct head {
	uint8_t arch, no_regs;           /* registers that are not known, besides sp and pc */
	uint16_t pc, fp;                 /* from BIAS, from SP */
	uint16_t reg[5];
};

static struct cfi *cfi;
static struct runtime_file *file;
static uint8_t code[PART_BYTES];

static bool find_module(void *ctx, uint64_t pc, struct module *ret)
{
	uint64_t part = (pc - BIAS) / PART_BYTES;
	if (part >= N_PARTS)
		return false;
	*ret = (struct module){ .bias = BIAS + part * PART_BYTES, .id = 1 + part };
	if (part == PART_FILE) {
		ret->cfi = cfi;
		ret->file = file;
	}
	ret->is_jit = part >= PART_JIT;
	if (part == PART_HOTSPOT)
		ret->runtime = runtime_of_library("/libjvm.so");
	return true;
}

static size_t read_code(void *ctx, uint64_t pc, void *buf, size_t n_bytes)
{
	uint64_t at = pc - BIAS;
	if (at >= N_PARTS * PART_BYTES)
		return 0;
	at %= PART_BYTES;
	if (n_bytes > PART_BYTES - at)
		n_bytes = PART_BYTES - at;
	memcpy(buf, code + at, n_bytes);
	return n_bytes;
}

static void ask_arch(const struct arch *a, const struct bytes *b)
{
	size_t n_all = bytes_left(b);
	uint64_t target;
	for (size_t at = 0; at < n_all && at < 256; at += a->insn_align) {
		const uint8_t *p = b->p + at;
		size_t n = n_all - at;
		a->call(p, n < ARCH_CALL_BYTES ? n : ARCH_CALL_BYTES, BIAS + at, &target);
		a->stub_slot(p, n < ARCH_STUB_BYTES ? n : ARCH_STUB_BYTES, BIAS + at, &target);
		a->stores_fp(p, n < 16 ? n : 16);
		runtime_root(a, p, n < RUNTIME_ROOT_BYTES ? n : RUNTIME_ROOT_BYTES);
	}
	for (size_t at = 0; at + 16 <= n_all && at < 256; at += 16)
		a->plt_entry(b->p, n_all, BIAS, at, 16, &target);
	uint64_t reference[16];
	a->n_sp_loads(b->p, n_all);
	if (a->references(b->p, n_all, BIAS, reference, 16) > 16)
		abort();
}

static void check_loop(const struct runtime_loop *l)
{
	fuzzdir_check(l->n <= RUNTIME_LOOP_PARTS_MAX);
	for (unsigned i = 0; i < l->n; i++)
		fuzzdir_check(l->part[i].start < l->part[i].end &&
			      runtime_loop_has(l, l->part[i].start));
}

/* The code as that of an interpreter. */
static void ask_loops(uint64_t start, size_t n_bytes)
{
	struct runtime_loop loop;
	struct runtime_range callee;
	runtime_loop_find(&loop, cfi, start, n_bytes);
	check_loop(&loop);
	runtime_loop_find_callee(&loop, cfi, start, n_bytes);
	check_loop(&loop);
	runtime_loop_find_threaded(&loop, cfi);
	check_loop(&loop);
	if (runtime_loop_callee(cfi, start, n_bytes, &callee))
		fuzzdir_check(callee.start < callee.end);
}

static void ask_calls(const struct arch *a, const uint8_t *stack, size_t n)
{
	uint64_t word, last = BIAS, ra;
	for (size_t at = 0; at + 8 <= n && at < 512; at += 8) {
		memcpy(&word, stack + at, 8);
		if (word - BIAS >= N_PARTS * PART_BYTES)
			continue;
		const struct runtime_switch s = {
			.arch = a, .find_module = find_module, .at = word, .called_at = last,
			.ra = BIAS + at,
		};
		runtime_caller(&s, &ra);
		unwind_call_site(a, find_module, NULL, word);
		unwind_call_before(a, find_module, NULL, last, word);
		unwind_call_is_one_function(find_module, NULL, last, word);
		last = word;
	}
}

static void check_result(const struct unwind_result *r)
{
	fuzzdir_check(r->n >= 1 && r->n <= DEPTH && r->n_joined < r->n);
	fuzzdir_check(r->frame[0].flags & UNWIND_FRAME_EXACT);
}

static void unwind_all(const struct arch *a, struct unwind_regs *regs, uint8_t *stack, size_t n)
{
	const struct unwind_options o = {
		.arch = a, .find_module = find_module, .read_code = read_code, .max_depth = DEPTH,
		.n_cache = 64,
	};
	struct unwind *u = unwind_new(&o);
	struct unwind_memo memo = { 0 };
	struct unwind_result r;
	uint64_t from = regs->r[a->pc];
	fuzzdir_check(u != NULL);
	for (unsigned i = 0; i < N_PARTS; i++) {
		const struct unwind_input in = {
			.regs = regs, .stack = stack, .n_stack_bytes = n, .space = 1,
		};
		regs->r[a->pc] = from + i * PART_BYTES;
		unwind_stack(u, &in, NULL, &r);
		check_result(&r);
		unwind_stack(u, &in, &memo, &r);
		check_result(&r);
	}
	unwind_memo_done(&memo);
	unwind_free(u);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bytes b = bytes_of(data, size);
	struct head h;
	const void *p = bytes_take(&b, sizeof(h));
	const struct cfi_bytes none = { 0 };
	if (!p)
		return 0;
	memcpy(&h, p, sizeof(h));
	struct bytes text = fuzzdir_part(&b), eh = fuzzdir_part(&b);
	if (bytes_left(&text) > PART_BYTES)
		return 0;
	memset(code, 0, sizeof(code));
	memcpy(code, text.p, bytes_left(&text));
	size_t n = bytes_left(&b);
	uint8_t *stack = malloc(n ? n : 1);
	fuzzdir_check(stack != NULL);
	memcpy(stack, b.p, n);

	const struct arch *a = h.arch & 1 ? &arch_arm64 : &arch_x86_64;
	const struct cfi_bytes eh_frame = { eh.p, bytes_left(&eh), EH_VADDR };
	fuzzdir_check(cfi_open_sections(a, none, eh_frame, none, &cfi) == 0);
	cfi->image = code;
	cfi->n_image_bytes = PART_BYTES;
	cfi->load[0] = (struct cfi_load){ .n_file_bytes = PART_BYTES };
	cfi->n_loads = 1;
	file = runtime_file_new(cfi);

	struct unwind_regs regs = { .valid = ~0ull };
	for (unsigned i = 0; i < ARCH_REGS_MAX; i++) {
		uint16_t v = h.reg[i % 5];
		regs.r[i] = v & 1 ? BIAS + (v >> 1) : SP + v;
		if (h.no_regs >> i % 8 & 1)
			regs.valid &= ~(1ull << i);
	}
	regs.r[a->sp] = SP;
	regs.r[a->fp] = SP + h.fp;
	regs.r[a->pc] = BIAS + h.pc;
	regs.valid |= 1ull << a->sp | 1ull << a->pc;
	unwind_all(a, &regs, stack, n);
	ask_arch(a, &text);
	ask_calls(a, stack, n);
	ask_loops(h.pc % PART_BYTES, bytes_left(&text));

	runtime_file_free(file);
	cfi_close(cfi);
	free(stack);
	return 0;
}
