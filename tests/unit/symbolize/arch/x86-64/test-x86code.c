/* x86-64: calls, PLT entries, roots, prologues and epilogues. */

#include "symbolize/arch/arch.h"
#include "tests/unit/tap.h"

#define RA 0x401000u

static void calls(void)
{
	uint64_t to = 0;
	static const struct { const char *name; uint8_t b[7];
			      enum arch_call want; } calls[] = {
		{ "call rel32", { 0x90, 0x90, 0xe8, 1, 2, 3, 4 }, ARCH_CALL_DIRECT },
		{ "call rax", { 0x90, 0x90, 0x90, 0x90, 0x90, 0xff, 0xd0 }, ARCH_CALL_OTHER },
		{ "call [rax]", { 0x90, 0x90, 0x90, 0x90, 0x90, 0xff, 0x10 }, ARCH_CALL_OTHER },
		{ "call [rax + 8]", { 0x90, 0x90, 0x90, 0x90, 0xff, 0x50, 8 }, ARCH_CALL_OTHER },
		{ "call [rsp + 8]", { 0x90, 0x90, 0x90, 0xff, 0x54, 0x24, 8 }, ARCH_CALL_OTHER },
		{ "call [rip + disp32]", { 0x90, 0xff, 0x15, 1, 2, 3, 4 }, ARCH_CALL_SLOT },
		{ "call [rax + rbx * 8 + disp32]", { 0xff, 0x94, 0xd8, 1, 2, 3, 4 },
		  ARCH_CALL_OTHER },
		{ "jmp rax", { 0x90, 0x90, 0x90, 0x90, 0x90, 0xff, 0xe0 }, ARCH_CALL_NONE },
		{ "no call", { 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90 }, ARCH_CALL_NONE },
	};
	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++)
		tap_ok(arch_x86_64.call(calls[i].b, 7, RA, &to) == calls[i].want, "%s",
		       calls[i].name);
	tap_ok(arch_x86_64.call(calls[0].b, 0, RA, &to) == ARCH_CALL_NONE,
	       "an empty buffer is not a call");

	arch_x86_64.call(calls[0].b, 7, RA, &to);
	tap_int((int64_t)to, RA + 0x04030201, "the address that a call names");
	arch_x86_64.call(calls[5].b, 7, RA, &to);
	tap_int((int64_t)to, RA + 0x04030201, "the address of the pointer that it calls through");
}

static void plt_entries(void)
{
	static const struct { const char *name; uint8_t b[16]; uint64_t want; } v[] = {
		{ "jmp *disp(%rip)", { 0xff, 0x25, 8, 0, 0, 0 }, RA + 14 },
		{ "with bnd", { 0xf2, 0xff, 0x25, 8, 0, 0, 0 }, RA + 15 },
		{ "with endbr64", { 0xf3, 0x0f, 0x1e, 0xfa, 0xff, 0x25, 8, 0, 0, 0 }, RA + 18 },
		{ "a direct jump is not a call", { 0xe9, 1, 2, 3, 4 }, 0 },
	};
	for (size_t i = 0; i < sizeof(v) / sizeof(*v); i++) {
		uint64_t slot = 0;
		bool found = arch_x86_64.stub_slot(v[i].b, 16, RA, &slot);
		tap_ok(found ? slot == v[i].want : !v[i].want, "PLT entry: %s", v[i].name);
	}
	uint64_t slot;
	tap_ok(!arch_x86_64.stub_slot(v[0].b, 5, RA, &slot), "PLT entry: cut short");
}

/* Two entries of 16 bytes: one that jumps through its slot, and a lazy one of a PLT with IBT. */
static void plts(void)
{
	static const uint8_t plt[32] = { 0xf2, 0xff, 0x25, 9, 0, 0, 0,
		[16] = 0xf3, 0x0f, 0x1e, 0xfa, 0x68, 3, 0, 0, 0, 0xf2, 0xe9 };
	uint64_t x = 0;
	tap_ok(arch_x86_64.plt_entry(plt, 32, RA, 5, 16, &x) == ARCH_PLT_SLOT && x == RA + 16,
	       "an entry of a PLT, from its middle");
	tap_ok(arch_x86_64.plt_entry(plt, 32, RA, 16, 16, &x) == ARCH_PLT_INDEX && x == 3,
	       "a lazy entry");
	tap_int(arch_x86_64.plt_entry(plt, 20, RA, 16, 16, &x), ARCH_PLT_NONE, "a PLT cut short");
}

