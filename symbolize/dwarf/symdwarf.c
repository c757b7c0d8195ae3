/*
 * The addresses get their units (dwindex).  Each unit with addresses is read once: functions and
 * inlined calls (dwwalk), lines (dwline), and names (dwname).  libdw can do all of this.  But it
 * inflates all sections, keeps all rows of a line table, maps files that may be truncated, and
 * takes up to eight times as long.  (tests/tools/symlibdw.c still uses it, for comparison.)
 *
 * Files of the other byte order are not read: their code does not run here, and a profile of it
 * that was recorded elsewhere has names from its symbol tables.
 */

#include "symbolize/dwarf/symdwarf.h"

#include "base/cleanup.h"
#include "symbolize/dwarf/dwalt.h"
#include "symbolize/dwarf/dwfile.h"
#include "symbolize/dwarf/dwindex.h"
#include "symbolize/dwarf/dwline.h"
#include "symbolize/dwarf/dwname.h"
#include "symbolize/dwarf/dwsplit.h"
#include "symbolize/dwarf/dwtext.h"
#include "symbolize/dwarf/dwwalk.h"
#include "symbolize/elf/symdebug.h"

#include <dwarf.h>
#include <errno.h>

/* Names that the frame gets at the end. */
struct noted {
	uint32_t frame, name, linkage;
};

struct symdwarf {
	struct dwfile file;
	struct dwsplit split;
	VEC(struct symdwarf_frame) frames;
	VEC(struct noted) noted;
};

/* One unit at work. */
struct unit {
	struct symdwarf *s;
	struct dwunit u;         /* has the lines */
	struct dwunit tree;      /* has the functions: u, or its split unit */
	struct dwline lines;
	bool has_lines, is_plain;
	const char *dir;
	const struct dwindex_place *place;
	struct dwline_row *row;
	struct dwwalk walk;
	struct dwname *name;     /* of the walk's nodes */
	struct dwcall *call;
};

/* ---- opening ------------------------------------------------------------- */

int symdwarf_open(Elf *elf, int fd, const char *elf_path, const struct symdebug_place *where,
		  struct symdwarf **ret_dwarf)
{
	struct symdwarf *s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	int r = dwfile_open(&s->file, elf, fd, where);
	if (r < 0) {
		free(s);
		return r;
	}
	s->file.elf_path = elf_path;
	dwsplit_init(&s->split, &s->file);
	*ret_dwarf = s;
	return 0;
}

void symdwarf_close(struct symdwarf *s)
{
	if (!s)
		return;
	dwsplit_done(&s->split);
	dwfile_done(&s->file);
	VEC_FREE(&s->frames);
	VEC_FREE(&s->noted);
	free(s);
}

const struct symdwarf_frame *symdwarf_frames(const struct symdwarf *s)
{
	return s->frames.v;
}

/* ---- frames -------------------------------------------------------------- */

static struct symdwarf_frame frame_at(struct unit *k, bool has_file, uint64_t file, uint32_t line,
				      uint32_t column)
{
	const char *path = has_file && k->has_lines ? dwline_path(&k->lines, file) : NULL;
	return (struct symdwarf_frame){
		.file = path, .dir = path && path[0] != '/' ? k->dir : NULL,
		.line = line, .column = column,
	};
}

static bool emit_frames(struct unit *k, size_t i, struct symdwarf_addr *a)
{
	struct symdwarf *s = k->s;
	const struct dwline_row *row = &k->row[i];
	struct symdwarf_frame frame = frame_at(k, row->found, row->file, row->line, row->column);
	int32_t top = k->walk.place[i].top;
	a->first = (uint32_t)s->frames.n;
	a->has_function = top != DWWALK_NO_NODE;
	a->is_plain = k->is_plain;
	if (!a->has_function && (frame.line || frame.file) && !VEC_PUSH(&s->frames, frame))
		return false;
	for (; top != DWWALK_NO_NODE; top = k->walk.nodes.v[top].parent) {
		const struct dwcall *call = &k->call[top];
		const struct dwname *name = &k->name[top];
		struct noted noted = { (uint32_t)s->frames.n, name->name, name->linkage };
		frame.start_line = name->start_line;
		if (!VEC_PUSH(&s->frames, frame) || !VEC_PUSH(&s->noted, noted))
			return false;
		frame = frame_at(k, call->has_file, call->file, call->line, call->column);
	}
	a->n = (uint32_t)(s->frames.n - a->first);
	return s->frames.n <= UINT32_MAX;
}

/* ---- units --------------------------------------------------------------- */

/* Languages without mangling: their names need no symbol table. */
static bool is_plain(unsigned language)
{
	switch (language) {
	case DW_LANG_C89:
	case DW_LANG_C:
	case DW_LANG_C99:
	case DW_LANG_C11:
	case DW_LANG_Go:
	case DW_LANG_Mips_Assembler:
	case 0x2c:                   /* DW_LANG_C17, newer than the header */
		return true;
	}
	return false;
}

static bool find_functions(struct unit *k)
{
	struct dwfile *file = k->tree.file;
	dwwalk_run(&k->walk);
	size_t n = k->walk.nodes.n;
	k->name = calloc(n + 1, sizeof(*k->name));
	k->call = calloc(n + 1, sizeof(*k->call));
	if (!k->name || !k->call)
		return false;
	for (size_t i = 0; i < n; i++)
		dwname_read(&k->tree, k->walk.nodes.v[i].off, &k->name[i], &k->call[i]);
	return !file->out_of_memory;
}

