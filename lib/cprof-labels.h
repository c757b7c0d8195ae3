#ifndef CPROF_LABELS_H
#define CPROF_LABELS_H

/*
 * Labels for the work of a program: key/value pairs that a profiler adds to its samples.
 *
 *	cprof_label_set("request", "/search");      // from now on, for this thread
 *	{
 *		CPROF_LABEL_SCOPE("phase", "parse");  // until the end of the block
 *		...
 *	}
 *	struct cprof_labels set = cprof_labels_capture();   // handed to a thread that
 *	cprof_labels_adopt(set);                            // works for the same request
 *
 * One header, no library, C (gnu99 and later) and C++ (11 and later), Linux.  A change
 * makes no call: it is stored with its time in the thread's own memory, where a profiler
 * such as `cprof record` reads it from outside.
 *
 * Sets are immutable values.  All functions may be called from signal handlers and after
 * fork.  They fail only by leaving labels out: with more than 16 labels in a set, more than 16 000
 * threads at once, or no memory.  A process can have about 100 000 different sets; further values
 * become "[other]".  Keys are cut at 64 bytes, values at 255.  See cprof-labels(7).
 */

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <fcntl.h>
#include <unistd.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- what a program uses ------------------------------------------------------------ */

/* A set of labels; all zero is the empty set.  Valid in the process that created it, and in the
 * processes that it forks afterwards. */
struct cprof_labels {
	uint32_t id;
};

#ifndef CPROF_LABELS_FORMAT_ONLY

/* Sets one label of the calling thread, or with a NULL value removes it.  Both strings are
 * copied. */
static inline void cprof_label_set(const char *key, const char *value);

/* The set that differs from base in one label (value NULL: without it).  base does not change;
 * equal labels give the same set. */
static inline struct cprof_labels cprof_labels_with(struct cprof_labels base, const char *key,
						    const char *value);

/* capture returns the calling thread's set; adopt replaces it and returns the previous one. */
static inline struct cprof_labels cprof_labels_capture(void);
static inline struct cprof_labels cprof_labels_adopt(struct cprof_labels set);

/* A label until the end of the enclosing block, which restores the previous set. */
#define CPROF_LABEL_SCOPE(key, value)                                                         \
	struct cprof_labels CPROF_LABELS_JOIN(cprof_labels_scope_, __LINE__)                  \
		__attribute__((cleanup(cprof_labels_restore), unused)) =                      \
			cprof_labels_enter(key, value)

#endif

/* ---- what a profiler reads ------------------------------------------------------------
 *
 * A note of the ELF file (name "cprof", type CPROF_LABELS_NOTE) contains the position of the
 * registry relative to itself; each program or library that uses this header has one.  The
 * registry points to slabs of threads and chunks of sets.
 */

#define CPROF_LABELS_NOTE 1
#define CPROF_LABELS_MAGIC 0x316c62616c706331u /* "1cplabl1" */
#define CPROF_LABELS_RING 256u     /* changes kept per thread, a power of two */
#define CPROF_LABELS_SLAB 16u      /* threads in a slab */
#define CPROF_LABELS_SLABS 1024u
#define CPROF_LABELS_CHUNK 65536u  /* bytes; a set never crosses a chunk's end */
#define CPROF_LABELS_CHUNKS 256u
#define CPROF_LABELS_TABLE 262144u /* slots of the table of sets */
#define CPROF_LABELS_PER_SET 16u
#define CPROF_LABELS_KEY 64u
#define CPROF_LABELS_VALUE 255u

enum cprof_labels_clock {
	CPROF_LABELS_CLOCK_MONOTONIC = 1, /* ns of clock_gettime(2) */
	CPROF_LABELS_CLOCK_CPU = 2, /* rdtsc, if the kernel's clock uses it; cntvct_el0 */
};

/* One change. */
struct cprof_labels_entry {
	uint64_t ticks;  /* the time, by the registry's clock */
	uint32_t set;    /* the set since then */
	uint32_t seq;    /* number of the change, counted from 1; written last */
};

