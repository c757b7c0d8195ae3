/*
 * A thread some of whose stacks are longer than their copies has two memos: one for the long
 * stacks, to which truncated ones are joined, and one for those that fit into their copies.  With
 * one memo, short stacks, which do not need it, would replace what the long ones need.  The
 * thread's last stack is in the current memo.  The outer part of a truncated stack is searched in
 * the current memo, in the other one, and in the memory of the process (stack-memory.c), each by a
 * probe that changes no memo.
 */

#include "stack/stack-user.h"

#include "base/cleanup.h"
#include "base/host.h"
#include "base/remotemem.h"
#include "proc/procs-space.h"
#include "proc/jit.h"
#include "source/record.h"
#include "stack/stack-fp.h"
#include "stack/stack-link.h"
#include "symbolize/cfi/cfi.h"
#include "symbolize/elf/dso.h"
#include "symbolize/runtime/runtime-file.h"
#include "symbolize/runtime/runtime.h"
#include "symbolize/unwind/unwind-memo.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The context of find_module. */
struct lookup {
	struct stack_user *u;
	struct procs_space *space;
	uint32_t pid, tid;
};

static struct stack_user_module *module_of(struct stack_user *u, uint32_t dso)
{
	if (dso >= u->modules.n && !VEC_EXTEND(&u->modules, (size_t)dso + 1))
		return NULL;
	return &u->modules.v[dso];
}

/* The module of a DSO with its CFI, which stays NULL for a file that is not ELF. */
static const struct stack_user_module *open_module(struct stack_user *u, const struct dso *d)
{
	struct stack_user_module *m = module_of(u, d->id);
	if (!m || m->is_tried)
		return m;
	m->is_tried = true;
	if (d->image)
		cfi_open_image(d->image, d->n_image_bytes, &m->cfi);
	else if (dsokeep_has_file(d) && d->is_elf && cfi_open_dso(d, &m->cfi) == 0)
		cfi_set_debug(m->cfi, d, &u->debug);
	if (m->cfi)
		m->runtime = runtime_file_new(m->cfi);
	u->n_open += m->cfi != NULL;
	return m;
}

static void close_module(struct stack_user *u, struct stack_user_module *m)
{
	u->n_open -= m->cfi != NULL;
	runtime_file_free(m->runtime);
	cfi_close(m->cfi);
	m->runtime = NULL;
	m->cfi = NULL;
	m->is_tried = false;
}

uint64_t stack_user_serial(const struct procs_space *space)
{
	return (uint64_t)space->serial << 32 | space->n_changes;
}

/* The runtime that the process runs, by the libraries that are mapped; NULL: none is known. */
static const struct runtime *runtime_of(struct stack_user *u, struct procs_space *space)
{
	uint64_t serial = stack_user_serial(space);
	if (space->runtime_serial == serial)
		return space->runtime;
	space->runtime_serial = serial;
	space->runtime = NULL;
	for (uint32_t i = 0; i < space->map.n && !space->runtime; i++)
		space->runtime = runtime_of_library(dso_get(u->dsos, space->map.v[i].dso)->path);
	return space->runtime;
}

static bool find_module(void *ctx, uint64_t pc, struct module *ret)
{
	struct lookup *l = ctx;
	const struct procs_map *map = procs_space_find(l->space, pc);
	if (!map)
		return false;
	const struct dso *d = dso_get(l->u->dsos, map->dso);
	uint64_t vaddr = pc;
	*ret = (struct module){ .id = d->serial };
	if (d->key.kind == DSO_ANON) {
		ret->is_jit = true;
		ret->runtime = runtime_of(l->u, l->space);
		if (l->u->jit && !jit_find_module(l->u->jit, l->u->arch, l->space, pc, ret))
			jit_find_frame(l->u->jit, l->space, pc, ret);
		return true;
	}
	/* at exec the kernel first maps the loader as code including its data: an address outside
	 * of its code segments is not code */
	if (!dso_vaddr(d, pc - map->start + map->pgoff, &vaddr))
		return !d->n_segments;
	const struct stack_user_module *m = open_module(l->u, d);
	ret->cfi = m ? m->cfi : NULL;
	ret->file = m ? m->runtime : NULL;
	ret->bias = pc - vaddr;
	return true;
}

/* Reads code that is in no file from the process while it runs.  A main thread that has exited has
 * no memory, and the sampled thread may have exited, too.  The process comes first, because names
 * are read from it as well, and remotemem.c checks whose memory each id has. */
