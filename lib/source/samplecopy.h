#ifndef CPROF_SOURCE_SAMPLECOPY_H
#define CPROF_SOURCE_SAMPLECOPY_H

/*
 * Parts of a program's memory that the kernel copies at its samples, with a BPF program
 * (live/livecopy.h): what an interpreter executes is then known as it was at the sample.
 *
 * Three maps: WANTED has the parts by thread, SLOTS the copies, which are mapped into cprof, and
 * CURSOR the next slot of each CPU.  A copy is overwritten when a CPU has made n_slots more.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SAMPLECOPY_PARTS 16u
#define SAMPLECOPY_PART_BYTES 1024u
#define SAMPLECOPY_CPUS_MAX 128u

struct samplecopy_slot {
	uint64_t time_ns;               /* 0: it is being written */
	uint32_t tid, unused;
	uint64_t at[SAMPLECOPY_PARTS];  /* 0: it was not copied */
	uint8_t part[SAMPLECOPY_PARTS][SAMPLECOPY_PART_BYTES];
};

struct samplecopy {
	int wanted, cursor, slots;      /* -1: there are none */
	uint32_t n_cpus, n_slots;       /* slots per CPU, a power of two */
	const uint8_t *map;             /* n_map_bytes */
	size_t n_map_bytes;
};
#define SAMPLECOPY_NONE { .wanted = -1, .cursor = -1, .slots = -1 }

/* Where a reader is in the slots of each CPU; zeroed at first. */
struct samplecopy_reader {
	uint32_t next[SAMPLECOPY_CPUS_MAX];
	uint64_t passed_ns[SAMPLECOPY_CPUS_MAX];   /* the time of the slot before it */
};

/* 0 or -errno; then *c is SAMPLECOPY_NONE.  -E2BIG: so many CPUs need too much memory. */
int samplecopy_open(struct samplecopy *c, uint32_t n_cpus);
void samplecopy_close(struct samplecopy *c);

static inline bool samplecopy_is_open(const struct samplecopy *c)
{
	return c->slots >= 0;
}

/* At samples of the thread, these parts (addresses, at most SAMPLECOPY_PARTS) are copied from now
 * on.  0 or -errno. */
int samplecopy_want(const struct samplecopy *c, uint32_t tid, const uint64_t *at, size_t n);

/* The copy at a sample.  It may be overwritten at any time: what was read of it is right if it is
 * still intact afterwards. */
struct samplecopy_copy {
	const uint64_t *stamp;
	uint64_t time_ns;
	uint32_t n;
	uint64_t at[SAMPLECOPY_PARTS];
	const uint8_t *bytes[SAMPLECOPY_PARTS];
};
bool samplecopy_find(const struct samplecopy *c, struct samplecopy_reader *r, uint32_t cpu,
		     uint32_t tid, uint64_t time_ns, struct samplecopy_copy *ret);

static inline bool samplecopy_is_intact(const struct samplecopy_copy *copy)
{
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return __atomic_load_n(copy->stamp, __ATOMIC_RELAXED) == copy->time_ns;
}

#endif
