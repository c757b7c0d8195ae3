/*
 * All sizes and offsets in the header are checked against .debug_info before anything else uses
 * them, so an open unit has off < root_off < end within the section.
 *
 * References to type units (by signature) are ignored: no function is described only there.  If the
 * first DIE does not give a base, the default is that of a table with one header (sections 7.26 to
 * 7.28).
 */

#include "symbolize/dwarf/dwunit.h"

#include "base/search.h"

#include "symbolize/dwarf/dwalt.h"
#include "symbolize/dwarf/dwfile.h"

#include <dwarf.h>

#define HEADER_BYTES_MAX 40      /* of a type unit in 64-bit DWARF 5 */

/* ---- header -------------------------------------------------------------- */

bool dwunit_header(struct dwfile *file, uint64_t off, struct dwunit *ret)
{
	struct bytes b = dwsection_look(&file->sections, DWSECTION_INFO, off, HEADER_BYTES_MAX);
	const uint8_t *head = b.p;
	uint64_t n_bytes = bytes_u32(&b), n_rest;
	struct dwunit u = { .file = file, .base_file = file, .off = off, .type = DW_UT_compile,
		.format.off_bytes = n_bytes == 0xffffffff ? 8 : 4 };
	if (n_bytes == 0xffffffff)
		n_bytes = bytes_u64(&b);
	u.end = off + (uint64_t)(b.p - head);
	n_rest = dwsection_bytes(&file->sections, DWSECTION_INFO) - u.end;
	u.format.version = bytes_u16(&b);
	if (u.format.version >= 5) {
		u.type = bytes_u8(&b);
		u.format.addr_bytes = bytes_u8(&b);
		u.abbrev_off = dwform_unsigned(&b, u.format.off_bytes);
		if (u.type == DW_UT_skeleton || u.type == DW_UT_split_compile)
			u.id = bytes_u64(&b);
		else if (u.type == DW_UT_type || u.type == DW_UT_split_type) {
			bytes_u64(&b);       /* signature */
			dwform_unsigned(&b, u.format.off_bytes);
		}
	} else {
		u.abbrev_off = dwform_unsigned(&b, u.format.off_bytes);
		u.format.addr_bytes = bytes_u8(&b);
	}
	u.root_off = off + (uint64_t)(b.p - head);
	if (b.bad || n_bytes > n_rest || u.end + n_bytes <= u.root_off ||
	    u.format.version < 2 || u.format.version > 5 ||
	    (u.format.addr_bytes != 4 && u.format.addr_bytes != 8))
		return false;
	u.end += n_bytes;
	*ret = u;
	return true;
}

bool dwunit_is_compile(const struct dwunit *u)
{
	return u->type == DW_UT_compile || u->type == DW_UT_skeleton;
}

/* ---- the first DIE ------------------------------------------------------- */

static void set_root_attr(struct dwunit *u, unsigned name, const struct dwvalue *v)
{
	switch (name) {
	case DW_AT_low_pc: u->low = *v; break;
	case DW_AT_high_pc: u->high = *v; break;
	case DW_AT_ranges: u->ranges = *v; break;
	case DW_AT_stmt_list: u->lines = *v; break;
	case DW_AT_comp_dir: u->comp_dir = *v; break;
	case DW_AT_language: u->language = (uint16_t)v->u; break;
	case DW_AT_str_offsets_base: u->str_offsets_base = v->u; break;
	case DW_AT_addr_base: u->addr_base = v->u; break;
	case DW_AT_rnglists_base: u->rnglists_base = v->u; break;
	case DW_AT_GNU_addr_base: u->addr_base = v->u; break;
	case DW_AT_GNU_ranges_base: u->ranges_base = v->u; break;
	case DW_AT_GNU_dwo_id: u->id = v->u; break;
	case DW_AT_dwo_name:
	case DW_AT_GNU_dwo_name:
		u->is_split = true;
		u->dwo_name = *v;
		break;
	}
}

