/* Arguments of probes, as compilers write them for x86-64 and arm64. */
#include "event/evarg.h"
#include "tap.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static void is_arg(const struct arch_probe *arch, const char *args, unsigned n, int want_r,
		   const struct evarg *want)
{
	struct evarg a = { 0 };
	int r = evarg_find(args, n, arch, &a);
	bool same = !want || (a.from.kind == want->from.kind && a.from.reg == want->from.reg &&
			      a.from.index == want->from.index &&
			      a.from.index_shift == want->from.index_shift &&
			      a.from.low_bit == want->from.low_bit &&
			      a.from.number == want->from.number && a.n_bytes == want->n_bytes &&
			      a.is_signed == want->is_signed);
	tap_ok(r == want_r && same, "%s, argument %u: %d", args, n, r);
}

#define NONE ARCHPROBE_NO_REG
#define NUMBER(n, bytes, sign) \
	&(struct evarg){ { ARCHPROBE_NUMBER, NONE, NONE, .number = (n) }, (bytes), (sign) }
#define REG(reg_, low, bytes, sign) \
	&(struct evarg){ { ARCHPROBE_REG, (reg_), NONE, .low_bit = (low) }, (bytes), (sign) }
#define MEMORY(reg_, index_, shift, n, bytes, sign) \
	&(struct evarg){ { ARCHPROBE_MEMORY, (reg_), (index_), (shift), .number = (n) }, (bytes), \
			 (sign) }

static void test_x86(void)
{
	const struct arch_probe *x = &x86probe_arch;
	const char *all = "8@%rdi -4@%esi 1@%al -2@%r10w";
	is_arg(x, all, 1, 0, REG(5, 0, 8, false));
	is_arg(x, all, 2, 0, REG(4, 0, 4, true));
	is_arg(x, all, 3, 0, REG(0, 0, 1, false));
	is_arg(x, all, 4, 0, REG(18, 0, 2, true));
	is_arg(x, all, 5, -ENOENT, NULL);
	is_arg(x, "", 1, -ENOENT, NULL);
	is_arg(x, all, 0, -ENOENT, NULL);
	is_arg(x, "-4@%rdi", 1, 0, REG(5, 0, 4, true));
	is_arg(x, "8@%ecx", 1, 0, REG(2, 0, 4, false));
	is_arg(x, "1@%bh", 1, 0, REG(1, 8, 1, false));
	is_arg(x, "-4@$-5", 1, 0, NUMBER(-5, 4, true));
	is_arg(x, "8@$0xffffffffffffffff", 1, 0, NUMBER(-1, 8, false));
	is_arg(x, "-8@$0x10", 1, 0, NUMBER(16, 8, true));
	is_arg(x, "%rax", 1, 0, REG(0, 0, 8, false));
	is_arg(x, "8@-8(%rbp)", 1, 0, MEMORY(6, NONE, 0, -8, 8, false));
	is_arg(x, "-4@(%rsp)", 1, 0, MEMORY(7, NONE, 0, 0, 4, true));
	is_arg(x, "8@16(%r15,%rbx,4)", 1, 0, MEMORY(23, 1, 2, 16, 8, false));
	is_arg(x, "8@(,%rbx,8)", 1, 0, MEMORY(NONE, 1, 3, 0, 8, false));
	is_arg(x, "8@(%rax,%rbx)", 1, 0, MEMORY(0, 1, 0, 0, 8, false));
	static const char *const not_in_samples[] = {
		"8@counter(%rip)", "8@16+counter(%rip)", "-4@%xmm0", "8@%fs:16", "8@16(%rax",
		"8@16(%rax)x", "8@(%eax)", "8@(%rax,%rbx,3)", "8@(%rax,,4)", "8@$", "8@", "8@%",
		"8@16", "8@$5x", "8@%rdix", "8f@%rdi", "8@(%rax,%rbx,99999999999999999999)",
		"8@$99999999999999999999", "8@%zh", "8@-(%rax)",
	};
	for (size_t i = 0; i < sizeof(not_in_samples) / sizeof(*not_in_samples); i++)
		is_arg(x, not_in_samples[i], 1, -EOPNOTSUPP, NULL);
	is_arg(x, "3@%rax", 1, -EINVAL, NULL);
	is_arg(x, "x@%rax", 1, -EINVAL, NULL);
	is_arg(x, "@%rax", 1, -EINVAL, NULL);
	is_arg(NULL, "8@%rax", 1, -EOPNOTSUPP, NULL);
	char text[200] = "8@%";
	memset(text + 3, 'r', 150);
	is_arg(x, text, 1, -EINVAL, NULL);
}

