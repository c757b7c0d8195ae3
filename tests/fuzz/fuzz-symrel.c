/*
 * Arbitrary bytes as a kernel module: relocates it and reads its debug information.  Also checks
 * that libelf accepts the relocated file.
 *
 * The seeds are object files with debug information, compiled by gcc and clang with
 * "-c -g -O2 -ffreestanding"; one has compressed sections, one is for arm64.
 */

#include "symbolize/elf/symdebug.h"
#include "symbolize/dwarf/symdwarf.h"
#include "symbolize/kernel/symrel.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define TEXT 0xffffffffc0401000
#define N_ADDRESSES 32

static void check(bool ok)
{
	if (!ok)
		abort();
}

static bool find(void *ctx, const char *section, uint64_t *ret_address)
{
	(void)ctx;
	*ret_address = TEXT + (strcmp(section, ".text") ? 0x100000 : 0);
	return strncmp(section, ".d", 2) != 0;
}

static void read_lines(Elf *elf)
{
	static const struct symdebug_place where;
	struct symdwarf_addr addr[N_ADDRESSES] = { 0 };
	struct symdwarf *dwarf;
	if (symdwarf_open(elf, -1, "x.ko", &where, &dwarf) < 0)
		return;
	for (unsigned i = 0; i < N_ADDRESSES; i++)
		addr[i].vaddr = TEXT + i * 3;
	symdwarf_resolve(dwarf, addr, N_ADDRESSES);
	symdwarf_close(dwarf);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct symrel_place place = { .find = find };
	uint8_t *image;
	size_t n_bytes;
	int fd = memfd_create("symrel", MFD_CLOEXEC);
	check(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	if (symrel_link(fd, &place, &image, &n_bytes) == 0) {
		Elf *elf = elf_memory((char *)image, n_bytes);
		size_t n;
		check(elf && elf_getshdrnum(elf, &n) == 0 && n > 2);
		read_lines(elf);
		elf_end(elf);
		free(image);
	}
	close(fd);
	return 0;
}
