/*
 * A drain reads twice: first the heads of all threads, then the changes of those whose heads moved
 * and, after each thread's changes, its head again.  Changes that may have been overwritten in
 * between are ignored.  Both times it uses process_vm_readv(2), with hundreds of pieces in one
 * call, and does not stop the process.
 */

#include "labels/labelmem.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/host.h"
#include "base/remotemem.h"
#include "proc/idmap.h"

#define CPROF_LABELS_FORMAT_ONLY
#include "cprof-labels.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(LABELMEM_RING == CPROF_LABELS_RING, "one number, two headers");

#define THREADS_MAX (CPROF_LABELS_SLABS * CPROF_LABELS_SLAB)
/* Threads per process_vm_readv: each takes up to three pieces, and IOV_MAX is 1024. */
#define BATCH 256u
/* A change that is still being written, by a thread that a signal handler interrupted, holds back
 * at most this many later ones. */
#define UNFINISHED_MAX 16u
#define HEAD_MAX (UINT64_MAX / 2)
/* Distance between pairs of times; each is accurate to some 50 ns. */
#define PAIR_NS 20000000u

struct head {
	uint64_t head;
	uint64_t owner;
	uint64_t born_ticks;
	uint32_t tid, pid;
};

_Static_assert(sizeof(struct head) == offsetof(struct cprof_labels_thread, reserved),
	       "the beginning of struct cprof_labels_thread");

void labelmem_init(struct labelmem *m, struct remotemem *memory, uint32_t pid, uint64_t addr)
{
	*m = (struct labelmem){ .memory = memory, .pid = pid, .addr = addr };
}

void labelmem_done(struct labelmem *m)
{
	VEC_FREE(&m->thread);
	VEC_FREE(&m->slab);
}

/* ---- time ----------------------------------------------------------------------- */

static uint64_t counter(void)
{
#if defined(__x86_64__)
	return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
	uint64_t v;
	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(v));
	return v;
#else
	return 0;
#endif
}

void labelmem_clock_init(struct labelmem_clock *c, const struct host *host)
{
	*c = (struct labelmem_clock){ 0 };
#if defined(__aarch64__)
	(void)host;
	c->counter_is_clock = true;
#else
	/* Counters of different CPUs may differ; the kernel detects that and uses another clock. */
	CLEANUP_FREE char *text = NULL;
	c->counter_is_clock =
		host_read_file(host, HOST_SYS, &text, NULL,
			       "devices/system/clocksource/clocksource0/current_clocksource") ==
			0 &&
		strcmp(text, "tsc\n") == 0;
#endif
}

void labelmem_clock_tick(struct labelmem_clock *c)
{
	if (!c->counter_is_clock)
		return;
	/* Use the attempt that was interrupted least. */
	uint64_t best = UINT64_MAX, ticks = 0, ns = 0;
	for (int i = 0; i < 4; i++) {
		uint64_t before = counter(), now = clock_monotonic_ns(), after = counter();
		if (after - before < best) {
			best = after - before;
			ticks = before + (after - before) / 2;
			ns = now;
		}
	}
	const unsigned n_max = sizeof(c->pair) / sizeof(c->pair[0]);
	if (c->n && (ticks <= c->pair[c->n - 1].ticks || ns <= c->pair[c->n - 1].ns))
		return;
	/* The slope between pairs close to each other would mostly be their errors. */
	if (c->n >= 2 && c->pair[c->n - 1].ns - c->pair[c->n - 2].ns < PAIR_NS)
		c->n--;
	else if (c->n == n_max)
		memmove(c->pair, c->pair + 1, --c->n * sizeof(c->pair[0]));
	c->pair[c->n].ticks = ticks;
	c->pair[c->n++].ns = ns;
}

/* 0 for a time too early to be converted, UINT64_MAX for one too late: the program writes what it
 * likes. */
