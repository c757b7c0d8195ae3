/* Scans of a process that executes another program after its threads were listed. */
#include "snapshot/threadscan.h"

#include "base/err.h"
#include "base/host.h"
#include "snapshot/refusal.h"
#include "snapshot/snapshot.h"
#include "source/synth.h"
#include "tests/unit/tap.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void *stay(void *ctx)
{
	(void)ctx;
	for (;;)
		pause();
	return NULL;
}

/* With a second thread; executes a program when it reads a byte. */
static void run_target(int ready_fd, int go_fd)
{
	pthread_t id;
	char byte;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, "before");
	if (pthread_create(&id, NULL, stay, NULL) != 0 || write(ready_fd, "y", 1) != 1 ||
	    read(go_fd, &byte, 1) != 1)
		_exit(1);
	execl("/bin/sleep", "sleep", "60", NULL);
	_exit(1);
}

static pid_t start_target(int *ret_go_fd)
{
	int ready[2], go[2];
	char byte;
	if (pipe(ready) < 0 || pipe(go) < 0)
		exit(1);
	pid_t pid = fork();
	if (pid == 0)
		run_target(ready[1], go[0]);
	close(ready[1]);
	close(go[0]);
	bool ok = read(ready[0], &byte, 1) == 1;
	close(ready[0]);
	*ret_go_fd = go[1];
	return ok ? pid : 0;
}

static void add_map(void *memory, const struct record *r)
{
	targetmem_add(memory, r);
}

static bool read_maps(const struct host *h, struct threadscan_process *p)
{
	return synth_maps(h, (pid_t)p->pid, 0, add_map, &p->memory) >= 0;
}

static void nap(void)
{
	const struct timespec t = { .tv_nsec = 10000000 };
	nanosleep(&t, NULL);
}

/* Scans until its threads wait. */
static const struct threadscan_thread *scan_main(struct threadscan *s)
{
	for (unsigned i = 0; i < 500; i++) {
		threadscan_again(s, 0);
		if (s->threads.v[0].look != THREADSCAN_RUNNING)
			break;
		nap();
	}
	return &s->threads.v[0];
}

static void test_exec(const struct host *h)
{
	struct threadscan s;
	int go_fd;
	pid_t pid = start_target(&go_fd);
	threadscan_init(&s, h, &(struct threadscan_limits){ 100, 60000000000 });
	/* a sanitizer may have a thread of its own */
	if (!pid || threadscan_add(&s, (uint32_t)pid) < 0 || s.threads.n < 2) {
		tap_ok(false, "a process with two threads");
		return;
	}
	struct threadscan_process *p = &s.processes.v[0];
	read_maps(h, p);
	threadscan_open(&s);
	tap_int(threadscan_take(&s), 0, "a scan");
	threadscan_details(&s);
	if (s.threads.v[0].look == THREADSCAN_DENIED) {
		tap_skip("programs that are replaced", "this user may not read other processes");
		kill(pid, SIGKILL);
		threadscan_done(&s);
		return;
	}
	tap_ok(!threadscan_has_executed(&s, p), "it is the program that it was");
	tap_ok(threadscan_is_same_program(&s, &s.threads.v[0]), "each thread says so");
	tap_ok(threadscan_has_same_program(&s, p), "and so does the process");

	tap_int((long long)write(go_fd, "x", 1), 1, "it executes another program");
	for (unsigned i = 0; i < 500 && threadscan_is_same_program(&s, &s.threads.v[0]); i++)
		nap();
	tap_ok(!threadscan_is_same_program(&s, &s.threads.v[0]), "it is another one");
	scan_main(&s);
	threadscan_details(&s);
	tap_ok(threadscan_has_executed(&s, p), "the details show that");
	tap_ok(!threadscan_has_same_program(&s, p), "and so does the process now");
	p->stack_start = 0;
	tap_ok(threadscan_has_executed(&s, p),
	       "so they do of a process that had no stack yet when it was added");
	threadscan_renew(&s, p);
	tap_ok(read_maps(h, p), "it has other mappings");
	threadscan_process_again(&s, p);
	const struct threadscan_thread *t = scan_main(&s);
	tap_ok(!threadscan_has_executed(&s, p), "read again, all belongs to the new program");
	tap_ok(t->look == THREADSCAN_MOVED && t->n_stack_bytes > 0,
	       "its thread has a stack, and has moved");
	tap_str(t->stat.name, "sleep", "and another name");
	size_t n_ended = 0;
	for (size_t i = 0; i < s.threads.n; i++)
		n_ended += s.threads.v[i].look == THREADSCAN_ENDED;
	tap_int((long long)n_ended, (long long)s.threads.n - 1, "all others have ended");
	threadscan_give_up(&s, p);
	tap_ok(s.threads.v[0].look == THREADSCAN_ENDED, "a process that is given up has ended");
	struct snapshot none = { .engine = NULL };
	struct err e;
	tap_int(refusal_check(&none, &s, h, &e), 0, "but that is no refusal while it lives");
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	tap_int(refusal_check(&none, &s, h, &e), -ESRCH, "later it has ended");
	close(go_fd);
	threadscan_done(&s);
}

