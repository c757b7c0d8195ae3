#include "tests/tools/simcpus.h"

#include "base/err.h"
#include "base/host.h"
#include "recorder/machine.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define FDS_MAX 65536
#define RECORD_MAX (1u << 16)

struct sim_event {
	struct perf_event_attr attr;
	int cpu;
	uint64_t id;
};

struct sim_cpu {
	const struct sim_event *event; /* that is sampled */
	struct perf_event_mmap_page *control;
	uint8_t *data;
	uint64_t head;
};

static struct {
	unsigned n_cpus;
	uint64_t ring_bytes, last_id;
	char dir[64];
	struct host host;
	struct cprof_machine machine;
	struct sim_event event[FDS_MAX];  /* by descriptor */
	struct sim_cpu *cpu;
	uint64_t (*now_ns)(void);      /* NULL: the real clock */
} sim;

static void die(const char *what)
{
	perror(what);
	exit(1);
}

/* ---- the machine ---------------------------------------------------------------------- */

static int sim_perf_event_open(struct perf_event_attr *attr, pid_t pid, int cpu, int group,
			       unsigned long flags)
{
	(void)pid, (void)group, (void)flags;
	int fd = memfd_create("ring", MFD_CLOEXEC);
	if (fd < 0)
		return -1;
	if (fd >= FDS_MAX || ftruncate(fd, sysconf(_SC_PAGESIZE) + (off_t)sim.ring_bytes) < 0) {
		close(fd);
		errno = EMFILE;
		return -1;
	}
	sim.event[fd] = (struct sim_event){ .attr = *attr, .cpu = cpu, .id = ++sim.last_id };
	return fd;
}

/* The event's records go to the ring of another one. */
static void set_output(int fd, int ring_fd)
{
	const struct sim_event *ev = &sim.event[fd];
	if (ev->cpu < 0 || (unsigned)ev->cpu >= sim.n_cpus)
		return;
	struct sim_cpu *c = &sim.cpu[ev->cpu];
	if (ev->attr.type != PERF_TYPE_SOFTWARE || ev->attr.config != PERF_COUNT_SW_DUMMY)
		c->event = ev;
	if (c->control)
		return;
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	c->control = mmap(NULL, page + sim.ring_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, ring_fd,
			  0);
	if (c->control == MAP_FAILED)
		die("mmap");
	c->data = (uint8_t *)c->control + page;
}

int __real_ioctl(int fd, unsigned long request, ...);
int __wrap_ioctl(int fd, unsigned long request, ...);

int __wrap_ioctl(int fd, unsigned long request, ...)
{
	va_list ap;
	va_start(ap, request);
	void *arg = va_arg(ap, void *);
	va_end(ap);
	switch (request) {
	case PERF_EVENT_IOC_ID:
		*(uint64_t *)arg = sim.event[fd].id;
		return 0;
	case PERF_EVENT_IOC_SET_OUTPUT:
		set_output(fd, (int)(intptr_t)arg);
		return 0;
	case PERF_EVENT_IOC_ENABLE:
	case PERF_EVENT_IOC_DISABLE:
	case PERF_EVENT_IOC_PERIOD:
		return 0;
	default:
		return __real_ioctl(fd, request, arg);
	}
}

/* A file in memory cannot be waited for; the rings are read when the program says so. */
int __wrap_epoll_ctl(int epoll_fd, int op, int fd, struct epoll_event *event);

int __wrap_epoll_ctl(int epoll_fd, int op, int fd, struct epoll_event *event)
{
	(void)epoll_fd, (void)op, (void)fd, (void)event;
	return 0;
}

int __real_clock_gettime(clockid_t id, struct timespec *ret);
int __wrap_clock_gettime(clockid_t id, struct timespec *ret);

int __wrap_clock_gettime(clockid_t id, struct timespec *ret)
{
	if (id != CLOCK_MONOTONIC || !sim.now_ns)
		return __real_clock_gettime(id, ret);
	uint64_t now_ns = sim.now_ns();
	*ret = (struct timespec){ (time_t)(now_ns / 1000000000u), (long)(now_ns % 1000000000u) };
	return 0;
}

void simcpus_set_clock(uint64_t (*now_ns)(void))
{
	sim.now_ns = now_ns;
}

void simcpus_real_clock(clockid_t id, struct timespec *ret)
{
	__real_clock_gettime(id, ret);
}

static void make_dir(const char *name)
{
	char path[128];
	snprintf(path, sizeof(path), "%s/%s", sim.dir, name);
	if (mkdir(path, 0755) < 0)
		die(path);
}

static void write_file(const char *name, const char *text)
{
	char path[128];
	snprintf(path, sizeof(path), "%s/%s", sim.dir, name);
	FILE *f = fopen(path, "w");
	if (!f || fputs(text, f) < 0 || fclose(f) < 0)
		die(path);
}

