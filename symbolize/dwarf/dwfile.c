/*
 * Steps are rationed.  A crafted file may have many DIEs that share one long list of ranges, many
 * units that share a line program or a table of abbreviations, or DIEs that all cover all
 * addresses.  A real file has no more entries than bytes.  When the steps are used up, lists,
 * programs and tables look empty.
 */

#include "symbolize/dwarf/dwfile.h"

#include "symbolize/dwarf/dwalt.h"
#include "symbolize/dwarf/dwname.h"
#include "symbolize/dwarf/dwtext.h"
#include "symbolize/elf/symdebug.h"

#include <errno.h>
#include <gelf.h>

/* In addition to one for each byte of the sections in question. */
#define STEPS_MIN (1ull << 24)

/* Bytes of abbreviations, including repeated parsing: a second's worth or two. */
#define ABBREV_BYTES_MAX (1ull << 28)

void dwfile_init(struct dwfile *file, Elf *elf, int fd)
{
	*file = (struct dwfile){ .root = file };
	dwsection_init(&file->sections, elf, fd);
}

static bool is_own_byte_order(Elf *elf)
{
	GElf_Ehdr eh;
	return gelf_getehdr(elf, &eh) && eh.e_ident[EI_DATA] ==
	       (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB);
}

int dwfile_open(struct dwfile *file, Elf *elf, int fd, const struct symdebug_place *where)
{
	dwfile_init(file, elf, fd);
	file->where = where;
	file->sections.deadline_ns = where ? where->deadline_ns : 0;
	file->sections.cache_dir = where ? where->cache_dir : NULL;
	if (is_own_byte_order(elf) && dwsection_bytes(&file->sections, DWSECTION_INFO) &&
	    dwsection_bytes(&file->sections, DWSECTION_ABBREV))
		return 0;
	dwfile_done(file);
	return -ENOENT;
}

void dwfile_init_dwo(struct dwfile *file, Elf *elf, int fd, struct dwfile *root)
{
	dwfile_init(file, elf, fd);
	file->root = root;
	file->where = root->where;
	file->sections.deadline_ns = root->sections.deadline_ns;
	file->sections.cache_dir = root->sections.cache_dir;
	file->sections.is_dwo = true;
}

void dwfile_done(struct dwfile *file)
{
	for (size_t i = 0; i < DWFILE_N_OTHERS; i++)
		dwunit_close(&file->other[i]);
	VEC_FREE(&file->units);
	dwalt_done(file);
	dwname_done(file);
	dwtext_done(file);
	dwabbrev_done(&file->abbrevs);
	arena_free(file->arena);
	dwsection_done(&file->sections);
}

void dwfile_begin(struct dwfile *file)
{
	static const enum dwsection_id counted[] = {
		DWSECTION_LINE, DWSECTION_RANGES, DWSECTION_RNGLISTS,
	};
	file->n_steps_left = STEPS_MIN;
	file->abbrevs.n_bytes_left = ABBREV_BYTES_MAX;
	for (size_t i = 0; i < sizeof(counted) / sizeof(*counted); i++)
		file->n_steps_left += dwsection_bytes(&file->sections, counted[i]);
}

bool dwfile_is_late(struct dwfile *file)
{
	file->was_late |= symdebug_is_late(file->where);
	return file->was_late;
}

const char *dwfile_copy(struct dwfile *file, const char *text)
{
	if (!text || !*text)
		return NULL;
	size_t n = strlen(text) + 1;
	char *copy = arena_alloc(&file->root->arena, n, 1, 1);
	if (!copy) {
		file->out_of_memory = true;
		return NULL;
	}
	return memcpy(copy, text, n);
}
