/*
 * Arbitrary bytes as an ELF file, in memory, as a file, and as a file that stays open: headers
 * (dso.c), symbol tables, linker stubs and debug information.  Also checks that each address gets
 * at least one line, and each line a name.
 *
 * The seeds are three functions that inline a fourth, compiled by gcc and clang with
 * "-g -O2 -shared -fPIC -nostdlib"; one is stripped and has its symbols in .gnu_debugdata.
 */

#include "base/log.h"
#include "base/strtab.h"
#include "symbolize/elf/dso.h"
#include "symbolize/elf/elfcache.h"
#include "symbolize/name/demangle.h"
#include "symbolize/name/symbolizer.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define N_ADDRESSES 64

static void check(bool ok)
{
	if (!ok)
		abort();
}

/* Addresses all over the code, and some outside. */
static void choose_addresses(const struct dso *d, struct symaddr addr[N_ADDRESSES])
{
	for (unsigned i = 0; i < N_ADDRESSES; i++) {
		addr[i] = (struct symaddr){ .vaddr = i * 0x40 };
		if (i % 8 == 7 || !d->n_segments)
			continue;
		const struct dso_segment *s = &d->segment[i % d->n_segments];
		addr[i].vaddr = s->vaddr + s->n_mem_bytes / N_ADDRESSES * i + i % 3;
	}
}

static void explain(void *ctx, enum log_level level, const char *text)
{
	check(*text);
}

static void resolve(const struct dso *d, struct elfcache *kept)
{
	const struct log log = { .line = explain, .max = LOG_EXPLAIN };
	const struct symbolizer_options o = {
		.log = kept ? &log : NULL, .kept = kept,
		.demangle = kept ? DEMANGLE_SIMPLE : DEMANGLE_FULL,
	};
	struct symaddr addr[N_ADDRESSES];
	struct symlines lines = {0};
	struct symbolizer_has has;
	struct strtab strings;
	uint64_t vaddr;
	check(strtab_init(&strings, NULL) == 0);
	choose_addresses(d, addr);
	dso_vaddr(d, 0x1234, &vaddr);
	if (symbolizer_resolve(&o, d, addr, N_ADDRESSES, &lines, &strings, &has) == 0)
		for (unsigned i = 0; i < N_ADDRESSES; i++) {
			check(i == 0 || addr[i - 1].vaddr <= addr[i].vaddr);
			check(addr[i].n_lines > 0 &&
			      addr[i].first_line + addr[i].n_lines <= lines.n);
			for (uint32_t k = 0; k < addr[i].n_lines; k++)
				check(lines.v[addr[i].first_line + k].name);
		}
	free(lines.v);
	strtab_done(&strings);
}

static int file_of(const uint8_t *data, size_t size)
{
	int fd = memfd_create("elf", MFD_CLOEXEC);
	check(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	return fd;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct dso_table table;
	check(dso_table_init(&table, NULL) == 0);
	struct dso *image = dso_table_add(&table, &(struct dso_key){ .kind = DSO_VDSO }, "[vdso]");
	struct dso *file = dso_table_add(&table, &(struct dso_key){ .kind = DSO_ELF }, "/lib/a.so");
	check(image && file && dso_set_image(image, data, size) == 0);
	dso_set_file(file, file_of(data, size), NULL);
	check(image->is_elf == file->is_elf && image->n_build_id == file->n_build_id &&
	      image->n_segments == file->n_segments);
	struct elfcache kept = { 0 };
	resolve(image, NULL);
	resolve(file, &kept);
	resolve(file, &kept);
	elfcache_done(&kept);
	dso_table_done(&table);
	return 0;
}
