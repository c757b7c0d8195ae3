/*
 * The PHP functions of a process.  Its loop (execute_ex) keeps the frame and the operation that it
 * executes in registers, where GCC has compiled it.  Functions of C have frames of their own, but
 * no operations: what they are called is in the native stack.
 */

#include "interp/interp-vm.h"

#include "agg/labels.h"
#include "base/err.h"
#include "symbolize/arch/arch.h"
#include "symbolize/cfi/cfi.h"
#include "symbolize/runtime/php-glue.h"
#include "symbolize/runtime/php-program.h"
#include "symbolize/runtime/runtime-loop.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

enum { SYMBOL_LOOP, SYMBOL_MODULES, SYMBOL_GLOBALS };

enum { R14 = 14, R15 = 15 };           /* of x86-64, as DWARF numbers them */

/* What the file says, for all of its processes. */
struct php_file {
	struct runtime_loop loop;
	bool is_x86_64;
};

struct php {
	struct interp_vm vm;
	struct php_program program;
	struct php_file file;
	uint32_t tid;                   /* of the thread with functions, in its own namespace */
};

/* ---- frames and functions ------------------------------------------------------------------ */

static bool innermost(struct interp_vm *vm, struct runtime_pages *pages, uint32_t tid,
		      uint64_t *ret)
{
	const struct php *p = (const struct php *)vm;
	*ret = 0;
	return tid != p->tid || php_program_innermost(&p->program, pages, ret);
}

static bool frames(struct interp_vm *vm, struct runtime_pages *pages, uint64_t at,
		   struct runtime_frames *ret)
{
	(void)vm;
	return php_program_frames(pages, at, ret);
}

static bool code_of_frame(struct interp_vm *vm, struct runtime_pages *pages, uint64_t at,
			  uint64_t *ret)
{
	(void)vm;
	return php_program_code(pages, at, ret);
}

static bool key(struct interp_vm *vm, uint64_t code, struct runtime_function_key *ret)
{
	const struct php *p = (const struct php *)vm;
	return php_function_key(&p->program, &vm->base.pages, code, ret);
}

static bool function(struct interp_vm *vm, uint64_t code, struct runtime_function *ret)
{
	const struct php *p = (const struct php *)vm;
	return php_function_read(&p->program, &vm->base.pages, code, ret);
}

static const struct interp_vm_ops ops = {
	.innermost = innermost, .frames = frames, .code_of_frame = code_of_frame, .key = key,
	.function = function,
};

/* ---- programs ------------------------------------------------------------------------------ */

static bool is_loop(void *ctx, uint64_t vaddr)
{
	const struct php *p = ctx;
	return runtime_loop_has(&p->file.loop, vaddr);
}

static bool is_glue(void *ctx, uint64_t vaddr)
{
	return interp_language_is_glue(ctx, vaddr, php_glue_is);
}

static int explain(enum php_program_result r, const struct php *p, struct err *e)
{
	const char *version = p->program.version;
	switch (r) {
	case PHP_PROGRAM_OK:
		return 0;
	case PHP_PROGRAM_UNREADABLE:
		return interp_language_unreadable(&p->vm.base, e);
	case PHP_PROGRAM_STARTING:
		return err_set(e, EAGAIN, "it has only begun");
	case PHP_PROGRAM_THREADS:
		return err_set(e, ENOTSUP, "PHP %s for several threads is not supported", version);
	case PHP_PROGRAM_DEBUG:
		return err_set(e, ENOTSUP, "PHP %s built with --enable-debug is not supported",
			       version);
	case PHP_PROGRAM_UNSUPPORTED:
		break;
	}
	return err_set(e, ENOTSUP, "PHP %s is not supported; %s to %s are", version,
		       PHP_LAYOUT_OLDEST, PHP_LAYOUT_NEWEST);
}

static uint64_t address_of(const struct interp_place *at, unsigned int symbol)
{
	uint64_t vaddr = at->symbol[symbol].vaddr;
	return vaddr ? vaddr + at->bias : 0;
}

/* Opens the file only for its first process. */
static bool read_file(struct interp_place *at, struct php_file *ret)
{
	const struct php_file *known = at->file->of_language;
	struct cfi *cfi = known ? NULL : interp_language_cfi(at);
	if (known)
		*ret = *known;
	if (!cfi)
		return known;
	runtime_loop_find(&ret->loop, cfi, at->symbol[SYMBOL_LOOP].vaddr,
			  at->symbol[SYMBOL_LOOP].n_bytes);
	ret->is_x86_64 = cfi->arch == &arch_x86_64;
	struct php_file *kept = malloc(sizeof(*kept));
	if (kept)
		*kept = *ret;
	at->file->of_language = kept;
	return true;
}

static int open_php(struct interp_process *base, struct interp_place *at, struct err *e)
{
	struct php *p = (struct php *)base;
	enum php_program_result r = php_program_open(&base->pages, address_of(at, SYMBOL_MODULES),
						     address_of(at, SYMBOL_GLOBALS), &p->program);
	if (r != PHP_PROGRAM_OK)
		return explain(r, p, e);
	if (!read_file(at, &p->file))
		return err_errno(e, EIO, "its file cannot be read");
	base->interp.is_loop = is_loop;
	base->interp.is_glue = is_glue;
	p->tid = interp_language_tid(base, base->pid);
	interp_vm_init(&p->vm, &ops, "php::", LABEL_PHP_STACK);
	/* the global register variables of zend_execute.c */
	if (p->file.is_x86_64) {
		base->ops.instruction_place = R15;
		base->ops.frame_place = R14;
	}
	snprintf(base->ops.name, sizeof(base->ops.name), "php %s", p->program.version);
	return 0;
}

const struct interp_language interp_php = {
	.name = "php",
	.symbol = {
		[SYMBOL_LOOP] = { "execute_ex", .is_function = true, .is_needed = true },
		[SYMBOL_MODULES] = { "module_registry", .is_needed = true },
		[SYMBOL_GLOBALS] = { "executor_globals" },
	},
	.n_bytes = sizeof(struct php),
	.open = open_php, .close = interp_vm_close, .read = interp_vm_read,
};
