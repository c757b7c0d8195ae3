/*
 * A ring cannot change its size.  A second one is mapped beside it, and the events are directed to
 * it one after the other (PERF_EVENT_IOC_SET_OUTPUT).  Meanwhile both rings are read, each record
 * in its place, and nothing is lost or counted twice.  When all events have moved, and what the
 * old ring held was read, the new ring takes its place.  The old one is closed as soon as it stays
 * empty.  A round reads the ring in its place first, so the samples of an event remain in order.
 *
 * A small ring overflows while a large one is mapped, and the kernel lets an event that leaves a
 * ring wait for all CPUs (ring_buffer_attach() in kernel/events/core.c), which takes about 10 ms.
 * So threads of their own do both.  Until the second has ended, no event of the ring is opened or
 * closed.
 *
 * If an event cannot be moved, both rings stay for good.
 */

#include "source/live/livegrow.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "source/live/live-private.h"
#include "source/source-ring.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* An interrupt that began before an event moved may still write into the old ring. */
#define SETTLE_NS 20000000u
#define STEP_MS 10

static struct live_ring *extra_ring(const struct live *l, size_t place)
{
	return &l->ring[l->n_rings + place];
}

/* The readers of the ring, which has nothing to be released, stay. */
static void set_empty(struct live *l, size_t place)
{
	struct live_ring *r = extra_ring(l, place);
	struct ring_share *share = r->ring.share;
	*r = (struct live_ring){ .fd = -1, .cpu = -1 };
	ring_open_memory(&r->ring, l->grow.empty, 8);
	r->ring.share = share;
	ring_end(&r->ring, 0);
}

int livegrow_init(struct live *l, bool is_possible)
{
	struct livegrow *g = &l->grow;
	if (!is_possible)
		return 0;
	g->empty = calloc(1, (size_t)sysconf(_SC_PAGESIZE) + 8 + RING_WRAP_BYTES);
	if (!g->empty)
		return -ENOMEM;
	g->is_possible = true;
	g->n_places = LIVEGROW_RINGS < l->n_rings ? LIVEGROW_RINGS : l->n_rings;
	for (size_t i = 0; i < g->n_places; i++)
		set_empty(l, i);
	return 0;
}

static void close_ring(struct live *l, size_t place)
{
	struct live_ring *r = extra_ring(l, place);
	struct ring_share *share = r->ring.share;
	l->grow.past_bytes += r->ring.tail;
	r->ring.share = NULL;
	ring_close(&r->ring);
	r->ring.share = share;
	if (r->fd >= 0)
		close(r->fd);
	set_empty(l, place);
}

static void drop_next(struct livegrow_place *p)
{
	if (p->next && p->next->fd >= 0) {
		ring_close(&p->next->ring);
		close(p->next->fd);
	}
	free(p->next);
	p->next = NULL;
}

static void end_thread(struct livegrow_place *p)
{
	if (p->state != LIVEGROW_MOVING && p->state != LIVEGROW_MAPPING)
		return;
	__atomic_store_n(&p->ends, true, __ATOMIC_RELAXED);
	pthread_join(p->thread, NULL);
	drop_next(p);
	free(p->event_fd);
	p->event_fd = NULL;
	p->state = LIVEGROW_SPLIT;
}

void livegrow_done(struct live *l)
{
	for (size_t i = 0; i < l->grow.n_places; i++) {
		end_thread(&l->grow.place[i]);
		close_ring(l, i);
		ring_close(&extra_ring(l, i)->ring);
	}
	l->grow.n_places = 0;
	free(l->grow.empty);
	l->grow.empty = NULL;
}

bool livegrow_is_busy(const struct live *l, size_t ring)
{
	for (size_t i = 0; i < l->grow.n_places; i++) {
		const struct livegrow_place *p = &l->grow.place[i];
		bool is_busy = p->state != LIVEGROW_FREE && p->state != LIVEGROW_SPLIT;
		if (is_busy && (ring == SOURCE_ALL_RINGS || ring == p->ring))
			return true;
	}
	return false;
}

/* ---- the threads ----------------------------------------------------------------------- */

static void *map_ring(void *ctx)
{
	struct livegrow_place *p = ctx;
	struct err e;
	int r = live_open_ring(p->live, &p->live->options, p->n_bytes, p->next, &e);
	__atomic_store_n(&p->result, r < 0 ? r : 0, __ATOMIC_RELEASE);
	return NULL;
}

