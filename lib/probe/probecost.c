/*
 * A probe replaces an instruction by a breakpoint.  The kernel then emulates the instruction, or
 * executes a copy of it with the trap flag set, which means a second trap, and in virtual machines
 * two exits.  sample_period changes nothing: the trap comes with each hit.
 */
#include "probe/probecost.h"

#include "base/cleanup.h"
#include "base/log.h"
#include "base/units.h"
#include "event/evspec.h"
#include "symbolize/arch/arch.h"
#include "symbolize/arch/archprobe.h"

#include <elf.h>
#include <fcntl.h>
#include <unistd.h>

#define INSN_BYTES_MAX 15u

/* The architecture if the instruction must be stepped, otherwise NULL. */
static const struct arch_probe *stepped(const struct evspec *s)
{
	Elf64_Ehdr header;
	uint8_t insn[INSN_BYTES_MAX];
	CLEANUP_CLOSE int fd = open(s->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0 || pread(fd, &header, sizeof(header), 0) != (ssize_t)sizeof(header))
		return NULL;
	const struct arch *arch = arch_of_machine(header.e_machine);
	ssize_t n = pread(fd, insn, sizeof(insn), (off_t)s->config2);
	return arch && n > 0 && arch->probe->is_stepped(insn, (size_t)n) ? arch->probe : NULL;
}

static void warn(const struct log *log, const char *name, const struct arch_probe *arch, size_t n,
		 size_t n_all)
{
	if (arch->stepped_cost)
		log_line(log, LOG_WARN, "event '%s': the kernel must single-step the instruction "
			 "at %zu of %zu probed place%s: each hit costs the program %s, instead of "
			 "%s at a nop or push (measured in a virtual machine)", name, n, n_all,
			 units_s(n_all), arch->stepped_cost, arch->other_cost);
	else
		log_line(log, LOG_WARN, "event '%s': the kernel must single-step the instruction "
			 "at %zu of %zu probed place%s, which costs the program a second trap at "
			 "each hit", name, n, n_all, units_s(n_all));
}

void probecost_warn(const struct evspec_list *l, const struct log *log)
{
	/* The variants of an event are neighbours. */
	for (size_t i = 0, end; i < l->n; i = end) {
		const struct arch_probe *arch = NULL;
		size_t n = 0;
		for (end = i; end < l->n && l->v[end].output == l->v[i].output; end++) {
			const struct arch_probe *one = l->v[end].path ? stepped(&l->v[end]) : NULL;
			n += one != NULL;
			arch = one ? one : arch;
		}
		if (arch)
			warn(log, l->v[i].name, arch, n, end - i);
	}
}
