#include "interp/interp-vm.h"

#include "agg/frames.h"

/* ---- functions ----------------------------------------------------------------------------- */

/* The function that an object describes; VMCODES_NONE: it describes none. */
static uint32_t meet(struct interp_vm *vm, uint64_t code)
{
	struct runtime_function_key key;
	struct runtime_function f;
	if (!vm->ops->key(vm, code, &key))
		return VMCODES_NONE;
	uint32_t id = vmcodes_find(&vm->codes, &key);
	if (id != VMCODES_NONE && !vmcodes_is_young(&vm->codes, id))
		return id;
	bool is_read = vm->ops->function(vm, code, &f);
	if (id == VMCODES_NONE)
		return is_read ? vmcodes_add(&vm->codes, &key, &f) : id;
	vmcodes_read_again(&vm->codes, id, is_read ? &f : NULL);
	return id;
}

/* From the start of a function to the present instruction. */
static uint32_t off_of(const struct interp_vm *vm, uint32_t code, uint64_t instruction)
{
	uint64_t off = instruction - vm->codes.v.v[code].start;
	off -= off >= vm->ops->back ? vm->ops->back : 0;
	return off < UINT32_MAX ? (uint32_t)off : UINT32_MAX;
}

static uint32_t frame_of(const struct interp_vm *vm, uint32_t code, uint32_t off, bool has_line)
{
	const struct vmcode *c = &vm->codes.v.v[code];
	uint32_t line = has_line ? runtime_function_line(&c->lines, off) : 0;
	return interp_language_frame(&vm->base, c->function, line);
}

/* ---- for samples --------------------------------------------------------------------------- */

static uint32_t renew(void *ctx, uint64_t now_ns)
{
	struct interp_vm *vm = ctx;
	(void)now_ns;
	interp_language_renew(&vm->base);
	vm->frame_pages.n_left = vm->base.pages.n_left;
	vm->codes.reading++;
	vmcodes_limit(&vm->codes);
	return vm->codes.epoch;
}

static void forget(void *ctx)
{
	struct interp_vm *vm = ctx;
	runtime_pages_again(&vm->frame_pages);
}

static void use_second(void *ctx)
{
	struct interp_vm *vm = ctx;
	runtime_pages_use_second(&vm->frame_pages);
}

static uint32_t code_of(void *ctx, uint64_t instruction, enum interp_search how,
			uint32_t *ret_off)
{
	struct interp_vm *vm = ctx;
	(void)how;
	uint32_t code = instruction % 8 != 0 ? VMCODES_NONE :
			vmcodes_of(&vm->codes, instruction - vm->ops->back);
	/* before its first instruction */
	if (code == VMCODES_NONE && vm->ops->back && instruction % 8 == 0)
		code = vmcodes_of(&vm->codes, instruction);
	if (code == VMCODES_NONE)
		return INTERP_NO_CODE;
	*ret_off = off_of(vm, code, instruction);
	return code;
}

static uint32_t code_of_frame(void *ctx, uint64_t at)
{
	struct interp_vm *vm = ctx;
	uint64_t code;
	bool is_frame = at % 8 == 0 && vm->ops->code_of_frame(vm, &vm->frame_pages, at, &code);
	uint32_t id = is_frame ? meet(vm, code) : VMCODES_NONE;
	return id == VMCODES_NONE ? INTERP_NO_CODE : id;
}

static bool is_shared(void *ctx, uint32_t code, uint32_t other)
{
	const struct interp_vm *vm = ctx;
	return code == other || vm->codes.v.v[code].start == vm->codes.v.v[other].start;
}

static uint32_t line(void *ctx, uint32_t code, uint32_t off)
{
	const struct interp_vm *vm = ctx;
	return runtime_function_line(&vm->codes.v.v[code].lines, off);
}

static bool chain(void *ctx, uint64_t at, struct interp_chain *ret)
{
	struct interp_vm *vm = ctx;
	struct runtime_frames *f = &vm->frames;
	ret->link.n = ret->ends.n = 0;
	ret->is_whole = false;
	if (!vm->ops->frames(vm, &vm->frame_pages, at, f) || !f->v.n ||
	    !VEC_RESERVE(&ret->link, f->v.n) || !VEC_RESERVE(&ret->ends, f->ends.n))
		return false;
	for (size_t i = 0; i < f->v.n; i++) {
		uint32_t code = meet(vm, f->v.v[i].code);
		if (code == VMCODES_NONE)
			return i > 0;
		ret->link.v[ret->link.n++] = (struct interp_link){
			f->v.v[i].at, code, off_of(vm, code, f->v.v[i].instruction),
		};
		while (ret->ends.n < f->ends.n && f->ends.v[ret->ends.n] == i + 1)
			ret->ends.v[ret->ends.n++] = (uint32_t)(i + 1);
	}
	ret->is_whole = f->is_whole;
	return true;
}

static bool innermost(void *ctx, uint32_t tid, uint64_t *ret)
{
	struct interp_vm *vm = ctx;
	return vm->ops->innermost(vm, &vm->frame_pages, interp_language_tid(&vm->base, tid), ret);
}

static uint32_t frame(void *ctx, uint32_t code, uint32_t off, bool has_line)
{
	return frame_of(ctx, code, off, has_line);
}

void interp_vm_init(struct interp_vm *vm, const struct interp_vm_ops *ops, const char *prefix,
		    const char *label)
{
	struct interp_runtime *r = &vm->base.ops;
	vm->ops = ops;
	runtime_pages_init(&vm->frame_pages, &vm->base.memory, 0);
	vm->codes.vfuncs = vm->base.t.vfuncs;
	vm->codes.prefix = prefix;
	r->label = label;
	r->renew = renew;
	r->forget = forget;
	r->use_second = use_second;
	r->frame_pages = &vm->frame_pages;
	r->code_of = code_of;
	r->code_of_frame = code_of_frame;
	r->is_shared = is_shared;
	r->line = line;
	r->chain = chain;
	r->innermost = innermost;
	r->frame = frame;
}

/* ---- for threads that wait ----------------------------------------------------------------- */

void interp_vm_close(struct interp_process *base)
{
	struct interp_vm *vm = (struct interp_vm *)base;
	vmcodes_done(&vm->codes);
	runtime_frames_done(&vm->frames);
	runtime_pages_done(&vm->frame_pages);
}

static bool add_frame(struct interp_vm *vm, const struct runtime_frame *f,
		      struct interp_frames *ret)
{
	uint32_t code = meet(vm, f->code);
	uint32_t frame = code == VMCODES_NONE ? FRAMES_NONE :
			 frame_of(vm, code, off_of(vm, code, f->instruction), true);
	return frame != FRAMES_NONE && VEC_PUSH(&ret->frames, frame);
}

bool interp_vm_read(struct interp_process *base, uint32_t tid, struct interp_frames *ret)
{
	struct interp_vm *vm = (struct interp_vm *)base;
	uint64_t at;
	vm->codes.reading++;
	vmcodes_limit(&vm->codes);
	if (!vm->ops->innermost(vm, &base->pages, tid, &at) ||
	    !vm->ops->frames(vm, &base->pages, at, &vm->frames))
		return false;
	for (size_t i = 0; i < vm->frames.v.n; i++)
		if (!add_frame(vm, &vm->frames.v.v[i], ret))
			return false;
	for (size_t i = 0; i < vm->frames.ends.n; i++)
		if (!VEC_PUSH(&ret->ends, vm->frames.ends.v[i]))
			return false;
	ret->is_whole = vm->frames.is_whole;
	return true;
}