static size_t read_code(void *ctx, uint64_t pc, void *buf, size_t n_bytes)
{
	const struct lookup *l = ctx;
	const uint32_t id[] = { l->pid, l->tid };
	size_t n_known = l->u->jit ? jit_read(l->u->jit, l->space, pc, buf, n_bytes) : 0;
	if (n_known)
		return n_known;
	for (unsigned i = 0; l->u->host && i < 2; i++) {
		long n = remotemem_read_file(l->u->host->memory, id[i], buf, n_bytes, pc);
		if (n > 0)
			return (size_t)n;
	}
	return 0;
}

int stack_user_init(struct stack_user *u, struct dso_table *dsos, const struct host *host,
		    const char *machine, uint32_t max_depth, void *rules)
{
	*u = (struct stack_user){ .dsos = dsos, .host = host, .debug.host = host };
	u->arch = machine ? arch_of_name(machine) : NULL;
	if (!u->arch)
		return 0;
	stack_memory_init(&u->memory, host, u->arch);
	struct unwind_options o = {
		.arch = u->arch,
		.find_module = find_module,
		.read_code = read_code,
		.max_depth = max_depth ? max_depth : STACK_USER_DEPTH_DEFAULT,
		.cache = rules,
	};
	u->unwind = unwind_new(&o);
	return u->unwind ? 0 : -ENOMEM;
}

/* ---- statistics ------------------------------------------------------------------------- */

static bool has_no_ends(const struct stack_user_ends *e)
{
	for (size_t k = 0; k < UNWIND_N_ENDS; k++)
		if (e->n[k])
			return false;
	return true;
}

static uint64_t n_guessed_ever(const struct stack_user *u)
{
	const struct unwind_stats *st = u->unwind ? unwind_stats(u->unwind) : NULL;
	return st ? st->n_guessed + st->n_by_code : 0;
}

uint64_t stack_user_n_guessed(const struct stack_user *u)
{
	return n_guessed_ever(u) - u->n_guessed_before;
}

void stack_user_clear(struct stack_user *u)
{
	for (uint32_t i = 0; i < u->modules.n; i++)
		u->modules.v[i].ends = (struct stack_user_ends){ { 0 } };
	u->ends = (struct stack_user_ends){ { 0 } };
	u->n_unsupported = u->n_joined = u->n_deep = 0;
	u->n_guessed_before = n_guessed_ever(u);
}

int stack_user_take(struct stack_user *u, struct stack_user_counts *ret)
{
	struct stack_user_counts c = {
		.ends = u->ends, .n_unsupported = u->n_unsupported, .n_joined = u->n_joined,
		.n_deep = u->n_deep, .n_guessed = stack_user_n_guessed(u),
	};
	for (uint32_t i = 0; i < u->modules.n; i++) {
		if (has_no_ends(&u->modules.v[i].ends))
			continue;
		struct stack_user_dso_ends one = { .dso = i, .ends = u->modules.v[i].ends };
		if (!VEC_PUSH(&c.of_dso, one)) {
			stack_user_counts_done(&c);
			return -ENOMEM;
		}
	}
	stack_user_clear(u);
	*ret = c;
	return 0;
}

static void add_ends(struct stack_user_ends *to, const struct stack_user_ends *from)
{
	for (size_t k = 0; k < UNWIND_N_ENDS; k++)
		to->n[k] += from->n[k];
}

void stack_user_add(struct stack_user *u, const struct stack_user_counts *c)
{
	add_ends(&u->ends, &c->ends);
	u->n_unsupported += c->n_unsupported;
	u->n_joined += c->n_joined;
	u->n_deep += c->n_deep;
	u->n_guessed_before -= c->n_guessed;
	for (size_t i = 0; i < c->of_dso.n; i++) {
		struct stack_user_module *m = module_of(u, c->of_dso.v[i].dso);
		if (m)
			add_ends(&m->ends, &c->of_dso.v[i].ends);
	}
}

void stack_user_counts_done(struct stack_user_counts *c)
{
	VEC_FREE(&c->of_dso);
	*c = (struct stack_user_counts){ .n_joined = 0 };
}

/* ---- files that are forgotten ------------------------------------------------------------ */

void stack_user_mark(const struct stack_user *u, bool *used)
{
	for (uint32_t i = 0; i < u->modules.n && i < u->dsos->n; i++)
		used[i] |= !has_no_ends(&u->modules.v[i].ends);
}

void stack_user_forget(struct stack_user *u, const bool *used)
{
	for (uint32_t i = 0; i < u->modules.n; i++) {
		if (i < u->dsos->n && used[i])
			continue;
		close_module(u, &u->modules.v[i]);
		u->modules.v[i] = (struct stack_user_module){ .cfi = NULL };
	}
}

