/*
 * Stacks deeper than the kernel can copy (64 KiB) are completed from the memory of
 * the process itself, which holds their outer part still: a deep recursion does not
 * come back within the milliseconds until we read.  That it has not is checked: the end of the copy
 * must stand unchanged in memory, and the return addresses behind it must follow calls of the
 * functions that return to them.  Done seldom, since the thread's next stacks join to
 * the complete one.
 */

#include "session/userstack.h"

#include "base/cleanup.h"
#include "base/host.h"
#include "proc/procs-space.h"
#include "session/jit.h"
#include "source/record.h"
#include "symbolize/cfi-code.h"
#include "symbolize/cfi.h"
#include "symbolize/dso.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* How much of a stack is read from memory, how much of the copy must equal what is there, and
 * how often that is done at most: 2 MiB take some 0.4 ms. */
#define DEEP_BYTES (2u << 20)
#define DEEP_CHECK_BYTES 8192u
#define DEEP_COPY_BYTES_MIN 64u
#define DEEP_EVERY_NS 10000000u
#define COPY_BYTES_MAX 65536u

/* Pages that end copies: the smallest size, how much behind one is read, and how often at most: it
 * takes some 20 us. */
#define PAGE_BYTES 4096u
#define GAP_BYTES (128u << 10)
#define GAP_EVERY_NS 1000000u

/* What unwind_find_module is given. */
struct lookup {
	struct userstack *u;
	struct procs_space *space;
	uint32_t pid;
};

static struct userstack_module *module_of(struct userstack *u, uint32_t dso)
{
	if (dso >= u->n_modules) {
		uint32_t n = u->dsos->cap > dso ? u->dsos->cap : dso + 1;
		struct userstack_module *more = reallocarray(u->module, n, sizeof(*more));
		if (!more)
			return NULL;
		memset(more + u->n_modules, 0, (n - u->n_modules) * sizeof(*more));
		u->module = more;
		u->n_modules = n;
	}
	return &u->module[dso];
}

static struct cfi *cfi_of(struct userstack *u, const struct dso *d)
{
	struct userstack_module *m = module_of(u, d->id);
	if (!m || m->is_tried)
		return m ? m->cfi : NULL;
	m->is_tried = true;
	/* A file without CFI, or that is no ELF file, leaves cfi NULL: frame pointers then. */
	if (d->image)
		cfi_open_image(d->image, d->n_image_bytes, &m->cfi);
	else if (d->fd >= 0 && d->is_elf && cfi_open_file(d->fd, &m->cfi) == 0)
		cfi_set_debug(m->cfi, d, &u->debug);
	return m->cfi;
}

static bool find_module(void *ctx, uint64_t pc, struct unwind_module *ret)
{
	struct lookup *l = ctx;
	const struct procs_map *map = procs_space_find(l->space, pc);
	if (!map)
		return false;
	const struct dso *d = dso_get(l->u->dsos, map->dso);
	uint64_t vaddr = pc;
	*ret = (struct unwind_module){ .id = d->id };
	if (d->key.kind == DSO_ANON) {
		if (l->u->jit)
			jit_find_module(l->u->jit, l->space, pc, ret);
		return true;
	}
	if (!dso_vaddr(d, pc - map->start + map->pgoff, &vaddr))
		return true;
	ret->cfi = cfi_of(l->u, d);
	ret->bias = pc - vaddr;
	return true;
}

/* Code that is in no file, from the process while it lives. */
static size_t read_code(void *ctx, uint64_t pc, void *buf, size_t n_bytes)
{
	const struct lookup *l = ctx;
	if (!l->u->host)
		return 0;
	CLEANUP_CLOSE int fd =
		host_open_file(l->u->host, HOST_PROC, O_RDONLY, "%u/mem", l->pid);
	ssize_t n = fd < 0 ? 0 : pread(fd, buf, n_bytes, (off_t)pc);
	return n < 0 ? 0 : (size_t)n;
}

int userstack_init(struct userstack *u, struct dso_table *dsos, const struct host *host,
		   const char *machine, uint32_t max_depth)
{
	*u = (struct userstack){ .dsos = dsos, .host = host, .debug.host = host };
	if (!machine)
		return 0;
	if (strcmp(machine, "x86_64") == 0)
		u->arch = CFI_X86_64;
	else if (strcmp(machine, "aarch64") == 0)
		u->arch = CFI_ARM64;
	else
		return 0;
	struct unwind_options o = {
		.arch = u->arch,
		.find_module = find_module,
		.read_code = read_code,
		.max_depth = max_depth ? max_depth : USERSTACK_DEPTH_DEFAULT,
	};
	u->unwind = unwind_new(&o);
	return u->unwind ? 0 : -ENOMEM;
}

