/*
 * The page of alloc-entry.S must be writable for a moment.  It stays executable, and a system that
 * does not allow both at once (SELinux, systemd's MemoryDenyWriteExecute) leaves it as it is.  A
 * distance is written as a whole, so another thread that makes a jump meanwhile takes the old way
 * or the new one: both lead to the same function.
 */

#include "preload/alloc-jumps.h"

#include "preload/alloc-entry.h"
#include "preload/alloc-hooks.h"
#include "preload/alloc-live.h"
#include "preload/alloc-next.h"
#include "preload/alloc-thread.h"
#include "source/allocformat.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifdef ALLOC_ENTRY_IN_ASSEMBLER

#define PAGE 4096u

#define HAS(structure, member, offset) \
	_Static_assert(offsetof(struct structure, member) == (offset), #member)
HAS(allocformat_head, active, ALLOC_ENTRY_ACTIVE);
HAS(allocformat_head, active_frees, ALLOC_ENTRY_ACTIVE_FREES);
HAS(alloc_thread, recording, ALLOC_ENTRY_RECORDING);
HAS(alloc_thread, left, ALLOC_ENTRY_LEFT);
HAS(alloc_next, malloc, ALLOC_ENTRY_MALLOC);
HAS(alloc_next, calloc, ALLOC_ENTRY_CALLOC);
HAS(alloc_next, free, ALLOC_ENTRY_FREE);
HAS(alloc_next, realloc, ALLOC_ENTRY_REALLOC);
_Static_assert(ALLOC_ENTRY_FILTER_MASK == (1u << ALLOC_LIVE_FILTER_BITS) - 1, "mask");

extern char alloc_entry_start[], alloc_entry_end[] __attribute__((visibility("hidden")));

/* The linker's names for the section's bounds. */
extern const struct jump {
	int32_t place;             /* of the distance, relative to this number */
	uint32_t next;             /* the offset in alloc_next */
} __start_alloc_jumps[], __stop_alloc_jumps[] __attribute__((visibility("hidden")));

static void make_direct(const struct jump *j)
{
	int32_t *distance = (int32_t *)((uintptr_t)&j->place + (uintptr_t)(intptr_t)j->place);
	const uintptr_t *to = (const uintptr_t *)((const char *)&alloc_next + j->next);
	intptr_t n = (intptr_t)(*to - (uintptr_t)(distance + 1));
	if (*to && n == (int32_t)n)
		__atomic_store_n(distance, (int32_t)n, __ATOMIC_RELEASE);
}

void alloc_jumps_make_direct(void)
{
	uintptr_t start = (uintptr_t)alloc_entry_start / PAGE * PAGE;
	uintptr_t n_bytes = (uintptr_t)alloc_entry_end - start;
	const int prot = PROT_READ | PROT_EXEC;
	if (syscall(SYS_mprotect, start, n_bytes, prot | PROT_WRITE) != 0)
		return;
	for (const struct jump *j = __start_alloc_jumps; j < __stop_alloc_jumps; j++)
		make_direct(j);
	syscall(SYS_mprotect, start, n_bytes, prot);
}

#else

void alloc_jumps_make_direct(void)
{
}

#endif