static void roots(void)
{
	tap_ok(arch_x86_64.is_root((uint8_t[]){ 0x89, 0xc7, 0xe8, 0 }, 4), "exit(main())");
	static const uint8_t coroutine[] = { 0xf3, 0x0f, 0x1e, 0xfa, 0x48, 0x31, 0xff,
		0xe8, 1, 2, 3, 4, 0xf4 };
	tap_ok(arch_x86_64.is_exit(coroutine, 13) && arch_x86_64.is_exit(coroutine + 4, 9) &&
		       arch_x86_64.is_exit(coroutine + 5, 8) &&
		       !arch_x86_64.is_exit(coroutine, 12) &&
		       !arch_x86_64.is_exit(coroutine + 6, 7) && !arch_x86_64.is_exit(coroutine, 0),
	       "_exit(0) after a coroutine");
	tap_ok(arch_x86_64.is_root((uint8_t[]){ 0x48, 0x89, 0xc7, 0xe8, 0 }, 5),
	       "pthread_exit(start())");
	tap_ok(arch_x86_64.is_root((uint8_t[]){ 0x89, 0xc7, 0x31, 0xc0, 0xb0, 60, 0x0f, 5 }, 8),
	       "the end of clone");
	tap_ok(!arch_x86_64.is_root((uint8_t[]){ 0x89, 0xc7, 0x31, 0xc0, 0xb0, 61, 0x0f, 5 }, 8) &&
	       !arch_x86_64.is_root((uint8_t[]){ 0x89, 0xc7 }, 2), "other code is not a root");
}

/* The pc is at the second byte. */
static void prologues(void)
{
	static const struct { const char *name; uint8_t b[16]; int cfa_off8, fp_off8; } v[] = {
		{ "before the push", { 0x90, 0x55, 0x48, 0x89, 0xe5 }, 1, 0 },
		{ "after the push", { 0x55, 0x48, 0x89, 0xe5 }, 2, -2 },
		{ "endbr64", { 0x90, 0xf3, 0x0f, 0x1e, 0xfa, 0x55, 0x48, 0x8b, 0xec }, 1, 0 },
		{ "Java's stack check", { 0x90, 0x89, 0x84, 0x24, 0, 0xc0, 0xfe, 0xff, 0x55, 0x48,
		  0x8b, 0xec }, 1, 0 },
		{ "no prologue", { 0x90, 0x55, 0x53, 0x48, 0x89, 0xe5 }, 0, 0 },
	};
	for (size_t i = 0; i < sizeof(v) / sizeof(*v); i++) {
		struct cfi_rule r;
		bool found = arch_x86_64.prologue_rule(v[i].b + 1, 15, &r);
		tap_ok(found == (v[i].cfa_off8 != 0) &&
			       (!found || (r.cfa_off8 == v[i].cfa_off8 && r.ra_off8 == -1 &&
					   r.fp_off8 == v[i].fp_off8)), "prologue: %s", v[i].name);
	}
	static const uint8_t epilogue[] = { 0x48, 0x83, 0xc4, 8, 0x5b, 0x5d, 0xc3, 0xc9, 0xc3 };
	tap_ok(arch_x86_64.is_epilogue(epilogue, 7) && arch_x86_64.is_epilogue(epilogue + 7, 2),
	       "epilogues");
	tap_ok(!arch_x86_64.is_epilogue(epilogue, 6), "an epilogue ends with a return");
	static const uint8_t store[] = { 0x48, 0x89, 0x6c, 0x24, 8 };
	tap_ok(arch_x86_64.stores_fp(store, 5) && !arch_x86_64.stores_fp(store, 3) &&
	       !arch_x86_64.stores_fp(epilogue, 4), "mov %%rbp, 8(%%rsp) stores the frame pointer");
}

static void references(void)
{
	static const uint8_t code[] = {
		0x48, 0x8b, 0x05, 0x00, 0x10, 0x00, 0x00,       /* mov 0x1000(%rip), %rax */
		0x48, 0x83, 0x3d, 0xf8, 0xff, 0xff, 0xff, 0x05, /* cmpq $5, -8(%rip) */
		0x48, 0x8b, 0x45, 0x08,                         /* mov 8(%rbp), %rax */
		0xc3,
	};
	uint64_t at[4];
	tap_ok(arch_x86_64.references(code, sizeof(code), 0x401000, at, 4) == 2 &&
	       at[0] == 0x402007 && at[1] == 0x401007, "operands relative to their instruction");
	tap_ok(arch_x86_64.references(code, sizeof(code), 0x401000, at, 1) == 1 &&
	       arch_x86_64.references(code, 6, 0x401000, at, 4) == 0,
	       "no more than there is room for, and no incomplete one");
}

int main(void)
{
	calls();
	plt_entries();
	plts();
	roots();
	prologues();
	references();
	return tap_done();
}
