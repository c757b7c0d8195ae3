/* Names of system calls, and what they wait on. */
#include "base/err.h"
#include "base/host.h"
#include "proc/threadread.h"
#include "snapshot/syscalls.h"
#include "snapshot/targetmem.h"
#include "snapshot/waiton.h"
#include "source/record.h"
#include "source/synth.h"
#include "tests/unit/tap.h"

#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static struct host host;
static struct targetmem memory;

static void add_map(void *ctx, const struct record *r)
{
	(void)ctx;
	targetmem_add(&memory, r);
}

static void test_names(void)
{
	tap_str(syscalls_name(SYS_read), "read", "read");
	tap_str(syscalls_name(SYS_futex), "futex", "futex");
	tap_str(syscalls_name(-1), NULL, "no call");
	tap_str(syscalls_name(99999), NULL, "a call of a later kernel");
}

static const char *text(long call, uint64_t a, uint64_t b)
{
	static char buf[WAITON_TEXT_MAX];
	const struct threadread_call c = { .syscall = call, .arg = { a, b } };
	return waiton_text(&host, (unsigned)getpid(), &memory, &c, buf);
}

static void test_objects(void)
{
	int fd = open("/dev/null", O_RDONLY);
	char want[64];
	snprintf(want, sizeof(want), "fd %d /dev/null", fd);
	tap_str(text(SYS_read, (uint64_t)fd, 0), want, "a descriptor and its path");
	tap_str(text(SYS_read, 4095, 0), "fd 4095", "a descriptor that is closed");
	tap_str(text(SYS_futex, 0x1000, 0), "futex 0x1000", "a futex");
	tap_str(text(SYS_wait4, 77, 0), "process 77", "a process");
	tap_str(text(SYS_wait4, (uint64_t)-1, 0), "", "any process");
	tap_str(text(SYS_waitid, P_PID, 78), "process 78", "a process of waitid");
	tap_str(text(SYS_waitid, P_ALL, 78), "", "any process of waitid");
	tap_str(text(SYS_nanosleep, 1, 2), "", "nothing");
	struct pollfd *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
				-1, 0);
	p[0] = (struct pollfd){ .fd = fd };
	p[1] = (struct pollfd){ .fd = -1 };
	synth_maps(&host, getpid(), 1, add_map, NULL);
	tap_str(text(SYS_ppoll, (uintptr_t)p, 2), want, "the descriptors of poll");
	snprintf(want, sizeof(want), "fd %d /dev/null, fd 0", fd);
	tap_ok(strncmp(text(SYS_ppoll, (uintptr_t)p, 9), want, strlen(want)) == 0 &&
	       strstr(text(SYS_ppoll, (uintptr_t)p, 9), " and 5 more"), "the first ones of many");
	tap_str(text(SYS_ppoll, 16, 2), "", "poll with a wrong address");
}

static void test_memory(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *m = mmap(NULL, 4 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char buf[4][64];
	memset(m, 'a', 2 * page);  /* the other two pages stay untouched */
	targetmem_close(&memory);
	targetmem_open(&memory, &host, (uint32_t)getpid(), (uint32_t)getpid());
	synth_maps(&host, getpid(), 1, add_map, NULL);
	struct targetmem_piece piece[] = {
		{ .address = (uintptr_t)m, .to = buf[0], .n_bytes = 64 },
		{ .address = 8, .to = buf[1], .n_bytes = 64 },
		{ .address = (uintptr_t)m + 2 * page - 16, .to = buf[2], .n_bytes = 64 },
		{ .address = (uintptr_t)test_memory, .to = buf[3], .n_bytes = 64 },
	};
	tap_int(targetmem_read(&memory, piece, 4), 0, "several pieces");
	tap_ok(piece[0].n_read == 64 && buf[0][63] == 'a', "one of them is whole");
	tap_int(piece[1].n_read, 0, "one is in no mapping");
	tap_int(piece[2].n_read, 16, "one ends where nobody has touched the memory");
	tap_int(piece[3].n_read, 0, "memory of files is left alone");
	unsigned char in_core[4] = { 0 };
	tap_ok(mincore(m, 4 * page, in_core) == 0 && !(in_core[2] & 1),
	       "the untouched page still does not exist");
}

int main(void)
{
	struct err e;
	if (host_open(&host, NULL, NULL, NULL, &e) < 0)
		return 1;
	targetmem_open(&memory, &host, (uint32_t)getpid(), (uint32_t)getpid());
	test_names();
	test_objects();
	test_memory();
	targetmem_close(&memory);
	host_close(&host);
	return tap_done();
}