static bool find_lines(struct unit *k)
{
	struct dwfile *file = &k->s->file;
	k->has_lines = dwline_open(&k->lines, &k->u);
	if (k->has_lines)
		dwline_run(&k->lines, k->row, k->walk.n);
	return !file->out_of_memory;
}

/* All n places are in this unit.  0 or -ENOMEM. */
static int read_unit(struct unit *k, size_t n, struct symdwarf_addr *addr)
{
	struct dwfile *file = &k->s->file;
	k->dir = dwunit_copy_string(&k->u, &k->u.comp_dir);
	k->is_plain = is_plain(k->tree.language);
	k->row = calloc(n, sizeof(*k->row));
	k->walk = (struct dwwalk){ .u = &k->tree, .n = n };
	k->walk.place = calloc(n, sizeof(*k->walk.place));
	if (!k->row || !k->walk.place)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		k->row[i].vaddr = k->walk.place[i].vaddr = k->place[i].vaddr;
	if (!find_functions(k) || !find_lines(k))
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		if (!emit_frames(k, i, &addr[k->place[i].index]))
			return -ENOMEM;
	return file->out_of_memory ? -ENOMEM : 0;
}

static int resolve_unit(struct symdwarf *s, const struct dwindex_place *place, size_t n,
			struct symdwarf_addr *addr)
{
	struct unit k = { .s = s, .place = place };
	if (!dwunit_open(&s->file, place->unit, &k.u))
		return s->file.out_of_memory ? -ENOMEM : 0;
	k.tree = k.u;
	bool is_elsewhere = k.u.is_split && dwsplit_find(&s->split, &k.u, &k.tree);
	int r = read_unit(&k, n, addr);
	if (k.has_lines)
		dwline_close(&k.lines);
	VEC_FREE(&k.walk.nodes);
	free(k.walk.place);
	free(k.row);
	free(k.name);
	free(k.call);
	if (is_elsewhere)
		dwunit_close(&k.tree);
	if (is_elsewhere && !dwsplit_leave(&s->split) && r == 0)
		r = -ENOMEM;
	dwunit_close(&k.u);
	return r;
}

static bool set_names(struct symdwarf *s)
{
	struct dwfile *alt = s->file.alt ? dwalt_get(&s->file) : NULL;
	if (!dwtext_read(&s->file, &s->file.sections) ||
	    (alt && (alt->out_of_memory || !dwtext_read(&s->file, &alt->sections))))
		return false;
	for (size_t i = 0; i < s->noted.n; i++) {
		const struct noted *noted = &s->noted.v[i];
		s->frames.v[noted->frame].name = dwtext_get(&s->file, noted->name);
		s->frames.v[noted->frame].linkage = dwtext_get(&s->file, noted->linkage);
	}
	s->noted.n = 0;
	return true;
}

/* The places before the unit at `end` that .debug_aranges omits. */
static int resolve_lost(struct symdwarf *s, struct dwindex *index, uint64_t end,
			struct dwindex_place *more, struct symdwarf_addr *addr)
{
	size_t n;
	while ((n = dwindex_next(index, end, more)) > 0) {
		int r = resolve_unit(s, more, n, addr);
		if (r)
			return r;
	}
	return 0;
}

/* The units in the order of the file. */
static int resolve_units(struct symdwarf *s, struct dwindex *index,
			 const struct dwindex_place *place, struct dwindex_place *more,
			 struct symdwarf_addr *addr)
{
	size_t n = (size_t)(index->place - place);
	for (size_t i = 0, end; i < n && !s->file.out_of_memory; i = end) {
		if (dwfile_is_late(&s->file))
			return 0;
		for (end = i + 1; end < n && place[end].unit == place[i].unit; end++)
			;
		int r = resolve_lost(s, index, place[i].unit, more, addr);
		if (r < 0)
			return r;
		r = resolve_unit(s, place + i, end - i, addr);
		if (r < 0)
			return r;
	}
	return resolve_lost(s, index, UINT64_MAX, more, addr);
}

static int resolve_places(struct symdwarf *s, struct dwindex_place *place, size_t n,
			  struct symdwarf_addr *addr)
{
	struct dwindex index;
	/* of a unit that .debug_aranges leaves out */
	CLEANUP_FREE struct dwindex_place *more = calloc(n, sizeof(*more));
	if (!more)
		return -ENOMEM;
	dwfile_begin(&s->file);
	dwindex_find(&index, &s->file, place, n);
	int r = resolve_units(s, &index, place, more, addr);
	dwindex_done(&index);
	if (r < 0)
		return r;
	return s->file.out_of_memory || !set_names(s) ? -ENOMEM : 0;
}

int symdwarf_resolve(struct symdwarf *s, struct symdwarf_addr *addr, size_t n)
{
	if (n == 0)
		return 0;
	if (n > UINT32_MAX)
		return -ENOMEM;
	CLEANUP_FREE struct dwindex_place *place = calloc(n, sizeof(*place));
	if (!place)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		addr[i] = (struct symdwarf_addr){ .vaddr = addr[i].vaddr };
		place[i] = (struct dwindex_place){ .vaddr = addr[i].vaddr, .index = (uint32_t)i };
	}
	return resolve_places(s, place, n, addr);
}

bool symdwarf_was_late(const struct symdwarf *s)
{
	return s->file.was_late;
}

const char *symdwarf_lost_part(const struct symdwarf *s)
{
	return s->file.lost_part;
}
