/*
 * A list ends with its end mark, with its section, or when the file's steps are used up: in a
 * crafted file, many DIEs may share one list.
 */

#include "symbolize/dwarf/dwrange.h"

#include "symbolize/dwarf/dwfile.h"

#include <dwarf.h>

#define PART_BYTES 1024      /* most lists have fewer */
#define ENTRY_BYTES_MAX 32   /* a byte, and two numbers of up to 10 */

/* Reads the next part of the list. */
static void read_part(struct dwrange *r)
{
	r->b = dwsection_look(r->from, r->id, r->off, PART_BYTES);
	r->b_start = r->b.p;
}

/* Makes sure that the next entry is in memory, if the section has it. */
static inline void bring_entry(struct dwrange *r)
{
	if (bytes_left(&r->b) >= ENTRY_BYTES_MAX || r->b.bad)
		return;
	r->off += (uint64_t)(r->b.p - r->b_start);
	read_part(r);
}

/* The offset of the list of the unit's DIE; false if there is none. */
static bool list_of(const struct dwunit *u, const struct dwvalue *v, enum dwsection_id id,
		    uint64_t *ret_off)
{
	struct dwsections *s = &u->file->sections;
	switch (v->form) {
	case DW_FORM_sec_offset:
	case DW_FORM_data4:
	case DW_FORM_data8:
		/* a unit's own ranges are never split off, and ranges_base does not apply to
		 * them */
		*ret_off = v->u + (u->base_file != u->file ? u->ranges_base : 0);
		return true;
	case DW_FORM_rnglistx: {
		uint64_t at, n_section = dwsection_bytes(s, id), base = u->rnglists_base;
		if (base > n_section || v->u >= (n_section - base) / u->format.off_bytes)
			return false;
		at = base + v->u * u->format.off_bytes;
		struct bytes b = dwsection_look(s, id, at, u->format.off_bytes);
		uint64_t off = dwform_unsigned(&b, u->format.off_bytes);
		*ret_off = base + off;
		return !b.bad && off <= UINT64_MAX - base;
	}
	}
	return false;
}

bool dwrange_pair(const struct dwunit *u, const struct dwcode *code, uint64_t *ret_start,
		  uint64_t *ret_end)
{
	if (!code->low.form || !code->high.form || !dwunit_addr(u, &code->low, ret_start))
		return false;
	/* since DWARF 4, a constant is relative to low_pc */
	if (!dwunit_addr(u, &code->high, ret_end) &&
	    __builtin_add_overflow(*ret_start, code->high.u, ret_end))
		*ret_end = *ret_start;
	return true;
}

void dwrange_init(struct dwrange *r, const struct dwunit *u, const struct dwcode *code)
{
	*r = (struct dwrange){ .u = u, .base = u->low_pc, .b = { .bad = true } };
	if (code->low.form && code->high.form) {
		r->is_pair = dwrange_pair(u, code, &r->start, &r->end);
	} else if (code->ranges.form) {
		bool is_old = u->format.version < 5;
		r->id = is_old ? DWSECTION_RANGES : DWSECTION_RNGLISTS;
		r->from = is_old ? &u->base_file->sections : &u->file->sections;
		if (list_of(u, &code->ranges, r->id, &r->off))
			read_part(r);
	}
}

static uint64_t address(struct dwrange *r)
{
	return dwform_unsigned(&r->b, r->u->format.addr_bytes);
}

static uint64_t address_at(struct dwrange *r, uint64_t index)
{
	uint64_t vaddr;
	struct dwvalue v = { .form = DW_FORM_addrx, .u = index };
	if (dwunit_addr(r->u, &v, &vaddr))
		return vaddr;
	r->b.bad = true;
	return 0;
}

/* One entry of .debug_ranges; false at the end. */
static bool next_old(struct dwrange *r, uint64_t *start, uint64_t *end)
{
	uint64_t ones = r->u->format.addr_bytes == 8 ? UINT64_MAX : UINT32_MAX;
	*start = address(r);
	*end = address(r);
	if (!*start && !*end)
		return false;
	if (*start == ones) {
		r->base = *end;
		*start = *end = 0;
		return true;
	}
	*start += r->base;
	*end += r->base;
	return true;
}

/* One entry of .debug_rnglists; false at the end. */
static bool next_new(struct dwrange *r, uint64_t *start, uint64_t *end)
{
	struct bytes *b = &r->b;
	*start = *end = 0;
	switch (bytes_u8(b)) {
	case DW_RLE_base_addressx:
		r->base = address_at(r, dwform_uleb(b));
		return true;
	case DW_RLE_startx_endx:
		*start = address_at(r, dwform_uleb(b));
		*end = address_at(r, dwform_uleb(b));
		return true;
	case DW_RLE_startx_length:
		*start = address_at(r, dwform_uleb(b));
		*end = *start + dwform_uleb(b);
		return true;
	case DW_RLE_offset_pair:
		*start = r->base + dwform_uleb(b);
		*end = r->base + dwform_uleb(b);
		return true;
	case DW_RLE_base_address:
		r->base = address(r);
		return true;
	case DW_RLE_start_end:
		*start = address(r);
		*end = address(r);
		return true;
	case DW_RLE_start_length:
		*start = address(r);
		*end = *start + dwform_uleb(b);
		return true;
	}
	return false;
}

bool dwrange_next(struct dwrange *r, uint64_t *ret_start, uint64_t *ret_end)
{
	uint64_t start, end;
	if (r->is_pair) {
		r->is_pair = false;
		*ret_start = r->start;
		*ret_end = r->end;
		return r->start && r->start < r->end;
	}
	while (!r->b.bad && dwfile_step(r->u->file)) {
		bring_entry(r);
		bool more = r->u->format.version < 5 ? next_old(r, &start, &end)
						     : next_new(r, &start, &end);
		if (!more || r->b.bad)
			return false;
		if (!start || start >= end)
			continue;
		*ret_start = start;
		*ret_end = end;
		return true;
	}
	return false;
}
