#include "snapshot/gostack.h"

#include "proc/procs.h"
#include "snapshot/gocapture.h"
#include "snapshot/gotarget.h"
#include "snapshot/snapshot.h"
#include "source/record.h"
#include "symbolize/cfi/cfi.h"

#include <linux/perf_event.h>
#include <string.h>

#define REGS_MAX 4u

/* Appends the value of a register, by its DWARF number, in the order of perf's numbers. */
static void add_reg(const struct arch *arch, uint8_t reg, uint64_t value, uint64_t *mask,
		    uint64_t values[REGS_MAX], unsigned int *n)
{
	for (unsigned int i = 0; i < arch->n_perf_regs; i++) {
		if (arch->perf_reg[i] != (int8_t)reg)
			continue;
		unsigned int at = (unsigned int)__builtin_popcountll(*mask & ((1ull << i) - 1));
		memmove(values + at + 1, values + at, (*n - at) * sizeof(*values));
		values[at] = value;
		*mask |= 1ull << i;
		++*n;
		return;
	}
}

/*
 * Registers are those of the frame to which the goroutine will return, so the pc is that of the
 * call, unless it has not begun yet.  Until then the link register leads to runtime.goexit.
 */
void gostack_unwind(struct snapshot *s, struct procs_process *p, const struct gotarget *program,
		    const struct gocapture *capture, const struct gocapture_goroutine *r,
		    struct snapshot_stack *ret)
{
	const struct arch *arch = program->process.cfi->arch;
	bool is_new = r->g.pc == r->g.start_pc;
	uint64_t values[REGS_MAX], pc = r->g.pc - !is_new;
	uint64_t mask = 0;
	unsigned int n = 0;
	add_reg(arch, arch->pc, pc, &mask, values, &n);
	add_reg(arch, arch->sp, r->g.sp, &mask, values, &n);
	if (r->g.bp)
		add_reg(arch, arch->fp, r->g.bp, &mask, values, &n);
	if (is_new && r->g.lr && !arch_pushes_ra(arch))
		add_reg(arch, arch->link, r->g.lr, &mask, values, &n);
	const struct record sample = {
		.type = PERF_RECORD_SAMPLE, .misc = PERF_RECORD_MISC_USER, .has_time = true,
		.time_ns = r->time_ns, .event = RECORD_NO_EVENT, .cpu = UINT32_MAX,
		.pid = p->pid, .tid = program->process.tid,
		.sample = {
			.ip = pc, .user_abi = PERF_SAMPLE_REGS_ABI_64, .user_regs = values,
			.user_regs_mask = mask, .user_stack = capture->stacks.v + r->stack_off,
			.n_user_stack_bytes = r->n_stack_bytes,
			.user_stack_size = r->n_stack_bytes,
		},
	};
	snapshot_unwind(s, p, &sample, ret);
}
