/*
 * The unwinder asks for the module of a pc: the CFI and the runtime of the file that is mapped
 * there.  Modules are opened when a stack first needs them.  How stacks end is counted for each of
 * them.
 */

#include "stack/stack-user-lookup.h"

#include "base/host.h"
#include "base/remotemem.h"
#include "proc/jit.h"
#include "proc/procs-space.h"
#include "symbolize/cfi/cfi.h"
#include "symbolize/elf/dso.h"
#include "symbolize/runtime/runtime-file.h"
#include "symbolize/runtime/runtime.h"

#include <errno.h>

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

bool stack_user_find_module(void *ctx, uint64_t pc, struct module *ret)
{
	struct stack_user_lookup *l = ctx;
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
	const struct stack_user_lookup *l = ctx;
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
		.find_module = stack_user_find_module,
		.read_code = read_code,
		.max_depth = max_depth ? max_depth : STACK_USER_DEPTH_DEFAULT,
		.cache = rules,
	};
	u->unwind = unwind_new(&o);
	return u->unwind ? 0 : -ENOMEM;
}

/* ---- statistics ------------------------------------------------------------------------- */

void stack_user_count(struct stack_user *u, struct procs_space *space,
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
