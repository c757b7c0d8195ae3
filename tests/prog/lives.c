/*
 * lives [-w FILE] SCENE...: threads that are born and die while they are recorded, in one process
 * for each scene.
 *
 * For each thread prints "life NAME AT_LEAST_NS AT_MOST_NS": how long it existed by its own clock,
 * and by that of the thread that created it and has waited for its end.  NAME is the thread's name.
 * "site FUNCTION NS" is how long a thread was in a function that waits, and "pid FUNCTION PID" in
 * which process.  With -w begins when FILE exists.
 *
 *	mixed     threads that run and wait in turn, of several lengths; one has a large frame
 *	killed    threads that wait in a lock, a read, a sleep and a poll when SIGKILL ends them
 *	stopped   a thread that spins and one that waits, both stopped by SIGSTOP for a while
 *	exec      another thread than the first one executes this program again
 *	crowd     four threads with large frames that spin, more than most machines have CPUs for
 *	vfork     a thread that waits in vfork until its child executes
 *	uring     a thread that waits for completions of io_uring, also of a worker of the kernel
 */

#include "prog.h"

#include <fcntl.h>
#include <linux/io_uring.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define MS 1000000u

/* Times of one thread; shared by a process and its parent. */
struct life {
	char name[16];
	uint64_t created_ns, begun_ns, done_ns, gone_ns;
	uint64_t gap_ns;  /* the id may have had no thread that long */
	uint64_t nap_ns;  /* of "executes" */
};

static struct life *life;  /* all of one scene; the first one is the process's */
static size_t n_lives;
#define N_LIVES_MAX 16

static uint64_t now_ns(void)
{
	return prog_clock_ns(CLOCK_MONOTONIC);
}

static void nap(uint64_t ns)
{
	struct timespec ts = { (time_t)(ns / 1000000000), (long)(ns % 1000000000) };
	while (nanosleep(&ts, &ts))
		;
}

static void begin_life(struct life *l)
{
	l->begun_ns = now_ns();
	prctl(PR_SET_NAME, l->name);
}

/* A thread's times that end elsewhere are left as they are. */
static void end_life(struct life *l)
{
	l->done_ns = now_ns();
}

static struct life *new_life(const char *name)
{
	struct life *l = &life[n_lives++];
	snprintf(l->name, sizeof(l->name), "%s", name);
	l->created_ns = now_ns();
	return l;
}

static void spin(uint64_t ns)
{
	uint64_t end = now_ns() + ns;
	while (now_ns() < end)
		;
}

struct start { struct life *life; void (*body)(struct life *l); };

static void *thread_main(void *arg)
{
	struct start s = *(struct start *)arg;
	free(arg);
	begin_life(s.life);
	s.body(s.life);
	end_life(s.life);
	return (void *)syscall(SYS_gettid);
}

static pthread_t start(const char *name, void (*body)(struct life *l), struct life **ret)
{
	pthread_t t;
	struct start *s = malloc(sizeof(*s));
	*s = (struct start){ .life = new_life(name), .body = body };
	if (ret)
		*ret = s->life;
	if (pthread_create(&t, NULL, thread_main, s))
		exit(1);
	return t;
}

/* pthread_join() returns before the kernel has ended the thread. */
static void join(pthread_t t, struct life *l)
{
	void *tid;
	pthread_join(t, &tid);
	while (syscall(SYS_tgkill, getpid(), (pid_t)(intptr_t)tid, 0) == 0)
		sched_yield();
	l->gone_ns = now_ns();
}

/* ---- mixed ----------------------------------------------------------------------------- */

static PROG_NOINLINE void sleeps(struct life *l)
{
	nap(300 * MS);
	(void)l;
	PROG_KEEP_FRAME();
}

static PROG_NOINLINE void naps(struct life *l)
{
	for (uint64_t end = l->begun_ns + 400 * MS; now_ns() < end;)
		nap(MS);
	PROG_KEEP_FRAME();
}

static PROG_NOINLINE void spins(struct life *l)
{
	(void)l;
	spin(200 * MS);
	PROG_KEEP_FRAME();
}