#define THREADS 300u

static void run_many(int ready_fd)
{
	pthread_attr_t a;
	pthread_t id;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	pthread_attr_init(&a);
	pthread_attr_setstacksize(&a, 65536);
	for (unsigned i = 0; i < THREADS; i++)
		if (pthread_create(&id, &a, stay, NULL) != 0)
			_exit(1);
	_exit(write(ready_fd, "y", 1) == 1 && stay(NULL) ? 0 : 1);
}

/* How many threads a scan by three readers finds waiting, with their stacks. */
static size_t scan_waiting(const struct host *h, pid_t pid, size_t *ret_n, size_t *ret_n_denied)
{
	struct threadscan s;
	size_t n_right = 0;
	*ret_n_denied = 0;
	threadscan_init(&s, h, &(struct threadscan_limits){ 1000, 60000000000 });
	s.crew.n_readers = 3;
	if (threadscan_add(&s, (uint32_t)pid) == 0) {
		read_maps(h, &s.processes.v[0]);
		threadscan_open(&s);
		threadscan_take(&s);
		threadscan_details(&s);
	}
	for (size_t i = 0; i < s.threads.n; i++) {
		const struct threadscan_thread *t = &s.threads.v[i];
		*ret_n_denied += t->look == THREADSCAN_DENIED;
		n_right += t->has_details && t->n_stack_bytes && t->stat.state == 'S' &&
			   (t->look == THREADSCAN_STILL || t->look == THREADSCAN_MOVED);
	}
	*ret_n = s.threads.n;
	threadscan_done(&s);
	return n_right;
}

/* Several readers find what one finds. */
static void test_readers(const struct host *h)
{
	size_t n = 0, n_right = 0, n_denied = 0;
	int ready[2];
	char byte;
	if (pipe(ready) < 0)
		exit(1);
	pid_t pid = fork();
	if (pid == 0)
		run_many(ready[1]);
	close(ready[1]);
	bool has_started = read(ready[0], &byte, 1) == 1;
	/* On a busy machine it takes a while until the last threads wait. */
	for (unsigned i = 0; i < 500 && has_started; i++) {
		n_right = scan_waiting(h, pid, &n, &n_denied);
		if (n_denied || n_right > THREADS)
			break;
		nap();
	}
	if (tap_ok(has_started && n > THREADS, "a process with many threads")) {
		if (n_denied)
			tap_skip("many threads", "this user may not read other processes");
		else
			tap_ok(n_right > THREADS, "three readers find that all wait, with stacks");
	}
	kill(pid, SIGKILL);
	close(ready[0]);
}

int main(void)
{
	struct host h;
	if (host_open(&h, NULL, NULL, NULL, NULL) < 0)
		return 1;
	test_exec(&h);
	test_readers(&h);
	host_close(&h);
	return tap_done();
}
