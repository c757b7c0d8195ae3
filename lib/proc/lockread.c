/*
 * The word and the fields that follow it are read at once, without stopping anybody.  The mutex may
 * change meanwhile, so the caller compares the time of the reading with that of the wait.
 */

#include "proc/lockread.h"

#include "base/host.h"
#include "base/remotemem.h"

#include <linux/futex.h>
#include <sys/uio.h>

/* Words of glibc's struct __pthread_mutex_s on 64-bit machines. */
enum { WORD_LOCK = 0, WORD_OWNER = 2, WORD_USERS = 3, WORD_KIND = 4 };

/* lll_lock_wait of glibc waits with this value: locked, with waiters. */
#define LOCKED_WITH_WAITERS 2u

/* All flags of __kind: the type, robust, inherit, protect, shared, elision. */
#define KIND_MASK 0x3ffu

static uint32_t command(const struct lockread_wait *w)
{
	return w->op & ~(uint32_t)(FUTEX_PRIVATE_FLAG | FUTEX_CLOCK_REALTIME);
}

static bool inherits_priority(const struct lockread_wait *w)
{
	/* 13: FUTEX_LOCK_PI2 of Linux 5.14 */
	return command(w) == FUTEX_LOCK_PI || command(w) == 13;
}

bool lockread_wait(const uint64_t arg[3], struct lockread_wait *ret)
{
	struct lockread_wait w = { arg[0], (uint32_t)arg[1], (uint32_t)arg[2] };
	uint32_t c = command(&w);
	if (!w.address || (c != FUTEX_WAIT && c != FUTEX_WAIT_BITSET &&
			   c != FUTEX_WAIT_REQUEUE_PI && !inherits_priority(&w)))
		return false;
	*ret = w;
	return true;
}

/* glibc's conditions and semaphores wait by FUTEX_WAIT_BITSET. */
bool lockread_is_mutex(const struct lockread_wait *w)
{
	return inherits_priority(w) || w->value & FUTEX_WAITERS ||
	       (command(w) == FUTEX_WAIT && w->value == LOCKED_WITH_WAITERS);
}

uint32_t lockread_holder(const struct lockread_wait *w, const uint32_t word[LOCKREAD_WORDS])
{
	uint32_t lock = word[WORD_LOCK];
	if (inherits_priority(w) || (w->value & FUTEX_WAITERS && lock & FUTEX_WAITERS))
		return lock & FUTEX_TID_MASK;
	bool is_mutex = command(w) == FUTEX_WAIT && w->value == LOCKED_WITH_WAITERS &&
			(lock == 1 || lock == LOCKED_WITH_WAITERS) && word[WORD_USERS] &&
			!(word[WORD_KIND] & ~KIND_MASK);
	return is_mutex ? word[WORD_OWNER] & FUTEX_TID_MASK : 0;
}

uint32_t lockread_holder_now(const struct host *h, uint32_t pid, const struct lockread_wait *w)
{
	uint32_t word[LOCKREAD_WORDS] = { 0 };
	const struct iovec local = { word, sizeof(word) };
	const struct iovec remote = { (void *)(uintptr_t)w->address, sizeof(word) };
	if (remotemem_read(h->memory, pid, &local, 1, &remote, 1) < (long)sizeof(*word))
		return 0;
	return lockread_holder(w, word);
}
