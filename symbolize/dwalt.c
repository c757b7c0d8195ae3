#include "symbolize/dwalt.h"

#include "symbolize/symdebug.h"

#include <gelf.h>
#include <stdlib.h>
#include <unistd.h>

/* Only the main file has one: what it refers to there refers to nothing further. */

struct dwalt {
	struct dwfile file;
	Elf *elf;
	int fd;
};

static bool is_alt_link(const char *name)
{
	return strcmp(name, ".gnu_debugaltlink") == 0 || strcmp(name, ".debug_sup") == 0;
}

/* Name and build id in that section.  True when they are there. */
static bool read_link(struct bytes b, bool is_sup, const char **ret_name, struct bytes *ret_id)
{
	if (is_sup) {
		bytes_u16(&b);               /* version */
		if (bytes_u8(&b))            /* it is such a file itself */
			return false;
	}
	*ret_name = bytes_cstr(&b);
	if (is_sup) {
		uint64_t n = dwform_uleb(&b);
		if (n < bytes_left(&b))
			b.end = b.p + n;
	}
	*ret_id = b;
	return !b.bad && bytes_left(&b) && **ret_name;
}

static int open_link(struct dwfile *file)
{
	size_t names;
	if (!file->where || !file->sections.elf ||
	    elf_getshdrstrndx(file->sections.elf, &names))
		return -1;
	for (Elf_Scn *scn = NULL; (scn = elf_nextscn(file->sections.elf, scn));) {
		GElf_Shdr sh;
		struct bytes id;
		const char *link;
		const char *name = gelf_getshdr(scn, &sh) ? elf_strptr(file->sections.elf, names,
								       sh.sh_name) : NULL;
		if (!name || !is_alt_link(name) || sh.sh_type == SHT_NOBITS)
			continue;
		const Elf_Data *data = elf_rawdata(scn, NULL);
		if (data && data->d_buf && read_link(bytes_of(data->d_buf, data->d_size),
						     name[1] == 'd', &link, &id))
			return symdebug_open_alt(file->where, link, file->elf_path, id.p,
						 bytes_left(&id));
	}
	return -1;
}

struct dwfile *dwalt_get(struct dwfile *file)
{
	if (file->alt_tried || file->root != file)
		return file->alt ? &file->alt->file : NULL;
	file->alt_tried = true;
	int fd = open_link(file);
	if (fd < 0)
		return NULL;
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