static void test_arm64(void)
{
	const struct arch_probe *x = &arm64probe_arch;
	const char *all = "8@x0 -4@w1 8@[sp, 16] -4@[x19,24] 4@5 8@[x0, x1, lsl 3] 8@[x2]";
	is_arg(x, all, 1, 0, REG(0, 0, 8, false));
	is_arg(x, all, 2, 0, REG(1, 0, 4, true));
	is_arg(x, all, 3, 0, MEMORY(31, NONE, 0, 16, 8, false));
	is_arg(x, all, 4, 0, MEMORY(19, NONE, 0, 24, 4, true));
	is_arg(x, all, 5, 0, NUMBER(5, 4, false));
	is_arg(x, all, 6, 0, MEMORY(0, 1, 3, 0, 8, false));
	is_arg(x, all, 7, 0, MEMORY(2, NONE, 0, 0, 8, false));
	is_arg(x, all, 8, -ENOENT, NULL);
	tap_ok(evarg_count(all) == 7 && evarg_count("  ") == 0 &&
	       evarg_count("1@1 1@1 1@1 1@1 1@1 1@1 1@1 1@1 1@1 1@1 1@1 1@1 1@1") == EVARG_MAX,
	       "arguments are counted, to a limit");
	is_arg(x, "-8@sp", 1, 0, REG(31, 0, 8, true));
	is_arg(x, "8@xzr", 1, 0, &(struct evarg){ { ARCHPROBE_NUMBER, 0xfe, NONE }, 8 });
	is_arg(x, "8@#-3", 1, 0, NUMBER(-3, 8, false));
	is_arg(x, "8@[sp, -16]", 1, 0, MEMORY(31, NONE, 0, -16, 8, false));
	static const char *const not_in_samples[] = {
		"8@x31", "8@v0", "8@[w0]", "8@[x0", "8@[x0, w1, sxtw 2]", "8@[x0, x1, lsl 9]",
		"8@x", "8@[]", "8@d0", "8@x0x", "8@[xzr]", "8@",
	};
	for (size_t i = 0; i < sizeof(not_in_samples) / sizeof(*not_in_samples); i++)
		is_arg(x, not_in_samples[i], 1, -EOPNOTSUPP, NULL);
}

static void steps(const struct arch_probe *x, const char *code, size_t n, bool want,
		  const char *name)
{
	tap_ok(x->is_stepped((const uint8_t *)code, n) == want, "%s is %s", name,
	   want ? "stepped" : "emulated");
}

/* As the kernel's tables have them, and as was measured. */
static void test_steps(void)
{
	const struct arch_probe *x = &x86probe_arch, *a = &arm64probe_arch;
	steps(x, "\x90", 1, false, "nop");
	steps(x, "\x66\x90", 2, false, "nop of 2 bytes");
	steps(x, "\x0f\x1f\x44\0\0", 5, false, "nop of 5 bytes");
	steps(x, "\x0f\x1f\x84\0\0\0\0\0", 8, false, "nop of 8 bytes");
	steps(x, "\x55\x90", 2, false, "push");
	steps(x, "\x41\x54\x90", 3, false, "push of r12");
	steps(x, "\xeb\0\x90", 3, false, "jmp");
	steps(x, "\xe8\0\0\0\0", 5, false, "call");
	steps(x, "\x0f\x85\0\0\0\0", 6, false, "jne");
	steps(x, "\x75\0\x90", 3, false, "short jne");
	steps(x, "\xf3\x0f\x1e\xfa", 4, true, "endbr64");
	steps(x, "\x48\x89\xf8", 3, true, "mov");
	steps(x, "\x48\x85\xff", 3, true, "test");
	steps(x, "\xc3\x90\x90", 3, true, "ret");
	steps(x, "\x48\x83\xec\x08", 4, true, "sub from rsp");
	steps(x, "\x5f\x90\x90", 3, true, "pop");
	steps(x, "\x0f", 1, true, "a cut instruction");
	steps(a, "\x1f\x20\x03\xd5", 4, false, "nop (arm64)");
	steps(a, "\xc0\x03\x5f\xd6", 4, false, "ret (arm64)");
	steps(a, "\x01\0\0\x94", 4, false, "bl");
	steps(a, "\x40\0\0\x54", 4, false, "b.eq");
	steps(a, "\x40\0\0\xb4", 4, false, "cbz");
	steps(a, "\x40\0\x10\x37", 4, false, "tbnz");
	steps(a, "\x01\0\0\x90", 4, false, "adrp");
	steps(a, "\xfd\x7b\xbf\xa9", 4, true, "stp");
	steps(a, "\x3f\x23\x03\xd5", 4, true, "paciasp");
	steps(a, "\0\0", 2, true, "a cut instruction (arm64)");
}

int main(void)
{
	test_x86();
	test_arm64();
	test_steps();
	return tap_done();
}
