/*
 * threadfloor [THREADS]: what Linux charges a program that reads where the idle threads of another
 * process wait, without anything that the program does with it.
 *
 * A child has that many threads, which all wait for one condition.  Prints the CPU time per thread
 * of each way to read something of them: what no reader can be cheaper than.
 */

#include <dirent.h>
#include <fcntl.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <linux/taskstats.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define THREADS_MAX 20000
#define BATCH 64
#define STACK_BYTES 4096

static int tid[THREADS_MAX];
static uint64_t sp[THREADS_MAX];
static size_t n_threads;
static int task_fd;
static pid_t child;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t work = PTHREAD_COND_INITIALIZER;

static void *wait_for_work(void *unused)
{
	pthread_mutex_lock(&mutex);
	for (;;)
		pthread_cond_wait(&work, &mutex);
	return unused;
}

static void run_child(size_t n, int ready_fd)
{
	pthread_attr_t attr;
	pthread_t t;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 65536);
	for (size_t i = 1; i < n; i++)
		if (pthread_create(&t, &attr, wait_for_work, NULL) != 0)
			_exit(1);
	sleep(1);  /* until all of them wait */
	if (write(ready_fd, "", 1) == 1)
		pause();
	_exit(0);
}

static double cpu_us(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static void measure(const char *what, void (*read_all)(void))
{
	double start_us = cpu_us();
	read_all();
	printf("%-52s %6.2f us\n", what, (cpu_us() - start_us) / (double)n_threads);
}

/* ---- /proc --------------------------------------------------------------------------- */

static void list(void)
{
	char path[32];
	snprintf(path, sizeof(path), "/proc/%d/task", (int)child);
	DIR *dir = opendir(path);
	n_threads = 0;
	for (const struct dirent *e; dir && (e = readdir(dir)) && n_threads < THREADS_MAX;)
		if (e->d_name[0] != '.')
			tid[n_threads++] = atoi(e->d_name);
	if (dir)
		closedir(dir);
}

static size_t read_file(size_t i, const char *name, char *text, size_t n_bytes)
{
	char path[32];
	snprintf(path, sizeof(path), "%d/%s", tid[i], name);
	int fd = openat(task_fd, path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, text, n_bytes - 1);
	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = '\0';
	return n > 0 ? (size_t)n : 0;
}

static void read_calls(void)
{
	char text[256];
	for (size_t i = 0; i < n_threads; i++) {
		const char *at = text;
		read_file(i, "syscall", text, sizeof(text));
		for (int k = 0; k < 7 && at; k++)  /* number, six arguments, sp */
			at = strchr(at + 1, ' ');
		sp[i] = at ? strtoull(at, NULL, 16) : 0;
	}
}

static void read_names(void)
{
	char text[64];
	for (size_t i = 0; i < n_threads; i++)
		read_file(i, "comm", text, sizeof(text));
}

/* ---- memory -------------------------------------------------------------------------- */

static void read_stacks(size_t n_bytes, size_t n_at_once)
{
	static char stack[BATCH][STACK_BYTES];
	for (size_t i = 0; i < n_threads; i += n_at_once) {
		struct iovec local[BATCH], remote[BATCH];
		size_t n = 0;
		for (; n < n_at_once && i + n < n_threads; n++) {
			local[n] = (struct iovec){ stack[n], n_bytes };
			remote[n] = (struct iovec){ (void *)(uintptr_t)sp[i + n], n_bytes };
		}
		process_vm_readv(child, local, n, remote, n, 0);
	}
}

static void read_4k(void) { read_stacks(STACK_BYTES, 1); }
static void read_4k_batch(void) { read_stacks(STACK_BYTES, BATCH); }
static void read_512_batch(void) { read_stacks(512, BATCH); }

/* ---- without files -------------------------------------------------------------------- */

static void read_robust(void)
{
	uint64_t head, n;
	for (size_t i = 0; i < n_threads; i++)
		syscall(SYS_get_robust_list, tid[i], &head, &n);
}

static int netlink_fd = -1;
static uint16_t family;
static char answer[8192];

static ssize_t ask(uint16_t type, uint8_t command, uint16_t attribute, const void *value,
		   uint16_t n_bytes)
{
	struct { struct nlmsghdr head; struct genlmsghdr genl; char value[64]; } m;
	memset(&m, 0, sizeof(m));
	struct nlattr a = { .nla_type = attribute, .nla_len = (uint16_t)(sizeof(a) + n_bytes) };
	m.head = (struct nlmsghdr){
		.nlmsg_type = type, .nlmsg_flags = NLM_F_REQUEST,
		.nlmsg_len = (uint32_t)NLMSG_LENGTH(GENL_HDRLEN) + (uint32_t)NLA_ALIGN(a.nla_len),
	};
	m.genl = (struct genlmsghdr){ .cmd = command, .version = 1 };
	memcpy(m.value, &a, sizeof(a));
	memcpy(m.value + sizeof(a), value, n_bytes);
	if (send(netlink_fd, &m, m.head.nlmsg_len, 0) < 0)
		return -1;
	ssize_t n = recv(netlink_fd, answer, sizeof(answer), 0);
	const struct nlmsghdr *h = (const struct nlmsghdr *)(const void *)answer;
	return n < (ssize_t)sizeof(*h) || h->nlmsg_type == NLMSG_ERROR ? -1 : n;
}

/* Needs CAP_NET_ADMIN. */
static int open_taskstats(void)
{
	netlink_fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_GENERIC);
	ssize_t n = ask(GENL_ID_CTRL, CTRL_CMD_GETFAMILY, CTRL_ATTR_FAMILY_NAME,
			TASKSTATS_GENL_NAME, sizeof(TASKSTATS_GENL_NAME));
	struct nlattr a;
	for (ssize_t at = NLMSG_LENGTH(GENL_HDRLEN); at + (ssize_t)sizeof(a) + 2 <= n;
	     at += NLA_ALIGN(a.nla_len)) {
		memcpy(&a, answer + at, sizeof(a));
		if (a.nla_len < sizeof(a))
			break;
		if (a.nla_type == CTRL_ATTR_FAMILY_ID)
			memcpy(&family, answer + at + sizeof(a), sizeof(family));
	}
	uint32_t id = (uint32_t)tid[0];
	return family && ask(family, TASKSTATS_CMD_GET, TASKSTATS_CMD_ATTR_PID, &id,
			     sizeof(id)) > 0 ? 0 : -1;
}

