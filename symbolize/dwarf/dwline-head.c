/*
 * Tables of folders and files.  Until DWARF 4 (section 6.2.4 there), both are lists of strings,
 * folder 0 is DW_AT_comp_dir, and files count from 1.  Since DWARF 5, they describe their columns,
 * and include folder 0 and file 0.  Paths are built only for files that are requested.
 *
 * Relative paths are relative to DW_AT_comp_dir, also folder 0 if it is relative
 * (-ffile-prefix-map): "./libio/./libio/iofclose.c", as llvm-symbolizer and eu-addr2line print.
 */

#include "symbolize/dwarf/dwline.h"

#include "symbolize/dwarf/dwfile.h"

#include <dwarf.h>
#include <stdio.h>

static bool add_dir(struct dwline *l, struct dwvalue dir)
{
	if (VEC_PUSH(&l->dirs, dir))
		return true;
	l->u->file->out_of_memory = true;
	return false;
}

static bool add_file(struct dwline *l, struct dwvalue name, uint64_t dir)
{
	struct dwline_file file = { .name = name, .dir = dir };
	if (VEC_PUSH(&l->files, file))
		return true;
	l->u->file->out_of_memory = true;
	return false;
}

static struct dwvalue text_value(const char *text)
{
	return (struct dwvalue){ .form = DW_FORM_string, .text = text };
}

static bool read_old_tables(struct dwline *l, struct bytes *b)
{
	const struct dwvalue none = {0};
	if (!add_dir(l, none) || !add_file(l, none, 0))
		return false;
	while (!b->bad) {
		const char *dir = bytes_cstr(b);
		if (!*dir)
			break;
		if (!add_dir(l, text_value(dir)))
			return false;
	}
	while (!b->bad) {
		const char *name = bytes_cstr(b);
		if (!*name)
			break;
		uint64_t dir = dwform_uleb(b);
		dwform_uleb(b);              /* time */
		dwform_uleb(b);              /* size */
		if (!add_file(l, text_value(name), dir))
			return false;
	}
	return !b->bad;
}

struct column {
	uint64_t content, form;
};

/* One table of DWARF 5: its columns, then its rows. */
static bool read_table(struct dwline *l, struct bytes *b, const struct dwformat *f, bool is_files)
{
	struct column column[UINT8_MAX];
	unsigned n_columns = bytes_u8(b);
	for (unsigned i = 0; i < n_columns; i++) {
		column[i].content = dwform_uleb(b);
		column[i].form = dwform_uleb(b);
	}
	uint64_t n = dwform_uleb(b);
	for (uint64_t i = 0; i < n && !b->bad; i++) {
		const uint8_t *start = b->p;
		struct dwvalue name = {0};
		uint64_t dir = 0;
		for (unsigned k = 0; k < n_columns; k++) {
			struct dwvalue v;
			dwform_read(b, (unsigned)column[k].form, 0, f, &v);
			if (b->bad)
				return false;
			if (column[k].content == DW_LNCT_path)
				name = v;
			else if (column[k].content == DW_LNCT_directory_index)
				dir = v.u;
		}
		/* the number of rows without bytes is not limited by the section */
		if (b->p == start || !(is_files ? add_file(l, name, dir) : add_dir(l, name)))
			return false;
	}
	return !b->bad;
}

static bool read_head(struct dwline *l, struct bytes *b)
{
	struct dwformat f = l->u->format;
	dwform_length(b, &f.off_bytes);
	l->version = f.version = bytes_u16(b);
	if (l->version < 2 || l->version > 5)
		return false;
	if (l->version >= 5) {
		f.addr_bytes = bytes_u8(b);
		bytes_u8(b);                 /* size of a segment selector */
	}
	struct bytes rest = *b;
	uint64_t n_head = dwform_unsigned(&rest, f.off_bytes);
	*b = rest;
	bytes_take(&rest, n_head);
	l->program = rest;
	l->min_insn_bytes = bytes_u8(b);
	l->max_ops = l->version >= 4 ? bytes_u8(b) : 1;
	bytes_u8(b);                         /* default_is_stmt */
	l->line_base = (int8_t)bytes_u8(b);
	l->line_range = bytes_u8(b);
	l->opcode_base = bytes_u8(b);
	if (rest.bad || b->bad || !l->line_range || !l->opcode_base || !l->max_ops)
		return false;
	for (unsigned i = 1; i < l->opcode_base; i++)
		l->n_operands[i] = bytes_u8(b);
	for (unsigned op = l->opcode_base; op < 256; op++) {
		unsigned x = op - l->opcode_base;
		l->n_ops[op] = (uint8_t)(x / l->line_range);
		l->n_lines[op] = (int16_t)(l->line_base + (int)(x % l->line_range));
	}
	return l->version < 5 ? read_old_tables(l, b)
			      : read_table(l, b, &f, false) && read_table(l, b, &f, true);
}

bool dwline_open(struct dwline *l, const struct dwunit *u)
{
	*l = (struct dwline){ .u = u };
	if (!u->lines.form)
		return false;
	struct dwsections *s = &u->file->sections;
	struct bytes b = dwsection_hold(s, DWSECTION_LINE, u->lines.u,
					dwsection_entry_bytes(s, DWSECTION_LINE, u->lines.u));
	if (read_head(l, &b))
		return true;
	dwline_close(l);
	return false;
}

void dwline_close(struct dwline *l)
{
	VEC_FREE(&l->dirs);
	VEC_FREE(&l->files);
}

/* ---- paths --------------------------------------------------------------- */

/* A folder by its number, copied once. */
static const char *dir_path(struct dwline *l, uint64_t dir)
{
	if (dir >= l->dirs.n)
		return NULL;
	struct dwvalue *v = &l->dirs.v[dir];
	*v = text_value(dwunit_copy_string(l->u, v));
	return v->text;
}

static const char *make_path(struct dwline *l, const struct dwline_file *f)
{
	const char *dir = dir_path(l, f->dir), *name = dwunit_string(l->u, &f->name);
	if (!name || !*name || *name == '/' || !dir || !*dir)
		return dwfile_copy(l->u->file, name);
	size_t n = strlen(dir) + strlen(name) + 2;
	char *path = arena_alloc(&l->u->file->arena, n, 1, 1);
	if (path)
		snprintf(path, n, "%s/%s", dir, name);
	else
		l->u->file->out_of_memory = true;
	return path;
}

const char *dwline_path(struct dwline *l, uint64_t file)
{
	if (file >= l->files.n)
		return NULL;
	struct dwline_file *f = &l->files.v[file];
	if (!f->has_path) {
		f->path = make_path(l, f);
		f->has_path = true;
	}
	return f->path;
}
