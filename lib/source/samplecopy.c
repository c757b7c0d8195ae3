/*
 * The kernel takes the time of a sample shortly before the program runs (bpf_overflow_handler() of
 * kernel/events/core.c calls perf_prepare_sample()), older ones shortly after.  So the copy of a
 * sample is the thread's that is nearest in time; bpf_ktime_get_ns() is CLOCK_MONOTONIC, as the
 * time of samples.  A slot is being written while its time is 0.
 */

#include "source/samplecopy.h"

#include "base/bpfcall.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define THREADS_MAX 4096u
#define MEMORY_MAX (UINT64_C(16) << 20)
#define SLOTS_MAX 128u
#define SLOTS_MIN 8u

/* Between the copy and its sample. */
#define APART_NS_MAX 50000u

int samplecopy_open(struct samplecopy *c, uint32_t n_cpus)
{
	uint64_t value = 0;
	uint32_t key = 0, n = SLOTS_MAX;
	int r;
	*c = (struct samplecopy)SAMPLECOPY_NONE;
	while (n >= SLOTS_MIN && (uint64_t)n * n_cpus * sizeof(struct samplecopy_slot) > MEMORY_MAX)
		n /= 2;
	if (n < SLOTS_MIN || n_cpus > SAMPLECOPY_CPUS_MAX)
		return -E2BIG;
	c->n_cpus = n_cpus;
	c->n_slots = n;
	c->n_map_bytes = (size_t)n * n_cpus * sizeof(struct samplecopy_slot);
	c->wanted = r = bpfcall_map(&(struct bpfcall_map){
		.name = "cprof_wanted", .type = BPF_MAP_TYPE_LRU_HASH, .key_bytes = sizeof(key),
		.value_bytes = sizeof(uint64_t[SAMPLECOPY_PARTS]), .n_entries = THREADS_MAX,
	});
	if (r >= 0)
		c->cursor = r = bpfcall_map(&(struct bpfcall_map){
			.name = "cprof_cursor", .type = BPF_MAP_TYPE_PERCPU_ARRAY,
			.key_bytes = sizeof(key), .value_bytes = sizeof(value), .n_entries = 1,
		});
	if (r >= 0)
		c->slots = r = bpfcall_map(&(struct bpfcall_map){
			.name = "cprof_copies", .type = BPF_MAP_TYPE_ARRAY,
			.key_bytes = sizeof(key), .value_bytes = sizeof(struct samplecopy_slot),
			.n_entries = n * n_cpus, .flags = BPF_F_MMAPABLE,
		});
	if (r >= 0) {
		void *map = mmap(NULL, c->n_map_bytes, PROT_READ, MAP_SHARED, c->slots, 0);
		r = map == MAP_FAILED ? -errno : 0;
		c->map = map == MAP_FAILED ? NULL : map;
	}
	if (r < 0)
		samplecopy_close(c);
	return r;
}

void samplecopy_close(struct samplecopy *c)
{
	const int fds[] = { c->wanted, c->cursor, c->slots };
	if (c->map)
		munmap((void *)(uintptr_t)c->map, c->n_map_bytes);
	for (size_t i = 0; i < sizeof(fds) / sizeof(*fds); i++)
		if (fds[i] >= 0)
			close(fds[i]);
	*c = (struct samplecopy)SAMPLECOPY_NONE;
}

int samplecopy_want(const struct samplecopy *c, uint32_t tid, const uint64_t *at, size_t n)
{
	union bpf_attr a;
	uint64_t value[SAMPLECOPY_PARTS] = { 0 };
	memcpy(value, at, (n < SAMPLECOPY_PARTS ? n : SAMPLECOPY_PARTS) * sizeof(*value));
	memset(&a, 0, sizeof(a));
	a.map_fd = (uint32_t)c->wanted;
	a.key = (uintptr_t)&tid;
	a.value = (uintptr_t)value;
	return bpfcall(BPF_MAP_UPDATE_ELEM, &a);
}

static uint64_t apart_ns(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

bool samplecopy_find(const struct samplecopy *c, struct samplecopy_reader *r, uint32_t cpu,
		     uint32_t tid, uint64_t time_ns, struct samplecopy_copy *ret)
{
	const struct samplecopy_slot *best = NULL;
	ret->n = 0;
	if (cpu >= c->n_cpus)
		return false;
	uint64_t last_ns = r->passed_ns[cpu];
	const struct samplecopy_slot *slots = (const struct samplecopy_slot *)c->map;
	slots += (size_t)cpu * c->n_slots;
	for (uint32_t i = r->next[cpu], end = i + c->n_slots; i != end; i++) {
		const struct samplecopy_slot *s = &slots[i % c->n_slots];
		uint64_t ns = __atomic_load_n(&s->time_ns, __ATOMIC_ACQUIRE);
		if (!ns || ns < last_ns || ns > time_ns + APART_NS_MAX)
			break;
		last_ns = ns;
		if (ns + APART_NS_MAX < time_ns) {
			r->next[cpu] = i + 1;
			r->passed_ns[cpu] = ns;
		} else if (s->tid == tid && (!best || apart_ns(ns, time_ns) <
						      apart_ns(ret->time_ns, time_ns))) {
			best = s;
			ret->time_ns = ns;
		}
	}
	if (!best)
		return false;
	ret->stamp = &best->time_ns;
	for (size_t i = 0; i < SAMPLECOPY_PARTS; i++) {
		if (!best->at[i])
			continue;
		ret->at[ret->n] = best->at[i];
		ret->bytes[ret->n++] = best->part[i];
	}
	return samplecopy_is_intact(ret);
}
