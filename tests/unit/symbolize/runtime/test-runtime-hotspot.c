/* The frames of methods that Java's compilers have produced, from each place in them. */

#include "symbolize/runtime/runtime-private.h"
#include "tests/unit/tap.h"

#define PAGE 0x7000
#define N_PAGES 2
#define BIG (PAGE + 0x40)       /* mov %eax, -0x14000(%rsp); push %rbp; sub $0x130, %rsp */
#define SMALL (PAGE + 0x100)    /* sub $24, %rsp; mov %rbp, 16(%rsp) */
#define FRAMED (PAGE + 0x180)   /* with mov %rsp, %rbp */
#define LATE (PAGE + 0x1000 - 6) /* begins at a page's end */

static uint8_t code[N_PAGES * 0x1000];

static size_t read_code(void *ctx, uint64_t at, uint8_t *buf, size_t n_bytes)
{
	(void)ctx;
	if (at < PAGE || at - PAGE >= sizeof(code))
		return 0;
	size_t n = sizeof(code) - (at - PAGE);
	if (n > n_bytes)
		n = n_bytes;
	memcpy(buf, code + (at - PAGE), n);
	return n;
}

static int n_refused;

static bool accept(void *ctx, const struct cfi_rule *rule)
{
	(void)ctx;
	(void)rule;
	return n_refused-- <= 0;
}

#define PUT(at, ...)                                                                               \
	memcpy(code + ((at) - PAGE), (const uint8_t[]){ __VA_ARGS__ },                             \
	       sizeof((uint8_t[]){ __VA_ARGS__ }))

struct place {
	const char *name;
	uint64_t pc;
	bool is_call;           /* a frame that has called, not one that was interrupted */
	int cfa_off, fp_off;    /* 0: no rule; unchanged */
	int n_refused;
	uint32_t known;         /* words of the frame, by the JVM's own description */
};

static const struct place places[] = {
	{ "at a method's start", BIG, false, 8, 0, 0 },
	{ "before the push", BIG + 7, false, 8, 0, 0 },
	{ "after the push", BIG + 8, false, 16, -16, 0 },
	{ "after the prologue", BIG + 15, false, 0x140, -16, 0 },
	{ "in the middle", BIG + 0x30, false, 0x140, -16, 0 },
	{ "after a call", BIG + 0x30, true, 0x140, -16, 0 },
	{ "where a register was pushed", BIG + 0x30, false, 0x148, -16, 1 },
	{ "where the stack does not confirm it", BIG + 0x30, false, 0, 0, 2 },
	{ "after a call where the stack does not confirm it", BIG + 0x30, true, 0, 0, 1 },
	{ "after add", BIG + 0x47, false, 16, -16, 0 },
	{ "after pop", BIG + 0x48, false, 8, 0, 0 },
	{ "at the return", BIG + 0x4f, false, 8, 0, 0 },
	{ "after the return", BIG + 0x50, false, 0x140, -16, 0 },
	{ "a call at the same address", BIG + 0x48, true, 0x140, -16, 0 },
	{ "a small method's start", SMALL, false, 8, 0, 0 },
	{ "before a small method saves the frame pointer", SMALL + 4, false, 32, 0, 0 },
	{ "after a small method's prologue", SMALL + 9, false, 32, -16, 0 },
	{ "a small method's epilogue, after add", SMALL + 0x24, false, 16, -16, 0 },
	{ "a small method's epilogue, after pop", SMALL + 0x25, false, 8, 0, 0 },
	{ "a method with a frame pointer", FRAMED + 0x20, false, 0, 0, 0 },
	{ "the prologue of such a method", FRAMED + 8, false, 0, 0, 0 },
	{ "a method that spans two pages", LATE + 0x40, false, 0x30, -16, 0 },
	{ "no method precedes", PAGE + 0x20, false, 0, 0, 0 },
	{ "no code is readable", 0x100000, false, 0, 0, 0 },
	{ "a frame that the JVM describes", PAGE + 0x20, false, 48, -16, 0, 6 },
	{ "its epilogue, after add", BIG + 0x47, false, 16, -16, 0, 40 },
	{ "its epilogue, after pop", BIG + 0x48, false, 8, 0, 0, 40 },
	{ "another frame's epilogue", BIG + 0x47, false, 48, -16, 0, 6 },
	{ "where a register was pushed into it", PAGE + 0x20, false, 56, -16, 1, 6 },
	{ "where the stack does not confirm it, either", PAGE + 0x20, false, 0, 0, 2, 6 },
};

int main(void)
{
	struct cfi_code c = { .arch = &arch_x86_64, .read = read_code, .accept = accept };
	memset(code, 0x90, sizeof(code));
	PUT(BIG, 0x89, 0x84, 0x24, 0x00, 0xc0, 0xfe, 0xff, 0x55, 0x48, 0x81, 0xec, 0x30, 1, 0, 0);
	/* add $0x130, %rsp; pop %rbp; cmp 0x340(%r15), %rsp ... */
	PUT(BIG + 0x40, 0x48, 0x81, 0xc4, 0x30, 0x01, 0, 0, 0x5d, 0x49, 0x3b, 0xa7, 0x40, 3, 0, 0,
	    0xc3);
	PUT(SMALL, 0x48, 0x83, 0xec, 0x18, 0x48, 0x89, 0x6c, 0x24, 0x10);
	PUT(SMALL + 0x20, 0x48, 0x83, 0xc4, 0x10, 0x5d, 0xc3);
	PUT(FRAMED, 0x89, 0x84, 0x24, 0x00, 0xc0, 0xfe, 0xff, 0x55, 0x48, 0x8b, 0xec, 0x48, 0x83,
	    0xec, 0x20);
	PUT(LATE, 0x89, 0x84, 0x24, 0x00, 0x80, 0xfe, 0xff, 0x55, 0x48, 0x83, 0xec, 0x20);
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		const struct place *p = &places[i];
		struct cfi_rule r = { 0 };
		n_refused = p->n_refused;
		c.frame_words = p->known;
		bool found = runtime_hotspot.jit_rule(&c, p->pc, !p->is_call, &r);
		bool ok = found == (p->cfa_off != 0);
		if (ok && found)
			ok = r.kind == CFI_PLAIN && r.cfa_off8 * 8 == p->cfa_off &&
			     r.ra_off8 == -1 &&
			     (r.flags & CFI_FLAG_FP_SAVED ? r.fp_off8 * 8 : 0) == p->fp_off &&
			     !(r.flags & CFI_FLAG_HEURISTIC) == (p->known > 0);
		if (!tap_ok(ok, "%s", p->name))
			printf("# found %d cfa %d fp %d\n", found, r.cfa_off8 * 8, r.fp_off8 * 8);
	}
	return tap_done();
}
