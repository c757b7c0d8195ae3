/*
 * blocked N [MOVERS [SPINNERS [gauge]]]: N threads, each blocked in a system call of its own kind,
 * at the end of a known chain: in_KIND <- f1 <- f2 <- f3 <- f4 <- f5 <- thread_main.  Its name is
 * its kind.  A mover sleeps 1 to 3 ms in nap1, nap2 or nap3, called through as many calls of
 * level.  Each line on stdin is answered with "eintr N": how many system calls were interrupted;
 * with "gauge", after a line "gap NS": the longest time that one more thread, which reads the clock
 * all the time, has not run since the last answer.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define OUT_OF_LINE __attribute__((noinline, noclone))

static atomic_long n_eintr;
static volatile int sink, is_over;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;

/* A call that failed: of thousands of threads, some find no descriptor left. */
static void failed(void)
{
	if (errno == EINTR)
		n_eintr++;
	else
		pause();
}

/* The call must not return; what it returns with EINTR is counted. */
#define FOREVER(call) while (!is_over) if ((call) < 0) failed()

static int pipe_end(void)
{
	int p[2];
	return pipe(p) < 0 ? -1 : p[0];
}

static int socket_end(int timeout_s)
{
	int s[2];
	const struct timeval limit = { .tv_sec = timeout_s };
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, s) < 0)
		return -1;
	if (timeout_s)
		setsockopt(s[0], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	return s[0];
}

OUT_OF_LINE static void in_futex(void)
{
	pthread_mutex_lock(&mutex);
	for (;;)
		pthread_cond_wait(&never, &mutex);
}

OUT_OF_LINE static void in_read(void)
{
	char c;
	int fd = pipe_end();
	FOREVER(read(fd, &c, 1));
}

OUT_OF_LINE static void in_eventfd(void)
{
	uint64_t n;
	int fd = eventfd(0, 0);
	FOREVER(read(fd, &n, sizeof(n)));
}

OUT_OF_LINE static void in_inotify(void)
{
	char buf[512];
	int fd = inotify_init();
	FOREVER(read(fd, buf, sizeof(buf)));
}

OUT_OF_LINE static void in_epoll(void)
{
	struct epoll_event ev;
	int fd = epoll_create1(0);
	FOREVER(epoll_wait(fd, &ev, 1, -1));
}

OUT_OF_LINE static void in_nanosleep(void)
{
	const struct timespec t = { .tv_sec = 36000 };
	FOREVER(nanosleep(&t, NULL));
}

OUT_OF_LINE static void in_poll(void)
{
	struct pollfd p = { .fd = pipe_end(), .events = POLLIN };
	FOREVER(poll(&p, 1, -1));
}

OUT_OF_LINE static void in_select(void)
{
	struct timeval limit = { .tv_sec = 36000 };
	FOREVER(select(0, NULL, NULL, NULL, &limit));
}

OUT_OF_LINE static void in_semaphore(void)
{
	sem_t s;
	sem_init(&s, 0, 0);
	FOREVER(sem_wait(&s));
}

OUT_OF_LINE static void in_recv(void)
{
	char c;
	int fd = socket_end(0);
	FOREVER(recv(fd, &c, 1, 0));
}

OUT_OF_LINE static void in_recvlimit(void)
{
	char c;
	int fd = socket_end(36000);
	FOREVER(recv(fd, &c, 1, 0));
}

OUT_OF_LINE static void in_accept(void)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	listen(fd, 1);
	FOREVER(accept(fd, NULL, NULL));
}

OUT_OF_LINE static void in_sigwait(void)
{
	sigset_t set;
	const struct timespec t = { .tv_sec = 36000 };
	sigemptyset(&set);
	sigaddset(&set, SIGRTMAX);
	FOREVER(sigtimedwait(&set, NULL, &t));
}

/* The id is removed with the program's own namespace or at its end: see main. */
static int sem_id = -1, msg_id = -1;

/* On arm64 the return addresses of semop and vfork are in a register only. */
OUT_OF_LINE static void call_semop(void)
{
	struct sembuf op = { .sem_op = -1 };
	FOREVER(semop(sem_id, &op, 1));
}

OUT_OF_LINE static void in_semop(void)
{
	call_semop();
	sink++;
}

OUT_OF_LINE static void in_msgrcv(void)
{
	struct { long type; char text[8]; } m;
	FOREVER(msgrcv(msg_id, &m, sizeof(m.text), 0, 0));
}

OUT_OF_LINE static void in_pause(void)
{
	FOREVER(pause());
}

OUT_OF_LINE static void in_waitpid(void)
{
	pid_t child = fork();
	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	FOREVER(waitpid(child, NULL, 0));
}

/* Uninterruptible: its parent waits for the child to end or to execute something. */
OUT_OF_LINE static void call_vfork(void)
{
	const struct timespec t = { .tv_sec = 36000 };
	if (vfork() == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		syscall(SYS_nanosleep, &t, NULL);
		_exit(0);
	}
}

OUT_OF_LINE static void in_vfork(void)
{
	call_vfork();
	sink++;
}

OUT_OF_LINE static void handler(int signal)
{
	(void)signal;
	in_read();
	sink++;
}

