/* The threads take no signals.  Their priority is the matter of the caller, as is that of its own
 * thread. */

#include "engine/readerpool.h"

#include "base/err.h"
#include "base/units.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

struct readerpool_thread {
	struct readerpool *of;
	uint32_t index;
	pthread_t id;
	int r;                         /* of the last round */
	struct err e;
};

void readerpool_init(struct readerpool *p)
{
	*p = (struct readerpool){ .owner = getpid() };
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->begin, NULL);
	pthread_cond_init(&p->met, NULL);
	pthread_cond_init(&p->end, NULL);
}

static void stop_threads(struct readerpool *p)
{
	pthread_mutex_lock(&p->lock);
	p->is_over = true;
	pthread_cond_broadcast(&p->begin);
	pthread_mutex_unlock(&p->lock);
	for (size_t i = 0; i < p->thread.n; i++)
		pthread_join(p->thread.v[i]->id, NULL);
	pthread_mutex_destroy(&p->lock);
	pthread_cond_destroy(&p->begin);
	pthread_cond_destroy(&p->met);
	pthread_cond_destroy(&p->end);
}

void readerpool_done(struct readerpool *p)
{
	/* After a fork, others' locks and threads are of no meaning. */
	if (p->owner == getpid())
		stop_threads(p);
	for (size_t i = 0; i < p->thread.n; i++)
		free(p->thread.v[i]);
	VEC_FREE(&p->thread);
	*p = (struct readerpool){ .owner = 0 };
}

static void announce(const struct readerpool *p, bool begins)
{
	if (p->on_thread)
		p->on_thread(p->on_thread_ctx, begins);
}

/* Waits for a round that needs this thread; false: the end. */
static bool wait_for_round(struct readerpool *p, uint32_t index, uint64_t *round)
{
	while (!p->is_over && (p->round == *round || index >= p->n)) {
		*round = p->round;
		pthread_cond_wait(&p->begin, &p->lock);
	}
	*round = p->round;
	return !p->is_over;
}

static void *run_thread(void *arg)
{
	struct readerpool_thread *t = arg;
	struct readerpool *p = t->of;
	uint64_t round = 0;
	announce(p, true);
	pthread_mutex_lock(&p->lock);
	while (wait_for_round(p, t->index, &round)) {
		pthread_mutex_unlock(&p->lock);
		t->r = p->work(p->ctx, t->index, &t->e);
		pthread_mutex_lock(&p->lock);
		if (--p->n_busy == 0)
			pthread_cond_signal(&p->end);
	}
	pthread_mutex_unlock(&p->lock);
	announce(p, false);
	return NULL;
}

static int add_thread(struct readerpool *p)
{
	struct readerpool_thread *t = calloc(1, sizeof(*t));
	if (!t || !VEC_RESERVE(&p->thread, 1)) {
		free(t);
		return -ENOMEM;
	}
	t->of = p;
	t->index = (uint32_t)p->thread.n + 1;
	int r = pthread_create(&t->id, NULL, run_thread, t);
	if (r != 0) {
		free(t);
		return -r;
	}
	p->thread.v[p->thread.n++] = t;
	return 0;
}

int readerpool_fit(struct readerpool *p, uint32_t n, struct err *e)
{
	sigset_t all, before;
	int r = 0;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	while (r == 0 && p->thread.n + 1 < n)
		r = add_thread(p);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return r < 0 ? err_errno(e, -r, "cannot start %u reader%s", n - 1, units_s(n - 1)) : 0;
}

int readerpool_run(struct readerpool *p, uint32_t n, struct err *e)
{
	pthread_mutex_lock(&p->lock);
	p->n = n;
	p->n_busy = n - 1;
	p->n_met = 0;
	p->round++;
	pthread_cond_broadcast(&p->begin);
	pthread_mutex_unlock(&p->lock);
	int r = p->work(p->ctx, 0, e);
	pthread_mutex_lock(&p->lock);
	while (p->n_busy)
		pthread_cond_wait(&p->end, &p->lock);
	pthread_mutex_unlock(&p->lock);
	for (uint32_t i = 0; i + 1 < n && r == 0; i++) {
		r = p->thread.v[i]->r;
		if (r < 0 && e)
			*e = p->thread.v[i]->e;
	}
	return r;
}

bool readerpool_meet(struct readerpool *p)
{
	pthread_mutex_lock(&p->lock);
	bool is_last = ++p->n_met == p->n;
	while (!is_last && p->n_met <= p->n)
		pthread_cond_wait(&p->met, &p->lock);
	pthread_mutex_unlock(&p->lock);
	return is_last;
}

void readerpool_part(struct readerpool *p)
{
	pthread_mutex_lock(&p->lock);
	p->n_met = p->n + 1;
	pthread_cond_broadcast(&p->met);
	pthread_mutex_unlock(&p->lock);
}
