#include "stack/stack-frames.h"

#include "proc/jit.h"

#include <string.h>
#include <unistd.h>

/* Is the code at off of a file that of a signal trampoline? */
static bool is_trampoline(const struct stack_walk *w, const struct dso *d, uint64_t off)
{
	const struct arch *arch = w->user.arch;
	uint8_t code[ARCH_BYTES_MAX];
	ssize_t n = 0;
	if (!arch)
		return false;
	int fd = dsokeep_hold(d);
	if (fd >= 0) {
		n = pread(fd, code, sizeof(code), (off_t)off);
		dsokeep_release(d);
	} else if (d->image && off < d->n_image_bytes && d->n_image_bytes - off >= sizeof(code)) {
		n = (ssize_t)sizeof(code);
		memcpy(code, d->image + off, sizeof(code));
	}
	return n > 0 && (arch_begins(code, (size_t)n, &arch->sigreturn[0]) ||
			 arch_begins(code, (size_t)n, &arch->sigreturn[1]));
}

static uint32_t look_up_user(struct stack_walk *w, struct procs_space *space, uint64_t pc,
			     bool is_return)
{
	const struct procs_map *map = procs_space_find(space, pc);
	if (!map)
		return STACK_FRAMES_UNMAPPED;
	const struct dso *d = dso_get(w->dsos, map->dso);
	if (is_return && is_trampoline(w, d, pc + 1 - map->start + map->pgoff))
		pc++;
	uint64_t vaddr = pc;
	uint32_t dso = map->dso;
	if (d->key.kind != DSO_ANON)
		dso_vaddr(d, pc - map->start + map->pgoff, &vaddr);
	else if (d->key.pid && space->jit_dso)
		dso = jit_dso(w->user.jit, space, pc);
	return frames_add(w->frames, dso, vaddr, false);
}

uint32_t stack_frames_look_up(struct stack_walk *w, struct procs_space *space, uint64_t pc,
			      bool is_kernel, bool is_return, struct stack_walk_cached *c)
{
	uint32_t frame = is_kernel ? frames_add(w->frames, w->kernel_dso, pc, false)
				   : look_up_user(w, space, pc, is_return);
	if (frame != FRAMES_NONE && frame != STACK_FRAMES_UNMAPPED)
		*c = (struct stack_walk_cached){ pc, is_kernel ? 0 : space->serial, frame };
	return frame;
}

uint32_t stack_frames_bytecode(struct stack_walk *w, struct procs_space *space, uint64_t pc,
			       struct stack_walk_cached *c)
{
	if (c->pc == pc && c->serial == space->serial)
		return c->frame;
	uint32_t frame = frames_add(w->frames, jit_dso(w->user.jit, space, pc), pc, false);
	if (frame != FRAMES_NONE)
		*c = (struct stack_walk_cached){ pc, space->serial, frame };
	return frame;
}
