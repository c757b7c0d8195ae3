/*
 * The Ruby functions of a process.  The loop (vm_exec_core) is a local function without a name in
 * stripped files; it is the largest one that rb_vm_exec calls.  From Ruby 3.3 on, that is not
 * exported either, but no other function has jumps like those of the loop.  Nor is the variable
 * with the VM, but an exported function begins by reading it.
 */

#include "interp/interp-vm.h"

#include "agg/labels.h"
#include "base/err.h"
#include "symbolize/cfi/cfi.h"
#include "symbolize/runtime/ruby-glue.h"
#include "symbolize/runtime/ruby-program.h"
#include "symbolize/runtime/runtime-loop.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

enum { SYMBOL_VERSION, SYMBOL_VM, SYMBOL_EXEC, SYMBOL_DURING_GC };

enum { R14 = 14, R15 = 15 };           /* of x86-64, as DWARF numbers them */

#define CODE_BYTES 16u

/* What the file says, for all of its processes. */
struct ruby_file {
	struct runtime_loop loop;
	uint64_t vm;            /* vaddr of the variable with the address of the VM; 0: none */
	bool is_indirect;       /* of a variable with the address of that variable */
};

struct ruby {
	struct interp_vm vm;
	struct ruby_program program;
	struct ruby_file file;
	struct ruby_stack stack;        /* of the thread whose innermost frame was read last */
};

/* ---- frames and functions ------------------------------------------------------------------ */

static bool innermost(struct interp_vm *vm, struct runtime_pages *pages, uint32_t tid,
		      uint64_t *ret)
{
	struct ruby *r = (struct ruby *)vm;
	bool is_known;
	*ret = 0;
	r->stack = (struct ruby_stack){ .at = 0 };
	if (!ruby_program_stack(&r->program, pages, tid, &r->stack, &is_known))
		return is_known;
	*ret = r->stack.at;
	return true;
}

static bool frames(struct interp_vm *vm, struct runtime_pages *pages, uint64_t at,
		   struct runtime_frames *ret)
{
	const struct ruby *r = (const struct ruby *)vm;
	const struct ruby_stack s = { at, at ? r->stack.end : 0 };
	return ruby_program_frames(&r->program, pages, &s, ret);
}

static bool code_of_frame(struct interp_vm *vm, struct runtime_pages *pages, uint64_t at,
			  uint64_t *ret)
{
	(void)vm;
	return ruby_program_code(pages, at, ret);
}

static bool key(struct interp_vm *vm, uint64_t code, struct runtime_function_key *ret)
{
	return ruby_function_key(&((struct ruby *)vm)->program, &vm->base.pages, code, ret);
}

static bool function(struct interp_vm *vm, uint64_t code, struct runtime_function *ret)
{
	return ruby_function_read(&((struct ruby *)vm)->program, &vm->base.pages, code, ret);
}

static const struct interp_vm_ops ops = {
	.innermost = innermost, .frames = frames, .code_of_frame = code_of_frame, .key = key,
	.function = function, .back = RUBY_WORD_BYTES,
};

/* ---- programs ------------------------------------------------------------------------------ */

static bool is_loop(void *ctx, uint64_t vaddr)
{
	const struct ruby *r = ctx;
	return runtime_loop_has(&r->file.loop, vaddr);
}

static bool is_glue(void *ctx, uint64_t vaddr)
{
	return interp_language_is_glue(ctx, vaddr, ruby_glue_is);
}

static int explain(enum ruby_program_result result, const struct ruby *r, struct err *e)
{
	switch (result) {
	case RUBY_PROGRAM_OK:
		return 0;
	case RUBY_PROGRAM_UNREADABLE:
		return interp_language_unreadable(&r->vm.base, e);
	case RUBY_PROGRAM_STARTING:
		return -EAGAIN;
	case RUBY_PROGRAM_NO_VM:
		return err_set(e, ENOTSUP, "the variables of Ruby %s are not found",
			       r->program.version);
	case RUBY_PROGRAM_MISFIT:
		return err_set(e, ENOTSUP, "the threads of Ruby %s are not as in other builds",
			       r->program.version);
	case RUBY_PROGRAM_UNSUPPORTED:
		break;
	}
	return err_set(e, ENOTSUP, "Ruby %s is not supported; %s are", r->program.version,
		       RUBY_SUPPORTED);
}

