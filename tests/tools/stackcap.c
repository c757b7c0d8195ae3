/*
 * stackcap [-F HZ] [-s STACK_BYTES] [-n SAMPLES] -o FILE COMMAND [ARG...]
 *
 * Runs a command and records its user registers, stacks (at ticks of cpu-clock) and mappings in one
 * file (format: stackcap.h).  Everything is kept in memory until the command has ended.
 */

#include "tests/tools/stackcap.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define RING_BYTES (16u << 20)
#define CPUS_MAX 256

struct ring {
	int fd;
	struct perf_event_mmap_page *meta;
	uint8_t *data;
};

static struct ring ring[CPUS_MAX];
static unsigned int n_rings;

/* Records in their final form, and their order. */
static uint8_t *out;
static size_t n_out, cap_out;
static struct place { uint64_t time_ns; size_t at; } *place;
static size_t n_places, cap_places;
static uint64_t n_samples, n_samples_max = 20000, n_lost;

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static void *grow(void *p, size_t *cap, size_t want, size_t elem_bytes)
{
	if (want <= *cap)
		return p;
	*cap = want * 2;
	p = reallocarray(p, *cap, elem_bytes);
	if (!p)
		die("stackcap");
	return p;
}

static void put(const void *p, size_t n_bytes)
{
	out = grow(out, &cap_out, n_out + n_bytes + 8, 1);
	memcpy(out + n_out, p, n_bytes);
	n_out += n_bytes;
}

static void put_record(uint32_t type, uint64_t time_ns, uint32_t pid, uint32_t tid,
		       const void *a, size_t n_a, const void *b, size_t n_b,
		       const void *c, size_t n_c)
{
	size_t n = n_a + n_b + n_c, pad = -n & 7;
	struct stackcap_record r = { .type = type, .n_bytes = (uint32_t)(n + pad),
		.time_ns = time_ns, .pid = pid, .tid = tid };
	place = grow(place, &cap_places, n_places + 1, sizeof(*place));
	place[n_places++] = (struct place){ time_ns, n_out };
	put(&r, sizeof(r));
	put(a, n_a);
	put(b, n_b);
	put(c, n_c);
	put("\0\0\0\0\0\0\0", pad);
}