void simcpus_open(unsigned n_cpus, uint64_t ring_bytes)
{
	static const char *const dirs[] = {
		"proc", "proc/sys", "proc/sys/kernel", "sys", "sys/devices", "sys/devices/system",
		"sys/devices/system/cpu",
	};
	char online[32], proc[80], sys[80];
	struct err e;
	sim.n_cpus = n_cpus;
	sim.ring_bytes = ring_bytes;
	sim.cpu = calloc(n_cpus, sizeof(*sim.cpu));
	snprintf(sim.dir, sizeof(sim.dir), "/tmp/cprof-test.simcpus.XXXXXX");
	if (!sim.cpu || !mkdtemp(sim.dir))
		die("simcpus");
	for (size_t i = 0; i < sizeof(dirs) / sizeof(*dirs); i++)
		make_dir(dirs[i]);
	snprintf(online, sizeof(online), "0-%u\n", n_cpus - 1);
	write_file("sys/devices/system/cpu/online", online);
	write_file("proc/sys/kernel/perf_event_max_sample_rate", "100000\n");
	write_file("proc/sys/kernel/perf_event_paranoid", "-1\n");
	snprintf(proc, sizeof(proc), "%s/proc", sim.dir);
	snprintf(sys, sizeof(sys), "%s/sys", sim.dir);
	if (host_open(&sim.host, NULL, proc, sys, &e) < 0) {
		fprintf(stderr, "simcpus: %s\n", e.what);
		exit(1);
	}
	sim.machine = (struct cprof_machine){ &sim.host, sim_perf_event_open };
}

void simcpus_close(void)
{
	char command[128];
	for (unsigned i = 0; i < sim.n_cpus; i++)
		if (sim.cpu[i].control)
			munmap(sim.cpu[i].control,
			       (size_t)sysconf(_SC_PAGESIZE) + sim.ring_bytes);
	free(sim.cpu);
	sim.cpu = NULL;
	host_close(&sim.host);
	snprintf(command, sizeof(command), "rm -rf '%s'", sim.dir);
	if (system(command) != 0)
		fprintf(stderr, "simcpus: cannot remove %s\n", sim.dir);
}

const struct cprof_machine *simcpus_machine(void)
{
	return &sim.machine;
}

void simcpus_add_process(uint32_t pid)
{
	char name[32], path[128];
	snprintf(name, sizeof(name), "proc/%u", pid);
	make_dir(name);
	snprintf(path, sizeof(path), "%s/%s/root", sim.dir, name);
	if (symlink("/", path) < 0)
		die(path);
	/* Its threads cannot be listed, but are there. */
	snprintf(name, sizeof(name), "proc/%u/task", pid);
	write_file(name, "");
}

/* ---- records ------------------------------------------------------------------------------ */

/* A record while it is put together. */
struct sim_record {
	union {
		struct perf_event_header head;
		uint8_t bytes[RECORD_MAX];
	};
	size_t n;
};
static struct sim_record rec;

static void add(const void *data, size_t n_bytes)
{
	if (n_bytes)
		memcpy(rec.bytes + rec.n, data, n_bytes);
	rec.n += n_bytes;
}

static void add_u64(uint64_t x)
{
	add(&x, sizeof(x));
}

static void add_u32s(uint32_t first, uint32_t second)
{
	const uint32_t x[2] = { first, second };
	add(x, sizeof(x));
}

static void add_text(const char *text)
{
	size_t n = strlen(text) + 1;
	add(text, n);
	add("\0\0\0\0\0\0\0", -n & 7);
}

static void begin(uint32_t type, uint16_t misc)
{
	rec.head = (struct perf_event_header){ .type = type, .misc = misc };
	rec.n = sizeof(rec.head);
}

static bool put(unsigned cpu)
{
	struct sim_cpu *c = &sim.cpu[cpu];
	uint64_t tail = __atomic_load_n(&c->control->data_tail, __ATOMIC_ACQUIRE);
	if (c->head + rec.n - tail > sim.ring_bytes)
		return false;
	rec.head.size = (uint16_t)rec.n;
	uint64_t at = c->head & (sim.ring_bytes - 1);
	size_t first = rec.n < sim.ring_bytes - at ? rec.n : (size_t)(sim.ring_bytes - at);
	memcpy(c->data + at, rec.bytes, first);
	memcpy(c->data, rec.bytes + first, rec.n - first);
	c->head += rec.n;
	return true;
}

/* The fields at the end of a record that is not a sample. */
static bool put_side(const struct simcpus_at *at)
{
	const struct sim_event *ev = sim.cpu[at->cpu].event;
	uint64_t type = ev->attr.sample_type;
	if (type & PERF_SAMPLE_TID)
		add_u32s(at->pid, at->tid);
	if (type & PERF_SAMPLE_TIME)
		add_u64(at->time_ns);
	if (type & PERF_SAMPLE_ID)
		add_u64(ev->id);
	if (type & PERF_SAMPLE_STREAM_ID)
		add_u64(ev->id);
	if (type & PERF_SAMPLE_CPU)
		add_u32s(at->cpu, 0);
	if (type & PERF_SAMPLE_IDENTIFIER)
		add_u64(ev->id);
	return put(at->cpu);
}