static void *move_events(void *ctx)
{
	struct livegrow_place *p = ctx;
	int r = 0;
	for (size_t i = 0; i < p->n_event_fds; i++) {
		if (__atomic_load_n(&p->ends, __ATOMIC_RELAXED))
			r = -EINTR;
		else if (ioctl(p->event_fd[i], PERF_EVENT_IOC_SET_OUTPUT, p->fd) < 0)
			r = -errno;
	}
	__atomic_store_n(&p->result, r, __ATOMIC_RELEASE);
	return NULL;
}

/* Signals are for the other threads. */
static int start_thread(struct livegrow_place *p, void *(*fn)(void *))
{
	sigset_t all, before;
	sigfillset(&all);
	p->result = 1;
	p->ends = false;
	pthread_sigmask(SIG_SETMASK, &all, &before);
	int r = pthread_create(&p->thread, NULL, fn, p);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return -r;
}

static int list_events(const struct live *l, int cpu, struct livegrow_place *p)
{
	p->n_event_fds = 0;
	p->event_fd = calloc(l->fds.n + 1, sizeof(*p->event_fd));
	if (!p->event_fd)
		return -ENOMEM;
	for (size_t i = 0; i < l->fds.n; i++)
		if (l->fds.v[i].cpu == cpu && l->fds.v[i].fd >= 0)
			p->event_fd[p->n_event_fds++] = l->fds.v[i].fd;
	return 0;
}

static uint64_t total_bytes(const struct live *l)
{
	uint64_t sum = 0;
	for (size_t i = 0; i < l->n_rings; i++)
		sum += l->ring[i].ring.n_data_bytes;
	for (size_t i = 0; i < l->grow.n_places; i++) {
		const struct livegrow_place *p = &l->grow.place[i];
		if (p->state == LIVEGROW_MAPPING)
			sum += p->n_bytes;
		else if (p->state != LIVEGROW_FREE)
			sum += extra_ring(l, i)->ring.n_data_bytes;
	}
	return sum;
}

static int check(const struct live *l, size_t ring, uint64_t n_bytes, struct err *e)
{
	const uint64_t budget = l->options.rings_bytes + l->options.rings_bytes / 2;
	if (!l->grow.is_possible || ring >= l->n_rings)
		return err_set(e, EOPNOTSUPP, "the size of the rings is fixed");
	for (size_t i = 0; i < l->grow.n_places; i++)
		if (l->grow.place[i].state == LIVEGROW_SPLIT && l->grow.place[i].ring == ring)
			return err_set(e, EOPNOTSUPP, "some events cannot change their ring");
	if (l->scope.is_changing || l->first.merge.is_begun || livegrow_is_busy(l, ring))
		return err_set(e, EAGAIN, "the ring is being replaced");
	if (total_bytes(l) + n_bytes > budget)
		return err_set(e, ENOSPC, "the rings have all the memory that they may use");
	return 0;
}

int livegrow_ring(struct source *s, size_t ring, uint64_t n_bytes, struct err *e)
{
	struct live *l = (struct live *)s;
	int r = check(l, ring, n_bytes, e);
	if (r < 0)
		return r;
	size_t i = 0;
	while (i < l->grow.n_places && l->grow.place[i].state != LIVEGROW_FREE)
		i++;
	if (i == l->grow.n_places)
		return err_set(e, EAGAIN, "other rings are being replaced");
	struct livegrow_place *p = &l->grow.place[i];
	p->live = l;
	p->ring = ring;
	p->n_bytes = n_bytes;
	p->next = calloc(1, sizeof(*p->next));
	if (!p->next)
		return err_errno(e, ENOMEM, "cannot replace a ring");
	*p->next = (struct live_ring){ .cpu = l->ring[ring].cpu, .fd = -1 };
	r = start_thread(p, map_ring);
	if (r < 0) {
		drop_next(p);
		return err_errno(e, -r, "cannot replace a ring");
	}
	p->state = LIVEGROW_MAPPING;
	return 0;
}