/* A thread; reused for another one after the thread has ended.  Zero in a forked child. */
struct cprof_labels_thread {
	uint64_t head;       /* changes so far; the next one is entry[head % RING] */
	void *owner;         /* in the thread's own memory; NULL: free */
	uint64_t born_ticks; /* start of its use by this thread */
	uint32_t tid;        /* 0 while it is being set up */
	uint32_t pid;
	uint64_t reserved[4];
	struct cprof_labels_entry entry[CPROF_LABELS_RING];
};

/* A set, at 8 * id in the concatenated chunks. */
struct cprof_labels_record {
	uint32_t n_bytes;    /* of text */
	uint32_t n_labels;
	char text[];         /* key NUL value NUL ... */
};

struct cprof_labels_registry {
	uint64_t magic;      /* CPROF_LABELS_MAGIC once the rest is valid */
	uint32_t clock;      /* enum cprof_labels_clock */
	uint32_t n_threads;  /* thread i is in slab[i / SLAB]; may exceed the capacity */
	uint64_t used;       /* allocated bytes of chunks */
	uint32_t next;       /* start of the next search for a free thread */
	uint32_t reserved;
	uint32_t *table;     /* ids, by hash; 0: free */
	char *chunk[CPROF_LABELS_CHUNKS];
	struct cprof_labels_thread *slab[CPROF_LABELS_SLABS];
};

#ifndef CPROF_LABELS_FORMAT_ONLY  /* for profilers */

/* ---- implementation --------------------------------------------------------------------- */

#define CPROF_LABELS_JOIN(a, b) CPROF_LABELS_JOIN_(a, b)
#define CPROF_LABELS_JOIN_(a, b) a##b
/* One per program or library, even if several of its files include this. */
#define CPROF_LABELS_SHARED __attribute__((weak, visibility("hidden")))
#define CPROF_LABELS_CACHE 64u

/* Cached results of cprof_labels_with. */
struct cprof_labels_cached {
	const char *asked_key; /* the argument; may have been reused since */
	const char *key, *value;  /* copies of the texts */
	uint32_t base, set;    /* set 0: free */
};

/* State of the calling thread. */
struct cprof_labels_self {
	struct cprof_labels_thread *thread; /* NULL: none yet, or no capacity */
	uint32_t set;
	uint32_t busy; /* being set up: a signal handler must not start that again */
	struct cprof_labels_cached cache[CPROF_LABELS_CACHE];
};

/* Shared by the files of a program, therefore not static. */
uint32_t cprof_labels_choose_clock(void);
void *cprof_labels_map(size_t n_bytes, int is_wiped);
void *cprof_labels_map_once(void **place, size_t n_bytes, int is_wiped);
void cprof_labels_start(void);
int cprof_labels_claim(struct cprof_labels_thread *t);
struct cprof_labels_thread *cprof_labels_find_thread(void);
void cprof_labels_begin(void);
uint32_t cprof_labels_make_room(uint32_t n_bytes, int is_other);
uint32_t cprof_labels_intern(const char *text, uint32_t n_bytes, uint32_t n_labels, int is_other);
uint32_t cprof_labels_build(uint32_t base, const char *key, const char *value, int is_other);
struct cprof_labels cprof_labels_with_slow(struct cprof_labels base, const char *key,
			const char *value, struct cprof_labels_cached *cached);

CPROF_LABELS_SHARED __attribute__((used)) struct cprof_labels_registry cprof_labels_registry;
CPROF_LABELS_SHARED __thread struct cprof_labels_self cprof_labels_self;

__asm__(".pushsection .note.cprof.labels,\"aG\",%note,cprof_labels_note,comdat\n"
	"	.balign 4\n"
	"	.long 6, 4, 1\n"
	"	.asciz \"cprof\"\n"
	"	.balign 4\n"
	"	.long cprof_labels_registry - .\n"
	"	.popsection\n");

static inline uint64_t cprof_labels_monotonic(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Reading the CPU's counter takes half the time of clock_gettime. */
static inline uint64_t cprof_labels_ticks(void)
{
#if defined(__aarch64__)
	uint64_t v;
	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(v));
	return v;
#elif defined(__x86_64__)
	if (__builtin_expect(cprof_labels_registry.clock == CPROF_LABELS_CLOCK_CPU, 1))
		return __builtin_ia32_rdtsc();
	return cprof_labels_monotonic();
#else
	return cprof_labels_monotonic();
#endif
}

