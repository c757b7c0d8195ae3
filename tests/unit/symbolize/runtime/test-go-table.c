/* Go's table of functions as CFI in its three layouts, and who called a function that has gone to
 * another stack.  Real programs are recorded in tests/live/golang.sh. */

#include "symbolize/runtime/go-table.h"
#include "symbolize/runtime/runtime-file.h"
#include "symbolize/runtime/runtime-private.h"
#include "symbolize/unwind/unwind-call.h"
#include "tap.h"
#include "tests/unit/symbolize/cfibuild.h"
#include "tests/unit/symbolize/goprogram.h"

#include <stdlib.h>

/* The program; what is not in `with` is as in goprogram.h.  has_text: the table contains the start
 * of the code. */
static struct runtime_file *open_program(enum goprogram_layout layout, bool has_text,
					 struct gocode with)
{
	struct goprogram g;
	struct cfi *c = NULL;
	goprogram_make(&g, layout, !has_text);
	with.machine = with.machine ? with.machine : EM_X86_64;
	with.table = (struct gocode_part){ g.table, g.n_table };
	if (!with.text.p)
		with.text = (struct gocode_part){ goprogram_code, sizeof(goprogram_code) };
	int fd = gocode_file(&with);
	struct runtime_file *f = NULL;
	if (fd < 0 || cfi_open_file(fd, &c) < 0 || !(f = runtime_file_new(c)))
		abort();
	return f;
}

static void close_program(struct runtime_file *f)
{
	struct cfi *c = f->cfi;
	int fd = c->fd;
	runtime_file_free(f);
	cfi_close(c);
	close(fd);
}

static void is_rule(struct runtime_file *f, uint64_t vaddr, enum cfi_kind kind,
		    unsigned int flags, int cfa_off8, int ra_off8, const char *what)
{
	const struct module m = { .cfi = f->cfi, .file = f };
	struct cfi_rule r;
	runtime_file_rule(&m, vaddr, &r);
	tap_ok(r.kind == kind && r.flags == flags && r.cfa_off8 == cfa_off8 &&
		       (kind != CFI_PLAIN || flags & CFI_FLAG_RA_REG || r.ra_off8 == ra_off8),
	       "%s: kind %u, flags %x, cfa %d, ra %d", what, r.kind, r.flags, r.cfa_off8,
	       r.ra_off8);
}

static void test_rules(enum goprogram_layout layout)
{
	struct runtime_file *f = open_program(layout, true, (struct gocode){ 0 });
	struct go_table *g = runtime_file_data(f, &runtime_go);
	unsigned int saved = layout == GOPROGRAM_1_16 ? 0 : CFI_FLAG_FP_SAVED;
	struct go_table_function fn;
	char name[64];
	is_rule(f, GOCODE_TEXT - 1, CFI_NONE, 0, 0, 0, "before the first function");
	is_rule(f, GOPROGRAM_END, CFI_NONE, 0, 0, 0, "after the last function");
	is_rule(f, GOPROGRAM_GOEXIT, CFI_ROOT, 0, 0, 0, "the root of a goroutine");
	is_rule(f, GOPROGRAM_SYSTEMSTACK, CFI_PLAIN, 0, 1, -1, "before the switch of stacks");
	is_rule(f, GOPROGRAM_SYSTEMSTACK_RA - 1, CFI_ROOT, CFI_FLAG_SWITCH, 0, 0,
		"on the other stack");
	is_rule(f, GOPROGRAM_SYSTEMSTACK_RA + 4, CFI_PLAIN, 0, 1, -1, "back on the first stack");
	is_rule(f, GOPROGRAM_FUNC1, CFI_PLAIN, 0, 1, -1, "at a function's start");
	is_rule(f, GOPROGRAM_FUNC1 + 4, CFI_PLAIN, 0, 3, -1,
		"the frame pointer is not saved yet");
	is_rule(f, GOPROGRAM_FUNC1 + 9, CFI_PLAIN, saved, 3, -1, "the frame pointer is saved");
	tap_ok(go_table_find(g, GOPROGRAM_FUNC1 + 5, &fn) && fn.start == GOPROGRAM_FUNC1 &&
		       fn.end == GOPROGRAM_WORKER && go_table_name(g, &fn, name, sizeof(name)),
	       "a function is found");
	tap_str(name, "runtime.worker.func1", "its name");
	tap_ok(!go_table_name(g, &fn, name, 8), "a name longer than the buffer is an error");
	tap_ok(go_table_near(g, &fn, "main.outer", &fn) && fn.start == GOPROGRAM_OUTER,
	       "another function by its name");
	tap_ok(!go_table_near(g, &fn, "main.nobody", &fn), "a name that does not exist");
	close_program(f);
}

