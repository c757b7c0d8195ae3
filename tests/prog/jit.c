/*
 * A JIT compiler of four functions, which reports its code as other JIT compilers do.
 *
 *	jit MODE MS
 *
 * none          reports nothing
 * map           two functions, in /tmp/perf-PID.map from the start
 * map-grow      the second one is compiled, and reported, half way
 * map-replace   the second one replaces the first one
 * map-memfd     like map, with the code in a memfd that is mapped twice, as .NET does
 * map-shm       the same with a file in /dev/shm
 * dump          jitdump: alpha and beta, with lines; then alpha moves, and gamma takes its place
 * dump-late     the same, written at the end
 * dump-unwind   jitdump: outer() calls inner() without a frame pointer; with CFI
 *
 * JIT_DIR is the folder of the jitdump (default: /tmp).  Each function runs for MS of CPU time.
 */
#include <fcntl.h>
#include <elf.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "prog.h"

#if defined(__x86_64__)
#define ELF_MACHINE EM_X86_64
static const uint8_t loop_code[] = {
	0x48, 0x89, 0xf9,       /* mov %rdi,%rcx */
	0x48, 0xff, 0xc9,       /* 1: dec %rcx */
	0x75, 0xfb,             /* jnz 1b */
	0xc3,                   /* ret */
};
static const uint8_t outer_code[] = {
	0x55,                                     /* push %rbp */
	0x48, 0x81, 0xec, 0, 1, 0, 0,             /* sub $0x100,%rsp */
	0x31, 0xed,                               /* xor %ebp,%ebp */
	0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0,       /* mov $inner,%rax */
	0xff, 0xd0,                               /* call *%rax */
	0x48, 0x81, 0xc4, 0, 1, 0, 0,             /* add $0x100,%rsp */
	0x5d,                                     /* pop %rbp */
	0xc3,                                     /* ret */
};
#define OUTER_TARGET 12
/* code alignment 1, data alignment -8, return address in 16; CFA = rsp + 8, ra at CFA - 8 */
#define CIE_BODY 1, 'z', 'R', 0, 1, 0x78, 16, 1, 0x1b, 0x0c, 7, 8, 0x90, 1
static const uint8_t loop_cfa[] = { 0 };
static const uint8_t outer_cfa[] = {
	0x41, 0x0e, 16, 0x86, 2,                  /* after push: CFA + 16, rbp at CFA - 16 */
	0x47, 0x0e, 0x90, 0x02,                   /* after sub: CFA + 0x110 */
	0x40 + 21, 0x0e, 16, 0x41, 0x0e, 8,
};
#elif defined(__aarch64__)
#define ELF_MACHINE EM_AARCH64
static const uint32_t loop_words[] = { 0xf1000400, 0x54ffffe1, 0xd65f03c0 };
/* stp x29,x30,[sp,-16]!; mov x29,0; 4 * mov to x9; blr x9; ldp x29,x30,[sp],16; ret */
static const uint32_t outer_words[] = {
	0xa9bf7bfd, 0xd280001d, 0xd2800009, 0xf2a00009, 0xf2c00009, 0xf2e00009,
	0xd63f0120, 0xa8c17bfd, 0xd65f03c0,
};
#define loop_code ((const uint8_t *)loop_words)
#define outer_code ((const uint8_t *)outer_words)
#define CIE_BODY 1, 'z', 'R', 0, 1, 0x78, 30, 1, 0x1b, 0x0c, 31, 0
static const uint8_t loop_cfa[] = { 0 };
static const uint8_t outer_cfa[] = {
	0x44, 0x0e, 16, 0x9d, 2, 0x9e, 1, 0x40 + 28, 0x0e, 0, 0xdd, 0xde,
};
#else
#error "no code for this machine"
#endif

#ifdef __aarch64__
#define LOOP_BYTES sizeof(loop_words)
#define OUTER_BYTES sizeof(outer_words)
#else
#define LOOP_BYTES sizeof(loop_code)
#define OUTER_BYTES sizeof(outer_code)
#endif

static uint8_t *memory;          /* executable */
static int map_fd = -1, dump_fd = -1;
static int is_late;
static uint8_t late[65536];
static size_t n_late;
static uint64_t next_index = 1;

/* ---- code ------------------------------------------------------------------ */

static void *put(size_t at, const void *code, size_t n)
{
	memcpy(memory + at, code, n);
	__builtin___clear_cache((char *)memory + at, (char *)memory + at + n);
	return memory + at;
}

static void *put_loop(size_t at)
{
	return put(at, loop_code, LOOP_BYTES);
}

