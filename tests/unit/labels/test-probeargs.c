/* Arguments of probes in registers and in the copy of the stack. */
#include "labels/probeargs.h"
#include "source/record.h"
#include "tests/unit/tap.h"

#include <linux/perf_event.h>
#include <string.h>

#define SP 7u                   /* perf's number on x86-64 */
#define AX 0u
#define DI 5u
#define R8 16u

static const uint64_t mask = 1u << AX | 1u << DI | 1u << SP | 1u << R8;
static uint64_t regs[4];        /* ax, di, sp, r8 */
static uint64_t stack[8];

static struct record_sample sample(void)
{
	return (struct record_sample){
		.user_abi = PERF_SAMPLE_REGS_ABI_64, .user_regs_mask = mask, .user_regs = regs,
		.user_stack = (const uint8_t *)stack, .n_user_stack_bytes = sizeof(stack),
	};
}

static const struct evusdt_args *args_of(const char *args)
{
	static struct evusdt_args a;
	static const char *const key[] = { "a", "b", "c" };
	a = (struct evusdt_args){ .sp = SP, .has_value = true };
	evarg_find(args, 1, &x86probe_arch, &a.value);
	for (unsigned n = 2; n <= evarg_count(args); n++) {
		a.key[a.n_labels] = key[n - 2];
		evarg_find(args, n, &x86probe_arch, &a.label[a.n_labels++]);
	}
	return &a;
}

static void is_value(const char *args, uint64_t want, bool is_unknown)
{
	struct record_sample s = sample();
	struct probeargs a;
	probeargs_read(args_of(args), &s, &a);
	tap_ok(a.value == want && a.is_unknown == is_unknown, "%s is %llu%s", args,
	       (unsigned long long)a.value, a.is_unknown ? ", unknown" : "");
}

static void is_label(const char *arg, const char *want)
{
	struct record_sample s = sample();
	struct probeargs a;
	char text[100];
	snprintf(text, sizeof(text), "8@$1 %s", arg);
	probeargs_read(args_of(text), &s, &a);
	tap_ok(a.n_labels == 1 && strcmp(a.key[0], "a") == 0 && strcmp(a.text[0], want) == 0,
	       "the label %s is %s", arg, a.n_labels ? a.text[0] : "unknown");
}

static void test_values(void)
{
	regs[0] = 0xffffffff12348765u;
	regs[1] = 4096;
	regs[2] = 0x7ffc00001000u;
	regs[3] = 2;
	for (unsigned i = 0; i < 8; i++)
		stack[i] = 100 + i;
	is_value("8@%rdi", 4096, false);
	is_value("4@%eax", 0x12348765, false);
	is_value("2@%ax", 0x8765, false);
	is_value("1@%ah", 0x87, false);
	is_value("-4@%eax", 0x12348765, false);
	is_value("8@$77", 77, false);
	is_value("8@(%rsp)", 100, false);
	is_value("8@56(%rsp)", 107, false);
	is_value("4@(%rsp,%r8,8)", 102, false);
	is_value("8@57(%rsp)", 0, true);
	is_value("1@63(%rsp)", 0, false);
	is_value("1@64(%rsp)", 0, true);
	is_value("8@-8(%rsp)", 0, true);
	is_value("8@(%rdi)", 0, true);
	is_value("8@%rbx", 0, true);
	is_value("-2@%ax", 0, true);
	is_value("8@%rax", 0, true);
	is_value("8@$0x20000000000000", PROBEARGS_VALUE_MAX, false);
	is_value("8@$0x20000000000001", 0, true);
}

static void test_labels(void)
{
	struct record_sample s = sample();
	struct probeargs a;
	is_label("-2@%ax", "-30875");
	is_label("2@%ax", "34661");
	is_label("8@%rax", "18446744069720016741");
	is_label("-8@$-9223372036854775808", "-9223372036854775808");
	probeargs_read(args_of("8@%rdi 8@(%rdi) 8@%r8"), &s, &a);
	tap_ok(a.is_unknown && a.value == 4096 && a.n_labels == 1 && strcmp(a.key[0], "b") == 0,
	       "a label that is not in the sample is left out, and the sample counts as before");
	s.user_abi = PERF_SAMPLE_REGS_ABI_32;
	probeargs_read(args_of("8@%rdi"), &s, &a);
	tap_ok(a.is_unknown && a.value == 0, "32-bit code has no such registers");
	s = (struct record_sample){ .user_abi = 0 };
	probeargs_read(args_of("8@%rdi 8@(%rsp)"), &s, &a);
	tap_ok(a.is_unknown && !a.n_labels, "a sample without registers has no arguments");
}

int main(void)
{
	test_values();
	test_labels();
	return tap_done();
}