#define GO_MODULE_WORDS 44

static void test_start(void)
{
	const Elf64_Rela there = { GOCODE_TABLE + 24, ELF64_R_INFO(0, R_X86_64_RELATIVE),
				   GOCODE_TEXT };
	const struct gocode is_short = { .text = { goprogram_code, 0x80 } };
	struct runtime_file *f = open_program(GOPROGRAM_1_20, false,
					      (struct gocode){ .rela = { &there, sizeof(there) } });
	is_rule(f, GOPROGRAM_FUNC1 + 9, CFI_PLAIN, CFI_FLAG_FP_SAVED, 3, -1,
		"the code's start is relocated");
	close_program(f);
	f = open_program(GOPROGRAM_1_20, false, (struct gocode){ 0 });
	is_rule(f, GOPROGRAM_FUNC1 + 9, CFI_PLAIN, CFI_FLAG_FP_SAVED, 3, -1,
		"the code's start is unknown, but .text has the right size");
	close_program(f);
	f = open_program(GOPROGRAM_1_20, false, is_short);
	is_rule(f, GOPROGRAM_FUNC1 + 9, CFI_NONE, 0, 0, 0,
		"the code's start is unknown, and .text has another size");
	close_program(f);
}

/* Go 1.26 with cgo: .text begins with C code, and only moduledata has the start of Go's code. */
static void test_module(void)
{
	enum { BEFORE = 0x100 };
	uint8_t text[BEFORE + sizeof(goprogram_code)] = { 0x90 };
	uint64_t module[GO_MODULE_WORDS] = { [0] = GOCODE_TABLE, [22] = GOCODE_TEXT };
	Elf64_Rela rela[] = {
		{ GOCODE_MODULE, ELF64_R_INFO(0, R_X86_64_RELATIVE), GOCODE_TABLE },
		{ GOCODE_MODULE + 22 * 8, ELF64_R_INFO(0, R_X86_64_RELATIVE), GOCODE_TEXT },
	};
	struct cfibuild eh = { .vaddr = GOCODE_EH_FRAME, .is_eh = true };
	memcpy(text + BEFORE, goprogram_code, sizeof(goprogram_code));
	cfibuild_cie_x86(&eh, "zR");
	cfibuild_fde(&eh, GOCODE_TEXT - BEFORE, 0x20);
	cfibuild_end(&eh);
	cfibuild_terminate(&eh);
	struct gocode with = { .text = { text, sizeof(text) }, .n_before = BEFORE,
		.module = { module, sizeof(module) }, .eh_frame = { eh.v, eh.n } };

	struct runtime_file *f = open_program(GOPROGRAM_1_20, false, with);
	is_rule(f, GOPROGRAM_FUNC1 + 9, CFI_PLAIN, CFI_FLAG_FP_SAVED, 3, -1,
		"the code's start is in moduledata, C code precedes it");
	is_rule(f, GOPROGRAM_FUNC1 + 9 - BEFORE, CFI_NONE, 0, 0, 0, "no rule for C code");
	close_program(f);

	memset(module, 0, sizeof(module));
	with.rela = (struct gocode_part){ rela, sizeof(rela) };
	f = open_program(GOPROGRAM_1_20, false, with);
	is_rule(f, GOPROGRAM_FUNC1 + 9, CFI_PLAIN, CFI_FLAG_FP_SAVED, 3, -1,
		"the same in a position independent program");
	close_program(f);

	rela[0].r_addend++;
	f = open_program(GOPROGRAM_1_20, false, with);
	is_rule(f, GOPROGRAM_FUNC1 + 9, CFI_NONE, 0, 0, 0,
		"another module's data is not used, nor .text with C code");
	close_program(f);

	with.module.n = 22 * 8;
	f = open_program(GOPROGRAM_1_20, false, with);
	is_rule(f, GOPROGRAM_FUNC1 + 9, CFI_NONE, 0, 0, 0, "moduledata is too short");
	close_program(f);
}