static uint64_t time_of(const struct labelmem_clock *c, uint32_t clock, uint64_t ticks)
{
	if (clock == CPROF_LABELS_CLOCK_MONOTONIC)
		return ticks;
	if (c->n < 2)
		return c->n && ticks >= c->pair[0].ticks ? c->pair[0].ns : 0;
	unsigned i = c->n - 2;
	while (i > 0 && ticks < c->pair[i].ticks)
		i--;
	double slope = (double)(c->pair[i + 1].ns - c->pair[i].ns) /
		       (double)(c->pair[i + 1].ticks - c->pair[i].ticks);
	double off = ((double)ticks - (double)c->pair[i].ticks) * slope;
	double ns = (double)c->pair[i].ns;
	if (off < -ns)
		return 0;
	if (ns + off >= (double)UINT64_MAX)
		return UINT64_MAX;
	return off < 0 ? c->pair[i].ns - (uint64_t)-off : c->pair[i].ns + (uint64_t)off;
}

/* ---- memory ----------------------------------------------------------------------- */

static long read_pieces(const struct labelmem *m, const struct iovec *local, size_t n_local,
			const struct iovec *remote, size_t n_remote)
{
	if (m->read)
		return m->read(m->read_ctx, m->pid, local, n_local, remote, n_remote);
	return remotemem_read(m->memory, m->pid, local, n_local, remote, n_remote);
}

static long read_at(const struct labelmem *m, uint64_t addr, void *buf, size_t n_bytes)
{
	struct iovec local = { buf, n_bytes };
	struct iovec remote = { (void *)(uintptr_t)addr, n_bytes };
	return read_pieces(m, &local, 1, &remote, 1);
}

static enum labelmem_outcome failure(long r)
{
	if (r == -EPERM || r == -EACCES)
		return LABELMEM_DENIED;
	return r == -ESRCH ? LABELMEM_GONE : LABELMEM_BAD;
}

/* Reads the registry's first words: is it valid, and how many threads does it have? */
static enum labelmem_outcome read_registry(struct labelmem *m)
{
	struct { uint64_t magic; uint32_t clock, n_threads; } r;
	long n = read_at(m, m->addr, &r, sizeof(r));
	if (n != (long)sizeof(r))
		return n < 0 ? failure(n) : LABELMEM_BAD;
	if (r.magic == 0)
		return LABELMEM_NOTHING;
	if (r.magic != CPROF_LABELS_MAGIC ||
	    (r.clock != CPROF_LABELS_CLOCK_MONOTONIC && r.clock != CPROF_LABELS_CLOCK_CPU))
		return LABELMEM_BAD;
	m->clock = r.clock;
	size_t n_threads = r.n_threads < THREADS_MAX ? r.n_threads : THREADS_MAX;
	return VEC_EXTEND(&m->thread, n_threads) ? LABELMEM_READ : LABELMEM_BAD;
}

/* A slab's pointer is written after its thread was counted, so it may still be missing. */
static bool read_slabs(struct labelmem *m)
{
	size_t n = (m->thread.n + CPROF_LABELS_SLAB - 1) / CPROF_LABELS_SLAB;
	while (m->slab.n < n) {
		uint64_t addr = 0;
		uint64_t at = m->addr + offsetof(struct cprof_labels_registry, slab) +
			      m->slab.n * sizeof(addr);
		if (read_at(m, at, &addr, sizeof(addr)) != (long)sizeof(addr) || !addr)
			return m->slab.n > 0;
		if (!VEC_PUSH(&m->slab, addr))
			return m->slab.n > 0;
	}
	return n > 0;
}

static uint64_t thread_addr(const struct labelmem *m, size_t i)
{
	return m->slab.v[i / CPROF_LABELS_SLAB] +
	       i % CPROF_LABELS_SLAB * sizeof(struct cprof_labels_thread);
}

/* ---- changes ------------------------------------------------------------------------ */

/* A thread whose head moved: what to read, and the result. */
struct moved {
	size_t index;
	struct head head;
	uint64_t from;             /* first change to read */
	uint64_t head_after;
	struct cprof_labels_entry entry[CPROF_LABELS_RING];
};