/* The handler blocks, on a stack of its own. */
OUT_OF_LINE static void in_handler(void)
{
	const struct sigaction a = { .sa_handler = handler, .sa_flags = SA_ONSTACK };
	stack_t stack = { .ss_sp = malloc(65536), .ss_size = 65536 };
	sigaltstack(&stack, NULL);
	sigaction(SIGUSR2, &a, NULL);
	syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), SIGUSR2);
	sink++;
}

/* A stack that is longer than what is read at first. */
OUT_OF_LINE static int deep(int n)
{
	volatile char room[2000];
	room[0] = (char)n;
	if (n > 0)
		return deep(n - 1) + room[0];
	in_read();
	return room[0];
}

OUT_OF_LINE static void in_deep(void)
{
	deep(40);
	sink++;
}

static const struct { const char *name; void (*in)(void); } kinds[] = {
	{ "futex", in_futex }, { "read", in_read }, { "epoll", in_epoll },
	{ "nanosleep", in_nanosleep }, { "poll", in_poll }, { "eventfd", in_eventfd },
	{ "inotify", in_inotify }, { "select", in_select }, { "semaphore", in_semaphore },
	{ "recv", in_recv }, { "recvlimit", in_recvlimit }, { "accept", in_accept },
	{ "sigwait", in_sigwait }, { "semop", in_semop }, { "msgrcv", in_msgrcv },
	{ "pause", in_pause }, { "handler", in_handler }, { "deep", in_deep },
	{ "waitpid", in_waitpid }, { "vfork", in_vfork },
};
#define N_KINDS (sizeof(kinds) / sizeof(*kinds))

OUT_OF_LINE static void f1(size_t k) { kinds[k].in(); sink++; }
OUT_OF_LINE static void f2(size_t k) { f1(k); sink++; }
OUT_OF_LINE static void f3(size_t k) { f2(k); sink++; }
OUT_OF_LINE static void f4(size_t k) { f3(k); sink++; }
OUT_OF_LINE static void f5(size_t k) { f4(k); sink++; }

static void *thread_main(void *kind)
{
	size_t k = (size_t)kind;
	prctl(PR_SET_NAME, kinds[k].name);
	f5(k);
	return NULL;
}

#define NAP(n) OUT_OF_LINE static void nap##n(void) \
	{ const struct timespec t = { .tv_nsec = n * 1000000 }; nanosleep(&t, NULL); sink++; }
NAP(1)
NAP(2)
NAP(3)

OUT_OF_LINE static void level(int rest, int n)
{
	static void (*const nap[])(void) = { nap1, nap2, nap3 };
	if (rest > 1)
		level(rest - 1, n);
	else
		nap[n - 1]();
	sink++;
}

static void *mover_main(void *arg)
{
	(void)arg;
	prctl(PR_SET_NAME, "mover");
	for (int n = 1;; n = n % 3 + 1)
		level(n, n);
	return NULL;
}

OUT_OF_LINE static void spinning(void)
{
	for (;;)
		sink++;
}

static void *spinner_main(void *arg)
{
	(void)arg;
	prctl(PR_SET_NAME, "spinner");
	spinning();
	return NULL;
}

static atomic_llong longest_gap_ns;

static long long clock_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void *gauge_main(void *arg)
{
	(void)arg;
	prctl(PR_SET_NAME, "gauge");
	for (long long last = clock_ns(), now;; last = now) {
		now = clock_ns();
		if (now - last > longest_gap_ns)
			longest_gap_ns = now - last;
	}
	return NULL;
}

static void start(void *(*run)(void *), size_t kind)
{
	pthread_attr_t a;
	pthread_t t;
	pthread_attr_init(&a);
	pthread_attr_setstacksize(&a, 256 << 10);
	if (pthread_create(&t, &a, run, (void *)kind) != 0)
		perror("blocked: pthread_create");
	pthread_attr_destroy(&a);
}

int main(int argc, char **argv)
{
	char line[64];
	sigset_t set;
	int n = argc > 1 ? atoi(argv[1]) : (int)N_KINDS;
	struct rlimit files;
	getrlimit(RLIMIT_NOFILE, &files);
	files.rlim_cur = files.rlim_max;
	setrlimit(RLIMIT_NOFILE, &files);
	sigemptyset(&set);
	sigaddset(&set, SIGRTMAX);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	sem_id = semget(IPC_PRIVATE, 1, 0600);
	msg_id = msgget(IPC_PRIVATE, 0600);
	/* With very many threads, those kinds that need no processes of their own. */
	size_t n_kinds = n > (int)N_KINDS ? N_KINDS - 2 : N_KINDS;
	for (int i = 0; i < n; i++)
		start(thread_main, (size_t)i % n_kinds);
	for (int i = 0; argc > 2 && i < atoi(argv[2]); i++)
		start(mover_main, 0);
	for (int i = 0; argc > 3 && i < atoi(argv[3]); i++)
		start(spinner_main, 0);
	bool has_gauge = argc > 4 && strcmp(argv[4], "gauge") == 0;
	if (has_gauge)
		start(gauge_main, 0);
	usleep(100000 + (unsigned)n * 50);
	printf("ready %d\n", (int)getpid());
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		if (has_gauge)
			printf("gap %lld\n", (long long)atomic_exchange(&longest_gap_ns, 0));
		printf("eintr %ld\n", (long)n_eintr);
		fflush(stdout);
	}
	semctl(sem_id, 0, IPC_RMID);
	msgctl(msg_id, IPC_RMID, NULL);
	return 0;
}
