#ifndef CPROF_SOURCE_ALLOCFORMAT_H
#define CPROF_SOURCE_ALLOCFORMAT_H

/*
 * The memory through which libcprof-alloc.so (lib/preload) delivers samples: a memfd with a head
 * and a ring of records in the layout of PERF_RECORD_SAMPLE.  Processes that were forked share the
 * ring of their parent.  Both sides use it without trusting each other's values: a record is
 * decoded by record_decode, from a copy.
 *
 * A note in the ELF file of the library (name "cprof", type ALLOCFORMAT_NOTE) contains the position
 * of its struct allocformat_registry relative to itself.
 */

#include <stdint.h>

#include "event/recformat.h"

#define ALLOCFORMAT_NOTE 2
#define ALLOCFORMAT_MAGIC 0x33636f6c6c617063u  /* "cpalloc3" */
#define ALLOCFORMAT_HEAD_BYTES 65536u          /* a whole page on every machine */
#define ALLOCFORMAT_DATA_BYTES (8u << 20)      /* of the ring that a process makes itself */
#define ALLOCFORMAT_DATA_BYTES_MAX (64u << 20)
#define ALLOCFORMAT_MEAN 524288u               /* bytes between two samples */
#define ALLOCFORMAT_STACK_BYTES 16384u         /* of each copy */
#define ALLOCFORMAT_STACK_BYTES_MAX 32768u
/* Without a sign of life from the profiler for this time, the library is dormant again, until there
 * is one. */
#define ALLOCFORMAT_SILENCE_NS UINT64_C(60000000000)
#define ALLOCFORMAT_NAME "cprof-alloc"         /* of the memfd */
/* For commands that cprof starts: the path of a ring that all their processes use. */
#define ALLOCFORMAT_RING_VARIABLE "CPROF_ALLOC_RING"
#define ALLOCFORMAT_MEAN_VARIABLE "CPROF_ALLOC_MEAN"

enum allocformat_unseen {
	ALLOCFORMAT_MALLOC = 1,    /* another library before this one has the program's malloc */
	ALLOCFORMAT_NEW = 2,       /* the allocator's operator new does not call malloc */
};

struct allocformat_registry {
	uint64_t magic;            /* ALLOCFORMAT_MAGIC once the rest is valid */
	int32_t fd;                /* the memfd in this process; -1: none */
	uint32_t unseen;           /* calls of the program that the library does not see */
	uint64_t device, inode;    /* of the memfd */
};

struct allocformat_head {
	uint64_t magic;
	uint32_t data_bytes;       /* a power of two */
	uint32_t reserved;

	/* Written by the profiler when a recording begins or ends: each malloc(3) reads it. */
	uint32_t active;           /* 0: dormant; a new number for each recording */
	uint32_t active_frees;     /* the same number, if ends of blocks are wanted, too; or 0 */
	uint64_t mean;             /* bytes between two samples */
	uint32_t stack_bytes;      /* of each copy, a multiple of 8 */
	uint32_t unused[21];

	/* Written by the profiler all the time: in another pair of cache lines. */
	uint64_t seen_ns;          /* CLOCK_MONOTONIC: its last sign of life */
	uint64_t tail;             /* bytes read so far */
	uint64_t unused_2[14];

	/* Written by the library. */
	uint32_t lock;             /* id of the thread that writes; 0: none */
	uint32_t n_users;          /* programs that have opened this ring, which others made */
	uint64_t head;             /* bytes written so far */
	uint64_t n_lost_allocs, n_lost_frees;  /* the ring was full, or busy for too long */
	uint64_t n_untracked;      /* sampled blocks whose end will not be known */
	uint64_t known_tail;       /* what the library has last seen of the tail */
	uint32_t n_shadowed, n_other_new;  /* of n_users: with ALLOCFORMAT_MALLOC, with _NEW */
};

enum allocformat_id {
	ALLOCFORMAT_ALLOC = 1,     /* addr, size as period, stack, allocformat_tail */
	ALLOCFORMAT_UNTRACKED,     /* likewise: no FREE will follow */
	ALLOCFORMAT_FREE,          /* addr; it may be followed by a RESTORE: realloc() failed */
	ALLOCFORMAT_RESTORE,       /* addr: the last one that this thread freed is still in use */
};

/* PERF_SAMPLE_*: IDENTIFIER, TID, TIME, ADDR in all; the others in those of blocks. */
#define ALLOCFORMAT_FREE_TYPE (UINT64_C(1) << 16 | 1u << 1 | 1u << 2 | 1u << 3)
#define ALLOCFORMAT_ALLOC_TYPE \
	(ALLOCFORMAT_FREE_TYPE | 1u << 0 | 1u << 8 | 1u << 12 | 1u << 13 | 1u << 14 | 1u << 15 | \
	 1u << 17)

/* perf's numbers of the registers that are in a sample (asm/perf_regs.h). */
#if defined(__x86_64__)
#define ALLOCFORMAT_REGS UINT64_C(0xf001c2)    /* bx bp sp ip r12 to r15 */
#define ALLOCFORMAT_N_REGS 8u
#elif defined(__aarch64__)
#define ALLOCFORMAT_REGS UINT64_C(0x1fff80000) /* x19 to x29, lr, sp, pc */
#define ALLOCFORMAT_N_REGS 14u
#else
#define ALLOCFORMAT_REGS UINT64_C(0)
#define ALLOCFORMAT_N_REGS 0u
#endif

/* Of an ALLOC before the copy of the stack. */
struct allocformat_alloc {
	uint32_t type;
	uint16_t misc, size;       /* size of the whole record */
	uint64_t id, ip;
	uint32_t pid, tid;
	uint64_t time_ns, addr, n_bytes;
	uint64_t abi;
	uint64_t reg[ALLOCFORMAT_N_REGS];
	uint64_t stack_bytes;      /* the copy, then these if it is not empty, and the tail */
};

/* At the end of an ALLOC. */
struct allocformat_tail {
	uint64_t mean;             /* as perf's weight */
	/* As data source: what the thread has allocated since the end of its last reported block,
	 * with this one.  In a forked process, its first block alone. */
	uint64_t passed_bytes;
	/* As transaction: the size of the last reported block; 0: it is not the thread's own, or
	 * the first one of a forked process. */
	uint64_t last_bytes;
};

struct allocformat_free {
	uint32_t type;
	uint16_t misc, size;
	uint64_t id;
	uint32_t pid, tid;
	uint64_t time_ns, addr;
};

#endif
