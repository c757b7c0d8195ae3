#include "base/cleanup.h"
#include "base/err.h"
#include "base/host.h"
#include "symbolize/kernel/symkask.h"
#include "symbolize/kernel/symkernel-private.h"
#include "tests/unit/tap.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

CLEANUP_DEFINE(struct symkernel, symkernel_close)
CLEANUP_DEFINE(struct symkask, symkask_close)

/* "name offset size module", or "-". */
static const char *parsed(const char *text, size_t n)
{
	static char out[256];
	struct symkask_answer a;
	if (!symkask_parse(text, n, &a))
		return "-";
	snprintf(out, sizeof(out), "%.*s %" PRIx64 " %" PRIx64 " %.*s", (int)a.n_name, a.name,
		 a.offset, a.n_bytes, (int)a.n_module, a.n_module ? a.module : "");
	return out;
}

static void test_parse(void)
{
	static const struct { const char *text, *want; } row[] = {
		{ "do_futex+0x12/0x340", "do_futex 12 340 " },
		{ "ext4_map+0x0/0x10 [ext4]", "ext4_map 0 10 ext4" },
		{ "a+b+0x1/0x2", "a+b 1 2 " },
		{ "name with blanks+0x1/0x2 [m]", "name with blanks 1 2 m" },
		{ "f+0x1/0xffffffffffffffff", "f 1 ffffffffffffffff " },
		{ "0xffffffff81000000", "-" },
		{ "", "-" },
		{ "+0x1/0x2", "-" },
		{ "f", "-" },
		{ "f+", "-" },
		{ "f+0x/", "-" },
		{ "f+0x1", "-" },
		{ "f+1/2", "-" },
		{ "f+0x2/0x2", "-" },
		{ "f+0x0/0x0", "-" },
		{ "f+0x1/0x10000000000000000", "-" },
		{ "f+0x1/0x2 [m", "-" },
		{ "f+0x1/0x2 []", "-" },
		{ "f+0x1/0x2 m]", "-" },
		{ "f+0x1/0x2more", "-" },
	};
	for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++)
		tap_str(parsed(row[i].text, strlen(row[i].text) + 1), row[i].want, row[i].text);
	tap_str(parsed("f+0x1/0x2 [m]", 9), "f 1 2 ", "a text without NUL ends with its bytes");
	tap_str(parsed("f+0x1/0x2", 0), "-", "no text");
}

/* The address of each symbol, and the last byte of each function. */
static uint64_t *choose(const struct symkernel *k, size_t *ret_n)
{
	uint64_t *address = malloc((2 * k->sym.n + 1) * sizeof(*address));
	size_t n = 0;
	for (size_t i = 0; address && i < k->sym.n; i++) {
		const struct symkernel_sym *s = &k->sym.v[i];
		const char *module = k->module.v[s->module].name;
		bool is_core = !*module && s->address >= k->text_start && s->address < k->text_end;
		/* BPF programs come and go; what has no name in kallsyms has none here. */
		if (s->name == SYMKERNEL_NO_NAME || (!is_core && !*module) ||
		    strcmp(module, "bpf") == 0 || strncmp(module, "__builtin__", 11) == 0)
			continue;
		address[n++] = s->address;
		if (is_core && i + 1 < k->sym.n && s[1].address > s->address + 1)
			address[n++] = s[1].address - 1;
	}
	*ret_n = n;
	return address;
}

static void compare(const struct symkernel *all, const struct symkernel *asked,
		    const uint64_t *address, size_t n)
{
	size_t n_other = 0;
	for (size_t i = 0; i < n; i++) {
		const char *name[2] = { "", "" }, *module[2] = { "", "" };
		uint64_t start[2] = { 0 };
		bool is_in_all = symkernel_find(all, address[i], &name[0], &module[0], &start[0]);
		bool is_asked = symkernel_find(asked, address[i], &name[1], &module[1], &start[1]);
		/* For the kernel, symbols of data and labels end a function, too. */
		bool is_inside = start[1] > start[0] && start[1] <= address[i];
		if (is_in_all && is_asked && strcmp(module[0], module[1]) == 0 &&
		    (is_inside || (strcmp(name[0], name[1]) == 0 && start[0] == start[1])))
			continue;
		if (n_other++ < 10)
			printf("# %" PRIx64 ": %s [%s], %s [%s]\n", address[i], name[0], module[0],
			       name[1], module[1]);
	}
	tap_ok(n_other == 0, "%zu addresses have the names of kallsyms", n);
}

static double cpu_ms(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void test_running_kernel(const struct host *h)
{
	CLEANUP(symkernel_closep) struct symkernel *all = NULL, *asked = NULL;
	CLEANUP(symkask_closep) struct symkask *a = NULL;
	struct symkask_answer got;
	struct err e;
	uint64_t text[2][2];
	int r = symkask_open(&a);
	if (r < 0 || symkernel_open(h, &all, &e) < 0) {
		tap_skip("the running kernel", r < 0 ? strerror(-r) : e.what);
		return;
	}
	size_t n = 0;
	CLEANUP_FREE uint64_t *address = choose(all, &n);
	if (!address || n == 0) {
		tap_ok(false, "kallsyms has functions");
		return;
	}
	double start_ms = cpu_ms();
	tap_int(symkernel_ask_open(h, address, n, NULL, &asked), 0, "the kernel answers");
	printf("# %zu addresses: %.1f ms\n", n, cpu_ms() - start_ms);
	if (!asked)
		return;
	compare(all, asked, address, n);
	symkernel_text(all, &text[0][0], &text[0][1]);
	symkernel_text(asked, &text[1][0], &text[1][1]);
	tap_ok(memcmp(text[0], text[1], sizeof(text[0])) == 0, "the same bounds of the text");
	tap_ok(symkernel_base(all, "") == symkernel_base(asked, "") &&
	       symkernel_shift(all) == symkernel_shift(asked), "the same base");
	tap_int(symkask_name(a, 0x1000, &got), 0, "an address of no function has no name");
	tap_int((long long)symkask_find(a, "no such"), 0, "an unknown symbol has no address");
	tap_int(symkask_name(a, text[0][0] + 0x1000, &got), 1, "the next question is answered");
	CLEANUP(symkernel_closep) struct symkernel *other = NULL;
	const uint64_t asked_for[] = { text[0][0], text[0][1] + 0x70000000u };
	const char *name = "", *module;
	uint64_t start;
	const uint64_t shift = 0x1234000;
	tap_int(symkernel_ask_open(h, asked_for, 2, &shift, &other), 0,
		"code without a name is no failure");
	tap_ok(other && symkernel_shift(other) == shift, "the shift that the caller knows");
	tap_ok(other && symkernel_find(other, asked_for[0], &name, &module, &start) &&
	       !symkernel_find(other, asked_for[1], &name, &module, &start),
	       "and the other code has its name");
}

int main(void)
{
	struct host h;
	struct err e;
	test_parse();
	if (host_open(&h, NULL, NULL, NULL, &e) == 0) {
		test_running_kernel(&h);
		host_close(&h);
	}
	return tap_done();
}
