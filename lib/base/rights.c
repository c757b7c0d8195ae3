/*
 * capset(2) itself: the three sets of one thread, 64 bits as two words.  All of cprof's look-ups
 * run in one thread; a thread or process that is started while the rights are lowered starts with
 * lowered ones.
 */

#include "base/rights.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#define BIT(capability) (UINT64_C(1) << (capability))

/* Newer than the headers of some systems. */
#define PERFMON 38
#define BPF_LOAD 39
#define CHECKPOINT_RESTORE 40

/* Set by the command when it starts, before it has other threads; not by users of the library. */
static uint64_t rights_kept;
/* Linux keeps these sets for each thread. */
static __thread bool rights_are_raised;

struct sets {
	uint64_t effective, permitted, inheritable;
};

static int get_sets(struct sets *ret)
{
	struct __user_cap_header_struct head = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct d[2] = { 0 };
	int r = syscall(SYS_capget, &head, d) < 0 ? -errno : 0;
	ret->effective = d[0].effective | (uint64_t)d[1].effective << 32;
	ret->permitted = d[0].permitted | (uint64_t)d[1].permitted << 32;
	ret->inheritable = d[0].inheritable | (uint64_t)d[1].inheritable << 32;
	return r;
}

static int set_sets(const struct sets *s)
{
	struct __user_cap_header_struct head = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct d[2];
	for (int i = 0; i < 2; i++) {
		d[i].effective = (uint32_t)(s->effective >> (32 * i));
		d[i].permitted = (uint32_t)(s->permitted >> (32 * i));
		d[i].inheritable = (uint32_t)(s->inheritable >> (32 * i));
	}
	return syscall(SYS_capset, &head, d) < 0 ? -errno : 0;
}

static int set_effective(uint64_t effective)
{
	struct sets s;
	int r = get_sets(&s);
	if (r < 0)
		return r;
	s.effective = effective;
	return set_sets(&s);
}

uint64_t rights_useful(uint64_t permitted)
{
	uint64_t useful = BIT(PERFMON) | BIT(CAP_SYS_PTRACE) | BIT(CAP_SYSLOG) |
			  BIT(CAP_SYS_NICE) | BIT(CAP_IPC_LOCK) | BIT(BPF_LOAD) |
			  BIT(CHECKPOINT_RESTORE);
	/* Linux before 5.8. */
	if (!(permitted & BIT(PERFMON)))
		useful |= BIT(CAP_SYS_ADMIN);
	return permitted & useful;
}

uint64_t rights_permitted(void)
{
	struct sets s;
	return get_sets(&s) < 0 ? 0 : s.permitted;
}

bool rights_may_bpf(void)
{
	return rights_permitted() & (BIT(BPF_LOAD) | BIT(CAP_SYS_ADMIN));
}

int rights_limit(uint64_t keep)
{
	struct sets s;
	int r = get_sets(&s);
	if (r < 0)
		return r;
	s.permitted &= keep;
	s.effective = 0;
	r = set_sets(&s);
	if (r < 0)
		return r;
	rights_kept = s.permitted;
	rights_are_raised = false;
	return 0;
}

int rights_drop(void)
{
	return rights_kept ? rights_limit(0) : 0;
}

bool rights_are_kept(void)
{
	return rights_kept != 0;
}

bool rights_raise(void)
{
	if (!rights_kept || rights_are_raised || set_effective(rights_kept) < 0)
		return false;
	rights_are_raised = true;
	return true;
}

void rights_lower(const bool *raised)
{
	int errnum = errno;
	if (!*raised)
		return;
	/* Going on with them would do what this file promises not to do. */
	if (set_effective(0) < 0)
		abort();
	rights_are_raised = false;
	errno = errnum;
}