/* Counters of CPUs may differ; the kernel detects that and then uses another clock. */
CPROF_LABELS_SHARED uint32_t cprof_labels_choose_clock(void)
{
#if defined(__aarch64__)
	return CPROF_LABELS_CLOCK_CPU;
#elif defined(__x86_64__)
	char text[8] = { 0 };
	int fd = open("/sys/devices/system/clocksource/clocksource0/current_clocksource",
		      O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		if (read(fd, text, sizeof(text) - 1) < 0)
			text[0] = '\0';
		close(fd);
	}
	return memcmp(text, "tsc\n", 5) == 0 ? CPROF_LABELS_CLOCK_CPU
					     : CPROF_LABELS_CLOCK_MONOTONIC;
#else
	return CPROF_LABELS_CLOCK_MONOTONIC;
#endif
}

/* Zeroed memory; is_wiped: zero again in a forked child.  NULL: no memory. */
CPROF_LABELS_SHARED void *cprof_labels_map(size_t n_bytes, int is_wiped)
{
	void *p = mmap(NULL, n_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return NULL;
#ifdef MADV_WIPEONFORK
	if (is_wiped)
		madvise(p, n_bytes, MADV_WIPEONFORK);
#else
	(void)is_wiped;
#endif
	return p;
}

/* Sets *place to new zeroed memory, unless another thread was faster. */
CPROF_LABELS_SHARED void *cprof_labels_map_once(void **place, size_t n_bytes, int is_wiped)
{
	void *there = __atomic_load_n(place, __ATOMIC_ACQUIRE);
	if (there)
		return there;
	void *made = cprof_labels_map(n_bytes, is_wiped);
	if (!made)
		return NULL;
	if (__atomic_compare_exchange_n(place, &there, made, 0, __ATOMIC_ACQ_REL,
					__ATOMIC_ACQUIRE))
		return made;
	munmap(made, n_bytes);
	return there;
}

CPROF_LABELS_SHARED void cprof_labels_start(void)
{
	struct cprof_labels_registry *r = &cprof_labels_registry;
	if (__atomic_load_n(&r->magic, __ATOMIC_ACQUIRE))
		return;
	/* Concurrent threads store the same value. */
	__atomic_store_n(&r->clock, cprof_labels_choose_clock(), __ATOMIC_RELAXED);
	__atomic_store_n(&r->magic, CPROF_LABELS_MAGIC, __ATOMIC_RELEASE);
}

/* ---- a thread's changes --------------------------------------------------------------------- */

static inline void cprof_labels_note(struct cprof_labels_thread *t, uint32_t set)
{
#if defined(__x86_64__)
	/* one instruction, as signal handlers need it; no other thread writes here */
	uint64_t n = 1;
	__asm__("xaddq %0, %1" : "+r"(n), "+m"(t->head));
#else
	uint64_t n = __atomic_fetch_add(&t->head, 1, __ATOMIC_RELAXED);
#endif
	struct cprof_labels_entry *e = &t->entry[n % CPROF_LABELS_RING];
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	__atomic_store_n(&e->ticks, cprof_labels_ticks(), __ATOMIC_RELAXED);
	__atomic_store_n(&e->set, set, __ATOMIC_RELAXED);
	__atomic_store_n(&e->seq, (uint32_t)(n + 1), __ATOMIC_RELEASE);
}

/* Claims t for the calling thread if it is free or its thread has ended. */
CPROF_LABELS_SHARED int cprof_labels_claim(struct cprof_labels_thread *t)
{
	void *owner = __atomic_load_n(&t->owner, __ATOMIC_ACQUIRE);
	uint32_t tid = __atomic_load_n(&t->tid, __ATOMIC_RELAXED);
	if (owner && (!tid || syscall(SYS_tgkill, getpid(), tid, 0) == 0))
		return 0;
	if (!__atomic_compare_exchange_n(&t->owner, &owner, (void *)&cprof_labels_self, 0,
					 __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		return 0;
	__atomic_store_n(&t->tid, 0, __ATOMIC_RELEASE);
	__atomic_store_n(&t->head, 0, __ATOMIC_RELEASE);
	__atomic_store_n(&t->born_ticks, cprof_labels_ticks(), __ATOMIC_RELEASE);
	t->pid = (uint32_t)getpid();
	__atomic_store_n(&t->tid, (uint32_t)syscall(SYS_gettid), __ATOMIC_RELEASE);
	return 1;
}

CPROF_LABELS_SHARED struct cprof_labels_thread *cprof_labels_find_thread(void)
{
	struct cprof_labels_registry *r = &cprof_labels_registry;
	uint32_t n = __atomic_load_n(&r->n_threads, __ATOMIC_ACQUIRE);
	uint32_t room = CPROF_LABELS_SLABS * CPROF_LABELS_SLAB;
	/* Try a few known ones first, so that memory follows the number of live threads. */
	for (uint32_t tries = n < 8 ? n : 8; tries > 0; tries--) {
		uint32_t i = __atomic_fetch_add(&r->next, 1, __ATOMIC_RELAXED) % n;
		struct cprof_labels_thread *slab =
			i < room ? __atomic_load_n(&r->slab[i / CPROF_LABELS_SLAB],
						   __ATOMIC_ACQUIRE)
				 : NULL;
		if (slab && cprof_labels_claim(&slab[i % CPROF_LABELS_SLAB]))
			return &slab[i % CPROF_LABELS_SLAB];
	}
	/* Then try a new one, which the search of another thread may take. */
	while (n < room) {
		n = __atomic_fetch_add(&r->n_threads, 1, __ATOMIC_ACQ_REL);
		if (n >= room)
			break;
		struct cprof_labels_thread *slab =
			(struct cprof_labels_thread *)cprof_labels_map_once(
				(void **)&r->slab[n / CPROF_LABELS_SLAB],
				CPROF_LABELS_SLAB * sizeof(*slab), 1);
		if (!slab)
			break;
		if (cprof_labels_claim(&slab[n % CPROF_LABELS_SLAB]))
			return &slab[n % CPROF_LABELS_SLAB];
	}
	return NULL;
}

/* The first change of a thread, or of a process after fork. */
CPROF_LABELS_SHARED __attribute__((noinline)) void cprof_labels_begin(void)
{
	struct cprof_labels_self *self = &cprof_labels_self;
	if (self->busy)
		return;  /* in a signal handler: the interrupted call stores it below */
	int errnum = errno;  /* a signal handler must not change it */
	self->busy = 1;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	cprof_labels_start();
	struct cprof_labels_thread *t = cprof_labels_find_thread();
	errno = errnum;
	self->thread = t;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	self->busy = 0;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (t)
		cprof_labels_note(t, *(volatile uint32_t *)&self->set);
}

static inline struct cprof_labels cprof_labels_capture(void)
{
	struct cprof_labels set = { cprof_labels_self.set };
	return set;
}

static inline struct cprof_labels cprof_labels_adopt(struct cprof_labels set)
{
	struct cprof_labels_self *self = &cprof_labels_self;
	struct cprof_labels before = { self->set };
	if (set.id == before.id)
		return before;
	*(volatile uint32_t *)&self->set = set.id;
	struct cprof_labels_thread *t = self->thread;
	/* After fork the thread's memory is zero. */
	if (__builtin_expect(t && t->owner == (void *)self, 1))
		cprof_labels_note(t, set.id);
	else
		cprof_labels_begin();
	return before;
}

/* ---- sets -------------------------------------------------------------------------------------
 */

static inline struct cprof_labels_record *cprof_labels_get(uint32_t id)
{
	uint64_t at = (uint64_t)id * 8;
	if (!id || at / CPROF_LABELS_CHUNK >= CPROF_LABELS_CHUNKS)
		return NULL;
	char *chunk = __atomic_load_n(&cprof_labels_registry.chunk[at / CPROF_LABELS_CHUNK],
				      __ATOMIC_ACQUIRE);
	return chunk ? (struct cprof_labels_record *)(chunk + at % CPROF_LABELS_CHUNK) : NULL;
}

/* Allocates n_bytes of text; 0: full.  Reserves the last eighth for sets with "[other]". */
CPROF_LABELS_SHARED uint32_t cprof_labels_make_room(uint32_t n_bytes, int is_other)
{
	struct cprof_labels_registry *r = &cprof_labels_registry;
	uint64_t need = (sizeof(struct cprof_labels_record) + n_bytes + 7) & ~7ull;
	uint64_t limit =
		(uint64_t)CPROF_LABELS_CHUNKS * CPROF_LABELS_CHUNK / 8 * (is_other ? 8 : 7);
	uint64_t used = __atomic_load_n(&r->used, __ATOMIC_RELAXED), at;
	do {
		at = used ? used : 8;  /* id 0 is the empty set */
		if (at / CPROF_LABELS_CHUNK != (at + need - 1) / CPROF_LABELS_CHUNK)
			at = (at / CPROF_LABELS_CHUNK + 1) * CPROF_LABELS_CHUNK;
		if (at + need > limit)
			return 0;
	} while (!__atomic_compare_exchange_n(&r->used, &used, at + need, 0, __ATOMIC_RELAXED,
					      __ATOMIC_RELAXED));
	if (!cprof_labels_map_once((void **)&r->chunk[at / CPROF_LABELS_CHUNK],
				   CPROF_LABELS_CHUNK, 0))
		return 0;
	return (uint32_t)(at / 8);
}

/* The id of the set with this text, existing or new; 0: full. */
CPROF_LABELS_SHARED uint32_t cprof_labels_intern(const char *text, uint32_t n_bytes,
						 uint32_t n_labels, int is_other)
{
	uint32_t *table = (uint32_t *)cprof_labels_map_once(
		(void **)&cprof_labels_registry.table, CPROF_LABELS_TABLE * sizeof(uint32_t), 0);
	if (!table)
		return 0;
	uint64_t hash = 14695981039346656037ull;  /* FNV-1a */
	for (uint32_t i = 0; i < n_bytes; i++)
		hash = (hash ^ (unsigned char)text[i]) * 1099511628211ull;
	uint32_t fresh = 0;
	for (uint32_t k = 0; k < 64; k++) {
		uint32_t *place = &table[(hash + k) % CPROF_LABELS_TABLE];
		uint32_t id = __atomic_load_n(place, __ATOMIC_ACQUIRE);
		if (!id && !fresh) {
			fresh = cprof_labels_make_room(n_bytes, is_other);
			struct cprof_labels_record *made = cprof_labels_get(fresh);
			if (!made)
				return 0;
			made->n_bytes = n_bytes;
			made->n_labels = n_labels;
			memcpy(made->text, text, n_bytes);
		}
		if (!id && __atomic_compare_exchange_n(place, &id, fresh, 0, __ATOMIC_ACQ_REL,
						       __ATOMIC_ACQUIRE))
			return fresh;
		const struct cprof_labels_record *r = cprof_labels_get(id);
		if (r && r->n_bytes == n_bytes && memcmp(r->text, text, n_bytes) == 0)
			return id;
	}
	return 0;
}

static inline uint32_t cprof_labels_put(char *to, const char *text, uint32_t n_max)
{
	uint32_t n = (uint32_t)strnlen(text, n_max);
	memcpy(to, text, n);
	to[n] = '\0';
	return n + 1;
}

/* base with key's label replaced. */
CPROF_LABELS_SHARED uint32_t cprof_labels_build(uint32_t base, const char *key, const char *value,
						int is_other)
{
	char text[CPROF_LABELS_PER_SET * (CPROF_LABELS_KEY + CPROF_LABELS_VALUE + 2)];
	uint32_t n_bytes = 0, n_labels = 0;
	const struct cprof_labels_record *r = cprof_labels_get(base);
	const char *p = r ? r->text : NULL;
	for (uint32_t i = 0; r && i < r->n_labels; i++) {
		size_t n_key = strlen(p), n_both = n_key + 1 + strlen(p + n_key + 1) + 1;
		if (strncmp(p, key, CPROF_LABELS_KEY) != 0) {
			memcpy(text + n_bytes, p, n_both);
			n_bytes += (uint32_t)n_both;
			n_labels++;
		}
		p += n_both;
	}
	if (value && n_labels < CPROF_LABELS_PER_SET) {
		n_bytes += cprof_labels_put(text + n_bytes, key, CPROF_LABELS_KEY);
		n_bytes += cprof_labels_put(text + n_bytes, value, CPROF_LABELS_VALUE);
		n_labels++;
	}
	return n_labels ? cprof_labels_intern(text, n_bytes, n_labels, is_other) : 0;
}

CPROF_LABELS_SHARED __attribute__((noinline)) struct cprof_labels
cprof_labels_with_slow(struct cprof_labels base, const char *key, const char *value,
		       struct cprof_labels_cached *cached)
{
	struct cprof_labels set = { 0 };
	if (!key || !*key)
		return base;
	int errnum = errno;
	cprof_labels_start();
	set.id = cprof_labels_build(base.id, key, value, 0);
	if (!set.id && value)
		set.id = cprof_labels_build(base.id, key, "[other]", 1);
	errno = errnum;
	const struct cprof_labels_record *r = cprof_labels_get(set.id);
	if (!r || !cached)
		return set;
	/* The label is the last one.  Do not cache labels that were cut or have another value. */
	const char *v = r->text + r->n_bytes - 1;
	while (v > r->text && v[-1])
		v--;
	const char *k = v > r->text ? v - 1 : v;
	while (k > r->text && k[-1])
		k--;
	if (strcmp(k, key) == 0 && strcmp(v, value) == 0) {
		cached->set = 0;  /* a signal handler must not see a mixture */
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
		cached->asked_key = key;
		cached->key = k;
		cached->value = v;
		cached->base = base.id;
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
		cached->set = set.id;
	}
	return set;
}

static inline int cprof_labels_is_same(const char *a, const char *b)
{
	for (; *a == *b; a++, b++)
		if (!*a)
			return 1;
	return 0;
}

/* The cached set for the arguments, or 0.  Literals are compared by address, other texts by
 * content.  A signal handler may replace the cache entry in between, including its set. */
static inline uint32_t cprof_labels_cached(const struct cprof_labels_cached *c, uint32_t base,
					   const char *key, int is_literal, const char *value)
{
	uint32_t set = *(const volatile uint32_t *)&c->set;
	if (set && c->base == base &&
	    (is_literal ? c->asked_key == key : cprof_labels_is_same(c->key, key)) &&
	    cprof_labels_is_same(c->value, value) && *(const volatile uint32_t *)&c->set == set)
		return set;
	return 0;
}

static inline struct cprof_labels cprof_labels_with(struct cprof_labels base, const char *key,
						    const char *value)
{
	if (!key || !value)
		return cprof_labels_with_slow(base, key, value, NULL);
	uint64_t hash = ((uint64_t)(uintptr_t)value + base.id * 0x9e3779b97f4a7c15ull) ^
			(uint64_t)(uintptr_t)key << 20;
	/* two slots each */
	uint64_t at = (hash * 0x9e3779b97f4a7c15ull) >> 32 & (CPROF_LABELS_CACHE - 1);
	struct cprof_labels_cached *c = &cprof_labels_self.cache[at];
	struct cprof_labels_cached *other = &cprof_labels_self.cache[at ^ 1];
	int is_literal = __builtin_constant_p(key[0]);
	struct cprof_labels set = { cprof_labels_cached(c, base.id, key, is_literal, value) };
	if (__builtin_expect(!set.id, 0))
		set.id = cprof_labels_cached(other, base.id, key, is_literal, value);
	if (__builtin_expect(!set.id, 0))
		return cprof_labels_with_slow(base, key, value, c->set && !other->set ? other : c);
	return set;
}

static inline void cprof_label_set(const char *key, const char *value)
{
	cprof_labels_adopt(cprof_labels_with(cprof_labels_capture(), key, value));
}

static inline struct cprof_labels cprof_labels_enter(const char *key, const char *value)
{
	struct cprof_labels before = cprof_labels_capture();
	return cprof_labels_adopt(cprof_labels_with(before, key, value));
}

static inline void cprof_labels_restore(const struct cprof_labels *before)
{
	cprof_labels_adopt(*before);
}

#endif

#ifdef __cplusplus
}

#ifndef CPROF_LABELS_FORMAT_ONLY
namespace cprof {

/* A label during the object's lifetime. */
class label_scope {
public:
	label_scope(const char *key, const char *value) : before_(cprof_labels_enter(key, value)) {}
	~label_scope() { cprof_labels_adopt(before_); }
	label_scope(const label_scope &) = delete;
	label_scope &operator=(const label_scope &) = delete;

private:
	struct cprof_labels before_;
};

}
#endif
#endif

#endif