static bool read_root_from(struct dwunit *u, struct bytes b)
{
	const struct dwabbrev *a = dwabbrev_find(u->table, dwform_uleb(&b));
	if (!a)
		return false;
	for (uint32_t i = 0; i < a->n_attrs; i++) {
		const struct dwattr *attr = dwabbrev_attr(u->table, a, i);
		struct dwvalue v;
		dwform_read(&b, attr->form, attr->implicit, &u->format, &v);
		if (b.bad)
			return false;
		set_root_attr(u, attr->name, &v);
	}
	dwunit_addr(u, &u->low, &u->low_pc);
	u->comp_dir.text = dwfile_copy(u->file, u->comp_dir.text);
	u->dwo_name.text = dwfile_copy(u->file, u->dwo_name.text);
	return true;
}

static bool read_root(struct dwunit *u)
{
	return read_root_from(u, dwunit_look(u, u->root_off, DWUNIT_DIE_BYTES)) ||
	       read_root_from(u, dwunit_look(u, u->root_off, UINT64_MAX));
}

static bool open_unit(struct dwfile *file, uint64_t off, const struct dwunit_parts *parts,
		      const struct dwunit *skeleton, struct dwunit *ret)
{
	struct dwunit u;
	if (!dwunit_header(file, off, &u))
		return false;
	uint64_t header = u.format.off_bytes == 8 ? 16 : 8;
	/* before DWARF 5 these sections have no header */
	u.str_offsets_base = parts->str_offsets + (u.format.version < 5 ? 0 : header);
	u.rnglists_base = parts->rnglists + header + 4;
	u.addr_base = header;
	u.abbrev_off += parts->abbrev;
	if (skeleton) {
		u.base_file = skeleton->file;
		u.addr_base = skeleton->addr_base;
		u.ranges_base = u.format.version < 5 ? skeleton->ranges_base : parts->rnglists;
	}
	u.is_split = u.type == DW_UT_skeleton;
	u.table = dwabbrev_get(&file->abbrevs, &file->sections, u.abbrev_off, &u.format,
			       &file->out_of_memory);
	if (!u.table)
		return false;
	if (!read_root(&u)) {
		dwabbrev_put(u.table);
		return false;
	}
	if (skeleton && !u.low.form)
		u.low_pc = skeleton->low_pc;
	*ret = u;
	return true;
}

bool dwunit_open(struct dwfile *file, uint64_t off, struct dwunit *ret)
{
	return open_unit(file, off, &(struct dwunit_parts){0}, NULL, ret);
}

bool dwunit_open_split(struct dwfile *file, uint64_t off, const struct dwunit_parts *parts,
		       const struct dwunit *skeleton, struct dwunit *ret)
{
	return open_unit(file, off, parts, skeleton, ret);
}

void dwunit_close(struct dwunit *u)
{
	dwabbrev_put(u->table);
	u->table = NULL;
}

/* ---- other units --------------------------------------------------------- */

static void list_units(struct dwfile *file)
{
	struct dwunit u;
	file->units_listed = true;
	for (uint64_t off = 0; !dwfile_is_late(file) && dwunit_header(file, off, &u);
	     off = u.end) {
		struct dwfile_extent extent = { u.off, u.end };
		if (!VEC_PUSH(&file->units, extent)) {
			file->out_of_memory = true;
			return;
		}
	}
}

struct dwunit *dwunit_holding(struct dwfile *file, uint64_t off)
{
	for (size_t i = 0; i < DWFILE_N_OTHERS; i++) {
		struct dwunit *u = &file->other[i];
		if (u->table && off >= u->off && off < u->end)
			return u;
	}
	if (!file->units_listed)
		list_units(file);
	size_t lo = SEARCH_COUNT(file->units.n, i, file->units.v[i].end <= off);
	if (lo == file->units.n)
		return NULL;
	struct dwunit *u = &file->other[file->next_other];
	file->next_other = (file->next_other + 1) % DWFILE_N_OTHERS;
	dwunit_close(u);
	return dwunit_open(file, file->units.v[lo].off, u) ? u : NULL;
}

/* ---- values -------------------------------------------------------------- */

struct bytes dwunit_hold(const struct dwunit *u, uint64_t off)
{
	if (off < u->root_off || off >= u->end)
		return (struct bytes){ .bad = true };
	return dwsection_hold(&u->file->sections, DWSECTION_INFO, off, u->end - off);
}

