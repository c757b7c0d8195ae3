/*
 * Debug information that is divided among files: the program, and what it names: a .dwo file, a
 * .dwp file, and the file with the common parts that dwz split off.  The input is these four, each
 * preceded by its length (u16); the last one is the rest.
 *
 * The seeds are two small functions, one inlined, compiled by gcc and clang with "-g -gsplit-dwarf
 * -O2 -nostdlib -shared" in the folder "/", packed by dwp, and the same by dwz.
 */

#include "base/err.h"
#include "base/host.h"
#include "symbolize/dwarf/symdwarf.h"
#include "symbolize/elf/symdebug.h"

#include "fuzzdir.h"

#include <libelf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define N_ADDRESSES 48
#define FIRST_VADDR 0x1360
#define STEP_BYTES 4

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t volatile n_bytes_seen;
static struct host host;

static void see(const char *text)
{
	if (text)
		n_bytes_seen += strlen(text);
}

static void make_machine(void)
{
	char root[256];
	struct err e;
	if (fuzzdir[0])
		return;
	fuzzdir_make("/dev/shm");
	fuzzdir_folder("root");
	snprintf(root, sizeof(root), "%s", fuzzdir_path("root"));
	fuzzdir_check(host_open(&host, root, NULL, NULL, &e) == 0);
	fuzzdir_check(elf_version(EV_CURRENT) != EV_NONE);
}

static void resolve(Elf *elf, int fd)
{
	static const char *const dirs[] = { NULL };
	const struct symdebug_place where = { .host = &host, .dirs = dirs };
	struct symdwarf_addr addr[N_ADDRESSES] = { 0 };
	struct symdwarf *dwarf;
	if (symdwarf_open(elf, fd, "/a.so", &where, &dwarf) < 0)
		return;
	for (unsigned i = 0; i < N_ADDRESSES; i++)
		addr[i].vaddr = FIRST_VADDR + i * STEP_BYTES;
	fuzzdir_check(symdwarf_resolve(dwarf, addr, N_ADDRESSES) == 0);
	const struct symdwarf_frame *frame = symdwarf_frames(dwarf);
	for (unsigned i = 0; i < N_ADDRESSES; i++)
		for (uint32_t k = addr[i].first; k < addr[i].first + addr[i].n; k++) {
			see(frame[k].name);
			see(frame[k].linkage);
			see(frame[k].file);
			see(frame[k].dir);
		}
	see(symdwarf_lost_part(dwarf));
	symdwarf_close(dwarf);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bytes b = bytes_of(data, size);
	struct bytes program = fuzzdir_part(&b), dwo = fuzzdir_part(&b), dwp = fuzzdir_part(&b);
	make_machine();
	fuzzdir_put("root/a.dwo", dwo);
	fuzzdir_put("root/a.so.dwp", dwp);
	fuzzdir_put("root/a.alt", bytes_of(b.p, bytes_left(&b)));
	size_t n = bytes_left(&program);
	int fd = memfd_create("split", MFD_CLOEXEC);
	fuzzdir_check(fd >= 0 && write(fd, program.p, n) == (ssize_t)n);
	Elf *elf = elf_begin(fd, ELF_C_READ, NULL);
	if (elf)
		resolve(elf, fd);
	elf_end(elf);
	close(fd);
	return 0;
}
