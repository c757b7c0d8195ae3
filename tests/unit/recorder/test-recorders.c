/*
 * Recorders in many threads at the same time: each thread starts, stops and writes its own, while
 * others work.  Run under ThreadSanitizer, this shows that they share nothing.
 */
#include "cprof.h"
#include "tap.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#define N_RECORDERS 8
#define N_CYCLES 100
#define N_WORKERS 50

static atomic_int n_running, n_failed, n_written, n_refused;
static atomic_bool ends;

static void *work(void *arg)
{
	while (!atomic_load(&ends)) {
		for (volatile unsigned i = 0; i < 2000; i++)
			;
		usleep(2000);
	}
	(void)arg;
	return NULL;
}

static int swallow(void *ctx, const void *data, size_t n_bytes)
{
	(void)data;
	*(size_t *)ctx += n_bytes;
	return 0;
}

static void cycle(int i)
{
	/* Most record their thread, some the whole process, which opens events of all threads. */
	struct cprof_config config = {
		.self = i % 50 == 49 ? CPROF_SELF_PROCESS : CPROF_SELF_THREAD,
		.pausable = i % 2, .freq = "997", .ring_bytes = 65536,
		.callgraph = CPROF_CALLGRAPH_FP,
	};
	struct cprof_recorder *r = NULL;
	struct cprof_error e;
	size_t n_bytes = 0;
	int code = cprof_recorder_new(&config, &r, &e);
/* Together they need more descriptors or ring memory than some machines have. */
	if (code == -EMFILE || code == -ENFILE || code == -EPERM || code == -EACCES) {
		atomic_fetch_add(&n_refused, 1);
		return;
	}
	if (code == 0)
		code = cprof_recorder_start(r, &e);
	if (code == 0 && config.pausable)
		code = cprof_recorder_pause(r, CPROF_ALL_EVENTS, &e);
	if (code == 0 && config.pausable)
		code = cprof_recorder_resume(r, CPROF_ALL_EVENTS, &e);
	if (code == 0)
		code = cprof_recorder_step(r, 0, NULL, 0, NULL, &e);
	if (code >= 0)
		code = cprof_recorder_stop(r, &e);
	if (code == 0 && i % 20 == 0) {
		code = cprof_recorder_write(r, 0, swallow, &n_bytes, &e);
		atomic_fetch_add(&n_written, n_bytes > 0);
	}
	if (code < 0) {
		printf("# %s\n", e.what);
		atomic_fetch_add(&n_failed, 1);
	}
	cprof_recorder_free(r);
}

static void *record(void *arg)
{
	(void)arg;
	for (int i = 0; i < N_CYCLES; i++)
		cycle(i);
	atomic_fetch_sub(&n_running, 1);
	return NULL;
}

int main(void)
{
	pthread_t recorder[N_RECORDERS], worker[N_WORKERS];
	struct cprof_config config = { .self = CPROF_SELF_THREAD };
	struct cprof_recorder *r = NULL;
	struct cprof_error e;
	if (cprof_recorder_new(&config, &r, &e) < 0) {
		tap_skip("recorders in many threads", e.what);
		return tap_done();
	}
	cprof_recorder_free(r);
	for (size_t i = 0; i < N_WORKERS; i++)
		pthread_create(&worker[i], NULL, work, NULL);
	for (size_t i = 0; i < N_RECORDERS; i++)
		pthread_create(&recorder[i], NULL, record, NULL);
	for (size_t i = 0; i < N_RECORDERS; i++)
		pthread_join(recorder[i], NULL);
	atomic_store(&ends, true);
	for (size_t i = 0; i < N_WORKERS; i++)
		pthread_join(worker[i], NULL);
	tap_int(n_failed, 0, "no recorder failed");
	tap_ok(n_refused < N_RECORDERS * N_CYCLES / 2,
	       "few recorders were refused (%d)", n_refused);
	tap_ok(n_written > 0, "profiles were written (%d)", n_written);
	return tap_done();
}
