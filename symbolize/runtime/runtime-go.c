/*
 * Go keeps its own table of functions, needs no CFI for it, and switches between the stacks of
 * goroutines and threads.  The parts are go-table.c (rules), go-switch.c and go-names.c.
 */

#include "symbolize/arch/arch.h"
#include "symbolize/runtime/go-names.h"
#include "symbolize/runtime/go-switch.h"
#include "symbolize/runtime/go-table.h"
#include "symbolize/runtime/runtime-private.h"

static void *open_file(struct cfi *c)
{
	return go_table_open(c);
}

static void close_file(void *file)
{
	go_table_close(file);
}

static bool rule_at(void *file, uint64_t vaddr, struct cfi_rule *ret)
{
	return go_table_rule(file, vaddr, ret);
}

static bool function_at(void *file, uint64_t vaddr, uint64_t *ret_start)
{
	struct go_table_function f;
	if (!go_table_find(file, vaddr, &f))
		return false;
	*ret_start = f.start;
	return true;
}

static bool is_wrapper(void *file, uint64_t vaddr)
{
	struct go_table_function f;
	return go_table_find(file, vaddr, &f) && go_table_is_wrapper(file, &f);
}

/*
 * A goroutine's first frame returns into runtime.goexit after its first instruction: "nop; call
 * runtime.goexit1; nop".
 */
static bool is_goexit(const struct arch *arch, const uint8_t *code, size_t n_bytes)
{
	const uint8_t *first = code + RUNTIME_BEFORE_BYTES - arch->asm_nop.n;
	size_t n_call = arch->asm_nop.n + arch->direct_call_bytes, n = n_call + arch->asm_nop.n;
	uint64_t unused;
	if (arch->asm_nop.n > RUNTIME_BEFORE_BYTES || n_bytes < n + (size_t)(first - code))
		return false;
	return arch_begins(first, n, &arch->asm_nop) &&
	       arch->call(first, n_call, 0, &unused) == ARCH_CALL_DIRECT &&
	       arch_begins(first + n_call, n - n_call, &arch->asm_nop);
}

static int open_names(struct Elf *elf, void **ret)
{
	struct go_names *names;
	int r = go_names_open(elf, &names);
	if (r < 0)
		return r;
	*ret = names;
	return 0;
}

static void close_names(void *names)
{
	go_names_close(names);
}

static size_t names_at(const void *names, uint64_t vaddr, struct symdwarf_frame *frame, size_t max)
{
	return go_names_find(names, vaddr, frame, max);
}

const struct runtime runtime_go = {
	.name = "Go",
	.open_file = open_file,
	.close_file = close_file,
	.rule = rule_at,
	.function = function_at,
	.is_wrapper = is_wrapper,
	.is_first = is_goexit,
	.caller = go_switch_caller,
	.open_names = open_names,
	.close_names = close_names,
	.names = names_at,
};