static void open_rings(pid_t pid, uint64_t hz, uint32_t stack_bytes)
{
	struct perf_event_attr a = { .type = PERF_TYPE_SOFTWARE, .size = sizeof(a),
		.config = PERF_COUNT_SW_CPU_CLOCK, .freq = 1, .sample_freq = hz,
		.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_REGS_USER |
			PERF_SAMPLE_STACK_USER,
		.sample_regs_user = STACKCAP_REGS_X86, .sample_stack_user = stack_bytes,
		.disabled = 1, .inherit = 1, .enable_on_exec = 1, .mmap = 1, .mmap2 = 1, .comm = 1,
		.comm_exec = 1, .task = 1, .sample_id_all = 1, .watermark = 1,
		.wakeup_watermark = RING_BYTES / 8 };
	long n_cpus = sysconf(_SC_NPROCESSORS_CONF);
	for (int cpu = 0; cpu < n_cpus && n_rings < CPUS_MAX; cpu++) {
		int fd = (int)syscall(SYS_perf_event_open, &a, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
		if (fd < 0 && errno == ENODEV)
			continue;
		if (fd < 0)
			die("stackcap: perf_event_open");
		size_t page = (size_t)sysconf(_SC_PAGESIZE);
		uint8_t *p =
			mmap(NULL, page + RING_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		if (p == MAP_FAILED)
			die("stackcap: mmap");
		ring[n_rings++] = (struct ring){ fd, (void *)p, p + page };
	}
}

/* The fields that sample_id_all appends: pid, tid, time. */
struct id { uint32_t pid, tid; uint64_t time_ns; };

static void take_sample(const uint8_t *p)
{
	struct id id;
	uint64_t abi, regs[STACKCAP_N_REGS_X86], size;
	memcpy(&id, p, sizeof(id));
	p += sizeof(id);
	memcpy(&abi, p, 8);
	p += 8;
	if (abi != PERF_SAMPLE_REGS_ABI_64 || n_samples >= n_samples_max)
		return;
	memcpy(regs, p, sizeof(regs));
	p += sizeof(regs);
	memcpy(&size, p, 8);
	p += 8;
	struct stackcap_sample s = { 0 };
	if (size)
		memcpy(&s.n_stack_bytes, p + size, 8);
	n_samples++;
	put_record(STACKCAP_SAMPLE, id.time_ns, id.pid, id.tid, &s, sizeof(s), regs, sizeof(regs),
		   p, s.n_stack_bytes);
}

static void take_mmap2(const uint8_t *p, const struct id *id)
{
	struct {
		uint32_t pid, tid;
		uint64_t start, len, pgoff;
		uint8_t file[24];
		uint32_t prot, flags;
	} m;
	memcpy(&m, p, sizeof(m));
	struct stackcap_map map = { m.start, m.len, m.pgoff, m.prot };
	const char *path = (const char *)p + sizeof(m);
	put_record(STACKCAP_MAP, id->time_ns, m.pid, m.tid, &map, sizeof(map), path,
		   strlen(path) + 1, NULL, 0);
}

static void take(const struct perf_event_header *h)
{
	const uint8_t *p = (const uint8_t *)(h + 1);
	struct id id;
	if (h->type == PERF_RECORD_SAMPLE) {
		take_sample(p);
		return;
	}
	memcpy(&id, (const uint8_t *)h + h->size - sizeof(id), sizeof(id));
	if (h->type == PERF_RECORD_MMAP2) {
		take_mmap2(p, &id);
	} else if (h->type == PERF_RECORD_COMM && h->misc & PERF_RECORD_MISC_COMM_EXEC) {
		put_record(STACKCAP_EXEC, id.time_ns, id.pid, id.tid, NULL, 0, NULL, 0, NULL, 0);
	} else if (h->type == PERF_RECORD_FORK) {
		uint32_t v[4];
		memcpy(v, p, sizeof(v));
		uint32_t parent[2] = { v[1], 0 };
		if (v[0] != v[1])
			put_record(STACKCAP_FORK, id.time_ns, v[0], v[2], parent, sizeof(parent),
				   NULL, 0, NULL, 0);
	} else if (h->type == PERF_RECORD_LOST) {
		uint64_t v[2];
		memcpy(v, p, sizeof(v));
		n_lost += v[1];
	}
}

static void drain(struct ring *r)
{
	static uint64_t copy[65536 / 8];
	uint64_t head = __atomic_load_n(&r->meta->data_head, __ATOMIC_ACQUIRE);
	uint64_t tail = r->meta->data_tail;
	while (tail < head) {
		struct perf_event_header h;
		size_t at = tail % RING_BYTES;
		memcpy(&h, r->data + at, sizeof(h)); /* 8-aligned: never wraps */
		size_t first = RING_BYTES - at < h.size ? RING_BYTES - at : h.size;
		memcpy(copy, r->data + at, first);
		memcpy((uint8_t *)copy + first, r->data, h.size - first);
		take((const struct perf_event_header *)copy);
		tail += h.size;
	}
	__atomic_store_n(&r->meta->data_tail, tail, __ATOMIC_RELEASE);
}

static int by_time(const void *a, const void *b)
{
	const struct place *x = a, *y = b;
	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	return x->at < y->at ? -1 : x->at > y->at;
}

static void write_vdso(FILE *f)
{
	const uint8_t *p = (const uint8_t *)getauxval(AT_SYSINFO_EHDR);
	if (!p)
		return;
	Elf64_Ehdr h;
	memcpy(&h, p, sizeof(h));
	size_t n = h.e_shoff + (size_t)h.e_shnum * h.e_shentsize;
	struct stackcap_record r = { .type = STACKCAP_VDSO,
				     .n_bytes = (uint32_t)((n + 7) & ~7ull) };
	fwrite(&r, sizeof(r), 1, f);
	fwrite(p, r.n_bytes, 1, f); /* whole pages are mapped */
}

static void write_file(const char *path)
{
	FILE *f = fopen(path, "w");
	struct stackcap_head h = { .machine = EM_X86_64, .n_regs = STACKCAP_N_REGS_X86,
		.regs_mask = STACKCAP_REGS_X86 };
	if (!f)
		die(path);
	memcpy(h.magic, STACKCAP_MAGIC, 8);
	fwrite(&h, sizeof(h), 1, f);
	write_vdso(f);
	qsort(place, n_places, sizeof(*place), by_time);
	for (size_t i = 0; i < n_places; i++) {
		struct stackcap_record r;
		memcpy(&r, out + place[i].at, sizeof(r));
		fwrite(out + place[i].at, sizeof(r) + r.n_bytes, 1, f);
	}
	if (fclose(f))
		die(path);
}

int main(int argc, char **argv)
{
	uint64_t hz = 1000;
	uint32_t stack_bytes = 32768;
	const char *path = NULL;
	for (int c; (c = getopt(argc, argv, "+F:s:n:o:")) != -1;) {
		switch (c) {
		case 'F': hz = strtoull(optarg, NULL, 0); break;
		case 's': stack_bytes = (uint32_t)strtoul(optarg, NULL, 0) & ~7u; break;
		case 'n': n_samples_max = strtoull(optarg, NULL, 0); break;
		case 'o': path = optarg; break;
		default: return 64;
		}
	}
	if (!path || optind == argc) {
		fprintf(stderr,
			"usage: stackcap [-F HZ] [-s BYTES] [-n SAMPLES] -o FILE COMMAND...\n");
		return 64;
	}
	int gate[2];
	if (pipe2(gate, O_CLOEXEC))
		die("stackcap: pipe");
	pid_t pid = fork();
	if (pid < 0)
		die("stackcap: fork");
	if (!pid) {
		char c;
		if (read(gate[0], &c, 1) != 1)
			_exit(127);
		execvp(argv[optind], argv + optind);
		perror(argv[optind]);
		_exit(127);
	}
	open_rings(pid, hz, stack_bytes);
	if (write(gate[1], "", 1) != 1)
		die("stackcap: write");
	int status;
	while (waitpid(pid, &status, WNOHANG) == 0) {
		struct pollfd pfd[CPUS_MAX];
		for (unsigned int i = 0; i < n_rings; i++)
			pfd[i] = (struct pollfd){ .fd = ring[i].fd, .events = POLLIN };
		poll(pfd, n_rings, 20);
		for (unsigned int i = 0; i < n_rings; i++)
			drain(&ring[i]);
		if (n_samples >= n_samples_max)
			kill(pid, SIGTERM);
	}
	for (unsigned int i = 0; i < n_rings; i++)
		drain(&ring[i]);
	write_file(path);
	fprintf(stderr, "stackcap: %lu samples, %lu lost, %zu records\n", (unsigned long)n_samples,
		(unsigned long)n_lost, n_places);
	return 0;
}
