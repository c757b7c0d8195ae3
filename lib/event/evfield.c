/*
 * The kernel answers EINVAL without a reason.  So the event is opened again and again, each time
 * with one field cleared; the field that makes a difference is to blame.  Fields that only add
 * something come first, and those that define the event last: an event without its config is
 * another event, and if that opens, the code is what the kernel refuses.
 */
#include "event/evfield.h"

#include "event/evopen.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

static const struct field {
	const char *name, *since;
	struct perf_event_attr mask;
} fields[] = {
	{ "read_format PERF_FORMAT_LOST", "6.0", { .read_format = PERF_FORMAT_LOST } },
	{ "ksymbol", "5.1", { .ksymbol = 1 } },
	{ "cgroup", "5.7", { .cgroup = 1 } },
	{ "sample_type PERF_SAMPLE_CGROUP", "5.7", { .sample_type = PERF_SAMPLE_CGROUP } },
	{ "build_id", "5.12", { .build_id = 1 } },
	{ "inherit_thread", "5.13", { .inherit_thread = 1 } },
	{ "precise_ip", NULL, { .precise_ip = 3 } },
	{ "exclude_guest", NULL, { .exclude_guest = 1 } },
	{ "exclude_host", NULL, { .exclude_host = 1 } },
	{ "exclude_idle", NULL, { .exclude_idle = 1 } },
	{ "exclude_hv", NULL, { .exclude_hv = 1 } },
	{ "exclude_kernel", NULL, { .exclude_kernel = 1, .exclude_hv = 1 } },
	{ "exclude_user", NULL, { .exclude_user = 1, .exclude_hv = 1 } },
	{ "exclusive", NULL, { .exclusive = 1 } },
	{ "pinned", NULL, { .pinned = 1 } },
	{ "branch_sample_type", NULL,
	  { .branch_sample_type = ~0ull, .sample_type = PERF_SAMPLE_BRANCH_STACK } },
	{ "sample_regs_user", NULL,
	  { .sample_regs_user = ~0ull, .sample_type = PERF_SAMPLE_REGS_USER } },
	{ "sample_regs_intr", NULL,
	  { .sample_regs_intr = ~0ull, .sample_type = PERF_SAMPLE_REGS_INTR } },
	{ "sample_stack_user", NULL,
	  { .sample_stack_user = ~0u, .sample_type = PERF_SAMPLE_STACK_USER } },
	{ "sample_max_stack", "4.8", { .sample_max_stack = 0xffff } },
	{ "inherit", NULL, { .inherit = 1, .sample_type = PERF_SAMPLE_READ } },
	{ "enable_on_exec", NULL, { .enable_on_exec = 1 } },
	{ "clockid", "4.1", { .use_clockid = 1, .clockid = -1 } },
	{ "sample_type PERF_SAMPLE_IDENTIFIER", "3.12",
	  { .sample_type = PERF_SAMPLE_IDENTIFIER } },
	{ "config2", NULL, { .config2 = ~0ull } },
	{ "config1", NULL, { .config1 = ~0ull } },
	{ "sample_freq", NULL, { .freq = 1, .sample_freq = ~0ull } },
	{ "sample_period", NULL, { .sample_period = ~0ull } },
	/* The rate, in case the exclusion of a side is refused as well. */
	{ "sample_freq", NULL,
	  { .freq = 1, .sample_freq = ~0ull, .exclude_guest = 1, .exclude_kernel = 1,
	    .exclude_hv = 1 } },
	{ "sample_period", NULL,
	  { .sample_period = ~0ull, .exclude_guest = 1, .exclude_kernel = 1, .exclude_hv = 1 } },
	{ "config", NULL, { .config = ~0ull } },
};
#define N_FIELDS (sizeof(fields) / sizeof(*fields))