/* The changes [from, head) are in one piece, or in two if the ring wraps. */
static size_t entry_pieces(const struct labelmem *m, struct moved *v, struct iovec *remote,
			   struct iovec *local)
{
	uint64_t base = thread_addr(m, v->index) + offsetof(struct cprof_labels_thread, entry);
	size_t n = (size_t)(v->head.head - v->from), first = v->from % CPROF_LABELS_RING;
	size_t n_1 = n < CPROF_LABELS_RING - first ? n : CPROF_LABELS_RING - first;
	size_t bytes = sizeof(struct cprof_labels_entry), n_pieces = 0;
	remote[n_pieces++] =
		(struct iovec){ (void *)(uintptr_t)(base + first * bytes), n_1 * bytes };
	if (n > n_1)
		remote[n_pieces++] = (struct iovec){ (void *)(uintptr_t)base, (n - n_1) * bytes };
	remote[n_pieces++] = (struct iovec){ (void *)(uintptr_t)thread_addr(m, v->index),
					     sizeof(v->head_after) };
	local[0] = (struct iovec){ v->entry, n * bytes };
	local[1] = (struct iovec){ &v->head_after, sizeof(v->head_after) };
	return n_pieces;
}

static void report_changes(struct labelmem *m, const struct labelmem_clock *c,
			   const struct labelmem_sink *sink, const struct moved *v)
{
	struct labelmem_thread *t = &m->thread.v[v->index];
	uint64_t from = v->from;
	/* The one after head_after may be half written over the oldest. */
	if (v->head_after < v->head.head)
		return;  /* now another thread's: read it next time */
	if (v->head_after + 1 > from + CPROF_LABELS_RING)
		from = v->head_after + 1 - CPROF_LABELS_RING;
	if (from > v->head.head)
		from = v->head.head;
	if (from > t->n_read && t->n_read > 0)
		sink->gap(sink->ctx, v->head.pid, t->tid, from - t->n_read);
	t->n_read = from;
	while (t->n_read < v->head.head) {
		const struct cprof_labels_entry *e = &v->entry[t->n_read - v->from];
		if (e->seq == (uint32_t)(t->n_read + 1))
			sink->change(sink->ctx, v->head.pid, t->tid,
				     time_of(c, m->clock, e->ticks), e->set);
		else if (v->head.head - t->n_read <= UNFINISHED_MAX)
			return;
		t->n_read++;
	}
}

static bool read_moved(struct labelmem *m, const struct labelmem_clock *c,
		       const struct labelmem_sink *sink, struct moved *v, size_t n)
{
	struct iovec local[2 * BATCH], remote[3 * BATCH];
	size_t n_remote = 0, want = 0;
	for (size_t i = 0; i < n; i++) {
		n_remote += entry_pieces(m, &v[i], remote + n_remote, local + 2 * i);
		want += local[2 * i].iov_len + local[2 * i + 1].iov_len;
	}
	if (read_pieces(m, local, 2 * n, remote, n_remote) != (long)want)
		return false;
	for (size_t i = 0; i < n; i++)
		report_changes(m, c, sink, &v[i]);
	return true;
}

/* Has thread i's head moved?  Fills in what to read. */
static bool has_moved(struct labelmem *m, size_t i, const struct head *h, struct moved *ret)
{
	struct labelmem_thread *t = &m->thread.v[i];
	/* No thread reaches HEAD_MAX, and sums with larger numbers would overflow. */
	if (!h->owner || !h->tid || h->head > HEAD_MAX)
		return false;
	if (h->tid != t->tid || h->born_ticks != t->born_ticks || h->head < t->n_read)
		*t = (struct labelmem_thread){ .tid = h->tid, .born_ticks = h->born_ticks };
	if (h->head == t->n_read)
		return false;
	ret->index = i;
	ret->head = *h;
	ret->from = h->head - t->n_read > CPROF_LABELS_RING ? h->head - CPROF_LABELS_RING
							     : t->n_read;
	return true;
}