static void *put_outer(size_t at, const void *inner)
{
	uint8_t code[OUTER_BYTES];
	memcpy(code, outer_code, sizeof(code));
#ifdef __aarch64__
	for (int i = 0; i < 4; i++) {
		uint32_t word;
		memcpy(&word, code + 8 + 4 * i, 4);
		word |= ((uint32_t)((uintptr_t)inner >> 16 * i) & 0xffff) << 5;
		memcpy(code + 8 + 4 * i, &word, 4);
	}
#else
	memcpy(code + OUTER_TARGET, &inner, sizeof(inner));
#endif
	return put(at, code, sizeof(code));
}

PROG_NOINLINE static void run(void *code, unsigned ms)
{
	void (*f)(uint64_t) = (void (*)(uint64_t))(uintptr_t)code;
	uint64_t end = prog_clock_ns(CLOCK_THREAD_CPUTIME_ID) + ms * 1000000ull;
	while (prog_clock_ns(CLOCK_THREAD_CPUTIME_ID) < end)
		f(300000);
}

/* ---- reporting ------------------------------------------------------------- */

static void open_map(void)
{
	char path[64];
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
	map_fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0644);
}

static void tell_map(const void *code, size_t n, const char *name)
{
	dprintf(map_fd, "%lx %zx %s\n", (unsigned long)(uintptr_t)code, n, name);
}

static void tell(const void *p, size_t n)
{
	if (is_late && n_late + n <= sizeof(late)) {
		memcpy(late + n_late, p, n);
		n_late += n;
	} else if (write(dump_fd, p, n) != (ssize_t)n) {
		perror("jitdump");
		exit(1);
	}
}

static void open_dump(void)
{
	char path[512];
	const char *dir = getenv("JIT_DIR");
	snprintf(path, sizeof(path), "%s/jit-%d.dump", dir ? dir : "/tmp", getpid());
	dump_fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0644);
	if (dump_fd < 0 || mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, dump_fd, 0) ==
				   MAP_FAILED) {
		perror(path);
		exit(1);
	}
	struct {
		uint32_t magic, version, size, machine, pad, pid;
		uint64_t time, flags;
	} h = { 0x4A695444, 1, 40, ELF_MACHINE, 0, (uint32_t)getpid(),
		prog_clock_ns(CLOCK_MONOTONIC), 0 };
	tell(&h, sizeof(h));
}

struct prefix {
	uint32_t id, size;
	uint64_t time;
};

static void tell_prefix(uint32_t id, size_t n_body)
{
	struct prefix p = { id, (uint32_t)(sizeof(p) + n_body), prog_clock_ns(CLOCK_MONOTONIC) };
	tell(&p, sizeof(p));
}

static uint64_t tell_load(const void *code, size_t n, const char *name)
{
	struct {
		uint32_t pid, tid;
		uint64_t vma, address, size, index;
	} l = { (uint32_t)getpid(), (uint32_t)getpid(), (uintptr_t)code, (uintptr_t)code, n,
		next_index++ };
	tell_prefix(0, sizeof(l) + strlen(name) + 1 + n);
	tell(&l, sizeof(l));
	tell(name, strlen(name) + 1);
	tell(code, n);
	return l.index;
}

static void tell_move(const void *from, const void *to, size_t n, uint64_t index)
{
	struct {
		uint32_t pid, tid;
		uint64_t vma, from, to, size, index;
	} m = { (uint32_t)getpid(), (uint32_t)getpid(), (uintptr_t)to, (uintptr_t)from,
		(uintptr_t)to, n, index };
	tell_prefix(1, sizeof(m));
	tell(&m, sizeof(m));
}

/* All code is on one line, except its first instruction, on the line before. */
static void tell_line(const void *code, const char *file, uint32_t line)
{
	struct {
		uint64_t address;
		uint32_t line, discriminator;
	} a = { (uintptr_t)code, line - 1, 0 }, b = { (uintptr_t)code + 3, line, 0 };
	uint64_t head[2] = { (uintptr_t)code, 2 };
	tell_prefix(2, sizeof(head) + sizeof(a) + strlen(file) + 1 + sizeof(b) + 2);
	tell(head, sizeof(head));
	tell(&a, sizeof(a));
	tell(file, strlen(file) + 1);
	tell(&b, sizeof(b));
	tell("\xff", 2);
}

