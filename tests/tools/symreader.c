/*
 * Frames from DWARF alone, by our reader or by the same walk on libdw, to compare and to measure
 * them.  Prints for each address: the address, then for each frame, innermost first, "name linkage
 * file:line:column start_line".
 *
 * 	symreader [-e] [-t] [-c FOLDER] FILE < ADDRESSES
 *
 * 	-e  by libdw (elfutils)   -t  only the time taken, to standard error
 * 	-c  the folder for the cache of decompressed sections
 */

#include "base/err.h"
#include "base/host.h"
#include "base/vec.h"
#include "symbolize/elf/symdebug.h"
#include "symlibdw.h"

#include <fcntl.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

/* printf would take longer than the look-up. */
static void put_number(uint64_t x, unsigned base)
{
	char text[20], *p = text + sizeof(text);
	do
		*--p = "0123456789abcdef"[x % base];
	while ((x /= base));
	fwrite_unlocked(p, 1, (size_t)(text + sizeof(text) - p), stdout);
}

static void put_text(const char *text, char behind)
{
	fputs_unlocked(text ? text : "-", stdout);
	putchar_unlocked(behind);
}

static void print(const struct symdwarf_addr *a, const struct symdwarf_frame *frame)
{
	fputs_unlocked("0x", stdout);
	put_number(a->vaddr, 16);
	fputs_unlocked(a->has_function ? "" : " nothing", stdout);
	fputs_unlocked(a->is_plain ? " plain\n" : "\n", stdout);
	for (uint32_t i = a->first; i < a->first + a->n; i++) {
		const struct symdwarf_frame *f = &frame[i];
		put_text(f->name, ' ');
		put_text(f->linkage, ' ');
		if (f->dir)
			put_text(f->dir, '/');
		put_text(f->file, ':');
		put_number(f->line, 10);
		putchar_unlocked(':');
		put_number(f->column, 10);
		putchar_unlocked(' ');
		put_number(f->start_line, 10);
		putchar_unlocked('\n');
	}
	putchar_unlocked('\n');
}

static double now_ms(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static int compare_addr(const void *a, const void *b)
{
	const struct symdwarf_addr *x = a, *y = b;
	return x->vaddr < y->vaddr ? -1 : x->vaddr > y->vaddr;
}

int main(int argc, char **argv)
{
	VEC(struct symdwarf_addr) addr = {0};
	bool by_libdw = false, only_time = false;
	struct symdwarf *own = NULL;
	struct symlibdw *libdw = NULL;
	struct host host;
	struct symdebug_place where = { .host = &host };
	struct err e;
	char text[64];
	int c;
	while ((c = getopt(argc, argv, "etc:")) != -1) {
		by_libdw |= c == 'e';
		only_time |= c == 't';
		if (c == 'c')
			where.cache_dir = optarg;
	}
	int fd = optind + 1 == argc ? open(argv[optind], O_RDONLY | O_CLOEXEC) : -1;
	if (fd < 0 || host_open(&host, NULL, NULL, NULL, &e)) {
		fprintf(stderr, "usage: symreader [-e] [-t] [-c FOLDER] FILE < ADDRESSES\n");
		return 64;
	}
	while (fgets(text, sizeof(text), stdin)) {
		struct symdwarf_addr a = { .vaddr = strtoull(text, NULL, 16) };
		if (!VEC_PUSH(&addr, a))
			return 1;
	}
	if (addr.n)
		qsort(addr.v, addr.n, sizeof(*addr.v), compare_addr);
	elf_version(EV_CURRENT);
	double start = now_ms();
	Elf *elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	int r = by_libdw ? symlibdw_open(elf, argv[optind], &where, &libdw)
			 : symdwarf_open(elf, fd, argv[optind], &where, &own);
	if (r == 0)
		r = by_libdw ? symlibdw_resolve(libdw, addr.v, addr.n)
			     : symdwarf_resolve(own, addr.v, addr.n);
	if (only_time)
		fprintf(stderr, "%zu addresses, %.1f ms\n", addr.n, now_ms() - start);
	for (size_t i = 0; r == 0 && !only_time && i < addr.n; i++)
		print(&addr.v[i], by_libdw ? symlibdw_frames(libdw) : symdwarf_frames(own));
	symlibdw_close(libdw);
	symdwarf_close(own);
	elf_end(elf);
	host_close(&host);
	close(fd);
	VEC_FREE(&addr);
	return r ? 1 : 0;
}
