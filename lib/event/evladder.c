/*
 * Each refusal takes one rung: the first in the table that handles the errno and finds something to
 * take away.  Rungs are not undone, except those on trial: if leaving something out did not change
 * the errno, it was not the reason, and it comes back.
 *
 * The kernel checks the attr's fields first (E2BIG, EINVAL), then permission for the kernel side
 * (EACCES), and then asks the PMU (EINVAL, EOPNOTSUPP, ENOENT ...).  So an unprivileged `cycles` on
 * a machine without a PMU is first refused for its kernel side, and only then for the real reason.
 */
#include "event/evladder.h"

#include "base/log.h"
#include "event/evattr.h"
#include "event/evadvice.h"
#include "event/evopen.h"
#include "event/evspec.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define ERRNO_KERNEL_ENOTSUPP 524  /* the kernel's internal ENOTSUPP, which some PMU drivers leak */

/* ---- bits that older kernels do not know -------------------------------------- */

/* Dispensable bits: they change neither what is sampled nor, together, the layout of records.
 * Newest first, with the version of Linux that added them. */
static const struct new_bit {
	const char *name, *since;
	struct perf_event_attr mask;
} new_bits[] = {
	{ "PERF_FORMAT_LOST", "6.0", { .read_format = PERF_FORMAT_LOST } },
	{ "ksymbol", "5.1", { .ksymbol = 1 } },
};

/* Stores the bits of *a that are in the mask in *ret; false if there are none. */
static bool common_bits(const struct perf_event_attr *a, const struct perf_event_attr *mask,
			struct perf_event_attr *ret)
{
	const unsigned char *x = (const void *)a, *m = (const void *)mask;
	unsigned char *out = (void *)ret;
	bool any = false;
	for (size_t i = 0; i < sizeof(*a); i++) {
		out[i] = x[i] & m[i];
		any |= out[i] != 0;
	}
	return any;
}

static void clear_bits(struct perf_event_attr *a, const struct perf_event_attr *mask)
{
	const unsigned char *m = (const void *)mask;
	unsigned char *x = (void *)a;
	for (size_t i = 0; i < sizeof(*a); i++)
		x[i] &= (unsigned char)~m[i];
}

/* Does an otherwise undemanding event open with these bits? */
static bool kernel_knows(const struct evopen *o, const struct perf_event_attr *bits)
{
	struct perf_event_attr a = *bits;
	a.type = PERF_TYPE_SOFTWARE;
	a.size = sizeof(a);
	a.config = PERF_COUNT_SW_DUMMY;
	a.disabled = a.exclude_kernel = a.exclude_hv = 1;
	int fd = o->fn(&a, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd >= 0)
		close(fd);
	return fd >= 0 || (errno != EINVAL && errno != E2BIG);
}

static bool leave_new_bits(const struct evopen *o, const struct evspec *s,
			   const struct evopen_place *at, struct perf_event_attr *a, int errnum)
{
	bool any = false;
	(void)s, (void)at, (void)errnum;
	for (size_t i = 0; i < sizeof(new_bits) / sizeof(*new_bits); i++) {
		struct perf_event_attr bits;
		if (!common_bits(a, &new_bits[i].mask, &bits) || kernel_knows(o, &bits))
			continue;
		clear_bits(a, &new_bits[i].mask);
		any = true;
		log_line(o->log, LOG_EXPLAIN, "this kernel does not know %s (Linux %s)",
			 new_bits[i].name, new_bits[i].since);
	}
	return any;
}

/* ---- the other rungs ----------------------------------------------------------------- */

/* Some PMUs cannot tell guests apart. */
static bool take_guests(const struct evopen *o, const struct evspec *s,
			const struct evopen_place *at, struct perf_event_attr *a, int errnum)
{
	(void)o, (void)s, (void)at, (void)errnum;
	bool had = a->exclude_guest;
	a->exclude_guest = 0;
	return had;
}