/* More than is copied with a sample, and called by a pointer. */
static PROG_NOINLINE void large(struct life *l)
{
	volatile char room[20000];
	for (uint64_t end = l->begun_ns + 450 * MS; now_ns() < end;) {
		memset((char *)room, 1, sizeof(room));
		nap(30 * MS);
	}
	PROG_KEEP_FRAME();
}

/* Likewise, but it never gives its CPU up. */
static PROG_NOINLINE void crowds(struct life *l)
{
	volatile char room[20000];
	for (uint64_t end = l->begun_ns + 400 * MS; now_ns() < end;)
		memset((char *)room, 1, sizeof(room));
	PROG_KEEP_FRAME();
}

static PROG_NOINLINE void turns(struct life *l)
{
	for (uint64_t end = l->begun_ns + 500 * MS; now_ns() < end;) {
		spin(MS / 2);
		nap(2 * MS);
		sched_yield();
	}
	PROG_KEEP_FRAME();
}

static void mixed(void)
{
	static const struct { const char *name; void (*body)(struct life *l); } kind[] = {
		{ "spins", spins }, { "sleeps", sleeps }, { "naps", naps }, { "turns", turns },
		{ "large", large },
	};
	enum { N = sizeof(kind) / sizeof(*kind) };
	pthread_t t[N];
	struct life *l[N];
	for (int i = 0; i < N; i++)
		t[i] = start(kind[i].name, kind[i].body, &l[i]);
	for (int i = 0; i < N; i++)
		join(t[i], l[i]);
}

static void crowd(void)
{
	enum { N = 4 };
	pthread_t t[N];
	struct life *l[N];
	for (int i = 0; i < N; i++)
		t[i] = start("crowds", crowds, &l[i]);
	for (int i = 0; i < N; i++)
		join(t[i], l[i]);
}

/* ---- killed ---------------------------------------------------------------------------- */

static int never_written[2];
static pthread_mutex_t never_free = PTHREAD_MUTEX_INITIALIZER;

static PROG_NOINLINE void in_lock(struct life *l)
{
	(void)l;
	pthread_mutex_lock(&never_free);
	PROG_KEEP_FRAME();
}

static PROG_NOINLINE void in_read(struct life *l)
{
	char c;
	(void)l;
	if (read(never_written[0], &c, 1) == 1)
		abort();
	PROG_KEEP_FRAME();
}

static PROG_NOINLINE void in_sleep(struct life *l)
{
	(void)l;
	nap(100000000000u);
	PROG_KEEP_FRAME();
}

static PROG_NOINLINE void in_poll(struct life *l)
{
	(void)l;
	for (;;)
		poll(NULL, 0, 20);
	PROG_KEEP_FRAME();
}

static void killed(void)
{
	if (pipe(never_written))
		exit(1);
	pthread_mutex_lock(&never_free);
	start("in_lock", in_lock, NULL);
	start("in_read", in_read, NULL);
	start("in_sleep", in_sleep, NULL);
	start("in_poll", in_poll, NULL);
	for (;;)
		pause();
}

static void kill_after(pid_t pid)
{
	nap(600 * MS);
	uint64_t ns = now_ns();
	kill(pid, SIGKILL);
	for (size_t i = 0; i < N_LIVES_MAX; i++)
		life[i].done_ns = ns;
}

/* ---- stopped --------------------------------------------------------------------------- */

static PROG_NOINLINE void spins_on(struct life *l)
{
	(void)l;
	for (;;)
		prog_work(1000);
	PROG_KEEP_FRAME();
}

static void stopped(void)
{
	if (pipe(never_written))
		exit(1);
	start("spins_on", spins_on, NULL);
	start("in_read", in_read, NULL);
	for (;;)
		pause();
}

static void stop_and_kill(pid_t pid)
{
	int status;
	nap(200 * MS);
	kill(pid, SIGSTOP);
	waitpid(pid, &status, WUNTRACED);
	uint64_t from_ns = now_ns();
	nap(400 * MS);
	printf("site stopped %" PRIu64 "\n", now_ns() - from_ns);
	kill(pid, SIGCONT);
	nap(100 * MS);
	uint64_t ns = now_ns();
	kill(pid, SIGKILL);
	for (size_t i = 0; i < N_LIVES_MAX; i++)
		life[i].done_ns = ns;
}