static void test_arm64(void)
{
	struct runtime_file *f = open_program(GOPROGRAM_1_20, true,
					      (struct gocode){ .machine = EM_AARCH64 });
	is_rule(f, GOPROGRAM_FUNC1, CFI_PLAIN, CFI_FLAG_RA_REG, 0, 0, "arm64: no frame");
	is_rule(f, GOPROGRAM_FUNC1 + 8, CFI_PLAIN, 0, 2, -2, "arm64: a frame");
	close_program(f);
}

static bool find_module(void *ctx, uint64_t pc, struct module *ret)
{
	struct runtime_file *f = ctx;
	*ret = (struct module){ .cfi = f->cfi, .file = f, .bias = 0x10000000 };
	return pc - ret->bias >= GOCODE_TEXT && pc - ret->bias < GOPROGRAM_END;
}

static void is_caller(struct runtime_file *f, uint64_t called_at, uint64_t ra,
		      enum runtime_caller want, uint64_t want_ra, const char *what)
{
	const uint64_t bias = 0x10000000;
	uint64_t got = 0;
	const struct runtime_switch s = {
		.arch = &arch_x86_64, .find_module = find_module, .ctx = f,
		.at = GOPROGRAM_SYSTEMSTACK_RA - 1 + bias,
		.called_at = called_at ? called_at + bias : 0, .ra = ra + bias,
	};
	enum runtime_caller r = runtime_caller(&s, &got);
	tap_ok(r == want && (r != RUNTIME_CALLER_BETWEEN || got == want_ra + bias), "%s: %u, %#llx",
	       what, r, (unsigned long long)got);
}

static void is_outer(struct runtime_file *f, uint64_t ra, enum unwind_call_site want,
		     const char *what)
{
	tap_int(unwind_call_site(&arch_x86_64, find_module, f, ra + 0x10000000), want, what);
}

static void test_callers(void)
{
	const uint64_t in_func1 = GOPROGRAM_FUNC1 + 14;
	struct runtime_file *f = open_program(GOPROGRAM_1_18, true, (struct gocode){ 0 });
	is_caller(f, in_func1, GOPROGRAM_OUTER_RA, RUNTIME_CALLER_BETWEEN, GOPROGRAM_WORKER_RA2,
		  "a call further out names the caller; the function passed, its call site");
	is_caller(f, 0, GOPROGRAM_OUTER_RA, RUNTIME_CALLER_BETWEEN, GOPROGRAM_WORKER_RA1,
		  "the first call site, if the called function is unknown");
	is_caller(f, in_func1, GOPROGRAM_OUTER_ANY_RA, RUNTIME_CALLER_BETWEEN, GOPROGRAM_WORKER_RA2,
		  "the caller by the name of the function that it passes on");
	is_caller(f, in_func1, GOPROGRAM_GOEXIT + 1, RUNTIME_CALLER_BETWEEN, GOPROGRAM_WORKER_RA2,
		  "the same in a goroutine's first function");
	is_caller(f, in_func1, GOPROGRAM_WORKER_RA2, RUNTIME_CALLER_NEXT, 0,
		  "no caller is missing");
	is_caller(f, 0, GOPROGRAM_OUTER_ANY_RA, RUNTIME_CALLER_DENIED, 0,
		  "the missing caller is unknown");
	is_caller(f, 0, GOPROGRAM_OUTER_RA - 1, RUNTIME_CALLER_DENIED, 0,
		  "an address that follows no call");
	is_caller(f, in_func1, GOPROGRAM_OUTER_RA - 1, RUNTIME_CALLER_DENIED, 0,
		  "the same with a known called function");
	is_outer(f, GOPROGRAM_OUTER_RA, UNWIND_CALL_SITE, "a return address");
	is_outer(f, GOPROGRAM_OUTER_RA - 1, UNWIND_CALL_SITE_NONE, "not a return address");
	is_outer(f, GOPROGRAM_GOEXIT + 1, UNWIND_CALL_SITE_ROOT,
		 "a return address in the outermost function");
	is_outer(f, GOPROGRAM_END + 8, UNWIND_CALL_SITE_NONE, "nothing is mapped there");
	close_program(f);
}

int main(void)
{
	for (enum goprogram_layout layout = 0; layout < GOPROGRAM_N; layout++)
		test_rules(layout);
	test_start();
	test_module();
	test_arm64();
	test_callers();
	return tap_done();
}