/* .eh_frame and .eh_frame_hdr, as if they followed the code at the next multiple of 8. */
static void tell_unwind(size_t n_code, const uint8_t *cfa, size_t n_cfa)
{
	static const uint8_t cie_body[] = { CIE_BODY };
	uint8_t eh[256] = { 0 };
	size_t base = (n_code + 7) & ~(size_t)7;
	size_t n_cie = (4 + sizeof(cie_body) + 3 + 4) & ~(size_t)3;
	uint32_t length = (uint32_t)(n_cie - 4);
	memcpy(eh, &length, 4);
	memcpy(eh + 8, cie_body, sizeof(cie_body));
	n_cie = length + 4;
	size_t fde = n_cie, n_fde = (17 + n_cfa + 3) & ~(size_t)3;
	length = (uint32_t)(n_fde - 4);
	uint32_t back = (uint32_t)(fde + 4), size = (uint32_t)n_code;
	int32_t rel = -(int32_t)(base + fde + 8);
	memcpy(eh + fde, &length, 4);
	memcpy(eh + fde + 4, &back, 4);
	memcpy(eh + fde + 8, &rel, 4);
	memcpy(eh + fde + 12, &size, 4);
	memcpy(eh + fde + 17, cfa, n_cfa);
	size_t hdr = fde + n_fde + 4;  /* a terminator of 4 zero bytes */
	/* version 1, eh_frame_ptr pcrel sdata4, count udata4, table datarel sdata4 */
	uint8_t *h = eh + hdr;
	h[0] = 1, h[1] = 0x1b, h[2] = 0x03, h[3] = 0x3b;
	int32_t word[4] = { -(int32_t)(hdr + 4), 1, -(int32_t)(base + hdr),
			    (int32_t)fde - (int32_t)hdr };
	memcpy(h + 4, word, sizeof(word));
	size_t n = hdr + 4 + sizeof(word), padded = (n + 7) & ~(size_t)7;
	uint64_t head[3] = { n, 4 + sizeof(word), 0 };
	tell_prefix(4, sizeof(head) + padded);
	tell(head, sizeof(head));
	tell(eh, padded);
}

/* ---- the modes ------------------------------------------------------------- */

static void by_map(const char *mode, unsigned ms)
{
	open_map();
	void *alpha = put_loop(0), *beta = memory + 256;
	tell_map(alpha, LOOP_BYTES, "jit_alpha(int, char)");
	if (strcmp(mode, "map") == 0)
		tell_map(beta, LOOP_BYTES, "jit_beta");
	run(alpha, ms);
	if (strcmp(mode, "map-replace") == 0)
		beta = alpha;
	put_loop((size_t)((uint8_t *)beta - memory));
	if (strcmp(mode, "map") != 0)
		tell_map(beta, LOOP_BYTES, "jit_beta");
	run(beta, ms);
}

static void by_dump(unsigned ms)
{
	open_dump();
	void *alpha = put_loop(0), *beta = put_loop(256), *moved = memory + 512;
	tell_line(alpha, "/src/alpha.jit", 11);
	uint64_t index = tell_load(alpha, LOOP_BYTES, "jit_alpha");
	tell_line(beta, "/src/beta.jit", 21);
	tell_load(beta, LOOP_BYTES, "_ZN3jit4betaEi");
	run(alpha, ms);
	run(beta, ms);
	put_loop(512);
	tell_move(alpha, moved, LOOP_BYTES, index);
	tell_load(alpha, LOOP_BYTES, "jit_gamma");
	run(moved, ms);
	run(alpha, ms);
}

static void by_dump_with_cfi(unsigned ms)
{
	open_dump();
	void *inner = put_loop(0), *outer = put_outer(256, inner);
	tell_unwind(LOOP_BYTES, loop_cfa, sizeof(loop_cfa));
	tell_load(inner, LOOP_BYTES, "jit_inner");
	tell_unwind(OUTER_BYTES, outer_cfa, sizeof(outer_cfa));
	tell_load(outer, OUTER_BYTES, "jit_outer");
	run(outer, ms);
}

/* The file that contains the code; -1: anonymous memory. */
static int memory_file(const char *mode)
{
	char name[64];
	int fd = -1;
	if (strcmp(mode, "map-memfd") == 0)
		fd = memfd_create("doublemapper", MFD_CLOEXEC);
	if (strcmp(mode, "map-shm") == 0) {
		snprintf(name, sizeof(name), "/dev/shm/jit-%d", getpid());
		fd = open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0700);
		unlink(name);
	}
	if (fd >= 0 && ftruncate(fd, 65536) < 0)
		return -1;
	return fd;
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "map";
	unsigned ms = argc > 2 ? (unsigned)atoi(argv[2]) : 300;
	int fd = memory_file(mode);
	memory = mmap(NULL, 65536, PROT_READ | PROT_WRITE | PROT_EXEC,
		      fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED, fd, 0);
	if (memory == MAP_FAILED) {
		perror("mmap");
		return 1;
	}
	is_late = strcmp(mode, "dump-late") == 0;
	if (strcmp(mode, "none") == 0)
		run(put_loop(0), ms);
	else if (strcmp(mode, "dump-unwind") == 0)
		by_dump_with_cfi(ms);
	else if (strncmp(mode, "dump", 4) == 0)
		by_dump(ms);
	else
		by_map(mode, ms);
	is_late = 0;
	if (n_late)
		tell(late, n_late);
	printf("pid %d memory 0x%lx-0x%lx\n", getpid(), (unsigned long)(uintptr_t)memory,
	       (unsigned long)(uintptr_t)memory + 65536);
	return 0;
}
