/* What the table of runtimes answers about code, files and processes. */

#include "symbolize/cfi/cfi.h"
#include "symbolize/runtime/runtime-file.h"
#include "symbolize/runtime/runtime-private.h"
#include "tap.h"
#include "tests/unit/symbolize/goprogram.h"

static void test_library(void)
{
	const struct runtime *java = runtime_of_library("/usr/lib/jvm/java-17/server/libjvm.so");
	tap_ok(java == &runtime_hotspot, "libjvm.so is HotSpot's library");
	tap_ok(runtime_of_program("/usr/bin/node") == &runtime_v8, "a program has its whole name");
	tap_ok(!runtime_of_program("/usr/bin/node-gyp"), "not only its start");
	tap_ok(runtime_of_library("/usr/lib/libnode.so.108") == &runtime_v8, "Debian's Node.js");
	tap_ok(!runtime_of_library("/usr/lib/libc.so.6"), "other libraries are nobody's");
	tap_ok(!runtime_of_library("/libjvm.so/other"), "nor are files in a folder of that name");
	tap_ok(!runtime_of_library("[vdso]") && !runtime_of_library(NULL), "nor is a missing name");
}

#define ROOT(arch, ...)                                                                            \
	runtime_root(arch, (const uint8_t[]){ __VA_ARGS__ }, sizeof((uint8_t[]){ __VA_ARGS__ }))

static void test_roots(void)
{
	tap_int(ROOT(&arch_x86_64, 0x89, 0xc7, 0xe8, 0, 0, 0, 0), RUNTIME_ROOT_FRAME,
		"musl: main's result is passed to exit");
	tap_int(ROOT(&arch_x86_64, 0x48, 0x31, 0xff, 0xe8, 0, 0, 0, 0, 0xf4), RUNTIME_ROOT_TRAP,
		"boost.context: a coroutine that returns ends the program");
	tap_int(ROOT(&arch_x86_64, 0x48, 0x83, 0xc4, 8, 0xc3), RUNTIME_ROOT_NO, "other code");
	tap_int(ROOT(&arch_arm64, 0x00, 0x00, 0x80, 0xd2, 0, 0, 0, 0x94), RUNTIME_ROOT_TRAP,
		"arm64: mov x0, #0; bl _exit");
	tap_int(runtime_root(&arch_x86_64, NULL, 0), RUNTIME_ROOT_NO, "code that is unreadable");
}

static void test_first(void)
{
	/* 4 bytes before the return address: nop; call; nop */
	const uint8_t goexit[] = { 0xcc, 0xcc, 0xcc, 0x90, 0xe8, 1, 2, 3, 4, 0x90, 0xcc };
	tap_ok(runtime_is_first(&arch_x86_64, goexit, sizeof(goexit)),
	       "a goroutine's first frame returns after the nop of goexit");
	tap_ok(!runtime_is_first(&arch_x86_64, goexit, 9), "not where the code is cut");
	tap_ok(!runtime_is_first(&arch_x86_64, goexit + 1, sizeof(goexit) - 1), "nor elsewhere");
	tap_ok(!runtime_is_first(&arch_arm64, goexit, sizeof(goexit)), "nor on arm64");
}

/* ---- a CFA that depends on an unknown value --------------------------------------------- */

#define STACK 0x7000u
static const uint64_t words[] = { 3, 0x123450, STACK + 8, STACK + 16 };
static unsigned int n_below;

static bool load(void *ctx, uint64_t at, uint64_t *ret)
{
	(void)ctx;
	if (at < STACK || at - STACK >= sizeof(words))
		return false;
	*ret = words[(at - STACK) / 8];
	return true;
}

static bool if_kept(void *ctx, uint64_t *ret)
{
	(void)ctx;
	*ret = 0x1111;
	return true;
}

static bool if_below(void *ctx, uint64_t word, uint64_t *ret)
{
	(void)ctx;
	n_below++;
	*ret = word + 1;
	return word == STACK + 16;
}

static void test_cfa(void)
{
	struct runtime_lost_cfa l = {
		.why = CFI_EVAL_NO_REG, .stack = STACK, .n_stack_bytes = sizeof(words),
		.load = load, .if_kept = if_kept, .if_below = if_below,
	};
	uint64_t cfa = 0;
	tap_ok(runtime_cfa(&l, &cfa) && cfa == 0x1111, "a register that callees preserve");
	l.why = CFI_EVAL_NO_MEMORY;
	tap_ok(!runtime_cfa(&l, &cfa), "only the innermost frame can have words below its stack");
	l.is_innermost = true;
	tap_ok(runtime_cfa(&l, &cfa) && cfa == STACK + 17 && n_below == 2,
	       "a word of the stack that points into the stack");
	l.why = CFI_EVAL_BAD;
	tap_ok(!runtime_cfa(&l, &cfa), "malformed CFI stays malformed");
}

/* ---- files ------------------------------------------------------------------------------ */

static void test_files(void)
{
	struct goprogram g;
	goprogram_make(&g, GOPROGRAM_1_20, false);
	int fd = gocode_file(&(struct gocode){ .machine = EM_X86_64,
		.table = { g.table, g.n_table },
		.text = { goprogram_code, sizeof(goprogram_code) } });
	tap_ok(runtime_file_switches(fd), "a Go program switches stacks");
	close(fd);
	fd = gocode_file(&(struct gocode){ .machine = EM_X86_64, .table = { "none", 4 },
		.text = { goprogram_code, sizeof(goprogram_code) } });
	tap_ok(!runtime_file_switches(fd), "a file with a damaged table does not");
	struct cfi *c = NULL;
	struct runtime_file *f = cfi_open_file(fd, &c) == 0 ? runtime_file_new(c) : NULL;
	const struct module m = { .cfi = c, .file = f }, plain = { .cfi = c };
	struct cfi_rule rule;
	uint64_t start;
	tap_ok(f && !runtime_file_data(f, &runtime_go) && f->is_searched, "it is nobody's");
	runtime_file_rule(&m, GOCODE_TEXT, &rule);
	tap_ok(rule.kind == CFI_NONE && !runtime_file_function(&m, GOCODE_TEXT, &start),
	       "and neither CFI nor a runtime knows its code");
	runtime_file_rule(&plain, GOCODE_TEXT, &rule);
	tap_ok(rule.kind == CFI_NONE && !runtime_file_function(&plain, GOCODE_TEXT, &start),
	       "a module may be without a runtime's file");
	runtime_file_free(f);
	cfi_close(c);
	close(fd);
	tap_ok(!runtime_file_switches(-1), "no file");
}

int main(void)
{
	test_library();
	test_roots();
	test_first();
	test_cfa();
	test_files();
	return tap_done();
}
