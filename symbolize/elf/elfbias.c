/* Headers are read with libelf, which knows both classes and byte orders. */

#include "symbolize/elf/elfbias.h"

#include "base/err.h"

#include <errno.h>
#include <gelf.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

#define BUILD_ID_BYTES_MAX 64
#define PAGE_BYTES 4096u

struct build_id {
	char hex[2 * BUILD_ID_BYTES_MAX + 1];
};

/* Takes the build id from a note segment that has one. */
static void read_notes(Elf *elf, const GElf_Phdr *p, struct build_id *ret)
{
	Elf_Data *d = elf_getdata_rawchunk(elf, (int64_t)p->p_offset, p->p_filesz, ELF_T_NHDR);
	GElf_Nhdr n;
	size_t at = 0, name, desc;
	while (d && (at = gelf_getnote(d, at, &n, &name, &desc)) > 0) {
		if (n.n_type != NT_GNU_BUILD_ID || n.n_namesz != sizeof("GNU") ||
		    memcmp((char *)d->d_buf + name, "GNU", sizeof("GNU")) != 0 ||
		    n.n_descsz > BUILD_ID_BYTES_MAX)
			continue;
		const unsigned char *b = (const unsigned char *)d->d_buf + desc;
		for (size_t i = 0; i < n.n_descsz; i++) {
			ret->hex[2 * i] = "0123456789abcdef"[b[i] >> 4];
			ret->hex[2 * i + 1] = "0123456789abcdef"[b[i] & 15];
		}
		ret->hex[2 * n.n_descsz] = '\0';
		return;
	}
}

/* A mapping starts at a page boundary, the segment within that page. */
static bool has_offset(const GElf_Phdr *p, uint64_t file_off)
{
	uint64_t page = p->p_offset & ~(uint64_t)(PAGE_BYTES - 1);
	return p->p_type == PT_LOAD && file_off >= page && file_off < p->p_offset + p->p_filesz;
}

static int find_in_elf(Elf *elf, const char *path, const char *build_id, uint64_t memory_start,
		       uint64_t file_off, uint64_t *ret_bias, struct err *e)
{
	struct build_id found_id = { "" };
	bool found = false;
	size_t n = 0;
	if (!elf || elf_kind(elf) != ELF_K_ELF || elf_getphdrnum(elf, &n) != 0)
		return err_set(e, EINVAL, "'%s' is not an ELF file", path);
	for (size_t i = 0; i < n; i++) {
		GElf_Phdr p;
		if (!gelf_getphdr(elf, (int)i, &p))
			continue;
		if (p.p_type == PT_NOTE && !found_id.hex[0])
			read_notes(elf, &p, &found_id);
		if (!found && has_offset(&p, file_off)) {
			*ret_bias = p.p_vaddr - p.p_offset + file_off - memory_start;
			found = (p.p_flags & PF_X) != 0;
		}
	}
	if (build_id[0] && found_id.hex[0] && strcasecmp(found_id.hex, build_id) != 0) {
		int r = err_set(e, ESTALE, "'%s' is another build than the one that was recorded",
				path);
		err_hint(e, "build id %s, but %s was recorded", found_id.hex, build_id);
		return r;
	}
	return found ? 0 : err_set(e, EINVAL, "'%s' has no code at the profile's addresses", path);
}

int elfbias_find(int fd, const char *path, const char *build_id, uint64_t memory_start,
		 uint64_t file_off, uint64_t *ret_bias, struct err *e)
{
	elf_version(EV_CURRENT);
	/* not mapped: the file may be truncated meanwhile */
	Elf *elf = elf_begin(fd, ELF_C_READ, NULL);
	int r = find_in_elf(elf, path, build_id, memory_start, file_off, ret_bias, e);
	elf_end(elf);
	return r;
}
