#include "symbolize/dwsection.h"

#include <gelf.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * libelf hands out the bytes of a section, but in a mapping of its own, of which nobody can tell
 * whether its pages may be dropped (an ELF image in memory looks the same).  So what lies in
 * the file as it is gets mapped once more: private and never written, MADV_DONTNEED only
 * costs a page fault later.  That keeps the resident part of a debug file of 600 MB below a tenth.
 * Names and paths that outlive a step are copied, lest a later look brings the pages back.
 */

static const char *const section_name[DWSECTION_N] = {
	[DWSECTION_INFO] = "info",
	[DWSECTION_ABBREV] = "abbrev",
	[DWSECTION_ARANGES] = "aranges",
	[DWSECTION_LINE] = "line",
	[DWSECTION_STR] = "str",
	[DWSECTION_LINE_STR] = "line_str",
	[DWSECTION_STR_OFFSETS] = "str_offsets",
	[DWSECTION_ADDR] = "addr",
	[DWSECTION_RANGES] = "ranges",
	[DWSECTION_RNGLISTS] = "rnglists",
};

void dwsection_init(struct dwsections *s, Elf *elf, int fd)
{
	*s = (struct dwsections){ .elf = elf, .fd = fd };
}

void dwsection_done(struct dwsections *s)
{
	for (unsigned i = 0; i < DWSECTION_N; i++)
		if (s->v[i].map)
			munmap(s->v[i].map, s->v[i].n_map_bytes);
}

/* ---- finding ------------------------------------------------------------- */

/* The section ".debug_NAME", or the older compressed ".zdebug_NAME". */
static Elf_Scn *section_find(Elf *elf, const char *wanted, GElf_Shdr *ret_header, bool *ret_gnu)
{
	size_t names;
	if (elf_getshdrstrndx(elf, &names))
		return NULL;
	for (Elf_Scn *scn = NULL; (scn = elf_nextscn(elf, scn));) {
		if (!gelf_getshdr(scn, ret_header) || ret_header->sh_type == SHT_NOBITS)
			continue;
		const char *name = elf_strptr(elf, names, ret_header->sh_name);
		if (!name)
			continue;
		*ret_gnu = strncmp(name, ".zdebug_", 8) == 0;
		if ((*ret_gnu && strcmp(name + 8, wanted) == 0) ||
		    (strncmp(name, ".debug_", 7) == 0 && strcmp(name + 7, wanted) == 0))
			return scn;
	}
	return NULL;
}

/* Maps n bytes at off of the file; false when they do not lie in it. */
static bool section_map(struct dwsection *d, int fd, uint64_t off, uint64_t n_bytes)
{
	struct stat st;
	if (fd < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode) || off > (uint64_t)st.st_size ||
	    n_bytes > (uint64_t)st.st_size - off)
		return false;
	size_t skip = off & ((uint64_t)sysconf(_SC_PAGESIZE) - 1);
	void *map = mmap(NULL, n_bytes + skip, PROT_READ, MAP_PRIVATE, fd, (off_t)(off - skip));
	if (map == MAP_FAILED)
		return false;
	/* else one look may map 2 MB (6.18: large folios of ext4) */
	madvise(map, n_bytes + skip, MADV_NOHUGEPAGE);
	*d = (struct dwsection){ .base = (const uint8_t *)map + skip, .n_bytes = n_bytes,
		.map = map, .n_map_bytes = n_bytes + skip, .file_off = off, .tried = true };
	return true;
}

static void section_open(struct dwsections *s, enum dwsection_id id)
{
	struct dwsection *d = &s->v[id];
	GElf_Shdr sh;
	bool is_gnu;
	d->tried = true;
	Elf_Scn *scn = s->elf ? section_find(s->elf, section_name[id], &sh, &is_gnu) : NULL;
	if (!scn || !sh.sh_size)
		return;
	if (is_gnu) {
		/* gone when somebody inflated it before */
		if (elf_compress_gnu(scn, 0, 0) < 0)
			return;
	} else if (sh.sh_flags & SHF_COMPRESSED) {
		if (elf_compress(scn, 0, 0) < 0)
			return;
	} else if (section_map(d, s->fd, sh.sh_offset, sh.sh_size)) {
		return;
	}
	Elf_Data *data = elf_rawdata(scn, NULL);
	if (data && data->d_buf) {
		d->base = data->d_buf;
		d->n_bytes = data->d_size;
	}
}

const struct dwsection *dwsection_get(struct dwsections *s, enum dwsection_id id)
{
	if (!s->v[id].tried)
		section_open(s, id);
	return &s->v[id];
}

/* ---- reading ------------------------------------------------------------- */

struct bytes dwsection_from(struct dwsections *s, enum dwsection_id id, uint64_t off)
{
	const struct dwsection *d = dwsection_get(s, id);
	if (!d->n_bytes || off > d->n_bytes)
		return (struct bytes){ .bad = true };
	return bytes_of(d->base + off, d->n_bytes - off);
}

const char *dwsection_string(struct dwsections *s, enum dwsection_id id, uint64_t off)
{
	struct bytes b = dwsection_from(s, id, off);
	const char *text = bytes_cstr(&b);
	return b.bad ? NULL : text;
}

size_t dwsection_copy(struct dwsections *s, enum dwsection_id id, uint64_t off, void *to,
		      size_t n_bytes)
{
	const struct dwsection *d = dwsection_get(s, id);
	if (off >= d->n_bytes)
		return 0;
	if (n_bytes > d->n_bytes - off)
		n_bytes = d->n_bytes - off;
	if (d->map) {
		ssize_t r = pread(s->fd, to, n_bytes, (off_t)(d->file_off + off));
		return r < 0 ? 0 : (size_t)r;
	}
	memcpy(to, d->base + off, n_bytes);
	return n_bytes;
}

void dwsection_give_back(struct dwsections *s)
{
	for (unsigned i = 0; i < DWSECTION_N; i++)
		if (s->v[i].map)
			madvise(s->v[i].map, s->v[i].n_map_bytes, MADV_DONTNEED);
}