void userstack_done(struct userstack *u)
{
	for (uint32_t i = 0; i < u->n_modules; i++)
		cfi_close(u->module[i].cfi);
	free(u->module);
	free(u->deep);
	unwind_free(u->unwind);
	*u = (struct userstack){ 0 };
}

static void count_end(struct userstack *u, struct procs_space *space, const struct unwind_result *r)
{
	u->ends.n[r->end]++;
	u->n_joined += r->n_joined != 0;
	if (r->end == UNWIND_ROOT || r->n == 0)
		return;
	const struct procs_map *map = procs_space_find(space, r->frame[r->n - 1 - r->n_joined].pc);
	struct userstack_module *m = map ? module_of(u, map->dso) : NULL;
	if (m)
		m->ends.n[r->end]++;
}

/* Lengthens in->stack from the memory of the process; false where it cannot be had or has changed.
 */
static bool read_deep(struct userstack *u, const struct record *r, struct unwind_input *in)
{
	uint64_t n = in->n_stack_bytes, sp = in->regs->r[cfi_reg_sp(u->arch)];
	/* The kernel's copy ends early at a page that was never touched, as in a large frame. */
	uint64_t n_check = n / 2 < DEEP_CHECK_BYTES ? n / 2 & ~7ull : DEEP_CHECK_BYTES;
	if (!u->host || n < DEEP_COPY_BYTES_MIN || n > COPY_BYTES_MAX ||
	    r->time_ns - u->deep_ns < DEEP_EVERY_NS)
		return false;
	if (!u->deep)
		u->deep = malloc(COPY_BYTES_MAX + DEEP_BYTES);
	CLEANUP_CLOSE int fd = host_open_file(u->host, HOST_PROC, O_RDONLY, "%u/mem", r->pid);
	if (fd < 0 || !u->deep)
		return false;
	/* The check's part of the copy is read again, and must be as it was: first alone, which is
	 * cheap, then with all that lies behind it. */
	const uint8_t *check = in->stack + n - n_check;
	uint8_t *tail = u->deep + n - n_check;
	off_t at = (off_t)(sp + n - n_check);
	if (pread(fd, tail, n_check, at) != (ssize_t)n_check || memcmp(tail, check, n_check) != 0) {
		/* In a function with a large array, which has gone on meanwhile.  Reading makes the
		 * page present that ended the copy, so that the next copies are longer. */
		if ((sp + n) % PAGE_BYTES == 0 && r->time_ns - u->gap_ns >= GAP_EVERY_NS) {
			(void)!pread(fd, u->deep, GAP_BYTES, (off_t)(sp + n));
			u->gap_ns = r->time_ns;
		}
		return false;
	}
	u->deep_ns = r->time_ns;
	ssize_t got = pread(fd, tail, DEEP_BYTES, at);
	if (got <= (ssize_t)n_check || memcmp(tail, check, n_check) != 0)
		return false;
	memcpy(u->deep, in->stack, n - n_check);
	in->stack = u->deep;
	in->n_stack_bytes = n - n_check + (uint64_t)got;
	return true;
}

/* What the call before a return address says of the function that it is said to have called. */
enum call {
	CALL_OF_IT,
	CALL_INDIRECT,                 /* by a pointer or a linker's stub: it may be */
	CALL_OF_ANOTHER,               /* or no call at all */
};

static bool is_x86_stub(const struct unwind_module *m, uint64_t pc)
{
	/* [endbr64] [bnd] jmp *disp(%rip) */
	uint8_t b[8];
	if (cfi_read_code(m->cfi, pc - m->bias, b, sizeof(b)) < sizeof(b))
		return false;
	size_t i = memcmp(b, "\xf3\x0f\x1e\xfa", 4) == 0 ? 4 : 0;
	i += b[i] == 0xf2;
	return b[i] == 0xff && b[i + 1] == 0x25;
}

static enum call call_by_arm(const uint8_t *before, uint64_t ra, uint64_t start)
{
	uint32_t insn;
	memcpy(&insn, before, sizeof(insn));
	int32_t rel = (int32_t)(insn << 6) >> 4;
	if (insn >> 26 != 0x25) /* BL; else BLR? */
		return (insn & 0xfffffc1f) == 0xd63f0000 ? CALL_INDIRECT : CALL_OF_ANOTHER;
	return ra - 4 + (uint64_t)(int64_t)rel == start ? CALL_OF_IT : CALL_OF_ANOTHER;
}

