/* The peer libdwfl: dwfl_getthread_frames on the same registers and stack copies, with one Dwfl for
 * each address space. */

#include "tests/bench/unwind.h"

#include <elfutils/libdwfl.h>
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct dwfl_arg {
	const struct bench_sample *s;
	uint64_t *pc;
	size_t n;
};

static struct dwfl_arg current;

static pid_t next_thread(Dwfl *d, void *arg, void **thread_arg)
{
	(void)d;
	if (*thread_arg)
		return 0;
	*thread_arg = arg;
	return (pid_t)current.s->tid;
}

static bool get_thread(Dwfl *d, pid_t tid, void *arg, void **thread_arg)
{
	(void)d, (void)tid;
	*thread_arg = arg;
	return true;
}

static bool memory_read(Dwfl *d, Dwarf_Addr at, Dwarf_Word *ret, void *arg)
{
	(void)d, (void)arg;
	const struct bench_sample *s = current.s;
	uint64_t off = at - s->regs.r[arch_x86_64.sp];
	if (off >= s->n_stack_bytes || s->n_stack_bytes - off < 8)
		return false;
	memcpy(ret, s->stack + off, 8);
	return true;
}

static bool set_registers(Dwfl_Thread *t, void *arg)
{
	(void)arg;
	return dwfl_thread_state_registers(t, 0, 17, current.s->regs.r);
}

static const Dwfl_Thread_Callbacks thread_callbacks = {
	.next_thread = next_thread, .get_thread = get_thread, .memory_read = memory_read,
	.set_initial_registers = set_registers,
};

static int find_debuginfo(Dwfl_Module *m, void **user, const char *name, Dwarf_Addr base,
			  const char *file, const char *link, GElf_Word crc, char **ret)
{
	(void)m, (void)user, (void)name, (void)base, (void)file, (void)link, (void)crc, (void)ret;
	return -1; /* only what the module itself contains, as for the other unwinders */
}

static int find_elf(Dwfl_Module *m, void **user, const char *name, Dwarf_Addr base, char **file,
		    Elf **elf)
{
	(void)m, (void)user, (void)name, (void)base, (void)file, (void)elf;
	return -1;
}

static const Dwfl_Callbacks callbacks = { .find_elf = find_elf, .find_debuginfo = find_debuginfo };

static Dwfl *space_dwfl(struct bench_space *s, uint32_t tid)
{
	Dwfl *d = dwfl_begin(&callbacks);
	if (!d)
		errx(1, "dwfl_begin");
	dwfl_report_begin(d);
	for (uint32_t i = 0; i < s->n; i++) {
		const struct bench_map *m = &s->map[i];
		bool again = false;
		for (uint32_t j = 0; j < i; j++)
			again |= s->map[j].file == m->file && s->map[j].bias == m->bias;
		if (again || !m->file->cfi)
			continue;
		char name[32];
		snprintf(name, sizeof(name), "%u", i);
		if (m->file->fd >= 0) {
			dwfl_report_elf(d, name, m->file->path, dup(m->file->fd), m->bias, false);
		} else {
			/* the vDSO: libdwfl needs a file */
			FILE *f = tmpfile();
			if (!f || fwrite(m->file->bytes, m->file->n_bytes, 1, f) != 1 || fflush(f))
				err(1, "tmpfile");
			dwfl_report_elf(d, name, "[vdso]", dup(fileno(f)), m->bias, false);
			fclose(f);
		}
	}
	dwfl_report_end(d, NULL, NULL);
	Elf *elf = NULL;
	for (uint32_t i = 0; i < s->n && !elf; i++) {
		GElf_Addr bias;
		Dwfl_Module *m = dwfl_addrmodule(d, s->map[i].start);
		elf = m ? dwfl_module_getelf(m, &bias) : NULL;
	}
	if (!dwfl_attach_state(d, elf, (pid_t)tid, &thread_callbacks, &current))
		errx(1, "dwfl_attach_state: %s", dwfl_errmsg(-1));
	return d;
}

static int frame(Dwfl_Frame *f, void *arg)
{
	struct dwfl_arg *a = arg;
	Dwarf_Addr pc;
	bool is_activation;
	if (!dwfl_frame_pc(f, &pc, &is_activation) || a->n == BENCH_DEPTH_MAX)
		return DWARF_CB_ABORT;
	a->pc[a->n++] = pc;
	return DWARF_CB_OK;
}

size_t bench_dwfl(struct bench_capture *c, const struct bench_sample *s, uint64_t *ret_pc)
{
	(void)c;
	current = (struct dwfl_arg){ .s = s, .pc = ret_pc };
	if (!s->space->n)
		return 0;
	if (!s->space->dwfl)
		s->space->dwfl = space_dwfl(s->space, s->tid);
	dwfl_getthread_frames(s->space->dwfl, (pid_t)s->tid, frame, &current);
	return current.n;
}

bool bench_dwfl_first(int fd, uint64_t vaddr)
{
	elf_version(EV_CURRENT);
	Elf *elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	Dwarf_CFI *cfi = elf ? dwarf_getcfi_elf(elf) : NULL;
	Dwarf_Frame *rules = NULL;
	bool found = cfi && dwarf_cfi_addrframe(cfi, vaddr, &rules) == 0;
	free(rules);
	if (cfi)
		dwarf_cfi_end(cfi);
	elf_end(elf);
	return found;
}
