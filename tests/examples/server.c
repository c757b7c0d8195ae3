/*
 * A server that writes a profile of its last seconds when it gets SIGUSR2, and runs on:
 * server FOLDER.  The program's own loop waits for signals, for the recorder and for work, without
 * a signal handler and without a further thread.  SIGTERM ends it.
 */
#include <cprof.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/signalfd.h>
#include <unistd.h>

static volatile int running = 1;

__attribute__((noinline)) static unsigned serve_request(unsigned n)
{
	unsigned sum = 0;
	for (volatile unsigned i = 0; i < 200000; i++)
		sum += i ^ n;
	return sum;
}

static void *worker(void *arg)
{
	unsigned *n = arg;
	while (running) {
		*n += serve_request(*n) != 1;
		usleep(100);
	}
	return NULL;
}

static int write_profile(struct cprof_recorder *r, const char *folder, int n, struct cprof_error *e)
{
	char path[4096];
	snprintf(path, sizeof(path), "%s/profile-%d.pb.gz", folder, n);
	if (cprof_recorder_snapshot(r, e) < 0 || cprof_recorder_write_file(r, 0, path, e) < 0 ||
	    cprof_recorder_clear(r, e) < 0)
		return -1;
	puts(path);
	return fflush(stdout);
}

int main(int argc, char **argv)
{
	struct cprof_config config = { .self = CPROF_SELF_PROCESS, .freq = "499" };
	struct cprof_recorder *r = NULL;
	struct cprof_error e;
	struct signalfd_siginfo si;
	pthread_t thread[2];
	unsigned n[2] = { 0 };
	sigset_t set;
	int failed = 0, n_profiles = 0;

	if (argc != 2)
		return 64;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	sigaddset(&set, SIGTERM);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	int signals = signalfd(-1, &set, SFD_CLOEXEC);
	for (int i = 0; i < 2; i++)
		if (pthread_create(&thread[i], NULL, worker, &n[i]) != 0)
			return 1;
	if (cprof_recorder_new(&config, &r, &e) < 0 || cprof_recorder_start(r, &e) < 0) {
		fprintf(stderr, "%s\n%s\n", e.what, e.hint);
		return 1;
	}
	puts("ready");
	fflush(stdout);
	while (!failed) {
		struct pollfd wait[] = {
			{ .fd = signals, .events = POLLIN },
			{ .fd = cprof_recorder_fd(r, &e), .events = POLLIN },
		};
		poll(wait, 2, 1000);
		failed = cprof_recorder_step(r, 0, NULL, 0, NULL, &e) < 0;
		if (!(wait[0].revents & POLLIN) || read(signals, &si, sizeof(si)) != sizeof(si))
			continue;
		if (si.ssi_signo == SIGTERM)
			break;
		failed |= write_profile(r, argv[1], ++n_profiles, &e) < 0;
	}
	if (failed)
		fprintf(stderr, "%s\n%s\n", e.what, e.hint);
	running = 0;
	for (int i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);
	cprof_recorder_free(r);
	return failed;
}
