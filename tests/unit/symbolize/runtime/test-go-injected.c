/* Calls that the runtime has put onto the stack of a goroutine, whose caller made none, and
 * functions that the compiler made.  Real ones are in tests/live/goroutines.sh. */

#include "symbolize/runtime/go-table.h"
#include "symbolize/runtime/runtime-file.h"
#include "symbolize/runtime/runtime-private.h"
#include "symbolize/unwind/unwind.h"
#include "tap.h"
#include "tests/unit/symbolize/goprogram.h"

#include <stdlib.h>

/* The functions of goprogram.h with other names. */
static const char *const names[GOPROGRAM_FUNCTIONS] = {
	"runtime.goexit", "main.main.gowrap1", "runtime.sigpanic", "runtime.asyncPreempt.abi0",
	"main.outer",
};

static struct runtime_file *file;

static bool find_module(void *ctx, uint64_t pc, struct module *ret)
{
	(void)ctx;
	*ret = (struct module){ .cfi = file->cfi, .file = file, .id = 1 };
	return pc >= GOCODE_TEXT && pc < GOPROGRAM_END;
}

static void open_program(const struct arch *arch)
{
	struct goprogram g;
	struct cfi *c = NULL;
	goprogram_make_as(&g, GOPROGRAM_1_20, false, names);
	int fd = gocode_file(&(struct gocode){
		.machine = arch->e_machine, .table = { g.table, g.n_table },
		.text = { goprogram_code, sizeof(goprogram_code) } });
	if (fd < 0 || cfi_open_file(fd, &c) < 0 || !(file = runtime_file_new(c)))
		abort();
}

static void close_program(void)
{
	struct cfi *c = file->cfi;
	int fd = c->fd;
	runtime_file_free(file);
	cfi_close(c);
	close(fd);
}

/* asyncPreempt was called at the first instruction of main.outer. */
static void interrupted(void)
{
	const uint64_t stack[] = { GOPROGRAM_OUTER, GOPROGRAM_GOEXIT + 1, 0 };
	const struct unwind_options o = { .arch = &arch_x86_64, .find_module = find_module };
	struct unwind *u = unwind_new(&o);
	struct unwind_regs regs = { .valid = 1u << 7 | 1u << 16 };
	regs.r[7] = 0x7000;
	regs.r[16] = GOPROGRAM_WORKER + 4;
	const struct unwind_input in = {
		.regs = &regs, .stack = (const uint8_t *)stack, .n_stack_bytes = sizeof(stack),
		.space = 1,
	};
	/* the second time all rules are in the cache */
	for (int i = 0; u && i < 2; i++) {
		struct unwind_result r;
		unwind_stack(u, &in, NULL, &r);
		tap_ok(r.n == 3 && r.end == UNWIND_ROOT && r.frame[1].pc == GOPROGRAM_OUTER &&
		       r.frame[1].flags & UNWIND_FRAME_EXACT &&
		       !(r.frame[2].flags & UNWIND_FRAME_EXACT),
		       "an interrupted function has no call before its pc");
	}
	unwind_free(u);
}

static void rules(void)
{
	const struct module m = { .cfi = file->cfi, .file = file };
	struct cfi_rule r;
	runtime_file_rule(&m, GOPROGRAM_FUNC1 + 4, &r);
	tap_ok(r.kind == CFI_PLAIN && r.flags & CFI_FLAG_INTERRUPTED && r.cfa_off8 == 4 &&
	       r.ra_off8 == -4, "arm64: the link register is below the call");
	runtime_file_rule(&m, GOPROGRAM_OUTER, &r);
	tap_ok(!(r.flags & CFI_FLAG_INTERRUPTED), "arm64: no other function");
}

static void wrappers(void)
{
	const struct module m = { .cfi = file->cfi, .file = file };
	tap_ok(runtime_file_is_wrapper(&m, GOPROGRAM_SYSTEMSTACK) &&
	       !runtime_file_is_wrapper(&m, GOPROGRAM_OUTER) &&
	       !runtime_file_is_wrapper(&m, GOPROGRAM_END + 8), "functions for go statements");
	struct go_table *g = runtime_file_data(file, &runtime_go);
	struct go_table_function f;
	bool found = go_table_find(g, GOPROGRAM_OUTER, &f);
	f.id = 21;
	tap_ok(found && go_table_is_wrapper(g, &f), "by their number, before Go 1.22");
	found = go_table_find(g, GOPROGRAM_FUNC1, &f);
	f.id = 21;
	tap_ok(found && !go_table_is_wrapper(g, &f), "which later is one of the runtime");
}

int main(void)
{
	open_program(&arch_x86_64);
	interrupted();
	wrappers();
	close_program();
	open_program(&arch_arm64);
	rules();
	close_program();
	return tap_done();
}