/* Clears the bits of the mask; false if none was set. */
static bool clear_field(struct perf_event_attr *a, const struct perf_event_attr *mask)
{
	const unsigned char *m = (const void *)mask;
	unsigned char *x = (void *)a;
	bool any = false;
	for (size_t i = 0; i < sizeof(*a); i++) {
		any |= (x[i] & m[i]) != 0;
		x[i] &= (unsigned char)~m[i];
	}
	return any;
}

static uint64_t value_of(const struct perf_event_attr *a, const struct perf_event_attr *mask)
{
	if (mask->config)
		return a->config;
	if (mask->config1)
		return a->config1;
	if (mask->config2)
		return a->config2;
	if (mask->sample_period)  /* a union with sample_freq */
		return a->sample_period;
	if (mask->sample_stack_user)
		return a->sample_stack_user;
	if (mask->sample_regs_user)
		return a->sample_regs_user;
	if (mask->sample_regs_intr)
		return a->sample_regs_intr;
	if (mask->branch_sample_type)
		return a->branch_sample_type;
	if (mask->sample_max_stack)
		return a->sample_max_stack;
	if (mask->precise_ip)
		return a->precise_ip;
	return mask->use_clockid ? (uint64_t)a->clockid : 1;
}

void evfield_find(const struct evopen *o, const struct perf_event_attr *attr,
		  const struct evopen_place *at, struct evfield *ret)
{
	struct evopen_place place = *at;
	place.flags |= PERF_FLAG_FD_CLOEXEC;
	*ret = (struct evfield){ NULL, 0, NULL };
	for (size_t i = 0; i < N_FIELDS; i++) {
		struct perf_event_attr a = *attr;
		if (fields[i].mask.freq && !attr->freq)
			continue;
		if (!clear_field(&a, &fields[i].mask))
			continue;
		int fd = evopen_call(o->fn, o->host, &a, &place);
		if (fd >= 0)
			close(fd);
		else if (errno == EINVAL || errno == EINTR)
			continue;
		*ret = (struct evfield){ fields[i].name, value_of(attr, &fields[i].mask),
					 fields[i].since };
		return;
	}
}

void evfield_beyond(const struct perf_event_attr *attr, uint32_t known_bytes, struct evfield *ret)
{
	/* perf_event.h: PERF_ATTR_SIZE_VER1 to VER7, and the first field of each */
	static const struct { uint32_t at; const char *name, *since; } grown[] = {
		{ offsetof(struct perf_event_attr, config2), "config2", "3.3" },
		{ offsetof(struct perf_event_attr, branch_sample_type), "branch_sample_type",
		  "3.4" },
		{ offsetof(struct perf_event_attr, sample_regs_user), "sample_regs_user", "3.7" },
		{ offsetof(struct perf_event_attr, sample_stack_user), "sample_stack_user", "3.7" },
		{ offsetof(struct perf_event_attr, clockid), "clockid", "4.1" },
		{ offsetof(struct perf_event_attr, sample_regs_intr), "sample_regs_intr", "3.19" },
		{ offsetof(struct perf_event_attr, aux_watermark), "aux_watermark", "4.1" },
		{ offsetof(struct perf_event_attr, sample_max_stack), "sample_max_stack", "4.8" },
		{ offsetof(struct perf_event_attr, aux_sample_size), "aux_sample_size", "5.5" },
		{ offsetof(struct perf_event_attr, sig_data), "sig_data", "5.13" },
	};
	const unsigned char *byte = (const void *)attr;
	*ret = (struct evfield){ NULL, 0, NULL };
	for (size_t i = 0; i < sizeof(grown) / sizeof(*grown); i++) {
		uint32_t end = i + 1 < sizeof(grown) / sizeof(*grown) ? grown[i + 1].at
								      : sizeof(*attr);
		for (uint32_t at = grown[i].at; at >= known_bytes && at < end; at++) {
			if (!byte[at])
				continue;
			*ret = (struct evfield){ grown[i].name, 0, grown[i].since };
			return;
		}
	}
}
