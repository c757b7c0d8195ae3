#include "cmd/signalwatch.h"

#include "base/clock.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

/* The main thread is stuck if it neither takes the signal nor runs for so many looks. */
#define LOOKS 20
#define LOOK_NS 100000000

#define STACK_BYTES ((size_t)64 << 10)

static pid_t watched;  /* the process that has the thread; 0: none */
static void (*end_program)(int signal);
static clockid_t main_clock;

/* Does the main thread wait, rather than run or want to? */
static bool is_waiting(void)
{
	char text[512];
	int fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	ssize_t n = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[n > 0 ? n : 0] = '\0';
	const char *state = strrchr(text, ')');
	return state && state[1] == ' ' && (state[2] == 'S' || state[2] == 'D');
}

/* Is a signal pending during all looks, while the main thread waits and does nothing? */
static bool is_stuck(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	uint64_t used_ns = clock_now_ns(main_clock);
	for (int i = 0; i < LOOKS; i++) {
		nanosleep(&(struct timespec){ .tv_nsec = LOOK_NS }, NULL);
		if (poll(&p, 1, 0) <= 0 || !is_waiting() || clock_now_ns(main_clock) != used_ns)
			return false;
	}
	return true;
}

static void *watch(void *argument)
{
	sigset_t ends;
	struct signalfd_siginfo info;
	(void)argument;
	sigemptyset(&ends);
	sigaddset(&ends, SIGINT);
	sigaddset(&ends, SIGTERM);
	sigaddset(&ends, SIGHUP);
	int fd = signalfd(-1, &ends, SFD_CLOEXEC | SFD_NONBLOCK);
	struct pollfd p = { .fd = fd, .events = POLLIN };
	while (fd >= 0)
		if (poll(&p, 1, -1) > 0 && is_stuck(fd) &&
		    read(fd, &info, sizeof(info)) == sizeof(info))
			end_program((int)info.ssi_signo);
	return NULL;
}

void signalwatch_start(void (*end)(int signal))
{
	sigset_t all, before;
	pthread_attr_t attr;
	pthread_t thread;
	if (watched == getpid() || pthread_getcpuclockid(pthread_self(), &main_clock) != 0 ||
	    pthread_attr_init(&attr) != 0)
		return;
	end_program = end;
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	if (pthread_create(&thread, &attr, watch, NULL) == 0)
		watched = getpid();
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attr);
}
