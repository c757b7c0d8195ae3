#include "symbolize/elf/elfplace.h"

#include "base/cleanup.h"
#include "base/err.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

/* Reads headers with libelf, which knows both classes and byte orders. */

#define HEX_MAX 128

static bool note_has_build_id(Elf *elf, const GElf_Phdr *p, char hex[HEX_MAX + 1])
{
	Elf_Data *d = elf_getdata_rawchunk(elf, (int64_t)p->p_offset, p->p_filesz, ELF_T_NHDR);
	GElf_Nhdr n;
	size_t at = 0, name, desc;
	while (d && (at = gelf_getnote(d, at, &n, &name, &desc)) > 0) {
		if (n.n_type != NT_GNU_BUILD_ID || n.n_namesz != sizeof("GNU") ||
		    memcmp((char *)d->d_buf + name, "GNU", sizeof("GNU")) != 0 ||
		    n.n_descsz > HEX_MAX / 2)
			continue;
		const unsigned char *b = (const unsigned char *)d->d_buf + desc;
		for (size_t i = 0; i < n.n_descsz; i++) {
			hex[2 * i] = "0123456789abcdef"[b[i] >> 4];
			hex[2 * i + 1] = "0123456789abcdef"[b[i] & 15];
		}
		hex[2 * n.n_descsz] = '\0';
		return true;
	}
	return false;
}

static int find(Elf *elf, const char *path, const char *build_id, uint64_t memory_start,
		uint64_t file_off, struct elfplace *ret, struct err *e)
{
	size_t n = 0;
	bool found = false;
	char hex[HEX_MAX + 1] = "";
	if (!elf || elf_kind(elf) != ELF_K_ELF || elf_getphdrnum(elf, &n) != 0)
		return err_set(e, EINVAL, "'%s' is not an ELF file", path);
	for (size_t i = 0; i < n; i++) {
		GElf_Phdr p;
		if (!gelf_getphdr(elf, (int)i, &p))
			continue;
		if (p.p_type == PT_NOTE && !hex[0])
			note_has_build_id(elf, &p, hex);
		/* A mapping begins at a page, the segment within it. */
		uint64_t page = p.p_offset & ~(uint64_t)4095;
		if (p.p_type == PT_LOAD && !found && file_off >= page &&
		    file_off < p.p_offset + p.p_filesz) {
			ret->delta = p.p_vaddr - p.p_offset + file_off - memory_start;
			found = (p.p_flags & PF_X) != 0;
		}
	}
	if (build_id[0] && hex[0] && strcasecmp(hex, build_id) != 0) {
		int r = err_set(e, ESTALE, "'%s' is another build than the one that was recorded",
				path);
		err_hint(e, "build id %s, but %s was recorded", hex, build_id);
		return r;
	}
	return found ? 0 : err_set(e, EINVAL, "'%s' has no code where the profile says", path);
}

int elfplace_find(const char *path, const char *build_id, uint64_t memory_start,
		  uint64_t file_off, struct elfplace *ret, struct err *e)
{
	CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	struct stat st;
	if (fd < 0 || fstat(fd, &st) < 0)
		return err_errno(e, errno, "cannot open '%s'", path);
	if (!S_ISREG(st.st_mode))
		return err_set(e, EINVAL, "'%s' is not a regular file", path);
	elf_version(EV_CURRENT);
	struct elfplace place = { 0 };
	Elf *elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	int r = find(elf, path, build_id, memory_start, file_off, &place, e);
	if (elf)
		elf_end(elf);
	if (r == 0)
		*ret = place;
	return r;
}