void stack_user_close(struct stack_user *u, const bool *used)
{
	for (uint32_t i = 0; i < u->modules.n; i++)
		if (u->modules.v[i].cfi && (i >= u->dsos->n || !used[i]))
			close_module(u, &u->modules.v[i]);
}

void stack_user_done(struct stack_user *u)
{
	for (uint32_t i = 0; i < u->modules.n; i++)
		close_module(u, &u->modules.v[i]);
	VEC_FREE(&u->modules);
	stack_memory_done(&u->memory);
	stack_switch_done(&u->outer);
	unwind_free(u->unwind);
	*u = (struct stack_user){ 0 };
}

static void count_end(struct stack_user *u, struct procs_space *space,
		      const struct unwind_result *r)
{
	u->ends.n[r->end]++;
	u->n_joined += r->n_joined != 0;
	if (r->end == UNWIND_ROOT || r->n == 0)
		return;
	const struct procs_map *map = procs_space_find(space, r->frame[r->n - 1 - r->n_joined].pc);
	struct stack_user_module *m = map ? module_of(u, map->dso) : NULL;
	if (m)
		m->ends.n[r->end]++;
}

/* ---- memos ------------------------------------------------------------------------------ */

/* The memo of the long stacks is discarded as stale when this many stacks have not needed it. */
#define LONG_STACKS_MAX 64u

static struct unwind_memo *memo_of(struct stack_user_memos *m, bool is_other)
{
	return m ? &m->memo[m->current ^ is_other] : NULL;
}

static void swap_memos(struct stack_user_memos *m)
{
	m->current ^= 1;
	m->n_since = 0;
}

struct unwind_memo *stack_user_memo(struct stack_user_memos *m)
{
	return memo_of(m, false);
}

void stack_user_memos_done(struct stack_user_memos *m)
{
	unwind_memo_done(&m->memo[0]);
	unwind_memo_done(&m->memo[1]);
	*m = (struct stack_user_memos){ .current = 0 };
}

size_t stack_user_memos_bytes(const struct stack_user_memos *m)
{
	return (m->memo[0].cap + m->memo[1].cap) *
	       (sizeof(*m->memo[0].frame) + sizeof(*m->memo[0].caller_id));
}

/* One sample. */
struct sample_walk {
	struct stack_user *u;
	struct lookup *lookup;
	const struct record *r;
	struct unwind_input *in;
	struct stack_user_memos *memos;  /* or NULL */
	bool is_gone;                   /* the stack's memory is gone: see is_in_exec() */
};

/* Unwinds again and updates the memo.  A stack that the first attempt stored has no ids of the
 * caller's yet, so it must not be treated as unchanged. */
static void unwind_again(const struct sample_walk *k, const struct unwind_input *in, bool is_other,
			 struct unwind_result *ret)
{
	if (k->memos && ret->is_kept)
		memo_of(k->memos, false)->n = 0;
	if (is_other)
		swap_memos(k->memos);
	unwind_stack(k->u->unwind, in, memo_of(k->memos, false), ret);
}

/* The current memo does not have the part of a stack beyond its copy: does the other one? */
static bool try_other_memo(const struct sample_walk *k, struct unwind_result *ret)
{
	struct unwind_memo *other = memo_of(k->memos, true);
	if (!other || !other->is_long || other->n == 0 || other->space != k->in->space)
		return false;
	struct unwind_input in = *k->in;
	struct unwind_result probe;
	in.is_probe = true;
	unwind_stack(k->u->unwind, &in, other, &probe);
	if (probe.is_whole)
		unwind_again(k, k->in, true, ret);
	return probe.is_whole;
}

/* Tries to reach the root or the memo's frames in the memory of the process. */
static bool try_memory(const struct sample_walk *k, struct unwind_result *ret)
{
	struct stack_user *u = k->u;
	struct unwind_memo *m = memo_of(k->memos, false);
	bool is_other = m && !m->is_long;
	struct unwind_input in = *k->in;
	struct unwind_result probe;
	in.is_probe = in.is_long = true;
	probe.cut_cfa = ret->cut_cfa;
	struct stack_user_memos *memos = k->memos;
	if (memos && !stack_memory_is_due(memos->n_vain, k->r->time_ns - memos->tried_ns))
		return false;
	if (memos) {
		memos->n_vain++;
		memos->tried_ns = k->r->time_ns;
	}
	do {
		if (!stack_memory_lengthen(&u->memory, k->r->tid, k->r->time_ns, probe.cut_cfa,
					   &in))
			return false;
		unwind_stack(u->unwind, &in, memo_of(k->memos, is_other), &probe);
	} while (probe.end == UNWIND_BEYOND && !probe.is_whole);
	uint64_t end = in.regs->r[u->arch->sp] + k->in->n_stack_bytes;
	if ((!probe.is_whole && probe.end != UNWIND_DEPTH) ||
	    !stack_memory_is_proved(u->arch, find_module, k->lookup, &probe, m, end))
		return false;
	in.is_probe = false;
	unwind_again(k, &in, is_other, ret);
	u->n_deep++;
	if (memos)
		memos->n_vain = 0;
	return true;
}