/* The new ring is read from now on, and gets the events. */
static int open_beside(struct live *l, size_t place)
{
	struct livegrow_place *p = &l->grow.place[place];
	struct live_ring *r = extra_ring(l, place);
	p->next->ring.share = r->ring.share;
	*r = *p->next;
	free(p->next);
	p->next = NULL;
	p->fd = r->fd;
	round_forget(&l->round, l->n_rings + place);
	int x = live_watch_ring(l, place);
	x = x < 0 ? x : list_events(l, r->cpu, p);
	return x < 0 ? x : start_thread(p, move_events);
}

static void finish_mapping(struct live *l, size_t place)
{
	struct livegrow_place *p = &l->grow.place[place];
	int r = __atomic_load_n(&p->result, __ATOMIC_ACQUIRE);
	if (r > 0)
		return;
	pthread_join(p->thread, NULL);
	p->state = LIVEGROW_MOVING;
	r = r < 0 ? r : open_beside(l, place);
	if (r == 0)
		return;
	log_line(l->options.open.log, LOG_EXPLAIN, "rings stay as they are: %s", strerror(-r));
	drop_next(p);
	free(p->event_fd);
	p->event_fd = NULL;
	close_ring(l, place);
	p->state = LIVEGROW_FREE;
	l->grow.is_possible = false;
}

/* ---- the change -------------------------------------------------------------------------- */

/* The ring of a CPU becomes the one beside it, and the reverse. */
static void exchange(struct live *l, size_t ring, size_t place)
{
	struct live_ring *a = &l->ring[ring], *b = extra_ring(l, place);
	struct ring data = a->ring;
	int fd = a->fd;
	a->ring = b->ring;
	a->fd = b->fd;
	a->past_bytes += data.tail - a->ring.tail;
	b->ring = data;
	b->fd = fd;
	round_exchange(&l->round, ring, l->n_rings + place);
}

static void finish_moving(struct live *l, size_t place)
{
	struct livegrow_place *p = &l->grow.place[place];
	int r = __atomic_load_n(&p->result, __ATOMIC_ACQUIRE);
	if (r > 0)
		return;
	pthread_join(p->thread, NULL);
	free(p->event_fd);
	p->event_fd = NULL;
	p->state = r < 0 ? LIVEGROW_SPLIT : LIVEGROW_MOVED;
	if (r < 0)
		log_line(l->options.open.log, LOG_EXPLAIN,
			 "CPU %d has two rings: not all events could be moved to the new one",
			 l->ring[p->ring].cpu);
}

static bool is_empty(struct ring *r)
{
	return ring_fetch(r) == r->tail;
}

static void exchange_empty(struct live *l, size_t place, uint64_t now_ns)
{
	struct livegrow_place *p = &l->grow.place[place];
	if (!is_empty(&l->ring[p->ring].ring))
		return;
	exchange(l, p->ring, place);
	uint64_t n_bytes = l->ring[p->ring].ring.n_data_bytes;
	if (n_bytes > l->usage.ring_bytes)
		l->usage.ring_bytes = n_bytes;
	p->since_ns = now_ns;
	p->state = LIVEGROW_DRAINING;
}

static void close_empty(struct live *l, size_t place, uint64_t now_ns)
{
	struct livegrow_place *p = &l->grow.place[place];
	if (now_ns - p->since_ns < SETTLE_NS || !is_empty(&extra_ring(l, place)->ring))
		return;
	close_ring(l, place);
	p->state = LIVEGROW_FREE;
}

int livegrow_step(struct live *l, uint64_t now_ns)
{
	bool any = false;
	for (size_t i = 0; i < l->grow.n_places && !l->first.merge.is_begun; i++) {
		if (l->grow.place[i].state == LIVEGROW_MAPPING)
			finish_mapping(l, i);
		else if (l->grow.place[i].state == LIVEGROW_MOVING)
			finish_moving(l, i);
		else if (l->grow.place[i].state == LIVEGROW_MOVED)
			exchange_empty(l, i, now_ns);
		else if (l->grow.place[i].state == LIVEGROW_DRAINING)
			close_empty(l, i, now_ns);
		any |= l->grow.place[i].state == LIVEGROW_MAPPING ||
		       l->grow.place[i].state == LIVEGROW_MOVING ||
		       l->grow.place[i].state == LIVEGROW_MOVED;
	}
	return any ? STEP_MS : -1;
}