static void add_stack(const struct perf_event_attr *attr, const struct simcpus_sample *s)
{
	uint64_t size = attr->sample_stack_user, n = s->n_stack_bytes & ~(size_t)7;
	/* As perf_sample_ustack_size(): the record must stay below 64 KiB. */
	uint64_t room = RECORD_MAX - 8 - rec.n - 2 * sizeof(uint64_t);
	size = size < room ? size : room & ~UINT64_C(7);
	n = n < size ? n : size;
	add_u64(size);
	add(s->stack, n);
	memset(rec.bytes + rec.n, 0, size - n);
	rec.n += size - n;
	if (size)
		add_u64(n);
}

bool simcpus_put_sample(const struct simcpus_at *at, const struct simcpus_sample *s)
{
	const struct sim_event *ev = sim.cpu[at->cpu].event;
	const struct perf_event_attr *attr = &ev->attr;
	uint64_t type = attr->sample_type;
	begin(PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);
	if (type & PERF_SAMPLE_IDENTIFIER)
		add_u64(ev->id);
	if (type & PERF_SAMPLE_IP)
		add_u64(s->ip);
	if (type & PERF_SAMPLE_TID)
		add_u32s(at->pid, at->tid);
	if (type & PERF_SAMPLE_TIME)
		add_u64(at->time_ns);
	if (type & PERF_SAMPLE_STREAM_ID)
		add_u64(ev->id);
	if (type & PERF_SAMPLE_CPU)
		add_u32s(at->cpu, 0);
	if (type & PERF_SAMPLE_PERIOD)
		add_u64(attr->freq ? 1000000000u / attr->sample_freq : attr->sample_period);
	if (type & PERF_SAMPLE_CALLCHAIN) {
		add_u64(s->n_callchain);
		add(s->callchain, s->n_callchain * sizeof(*s->callchain));
	}
	if (type & PERF_SAMPLE_REGS_USER) {
		add_u64(s->regs ? PERF_SAMPLE_REGS_ABI_64 : PERF_SAMPLE_REGS_ABI_NONE);
		if (s->regs)
			add(s->regs, (size_t)__builtin_popcountll(attr->sample_regs_user) * 8);
	}
	if (type & PERF_SAMPLE_STACK_USER)
		add_stack(attr, s);
	return put(at->cpu);
}

bool simcpus_put_map(const struct simcpus_at *at, const struct simcpus_map *m)
{
	struct stat st = { .st_ino = 0 };
	if (m->path[0] == '/')
		stat(m->path, &st);
	begin(PERF_RECORD_MMAP2, PERF_RECORD_MISC_USER);
	add_u32s(at->pid, at->tid);
	add_u64(m->start);
	add_u64(m->len);
	add_u64(m->pgoff);
	add_u32s(major(st.st_dev), minor(st.st_dev));
	add_u64(st.st_ino);
	add_u64(0);
	add_u32s(m->prot, MAP_PRIVATE);
	add_text(m->path);
	return put_side(at);
}

bool simcpus_put_comm(const struct simcpus_at *at, const char *name, bool is_exec)
{
	begin(PERF_RECORD_COMM, is_exec ? PERF_RECORD_MISC_COMM_EXEC : 0);
	add_u32s(at->pid, at->tid);
	add_text(name);
	return put_side(at);
}

static bool put_task(const struct simcpus_at *at, uint32_t type, uint32_t ppid, uint32_t ptid)
{
	begin(type, 0);
	add_u32s(at->pid, ppid);
	add_u32s(at->tid, ptid);
	add_u64(at->time_ns);
	return put_side(at);
}

bool simcpus_put_fork(const struct simcpus_at *at, uint32_t ppid, uint32_t ptid)
{
	return put_task(at, PERF_RECORD_FORK, ppid, ptid);
}

bool simcpus_put_exit(const struct simcpus_at *at)
{
	return put_task(at, PERF_RECORD_EXIT, at->pid, at->tid);
}

bool simcpus_put_lost(const struct simcpus_at *at, uint64_t n_lost)
{
	begin(PERF_RECORD_LOST, 0);
	add_u64(sim.cpu[at->cpu].event->id);
	add_u64(n_lost);
	return put_side(at);
}

uint64_t simcpus_fill(unsigned cpu)
{
	const struct sim_cpu *c = &sim.cpu[cpu];
	return c->head - __atomic_load_n(&c->control->data_tail, __ATOMIC_ACQUIRE);
}

void simcpus_publish(unsigned cpu)
{
	struct sim_cpu *c = &sim.cpu[cpu];
	if (c->control)
		__atomic_store_n(&c->control->data_head, c->head, __ATOMIC_RELEASE);
}