enum labelmem_outcome labelmem_drain(struct labelmem *m, const struct labelmem_clock *c,
				     const struct labelmem_sink *sink)
{
	enum labelmem_outcome outcome = read_registry(m);
	if (outcome != LABELMEM_READ)
		return outcome;
	if (m->clock == CPROF_LABELS_CLOCK_CPU && !c->counter_is_clock)
		return LABELMEM_BAD;
	if (!read_slabs(m))
		return LABELMEM_READ;
	size_t n_known = m->slab.n * CPROF_LABELS_SLAB;
	if (n_known > m->thread.n)
		n_known = m->thread.n;
	struct moved *moved = malloc(BATCH * sizeof(*moved));
	if (!moved)
		return LABELMEM_READ;
	for (size_t first = 0; first < n_known && outcome == LABELMEM_READ; first += BATCH) {
		struct head head[BATCH];
		struct iovec remote[BATCH];
		size_t n = n_known - first < BATCH ? n_known - first : BATCH, n_moved = 0;
		for (size_t i = 0; i < n; i++)
			remote[i] = (struct iovec){ (void *)(uintptr_t)thread_addr(m, first + i),
						    sizeof(head[0]) };
		struct iovec local = { head, n * sizeof(head[0]) };
		long got = read_pieces(m, &local, 1, remote, n);
		if (got != (long)local.iov_len)
			outcome = got < 0 ? failure(got) : LABELMEM_BAD;
		for (size_t i = 0; i < n && outcome == LABELMEM_READ; i++)
			n_moved += has_moved(m, first + i, &head[i], &moved[n_moved]);
		if (n_moved && !read_moved(m, c, sink, moved, n_moved))
			outcome = LABELMEM_BAD;
	}
	free(moved);
	return outcome;
}

bool labelmem_list_threads(const struct labelmem *m, struct idmap *ret)
{
	for (size_t i = 0; i < m->thread.n; i++)
		if (m->thread.v[i].tid && !idmap_put(ret, m->thread.v[i].tid, &m->thread.v[i]))
			return false;
	return true;
}

/* ---- sets ----------------------------------------------------------------------------- */

int labelmem_set(const struct labelmem *m, uint32_t set, char buf[LABELMEM_SET_BYTES_MAX],
		 uint32_t *ret_n_labels)
{
	uint64_t at = (uint64_t)set * 8, chunk = 0;
	struct cprof_labels_record r;
	*ret_n_labels = 0;
	if (set == 0)
		return 0;
	if (at / CPROF_LABELS_CHUNK >= CPROF_LABELS_CHUNKS ||
	    at % CPROF_LABELS_CHUNK + sizeof(r) > CPROF_LABELS_CHUNK)
		return -EINVAL;
	uint64_t place = m->addr + offsetof(struct cprof_labels_registry, chunk) +
			 at / CPROF_LABELS_CHUNK * sizeof(chunk);
	if (read_at(m, place, &chunk, sizeof(chunk)) != (long)sizeof(chunk))
		return -EFAULT;
	chunk += at % CPROF_LABELS_CHUNK;
	if (read_at(m, chunk, &r, sizeof(r)) != (long)sizeof(r))
		return -EFAULT;
	if (r.n_bytes == 0 || r.n_bytes > LABELMEM_SET_BYTES_MAX ||
	    r.n_labels > CPROF_LABELS_PER_SET)
		return -EINVAL;
	if (read_at(m, chunk + sizeof(r), buf, r.n_bytes) != (long)r.n_bytes)
		return -EFAULT;
	/* as many strings as declared, the last one ended by the last byte */
	uint32_t n_ends = 0;
	for (uint32_t i = 0; i < r.n_bytes; i++)
		n_ends += buf[i] == '\0';
	if (n_ends != 2 * r.n_labels || buf[r.n_bytes - 1] != '\0')
		return -EINVAL;
	*ret_n_labels = r.n_labels;
	return (int)r.n_bytes;
}
