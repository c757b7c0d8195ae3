/*
 * Stacks deeper than the kernel can copy (64 KiB) are completed from the memory of the process,
 * which usually still has their outer part: a deep recursion does not return within the
 * milliseconds until the memory is read.  This is checked in two ways.
 *
 * The end of the copy must be unchanged in memory.  That is not sufficient, because a function that
 * has returned leaves its part of the stack as it was.
 *
 * Each return address beyond the copy must follow a call of the function that returns to it.  A
 * call through a pointer cannot be checked in this way, and near the root there always is one.  But
 * the first call must not be through a pointer unless the same call was seen before: a frame of 200
 * KiB was once found below clock_gettime, which had meanwhile called the vDSO through a pointer.
 *
 * A token bucket of bytes, filled by the time of the recording, limits the cost: a descent into a
 * recursion may need memory for each sample, but takes only a few percent of a CPU.
 */

#include "stack/stack-memory.h"

#include "base/cleanup.h"
#include "base/host.h"
#include "base/remotemem.h"
#include "symbolize/unwind/unwind-call.h"
#include "symbolize/unwind/unwind-memo.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The first step reaches what was copied a few samples ago; each next one is STEP_FACTOR longer. */
#define STEP_BYTES (32u << 10)
#define STEP_FACTOR 8u

/* A copy ends early at a page that was never touched, for instance in a large array.  Reading makes
 * such pages present, so the next copies are longer even if the stack turns out to differ. */
#define PAGE_BYTES 4096u               /* the smallest size */
#define GAP_BYTES (128u << 10)

/* How much of the copy is compared with the memory. */
#define CHECK_BYTES 8192u
#define COPY_BYTES_MIN 64u
#define COPY_BYTES_MAX 65536u

/* 5 bytes/ns are copied, so this is at most 2.5 % of a CPU; the bucket holds BURST_BYTES. */
#define BYTES_PER_US 128u
#define BURST_BYTES (4u << 20)

/* A recursion that returns faster than it can be read costs megabytes each time.  But the one read
 * in fifty that succeeds helps many stacks. */
#define VAIN_MAX 16u
#define VAIN_NS 900000u

bool stack_memory_is_due(uint32_t n_vain, uint64_t since_ns)
{
	return n_vain < VAIN_MAX || since_ns >= VAIN_NS;
}

void stack_memory_init(struct stack_memory *d, const struct host *host, const struct arch *arch)
{
	*d = (struct stack_memory){ .host = host, .arch = arch, .allowed_bytes = BURST_BYTES };
}

void stack_memory_done(struct stack_memory *d)
{
	free(d->buf);
	*d = (struct stack_memory){ 0 };
}

/* Takes n bytes from the bucket for a sample at time_ns; false: not enough. */
static bool take_bytes(struct stack_memory *d, uint64_t time_ns, uint64_t n)
{
	uint64_t us = time_ns > d->time_ns ? (time_ns - d->time_ns) / 1000 : 0;
	if (us >= BURST_BYTES / BYTES_PER_US)
		us = BURST_BYTES / BYTES_PER_US;
	uint64_t allowed = d->allowed_bytes + us * BYTES_PER_US;
	if (allowed > BURST_BYTES)
		allowed = BURST_BYTES;
	if (allowed < n)
		return false;
	d->allowed_bytes = allowed - n;
	if (time_ns > d->time_ns)
		d->time_ns = time_ns;
	return true;
}

bool stack_memory_lengthen(struct stack_memory *d, uint32_t tid, uint64_t time_ns,
			   uint64_t need, struct unwind_input *in)
{
	uint64_t n = in->n_stack_bytes, sp = in->regs->r[d->arch->sp];
	bool is_first = in->stack != d->buf || !d->buf;
	uint64_t n_max = COPY_BYTES_MAX + STACK_MEMORY_BYTES_MAX, n_need = need ? need - sp : 0;
	if (!d->host || n < COPY_BYTES_MIN || (is_first && n > COPY_BYTES_MAX) || n >= n_max ||
	    n_need > n_max)
		return false;
	uint64_t more = !is_first ? n * (STEP_FACTOR - 1)
				  : (sp + n) % PAGE_BYTES ? STEP_BYTES : GAP_BYTES;
	if (n_need > n)
		more += n_need - n;
	if (more > n_max - n)
		more = n_max - n;
	uint64_t n_check = !is_first ? 0 : n / 2 < CHECK_BYTES ? n / 2 & ~7ull : CHECK_BYTES;
	if (!d->buf)
		d->buf = malloc(COPY_BYTES_MAX + STACK_MEMORY_BYTES_MAX);
	if (!d->buf || !take_bytes(d, time_ns, n_check + more))
		return false;
	uint8_t *tail = d->buf + n - n_check;
	const struct iovec local = { tail, n_check + more };
	const struct iovec remote = { (void *)(uintptr_t)(sp + n - n_check), n_check + more };
	long got = remotemem_read(d->host->memory, tid, &local, 1, &remote, 1);
	if (got <= (long)n_check)
		return false;
	if (is_first) {
		if (memcmp(tail, in->stack + n - n_check, n_check) != 0)
			return false;
		memcpy(d->buf, in->stack, n - n_check);
		in->stack = d->buf;
	}
	in->n_stack_bytes = n - n_check + ((uint64_t)got & ~7ull);
	return in->n_stack_bytes > n;
}

/* ---- the proof ------------------------------------------------------------------------ */

bool stack_memory_is_proved(const struct arch *arch, module_find *find_module, void *ctx,
			    const struct unwind_result *r, const struct unwind_memo *memo,
			    uint64_t copy_end)
{
	struct { uint64_t pc, ra; } known[64] = { { 0, 0 } }; /* recursion repeats itself */
	bool is_first = true;
	uint32_t n = r->n - r->n_joined;
	for (uint32_t i = 0; i + 1 < n; i++) {
		const struct unwind_frame *f = &r->frame[i];
		if (f[1].sp <= copy_end)
			continue;
		size_t slot = (f->pc ^ f[1].pc >> 3) % 64;
		if (!is_first && known[slot].pc == f->pc && known[slot].ra == f[1].pc)
			continue;
		uint64_t at = f->pc - !(f->flags & UNWIND_FRAME_EXACT);
		enum unwind_call c = unwind_call_before(arch, find_module, ctx, at, f[1].pc);
		if (c == UNWIND_CALL_OF_ANOTHER ||
		    (c == UNWIND_CALL_INDIRECT && is_first &&
		     !(memo && unwind_memo_has_call(memo, find_module, ctx, at, f[1].pc))))
			return false;
		known[slot].pc = f->pc;
		known[slot].ra = f[1].pc;
		is_first = false;
	}
	return !is_first;
}