static void read_taskstats(void)
{
	for (size_t i = 0; i < n_threads; i++) {
		uint32_t id = (uint32_t)tid[i];
		ask(family, TASKSTATS_CMD_GET, TASKSTATS_CMD_ATTR_PID, &id, sizeof(id));
	}
}

int main(int argc, char **argv)
{
	size_t n = argc > 1 ? strtoul(argv[1], NULL, 10) : 10000;
	int ready[2];
	char path[32], byte;
	if (n < 1 || n > THREADS_MAX || pipe(ready) < 0)
		return 64;
	child = fork();
	if (child == 0)
		run_child(n, ready[1]);
	close(ready[1]);
	if (child < 0 || read(ready[0], &byte, 1) != 1) {
		fprintf(stderr, "threadfloor: %zu threads cannot be started\n", n);
		return 1;
	}
	snprintf(path, sizeof(path), "/proc/%d/task", (int)child);
	task_fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	printf("%zu threads, CPU time for each\n", n);
	measure("list them", list);
	measure("syscall: number, arguments, sp, pc", read_calls);
	measure("comm: name", read_names);
	measure("4 KiB of the stack, one by one", read_4k);
	measure("4 KiB of the stack, 64 at once", read_4k_batch);
	measure("512 bytes of the stack, 64 at once", read_512_batch);
	if (open_taskstats() == 0)
		measure("netlink taskstats: name, number of switches", read_taskstats);
	measure("get_robust_list(2): a word of its own stack", read_robust);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	return 0;
}