static enum call call_before(struct lookup *l, const struct unwind_frame *callee, uint64_t ra)
{
	uint64_t at = callee->pc - !(callee->flags & UNWIND_FRAME_EXACT);
	struct unwind_module m, caller;
	struct cfi_fde fde;
	uint32_t off;
	bool is_debug;
	uint8_t b[7];
	int32_t rel;
	if (!find_module(l, at, &m) || !m.cfi || !find_module(l, ra - 1, &caller) || !caller.cfi ||
	    cfi_find_fde(m.cfi, at - m.bias, &fde, &off, &is_debug) != CFI_UNUSUAL ||
	    cfi_read_code(caller.cfi, ra - sizeof(b) - caller.bias, b, sizeof(b)) < sizeof(b))
		return CALL_OF_ANOTHER;
	uint64_t start = fde.start + m.bias;
	if (l->u->arch == CFI_ARM64)
		return call_by_arm(b + 3, ra, start);
	memcpy(&rel, b + 3, sizeof(rel));
	uint64_t target = ra + (uint64_t)(int64_t)rel;
	if (b[2] == 0xe8 && target == start)
		return CALL_OF_IT;
	if (b[2] == 0xe8 && is_x86_stub(&caller, target))
		return CALL_INDIRECT;
	return cfi_code_ends_with_call(b, sizeof(b)) && b[2] != 0xe8 ? CALL_INDIRECT
								      : CALL_OF_ANOTHER;
}

/*
 * A function that has returned leaves its part of the stack as it was, so an unchanged copy does
 * not prove that the thread is still there.  The return addresses beyond the copy do, if the call
 * before each is one of the very function that returns to it.  Of a call by pointer that cannot be
 * told, as always near the root; but the first must not be such a one: a frame of 200 KiB was seen
 * below clock_gettime, which had meanwhile called the vDSO so.
 */
static bool is_still_there(struct lookup *l, const struct unwind_result *r, uint64_t copy_end)
{
	struct { uint64_t pc, ra; } known[64] = { { 0, 0 } }; /* recursion repeats itself */
	bool is_first = true;
	for (uint32_t i = 0; i + 1 < r->n; i++) {
		const struct unwind_frame *f = &r->frame[i];
		if (f[1].sp <= copy_end)
			continue;
		size_t slot = (f->pc ^ f[1].pc >> 3) % 64;
		if (!is_first && known[slot].pc == f->pc && known[slot].ra == f[1].pc)
			continue;
		enum call c = call_before(l, f, f[1].pc);
		if (c == CALL_OF_ANOTHER || (c == CALL_INDIRECT && is_first))
			return false;
		known[slot].pc = f->pc;
		known[slot].ra = f[1].pc;
		is_first = false;
	}
	return !is_first;
}

bool userstack_walk(struct userstack *u, struct procs_space *space, const struct record *r,
		    struct unwind_memo *memo, struct unwind_result *ret)
{
	const struct record_sample *s = &r->sample;
	if (!s->user_regs)
		return false;
	if (!u->unwind || s->user_abi != PERF_SAMPLE_REGS_ABI_64) {
		u->n_unsupported++;
		return false;
	}
	struct lookup lookup = { .u = u, .space = space, .pid = r->pid };
	struct unwind_regs regs;
	unwind_regs_from_perf(u->arch, s->user_regs_mask, s->user_regs, &regs);
	/* In the middle of execve the registers are those of the program that is gone: neither its
	 * code nor its stack is there any more. */
	if (!s->n_user_stack_bytes && !procs_space_find(space, regs.r[cfi_reg_pc(u->arch)]))
		return false;
	struct unwind_input in = {
		.regs = &regs, .stack = s->user_stack, .n_stack_bytes = s->n_user_stack_bytes,
		.ctx = &lookup, .space = (uint64_t)space->serial << 32 | space->n_changes,
	};
	unwind_stack(u->unwind, &in, memo, ret);
	struct unwind_input deep = in;
	if (ret->end == UNWIND_BEYOND && !ret->is_whole && read_deep(u, r, &deep)) {
		uint64_t end = regs.r[cfi_reg_sp(u->arch)] + s->n_user_stack_bytes;
		struct unwind_result probe;
		unwind_stack(u->unwind, &deep, NULL, &probe);
		bool is_good = is_still_there(&lookup, &probe, end);
		/* Again in either case, for the frames in *ret were overwritten.  What the memo
		 * took up above has no ids of the caller's yet, and must not be found to be the
		 * same. */
		if (memo && ret->is_kept)
			memo->n = 0;
		unwind_stack(u->unwind, is_good ? &deep : &in, memo, ret);
		u->n_deep += is_good && ret->end == UNWIND_ROOT;
	}
	count_end(u, space, ret);
	return ret->n > 0;
}
