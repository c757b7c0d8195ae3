/* Relocatable files: which parts are linked, and the limits.  tests/symbols/compare.py and
 * test-symkdebug.c check names and lines. */

#include "symbolize/kernel/symrel.h"
#include "tests/unit/tap.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define TEXT 0xffffffffc0401000

static char folder[PATH_MAX];

static bool find(void *ctx, const char *section, uint64_t *ret_address)
{
	unsigned *n_asked = ctx;
	++*n_asked;
	*ret_address = TEXT;
	return strcmp(section, ".text") == 0;
}

/* A copy of a fixture in memory. */
static int open_copy(const char *name)
{
	char path[PATH_MAX + 128], buf[4096];
	snprintf(path, sizeof(path), "%s/kernel/%s", folder, name);
	int from = open(path, O_RDONLY | O_CLOEXEC), to = memfd_create("test", MFD_CLOEXEC);
	ssize_t n;
	while (from >= 0 && (n = read(from, buf, sizeof(buf))) > 0)
		if (write(to, buf, (size_t)n) != n)
			break;
	close(from);
	return to;
}

static int link_fd(int fd, uint64_t deadline_ns, size_t *ret_n_bytes)
{
	unsigned n_asked = 0;
	const struct symrel_place place = { find, &n_asked, deadline_ns };
	uint8_t *image = NULL;
	int code = symrel_link(fd, &place, &image, ret_n_bytes);
	if (code == 0) {
		Elf *elf = elf_memory((char *)image, *ret_n_bytes);
		size_t names, n_debug = 0, n_other = 0;
		tap_ok(elf && elf_getshdrstrndx(elf, &names) == 0, "the image is an ELF file");
		for (Elf_Scn *scn = NULL; (scn = elf_nextscn(elf, scn));) {
			GElf_Shdr sh;
			const char *name = gelf_getshdr(scn, &sh)
					   ? elf_strptr(elf, names, sh.sh_name) : "";
			n_debug += strcmp(name, ".debug_info") == 0 ||
				   strcmp(name, ".debug_line") == 0;
			n_other += strncmp(name, ".debug_loc", 10) == 0 ||
				   strcmp(name, ".debug_frame") == 0 || strcmp(name, ".text") == 0;
		}
		tap_int((long)n_debug, 2, "the image has units and lines");
		tap_int((long)n_other, 0, "the image has no sections that are never read");
		elf_end(elf);
	}
	tap_ok((code == 0) == (image != NULL), "the result is either an image or an error");
	free(image);
	return code;
}

/* Edits the header of section `name` with `edit`. */
static void edit_section(int fd, const char *name, void (*edit)(int fd, Elf64_Shdr *sh))
{
	Elf *elf = elf_begin(fd, ELF_C_READ, NULL);
	GElf_Ehdr eh;
	size_t names;
	if (!elf || !gelf_getehdr(elf, &eh) || elf_getshdrstrndx(elf, &names))
		return;
	for (Elf_Scn *scn = NULL; (scn = elf_nextscn(elf, scn));) {
		GElf_Shdr sh;
		Elf64_Shdr raw;
		off_t at = (off_t)(eh.e_shoff + elf_ndxscn(scn) * sizeof(raw));
		if (!gelf_getshdr(scn, &sh) || strcmp(elf_strptr(elf, names, sh.sh_name), name))
			continue;
		if (pread(fd, &raw, sizeof(raw), at) == sizeof(raw)) {
			edit(fd, &raw);
			tap_int(pwrite(fd, &raw, sizeof(raw), at), (long)sizeof(raw), name);
		}
	}
	elf_end(elf);
}

static void pack_relocations(int fd, Elf64_Shdr *sh)
{
	(void)fd;
	sh->sh_flags |= SHF_COMPRESSED;
}

static void as_rel(int fd, Elf64_Shdr *sh)
{
	(void)fd;
	sh->sh_type = SHT_REL;
}

static void point_outside(int fd, Elf64_Shdr *sh)
{
	(void)fd;
	sh->sh_offset = (uint64_t)INT64_MAX - 8;
}

/* A section that is too large is refused before any of it is read. */
static void grow(int fd, Elf64_Shdr *sh)
{
	sh->sh_offset = 1 << 20;
	sh->sh_size = (uint64_t)SYMREL_BYTES_MAX + 1;
	if (ftruncate(fd, (off_t)(sh->sh_offset + sh->sh_size)))
		sh->sh_size = 0;
}

static int link_edited(const char *section, void (*edit)(int fd, Elf64_Shdr *sh))
{
	size_t n_bytes;
	int fd = open_copy("module.o");
	edit_section(fd, section, edit);
	int code = link_fd(fd, 0, &n_bytes);
	close(fd);
	return code;
}

int main(void)
{
	size_t n_plain = 0, n_packed = 0;
	ssize_t n = readlink("/proc/self/exe", folder, sizeof(folder) - 64);
	if (n <= 0)
		return 1;
	folder[n] = '\0';
	strcpy(strrchr(folder, '/'), "/symbolize/fixtures");
	elf_version(EV_CURRENT);

	int fd = open_copy("module.o");
	tap_int(link_fd(fd, 0, &n_plain), 0, "no limit of time");
	tap_int(link_fd(fd, UINT64_MAX, &n_plain), 0, "a deadline in the future");
	tap_int(link_fd(fd, 1, &n_plain), -ETIMEDOUT, "a deadline in the past");
	close(fd);
	fd = open_copy("packed_fixture.ko");
	tap_int(link_fd(fd, 0, &n_packed), 0, "compressed sections");
	tap_ok(n_packed > 1000, "compressed sections are decompressed");
	tap_int(link_fd(fd, 1, &n_packed), -ETIMEDOUT,
		"compressed sections have the same deadline");
	close(fd);

	tap_int(link_edited(".rela.debug_info", pack_relocations), -ENOTSUP,
		"packed relocations are refused");
	tap_int(link_edited(".rela.debug_info", as_rel), -ENOTSUP,
		"relocations without addends are refused");
	tap_int(link_edited(".rela.debug_info", point_outside), -EINVAL,
		"relocations outside of their section are refused");
	tap_int(link_edited(".debug_str", grow), -EFBIG, "a section that is too large is refused");
	return tap_done();
}