static void unwind_sample(const struct sample_walk *k, struct unwind_result *ret)
{
	struct unwind_memo *m = memo_of(k->memos, false), *other = memo_of(k->memos, true);
	unwind_stack(k->u->unwind, k->in, m, ret);
	if (m && other->is_long && k->memos->n_since++ >= LONG_STACKS_MAX)
		other->n = 0;
	if (m && ret->end == UNWIND_ROOT && m->is_long && !ret->is_kept)
		unwind_again(k, k->in, true, ret);
	if (ret->is_whole || ret->end != UNWIND_BEYOND || try_other_memo(k, ret) ||
	    (!k->is_gone && try_memory(k, ret)))
		return;
	/* the probes have overwritten the frames */
	k->in->is_probe = !ret->is_kept;
	unwind_again(k, k->in, false, ret);
}

int64_t stack_user_caller(struct stack_user *u, struct procs_space *space,
			  const struct unwind_memo *memo, uint64_t pc, uint64_t cfa)
{
	struct lookup lookup = { .u = u, .space = space };
	if (memo->space != stack_user_serial(space))
		return -1;
	return unwind_memo_caller(memo, find_module, &lookup, pc, cfa);
}

/*
 * Is a thread whose stack cannot be copied in a system call?  The call has just written to the page
 * of the stack pointer, so it must be execve, which unmaps the old program's memory before it
 * reports the new program.
 */
static bool is_in_exec(struct lookup *l, uint64_t pc)
{
	const struct arch_bytes *syscall = &l->u->arch->syscall;
	uint8_t code[ARCH_BYTES_MAX];
	struct module m;
	return find_module(l, pc, &m) && m.cfi &&
	       arch_begins(code, cfi_read_code(m.cfi, pc - syscall->n - m.bias, code, syscall->n),
			   syscall);
}

/* Has the first frame no caller because its return address is in an unknown register? */
static bool lacks_link(const struct stack_user *u, const struct unwind_regs *regs,
		       const struct unwind_result *r)
{
	return !arch_pushes_ra(u->arch) && !(regs->valid >> u->arch->link & 1) && r->n == 1 &&
	       r->end == UNWIND_BAD_CFI;
}

bool stack_user_walk(struct stack_user *u, struct procs_space *space, const struct record *r,
		     struct stack_user_memos *memos, struct unwind_result *ret)
{
	const struct record_sample *s = &r->sample;
	if (!s->user_regs)
		return false;
	if (!u->unwind || s->user_abi != PERF_SAMPLE_REGS_ABI_64) {
		u->n_unsupported++;
		return false;
	}
	struct lookup lookup = { .u = u, .space = space, .pid = r->pid, .tid = r->tid };
	struct unwind_regs regs;
	unwind_regs_from_perf(u->arch, s->user_regs_mask, s->user_regs, &regs);
	/* in the middle of execve the registers are those of the old program, whose code and stack
	 * are gone */
	if (!s->n_user_stack_bytes && !procs_space_find(space, regs.r[u->arch->pc]))
		return false;
	struct unwind_input in = {
		.regs = &regs, .stack = s->user_stack, .n_stack_bytes = s->n_user_stack_bytes,
		.ctx = &lookup, .space = stack_user_serial(space),
	};
	struct sample_walk k = { .u = u, .lookup = &lookup, .r = r, .in = &in, .memos = memos };
	k.is_gone = !in.n_stack_bytes && is_in_exec(&lookup, regs.r[u->arch->pc]);
	unwind_sample(&k, ret);
	u->fp = ret->end == UNWIND_NO_FP && !memos ?
			stack_fp_find(u->unwind, u->arch, find_module, &in, &regs, ret) :
			STACK_FP_NONE;
	if (lacks_link(u, &regs, ret) && !memos &&
	    stack_link_find(u->unwind, u->arch, find_module, &in, &regs, ret))
		u->fp = STACK_FP_GUESSED;
	/* the memory is gone, or the page of the stack pointer is touched for the first time */
	if (!in.n_stack_bytes && !ret->is_whole && ret->end == UNWIND_BEYOND)
		ret->end = UNWIND_NO_STACK;
	count_end(u, space, ret);
	if (ret->n > 0)
		stack_switch_follow(&u->outer, u->arch, find_module, &in, r, ret);
	return ret->n > 0;
}