struct bytes dwunit_look(const struct dwunit *u, uint64_t off, uint64_t n_bytes)
{
	if (off < u->root_off || off >= u->end)
		return (struct bytes){ .bad = true };
	if (n_bytes > u->end - off)
		n_bytes = u->end - off;
	return dwsection_look(&u->file->sections, DWSECTION_INFO, off, n_bytes);
}

/* Entry `index` of a table at base with numbers of n_bytes each. */
static bool read_table(struct dwsections *s, enum dwsection_id id, uint64_t base,
		       uint64_t index, unsigned n_bytes, uint64_t *ret)
{
	uint64_t n_section = dwsection_bytes(s, id);
	if (base > n_section || index >= (n_section - base) / n_bytes)
		return false;
	struct bytes b = dwsection_look(s, id, base + index * n_bytes, n_bytes);
	*ret = dwform_unsigned(&b, n_bytes);
	return !b.bad;
}

bool dwunit_addr(const struct dwunit *u, const struct dwvalue *v, uint64_t *ret_vaddr)
{
	switch (v->form) {
	case DW_FORM_addr:
		*ret_vaddr = v->u;
		return true;
	case DW_FORM_addrx:
	case DW_FORM_addrx1:
	case DW_FORM_addrx2:
	case DW_FORM_addrx3:
	case DW_FORM_addrx4:
	case DW_FORM_GNU_addr_index:
		return read_table(&u->base_file->sections, DWSECTION_ADDR, u->addr_base, v->u,
				  u->format.addr_bytes, ret_vaddr);
	}
	return false;
}

bool dwunit_string_place(const struct dwunit *u, const struct dwvalue *v,
			 struct dwsections **ret_from, uint64_t *ret_off)
{
	struct dwfile *alt;
	*ret_from = &u->file->sections;
	switch (v->form) {
	case DW_FORM_strp:
		*ret_off = v->u;
		return true;
	case DW_FORM_strx:
	case DW_FORM_strx1:
	case DW_FORM_strx2:
	case DW_FORM_strx3:
	case DW_FORM_strx4:
	case DW_FORM_GNU_str_index:
		return read_table(*ret_from, DWSECTION_STR_OFFSETS, u->str_offsets_base, v->u,
				  u->format.off_bytes, ret_off);
	case DW_FORM_GNU_strp_alt:
	case DW_FORM_strp_sup:
		alt = dwalt_get(u->file);
		if (!alt)
			return false;
		*ret_from = &alt->sections;
		*ret_off = v->u;
		return true;
	}
	return false;
}

const char *dwunit_string(const struct dwunit *u, const struct dwvalue *v)
{
	struct dwsections *from;
	uint64_t off;
	if (dwunit_string_place(u, v, &from, &off))
		return dwsection_string(from, DWSECTION_STR, off);
	switch (v->form) {
	case DW_FORM_string:
		return v->text;
	case DW_FORM_line_strp:
		return dwsection_string(&u->file->sections, DWSECTION_LINE_STR, v->u);
	}
	return NULL;
}

const char *dwunit_copy_string(const struct dwunit *u, const struct dwvalue *v)
{
	return dwfile_copy(u->file, dwunit_string(u, v));
}

bool dwunit_reference(const struct dwunit *u, const struct dwvalue *v, struct dwfile **ret_file,
		      uint64_t *ret_off)
{
	*ret_file = u->file;
	switch (v->form) {
	case DW_FORM_ref1:
	case DW_FORM_ref2:
	case DW_FORM_ref4:
	case DW_FORM_ref8:
	case DW_FORM_ref_udata:
		if (v->u >= u->end - u->off)
			return false;
		*ret_off = u->off + v->u;
		return true;
	case DW_FORM_ref_addr:
		*ret_off = v->u;
		return true;
	case DW_FORM_GNU_ref_alt:
	case DW_FORM_ref_sup4:
	case DW_FORM_ref_sup8:
		*ret_file = dwalt_get(u->file);
		*ret_off = v->u;
		return *ret_file != NULL;
	}
	return false;
}
