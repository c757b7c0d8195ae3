/* Only the main file has one.  References there lead no further. */

#include "symbolize/dwarf/dwalt.h"

#include "symbolize/elf/symdebug.h"

#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct dwalt {
	struct dwfile file;
	Elf *elf;
	int fd;
};

/* The bytes of a section, borrowed from elf; bad if there is none. */
static struct bytes section_bytes(Elf *elf, const char *wanted)
{
	size_t names;
	if (!elf || elf_getshdrstrndx(elf, &names))
		return (struct bytes){ .bad = true };
	for (Elf_Scn *scn = NULL; (scn = elf_nextscn(elf, scn));) {
		GElf_Shdr sh;
		if (!gelf_getshdr(scn, &sh))
			continue;
		const char *name = elf_strptr(elf, names, sh.sh_name);
		if (!name || strcmp(name, wanted) != 0 || sh.sh_type == SHT_NOBITS)
			continue;
		const Elf_Data *data = elf_rawdata(scn, NULL);
		if (data && data->d_buf)
			return bytes_of(data->d_buf, data->d_size);
	}
	return (struct bytes){ .bad = true };
}

/* Reads .debug_sup: whether elf is such a file itself, the name of the other one (""), and their
 * common checksum. */
static bool read_sup(Elf *elf, bool *ret_is_alt, const char **ret_link, struct bytes *ret_sum)
{
	struct bytes b = section_bytes(elf, ".debug_sup");
	bytes_u16(&b);                       /* version */
	*ret_is_alt = bytes_u8(&b);
	*ret_link = bytes_cstr(&b);
	uint64_t n = dwform_uleb(&b);
	const uint8_t *sum = bytes_take(&b, n);
	if (b.bad || !n)
		return false;
	*ret_sum = bytes_of(sum, n);
	return true;
}

/* Is the file at fd the one with that checksum? */
static bool is_sup(int fd, const struct bytes *sum)
{
	bool is_alt, same = false;
	const char *link;
	struct bytes own;
	Elf *elf = elf_begin(fd, ELF_C_READ, NULL);
	if (read_sup(elf, &is_alt, &link, &own))
		same = is_alt && bytes_left(&own) == bytes_left(sum) &&
		       memcmp(own.p, sum->p, bytes_left(sum)) == 0;
	elf_end(elf);
	return same;
}

static int open_sup(struct dwfile *file, const char *link, const struct bytes *sum)
{
	const char *slash = file->elf_path ? strrchr(file->elf_path, '/') : NULL;
	int n = *link == '/' || !slash ? 0 : (int)(slash - file->elf_path);
	char *path;
	if (asprintf(&path, "%.*s/%s", n, n ? file->elf_path : "", link) < 0)
		return -1;
	int fd = symdebug_open_file(file->where, path);
	free(path);
	if (fd >= 0 && !is_sup(fd, sum)) {
		close(fd);
		return -1;
	}
	return fd;
}

static int open_link(struct dwfile *file)
{
	Elf *elf = file->sections.elf;
	struct bytes sum, b = section_bytes(elf, ".gnu_debugaltlink");
	const char *link = bytes_cstr(&b);
	bool is_alt;
	if (!file->where)
		return -1;
	if (!b.bad && *link && bytes_left(&b))
		return symdebug_open_alt(file->where, link, file->elf_path, b.p, bytes_left(&b));
	if (read_sup(elf, &is_alt, &link, &sum) && !is_alt && *link)
		return open_sup(file, link, &sum);
	return -1;
}

static void note_lost(struct dwfile *file)
{
	bool is_alt;
	struct bytes sum, b = section_bytes(file->sections.elf, ".gnu_debugaltlink");
	const char *link = bytes_cstr(&b);
	if (b.bad && (!read_sup(file->sections.elf, &is_alt, &link, &sum) || is_alt))
		return;
	file->lost_part = dwfile_copy(file, link);
}

struct dwfile *dwalt_get(struct dwfile *file)
{
	if (file->alt_tried || file->root != file)
		return file->alt ? &file->alt->file : NULL;
	file->alt_tried = true;
	int fd = open_link(file);
	if (fd < 0) {
		note_lost(file);
		return NULL;
	}
	struct dwalt *alt = calloc(1, sizeof(*alt));
	if (!alt) {
		file->out_of_memory = true;
		close(fd);
		return NULL;
	}
	alt->fd = fd;
	alt->elf = elf_begin(fd, ELF_C_READ, NULL);
	dwfile_init(&alt->file, alt->elf, fd);
	alt->file.root = file;
	alt->file.where = file->where;
	alt->file.sections.deadline_ns = file->sections.deadline_ns;
	alt->file.sections.cache_dir = file->sections.cache_dir;
	dwfile_begin(&alt->file);
	file->alt = alt;
	return &alt->file;
}

void dwalt_done(struct dwfile *file)
{
	if (!file->alt)
		return;
	dwfile_done(&file->alt->file);
	elf_end(file->alt->elf);
	close(file->alt->fd);
	free(file->alt);
}