static void find_vm(struct ruby_file *f, const struct interp_place *at, struct cfi *cfi)
{
	uint8_t code[CODE_BYTES];
	uint64_t from = at->symbol[SYMBOL_DURING_GC].vaddr;
	f->vm = at->symbol[SYMBOL_VM].vaddr;
	if (!f->vm && from &&
	    !ruby_layout_vm(code, cfi_read_code(cfi, from, code, sizeof(code)), from, &f->vm,
			    &f->is_indirect))
		f->vm = 0;
}

static void find_loop(struct ruby_file *f, const struct interp_place *at, struct cfi *cfi)
{
	const struct runtime_symbol *exec = &at->symbol[SYMBOL_EXEC];
	runtime_loop_find_callee(&f->loop, cfi, exec->vaddr, exec->n_bytes);
	if (!f->loop.n)
		runtime_loop_find_threaded(&f->loop, cfi);
}

/* Opens the file only for its first process. */
static bool read_file(struct interp_place *at, struct ruby_file *ret)
{
	const struct ruby_file *known = at->file->of_language;
	struct cfi *cfi = known ? NULL : interp_language_cfi(at);
	if (known)
		*ret = *known;
	if (!cfi)
		return known;
	find_vm(ret, at, cfi);
	find_loop(ret, at, cfi);
	struct ruby_file *kept = malloc(sizeof(*kept));
	if (kept)
		*kept = *ret;
	at->file->of_language = kept;
	return true;
}

/* The variable with the address of the VM, in the process; 0: it is not known. */
static uint64_t address_of_vm(struct ruby *r, const struct interp_place *at)
{
	uint64_t vm = r->file.vm ? r->file.vm + at->bias : 0;
	if (vm && r->file.is_indirect &&
	    !runtime_pages_read(&r->vm.base.pages, vm, &vm, sizeof(vm)))
		return 0;
	return vm;
}

static int open_ruby(struct interp_process *base, struct interp_place *at, struct err *e)
{
	struct ruby *r = (struct ruby *)base;
	uint64_t version = at->symbol[SYMBOL_VERSION].vaddr + at->bias;
	if (!read_file(at, &r->file))
		return err_errno(e, EIO, "its file cannot be read");
	int code = explain(ruby_program_open(&base->pages, version, address_of_vm(r, at),
					     &r->program), r, e);
	if (code < 0)
		return code;
	if (!r->file.loop.n)
		return err_set(e, ENOTSUP, "the loop of Ruby %s is not found", r->program.version);
	base->interp.is_loop = is_loop;
	base->interp.is_glue = is_glue;
	interp_vm_init(&r->vm, &ops, "rb::", LABEL_RUBY_STACK);
	/* the register variables of vm_exec.c */
	base->ops.instruction_place = R14;
	base->ops.frame_place = R15;
	snprintf(base->ops.name, sizeof(base->ops.name), "ruby %s", r->program.version);
	return 0;
}

const struct interp_language interp_ruby = {
	.name = "ruby",
	.symbol = {
		[SYMBOL_VERSION] = { "ruby_version", .is_needed = true },
		[SYMBOL_VM] = { "ruby_current_vm_ptr" },
		[SYMBOL_EXEC] = { "rb_vm_exec", .is_function = true },
		[SYMBOL_DURING_GC] = { "rb_during_gc", .is_function = true, .is_needed = true },
	},
	.n_bytes = sizeof(struct ruby),
	.open = open_ruby, .close = interp_vm_close, .read = interp_vm_read,
};