/* ---- exec ------------------------------------------------------------------------------ */

static int life_fd;  /* the memory of struct life */

static void executes(struct life *l)
{
	char fd[16];
	uint64_t from_ns = now_ns();
	nap(150 * MS);
	l->nap_ns = now_ns() - from_ns;
	snprintf(fd, sizeof(fd), "%d", life_fd);
	l->done_ns = life[1].done_ns = now_ns();
	execl("/proc/self/exe", "lives", "executed", fd, (char *)NULL);
	exit(1);
}

static void exec(void)
{
	if (pipe(never_written))
		exit(1);
	start("in_read", in_read, NULL);
	start("executes", executes, NULL);
	for (;;)
		pause();
}

static PROG_NOINLINE void executed_sleeps(void)
{
	nap(350 * MS);
	PROG_KEEP_FRAME();
}

/* The new program goes on with the id of the first thread, which had to end before. */
static int executed(int fd)
{
	uint64_t ns = now_ns();
	life = mmap(NULL, N_LIVES_MAX * sizeof(*life), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (life == MAP_FAILED)
		return 1;
	prctl(PR_SET_NAME, life[0].name);
	life[1].gone_ns = life[2].gone_ns = ns;
	life[0].gap_ns = ns - life[1].done_ns;
	printf("site executes %" PRIu64 "\n", life[2].nap_ns);
	printf("site execl %" PRIu64 "\n", life[0].gap_ns);
	ns = now_ns();
	executed_sleeps();
	printf("site executed_sleeps %" PRIu64 "\n", now_ns() - ns);
	end_life(&life[0]);
	return 0;
}

/* ---- vfork ----------------------------------------------------------------------------- */

static PROG_NOINLINE void vforks(void)
{
	pid_t pid = vfork();
	if (pid == 0) {
		usleep(150000);
		execl("/bin/sleep", "sleep", "0.25", (char *)NULL);
		_exit(127);
	}
	PROG_KEEP_FRAME();
}

static void vfork_once(void)
{
	uint64_t from_ns = now_ns();
	vforks();
	printf("site vforks %" PRIu64 "\n", now_ns() - from_ns);
	printf("pid vforks %d\n", getpid());
	while (wait(NULL) > 0)
		;
	end_life(&life[0]);
}

/* ---- io_uring -------------------------------------------------------------------------- */

struct ring {
	int fd;
	unsigned *tail, *head, *array, mask;
	struct io_uring_sqe *sqe;
};

static bool ring_open(struct ring *r)
{
	struct io_uring_params p = { 0 };
	r->fd = (int)syscall(SYS_io_uring_setup, 4, &p);
	if (r->fd < 0 || !(p.features & IORING_FEAT_SINGLE_MMAP))
		return false;
	size_t n_bytes = p.sq_off.array + p.sq_entries * sizeof(unsigned);
	size_t n_cq_bytes = p.cq_off.cqes + p.cq_entries * sizeof(struct io_uring_cqe);
	char *m = mmap(NULL, n_bytes > n_cq_bytes ? n_bytes : n_cq_bytes, PROT_READ | PROT_WRITE,
		       MAP_SHARED, r->fd, IORING_OFF_SQ_RING);
	r->sqe = mmap(NULL, p.sq_entries * sizeof(*r->sqe), PROT_READ | PROT_WRITE, MAP_SHARED,
		      r->fd, IORING_OFF_SQES);
	if (m == MAP_FAILED || r->sqe == MAP_FAILED)
		return false;
	r->tail = (unsigned *)(m + p.sq_off.tail);
	r->array = (unsigned *)(m + p.sq_off.array);
	r->mask = *(unsigned *)(m + p.sq_off.ring_mask);
	r->head = (unsigned *)(m + p.cq_off.head);
	return true;
}

/* Reads a byte of the pipe, and waits until this is done. */
static PROG_NOINLINE void waits_for_ring(struct ring *r, int fd, unsigned flags)
{
	static char c;
	unsigned at = *r->tail & r->mask;
	r->sqe[at] = (struct io_uring_sqe){ .opcode = IORING_OP_READ, .fd = fd, .len = 1,
					    .addr = (uint64_t)(uintptr_t)&c,
					    .flags = (uint8_t)flags };
	r->array[at] = at;
	__atomic_store_n(r->tail, *r->tail + 1, __ATOMIC_RELEASE);
	if (syscall(SYS_io_uring_enter, r->fd, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) < 0)
		exit(1);
	__atomic_store_n(r->head, *r->head + 1, __ATOMIC_RELEASE);
	PROG_KEEP_FRAME();
}

static int written[2];

static void writes(struct life *l)
{
	(void)l;
	for (int i = 0; i < 10; i++) {
		nap(50 * MS);
		if (write(written[1], "", 1) != 1)
			exit(1);
	}
}

static void uring(void)
{
	struct ring r;
	struct life *l;
	if (pipe(written))
		exit(1);
	if (!ring_open(&r)) {
		puts("no io_uring");
		return;
	}
	pthread_t t = start("writes", writes, &l);
	uint64_t from_ns = now_ns();
	for (int i = 0; i < 10; i++)
		waits_for_ring(&r, written[0], i < 5 ? 0 : IOSQE_ASYNC);
	printf("site waits_for_ring %" PRIu64 "\n", now_ns() - from_ns);
	join(t, l);
	close(r.fd);
	end_life(&life[0]);
}

/* ---- scenes ---------------------------------------------------------------------------- */

static const struct scene {
	const char *name;
	void (*run)(void);
	void (*end)(pid_t pid);  /* by the parent */
} scenes[] = {
	{ "mixed", mixed, NULL }, { "killed", killed, kill_after },
	{ "stopped", stopped, stop_and_kill }, { "exec", exec, NULL },
	{ "crowd", crowd, NULL }, { "vfork", vfork_once, NULL }, { "uring", uring, NULL },
};
#define N_SCENES (sizeof(scenes) / sizeof(*scenes))

/* The process of a scene, and the one that waits for its end, which prints. */
static void run_scene(const struct scene *s)
{
	life_fd = memfd_create("lives", 0);
	if (life_fd < 0 || ftruncate(life_fd, N_LIVES_MAX * sizeof(*life)))
		exit(1);
	life = mmap(NULL, N_LIVES_MAX * sizeof(*life), PROT_READ | PROT_WRITE, MAP_SHARED,
		    life_fd, 0);
	if (life == MAP_FAILED)
		exit(1);
	struct life *first = new_life(s->name);
	pid_t pid = fork();
	if (pid == 0) {
		begin_life(first);
		s->run();
		if (!first->done_ns)
			end_life(first);
		fflush(stdout);
		_exit(0);
	}
	if (s->end)
		s->end(pid);
	waitpid(pid, NULL, 0);
	uint64_t ns = now_ns();
	for (struct life *l = life; l < life + N_LIVES_MAX && l->created_ns; l++)
		printf("life %s %" PRIu64 " %" PRIu64 "\n", l->name,
		       l->done_ns - l->begun_ns - l->gap_ns,
		       (l->gone_ns ? l->gone_ns : ns) - l->created_ns);
	fflush(stdout);
	_exit(0);
}

static void wait_for_file(const char *path)
{
	while (access(path, F_OK))
		nap(5 * MS);
}

int main(int argc, char **argv)
{
	int first = 1;
	if (argc == 3 && strcmp(argv[1], "executed") == 0)
		return executed(atoi(argv[2]));
	if (argc > 2 && strcmp(argv[1], "-w") == 0) {
		wait_for_file(argv[2]);
		first = 3;
	}
	for (int i = first; i < argc; i++)
		for (size_t k = 0; k < N_SCENES; k++)
			if (strcmp(argv[i], scenes[k].name) == 0 && fork() == 0)
				run_scene(&scenes[k]);
	while (wait(NULL) > 0)
		;
	return 0;
}