static bool lower_precision(const struct evopen *o, const struct evspec *s,
			    const struct evopen_place *at, struct perf_event_attr *a, int errnum)
{
	(void)o, (void)s, (void)at, (void)errnum;
	if (!a->precise_ip)
		return false;
	a->precise_ip--;
	return true;
}

static bool leave_kernel(const struct evopen *o, const struct evspec *s,
			 const struct evopen_place *at, struct perf_event_attr *a, int errnum)
{
	(void)at, (void)errnum;
	if (!o->allow_user_only || a->exclude_kernel || a->exclude_user ||
	    (s && evspec_in_kernel(s)))
		return false;
	a->exclude_kernel = a->exclude_hv = 1;
	return true;
}

/* Only for an event that the user did not name. */
static bool become_clock(const struct evopen *o, const struct evspec *s,
			 const struct evopen_place *at, struct perf_event_attr *a, int errnum)
{
	struct evcause_request r = {
		.spec = s, .attr = a, .pid = at->pid, .cpu = at->cpu, .flags = at->flags,
	};
	enum evcause cause = evcause_find(o->host, &r, errnum);
	if (!s || !s->by_default || a->type == PERF_TYPE_SOFTWARE ||
	    cause == EVCAUSE_CPU_OFFLINE)
		return false;
	log_line(o->log, LOG_NOTE, "event: cpu-clock instead of %s: %s", s->name,
		 evadvice_brief(cause));
	a->type = PERF_TYPE_SOFTWARE;
	a->config = PERF_COUNT_SW_CPU_CLOCK;
	a->config1 = a->config2 = 0;
	a->precise_ip = 0;
	return true;
}

static const struct rung {
	unsigned gives_up;               /* enum evopen_given_up */
	int errnum[7];                   /* the refusals it may help against; 0 ends the list */
	bool once;                       /* on trial: undone if the errno stays the same */
	bool (*take)(const struct evopen *o, const struct evspec *s,
		     const struct evopen_place *at, struct perf_event_attr *a, int errnum);
} rungs[] = {
	{ EVOPEN_NO_NEW_BITS, { E2BIG, EINVAL }, false, leave_new_bits },
	{ EVOPEN_WITH_GUESTS, { EINVAL, EOPNOTSUPP, ERRNO_KERNEL_ENOTSUPP }, true, take_guests },
	{ EVOPEN_NO_PRECISE, { EOPNOTSUPP, EINVAL, ERRNO_KERNEL_ENOTSUPP }, false,
	  lower_precision },
	{ EVOPEN_NO_KERNEL, { EACCES, EPERM }, false, leave_kernel },
	{ EVOPEN_CLOCK,
	  { ENOENT, EOPNOTSUPP, ENODEV, ENXIO, EINVAL, EBUSY, ERRNO_KERNEL_ENOTSUPP }, false,
	  become_clock },
};
#define N_RUNGS (sizeof(rungs) / sizeof(*rungs))

static bool answers(const struct rung *r, int errnum)
{
	for (size_t i = 0; i < sizeof(r->errnum) / sizeof(*r->errnum); i++)
		if (r->errnum[i] == errnum)
			return true;
	return false;
}

bool evladder_step(struct evladder *l, const struct evopen *o, const struct evspec *s,
		   const struct evopen_place *at, struct perf_event_attr *a, int errnum)
{
	if (l->on_trial && l->refused == errnum) {
		*a = l->before;
		l->given_up = l->given_up_before;
	}
	l->on_trial = false;
	for (size_t i = 0; i < N_RUNGS; i++) {
		struct perf_event_attr before = *a;
		if (!answers(&rungs[i], errnum) || l->tried >> i & 1 ||
		    !rungs[i].take(o, s, at, a, errnum))
			continue;
		if (rungs[i].once) {
			l->tried |= 1u << i;
			l->on_trial = true;
			l->refused = errnum;
			l->before = before;
			l->given_up_before = l->given_up;
		}
		l->given_up |= rungs[i].gives_up;
		return true;
	}
	return false;
}
