#include "session/userstack.h"

#include "proc/procs-space.h"
#include "source/record.h"
#include "symbolize/cfi.h"
#include "symbolize/dso.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

/* What unwind_find_module is given. */
struct lookup {
	struct userstack *u;
	struct procs_space *space;
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
	else if (d->fd >= 0 && d->is_elf)
		cfi_open_file(d->fd, &m->cfi);
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
	if (d->key.kind == DSO_ANON || !dso_vaddr(d, pc - map->start + map->pgoff, &vaddr))
		return true;
	ret->cfi = cfi_of(l->u, d);
	ret->bias = pc - vaddr;
	return true;
}

int userstack_init(struct userstack *u, struct dso_table *dsos, const char *machine,
		   uint32_t max_depth)
{
	*u = (struct userstack){ .dsos = dsos };
	if (!machine)
		return 0;
	if (strcmp(machine, "x86_64") == 0)
		u->arch = CFI_X86_64;
	else if (strcmp(machine, "aarch64") == 0)
		u->arch = CFI_ARM64;
	else
		return 0;
	struct unwind_options o = {
		.arch = u->arch, .find_module = find_module, .max_depth = max_depth ? max_depth : USERSTACK_DEPTH_DEFAULT,
	};
	u->unwind = unwind_new(&o);
	return u->unwind ? 0 : -ENOMEM;
}

void userstack_done(struct userstack *u)
{
	for (uint32_t i = 0; i < u->n_modules; i++)
		cfi_close(u->module[i].cfi);
	free(u->module);
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

bool userstack_walk(struct userstack *u, struct procs_space *space, const struct record_sample *s,
		    struct unwind_memo *memo, struct unwind_result *ret)
{
	if (!s->user_regs)
		return false;
	if (!u->unwind || s->user_abi != PERF_SAMPLE_REGS_ABI_64) {
		u->n_unsupported++;
		return false;
	}
	struct lookup lookup = { .u = u, .space = space };
	struct unwind_regs regs;
	unwind_regs_from_perf(u->arch, s->user_regs_mask, s->user_regs, &regs);
	struct unwind_input in = {
		.regs = &regs, .stack = s->user_stack, .n_stack_bytes = s->n_user_stack_bytes,
		.ctx = &lookup, .space = (uint64_t)space->serial << 32 | space->n_changes,
	};
	unwind_stack(u->unwind, &in, memo, ret);
	count_end(u, space, ret);
	return ret->n > 0;
}
