/*
 * A skeleton names its .dwo file.  gdb and lldb first look for FILE.dwp beside the program, and so
 * does cprof.  A program has thousands of .dwo files, so each is closed when its unit is done.
 *
 * A .dwp file begins with a hash table from unit ids to rows of offsets.  A row has an offset for
 * each section, where that unit's part of the section begins (DWARF 5, section 7.3.5; version 2 is
 * GCC's, with other numbers for some sections).
 */

#include "symbolize/dwarf/dwsplit.h"

#include "symbolize/dwarf/dwtext.h"
#include "symbolize/elf/symdebug.h"

#include <dwarf.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define COLUMNS_MAX 16u

enum { COLUMN_INFO = 1, COLUMN_ABBREV = 3, COLUMN_STR_OFFSETS = 6, COLUMN_RNGLISTS = 8 };

/* ---- files --------------------------------------------------------------- */

static void file_close(struct dwsplit_file *f)
{
	if (!f)
		return;
	dwfile_done(&f->file);
	elf_end(f->elf);
	close(f->fd);
	free(f);
}

/* Takes ownership of fd. */
static struct dwsplit_file *file_open(struct dwsplit *s, int fd)
{
	struct dwsplit_file *f = fd >= 0 ? calloc(1, sizeof(*f)) : NULL;
	if (!f) {
		if (fd >= 0)
			close(fd);
		return NULL;
	}
	f->fd = fd;
	f->elf = elf_begin(fd, ELF_C_READ, NULL);
	dwfile_init_dwo(&f->file, f->elf, fd, s->root);
	if (!f->elf || !dwsection_bytes(&f->file.sections, DWSECTION_INFO)) {
		file_close(f);
		return NULL;
	}
	dwfile_begin(&f->file);
	return f;
}

static struct dwsplit_file *dwp_file(struct dwsplit *s)
{
	char *path;
	if (s->dwp_tried || !s->root->elf_path)
		return s->dwp;
	s->dwp_tried = true;
	if (asprintf(&path, "%s.dwp", s->root->elf_path) < 0)
		return NULL;
	s->dwp = file_open(s, symdebug_open_file(s->root->where, path));
	free(path);
	return s->dwp;
}

static struct dwsplit_file *dwo_file(struct dwsplit *s, const struct dwunit *skeleton)
{
	const char *name = dwunit_copy_string(skeleton, &skeleton->dwo_name);
	const char *dir = dwunit_copy_string(skeleton, &skeleton->comp_dir);
	char *path;
	if (!name || (*name != '/' && !dir))
		return NULL;
	if (asprintf(&path, "%s/%s", *name == '/' ? "" : dir, name) < 0)
		return NULL;
	struct dwsplit_file *f = file_open(s, symdebug_open_file(s->root->where, path));
	free(path);
	return f;
}

/* ---- units --------------------------------------------------------------- */

/* The unit with the skeleton's id, among the few of a .dwo file. */
static bool find_in_dwo(struct dwsplit_file *f, const struct dwunit *skeleton, struct dwunit *ret)
{
	struct dwunit u;
	for (uint64_t off = 0; dwunit_header(&f->file, off, &u); off = u.end) {
		uint64_t next = u.end;
		if (u.type != DW_UT_compile && u.type != DW_UT_split_compile)
			continue;
		if (!dwunit_open_split(&f->file, off, &(struct dwunit_parts){0}, skeleton, &u))
			return false;
		if (u.id == skeleton->id) {
			*ret = u;
			return true;
		}
		dwunit_close(&u);
		u.end = next;
	}
	return false;
}

/* A number of 4 bytes in the index. */
static uint32_t number_at(struct dwsplit_file *f, uint64_t off)
{
	struct bytes b = dwsection_look(&f->file.sections, DWSECTION_CU_INDEX, off, 4);
	return bytes_u32(&b);
}

/* The row of the index for that id; 0: none. */
static uint32_t find_row(struct dwsplit_file *f, uint64_t id, uint32_t n_slots)
{
	uint64_t mask = n_slots - 1u, slot = id & mask, step = (id >> 32 & mask) | 1;
	if (!n_slots || n_slots & mask)
		return 0;
	for (uint32_t i = 0; i < n_slots && dwfile_step(&f->file); i++) {
		struct bytes b = dwsection_look(&f->file.sections, DWSECTION_CU_INDEX,
						16 + slot * 8, 8);
		uint64_t there = bytes_u64(&b);
		uint32_t row = number_at(f, 16 + (uint64_t)n_slots * 8 + slot * 4);
		if (b.bad || !row || there == id)
			return b.bad ? 0 : row;
		slot = (slot + step) & mask;
	}
	return 0;
}

static bool find_in_dwp(struct dwsplit_file *f, const struct dwunit *skeleton, struct dwunit *ret)
{
	struct bytes b = dwsection_look(&f->file.sections, DWSECTION_CU_INDEX, 0, 16);
	uint32_t version = bytes_u32(&b) & 0xffff, n_columns = bytes_u32(&b);
	uint32_t n_rows = bytes_u32(&b), n_slots = bytes_u32(&b);
	if (b.bad || (version != 2 && version != 5) || n_columns > COLUMNS_MAX)
		return false;
	uint32_t row = find_row(f, skeleton->id, n_slots);
	if (!row || row > n_rows)
		return false;
	uint64_t columns = 16 + (uint64_t)n_slots * 12, info = UINT64_MAX;
	uint64_t offsets = columns + (uint64_t)row * n_columns * 4;
	struct dwunit_parts parts = {0};
	for (uint32_t i = 0; i < n_columns; i++) {
		uint32_t off = number_at(f, offsets + i * 4);
		switch (number_at(f, columns + i * 4)) {
		case COLUMN_INFO: info = off; break;
		case COLUMN_ABBREV: parts.abbrev = off; break;
		case COLUMN_STR_OFFSETS: parts.str_offsets = off; break;
		case COLUMN_RNGLISTS: parts.rnglists = version == 5 ? off : 0; break;
		}
	}
	struct dwunit u;
	if (!dwunit_open_split(&f->file, info, &parts, skeleton, &u))
		return false;
	if (u.id != skeleton->id) {
		dwunit_close(&u);
		return false;
	}
	*ret = u;
	return true;
}

/* ---- both ---------------------------------------------------------------- */

void dwsplit_init(struct dwsplit *s, struct dwfile *root)
{
	*s = (struct dwsplit){ .root = root };
}

void dwsplit_done(struct dwsplit *s)
{
	file_close(s->dwo);
	file_close(s->dwp);
}

bool dwsplit_find(struct dwsplit *s, const struct dwunit *skeleton, struct dwunit *ret)
{
	struct dwsplit_file *dwp = dwp_file(s);
	if (dwp && find_in_dwp(dwp, skeleton, ret))
		return true;
	s->dwo = dwo_file(s, skeleton);
	if (s->dwo && find_in_dwo(s->dwo, skeleton, ret))
		return true;
	file_close(s->dwo);
	s->dwo = NULL;
	if (!s->root->lost_part)
		s->root->lost_part = dwunit_copy_string(skeleton, &skeleton->dwo_name);
	return false;
}

bool dwsplit_leave(struct dwsplit *s)
{
	struct dwsplit_file *f = s->dwo ? s->dwo : s->dwp;
	bool ok = !f || (!f->file.out_of_memory && dwtext_read(s->root, &f->file.sections));
	file_close(s->dwo);
	s->dwo = NULL;
	return ok;
}
