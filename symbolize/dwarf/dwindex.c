/*
 * No index is built: the few places are looked up in the many ranges in one pass, which takes no
 * memory.  A unit with ranges in .debug_aranges has all of its ranges there (LLVM assumes this,
 * too), so only the other units are opened, and only while a place is left.
 *
 * Moving from unit to unit is cheap, unless .debug_info is compressed.  Two rules avoid
 * decompressing all of it:
 *
 *  - These units are looked for while the others are read, in the same order.
 *  - In a compressed section, a place with covered code a few bytes before and after it is treated
 *    as padding, which it nearly always is.
 *
 * Linker stubs are in no unit.  There nearly always is one among the places, and a search for it
 * would decompress all of libc's debug information.
 */

#include "symbolize/dwarf/dwindex.h"

#include "base/search.h"

#include "symbolize/dwarf/dwfile.h"
#include "symbolize/dwarf/dwrange.h"

#include <gelf.h>

#define GAP_BYTES 64             /* alignment of functions, at most */

enum { NEAR_BEFORE = 1, NEAR_BEHIND = 2, NEAR_BOTH = 3, DROPPED = 4 };

static size_t lower_bound(const struct dwindex_place *p, size_t n, uint64_t vaddr)
{
	return SEARCH_COUNT(n, i, p[i].vaddr < vaddr);
}

/* The unit has code in [start, end). */
static void take_places(struct dwindex *f, uint64_t unit, uint64_t start, uint64_t end)
{
	if (end <= f->place[0].vaddr || start > f->place[f->n - 1].vaddr)
		return;
	for (size_t i = lower_bound(f->place, f->n, start); i < f->n && f->place[i].vaddr < end;
	     i++) {
		if (!dwfile_step(f->file))
			return;
		if (f->place[i].unit != DWINDEX_NO_UNIT)
			continue;
		f->place[i].unit = unit;
		if (f->taken)
			f->taken[f->n_taken++] = f->place[i];
		f->n_left -= !f->near || !(f->near[i] & DROPPED);
	}
}

/* There is code in [start, end): marks the places just before or after it. */
static void note_neighbours(struct dwindex *f, uint64_t start, uint64_t end)
{
	uint64_t from = start > GAP_BYTES ? start - GAP_BYTES : 0;
	for (size_t i = lower_bound(f->place, f->n, from); i < f->n; i++) {
		uint64_t vaddr = f->place[i].vaddr;
		if (vaddr >= end && vaddr - end >= GAP_BYTES)
			return;
		if (!dwfile_step(f->file))
			return;
		f->near[i] |= vaddr < start ? NEAR_BEHIND : vaddr >= end ? NEAR_BEFORE : 0;
	}
}

/* Stops looking for the unit of place i. */
static void drop_place(struct dwindex *f, size_t i)
{
	f->n_left -= !(f->near[i] & DROPPED) && f->place[i].unit == DWINDEX_NO_UNIT;
	f->near[i] |= DROPPED;
}

/* Gives up places with code just before and after them. */
static void drop_padding(struct dwindex *f)
{
	for (size_t i = 0; i < f->n; i++)
		if ((f->near[i] & NEAR_BOTH) == NEAR_BOTH)
			drop_place(f, i);
}

/* Gives up places in linker stubs.  A debug file has the headers of these sections, too. */
static void drop_stubs(struct dwindex *f)
{
	Elf *elf = f->file->sections.elf;
	size_t names;
	if (!elf || elf_getshdrstrndx(elf, &names))
		return;
	for (Elf_Scn *scn = NULL; (scn = elf_nextscn(elf, scn));) {
		GElf_Shdr sh;
		const char *name;
		if (!gelf_getshdr(scn, &sh) || !(sh.sh_flags & SHF_EXECINSTR) ||
		    !(name = elf_strptr(elf, names, sh.sh_name)) ||
		    (strncmp(name, ".plt", 4) != 0 && strcmp(name, ".iplt") != 0))
			continue;
		for (size_t i = lower_bound(f->place, f->n, sh.sh_addr);
		     i < f->n && f->place[i].vaddr - sh.sh_addr < sh.sh_size; i++)
			drop_place(f, i);
	}
}

/* ---- .debug_aranges ------------------------------------------------------ */

/* One set; *b ends with it. */
static void read_set(struct dwindex *f, struct bytes *b, const uint8_t *start, uint8_t off_bytes)
{
	bool has_any = false;
	uint16_t version = bytes_u16(b);
	uint64_t unit = dwform_unsigned(b, off_bytes);
	uint8_t addr_bytes = bytes_u8(b), segment_bytes = bytes_u8(b);
	if (b->bad || version != 2 || (addr_bytes != 4 && addr_bytes != 8) || segment_bytes)
		return;
	/* the pairs are aligned to their size, relative to the start of the set */
	size_t misaligned = (size_t)(b->p - start) % (2u * addr_bytes);
	if (misaligned)
		bytes_take(b, 2u * addr_bytes - misaligned);
	while (!b->bad && bytes_left(b) >= 2u * addr_bytes) {
		uint64_t vaddr = dwform_unsigned(b, addr_bytes);
		uint64_t n_bytes = dwform_unsigned(b, addr_bytes);
		/* address 0: code that the linker dropped, or the end mark, which more pairs may
		 * follow */
		if (!vaddr || !n_bytes || n_bytes > UINT64_MAX - vaddr)
			continue;
		has_any = true;
		take_places(f, unit, vaddr, vaddr + n_bytes);
		if (f->near)
			note_neighbours(f, vaddr, vaddr + n_bytes);
	}
	if (has_any && !VEC_PUSH(&f->listed, unit))
		f->file->out_of_memory = true;
}

static void by_aranges(struct dwindex *f)
{
	struct dwsections *s = &f->file->sections;
	uint64_t n_section = dwsection_bytes(s, DWSECTION_ARANGES);
	for (uint64_t off = 0; off < n_section && !f->file->out_of_memory;) {
		uint8_t off_bytes;
		uint64_t n_bytes = dwsection_entry_bytes(s, DWSECTION_ARANGES, off);
		struct bytes set = dwsection_hold(s, DWSECTION_ARANGES, off, n_bytes);
		const uint8_t *start = set.p;
		dwform_length(&set, &off_bytes);
		if (set.bad)
			return;
		read_set(f, &set, start, off_bytes);
		off += n_bytes;
	}
}

/* ---- units --------------------------------------------------------------- */

static int compare_u64(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return x < y ? -1 : x > y;
}

static void by_unit(struct dwindex *f, uint64_t off)
{
	struct dwunit u;
	struct dwrange r;
	uint64_t start, end;
	if (!dwunit_open(f->file, off, &u))
		return;
	struct dwcode code = { .low = u.low, .high = u.high, .ranges = u.ranges };
	dwrange_init(&r, &u, &code);
	while (dwrange_next(&r, &start, &end))
		take_places(f, off, start, end);
	dwunit_close(&u);
}

static bool is_listed(const struct dwindex *f, uint64_t off)
{
	return f->listed.n &&
	       bsearch(&off, f->listed.v, f->listed.n, sizeof(off), compare_u64);
}

static int compare_place(const void *a, const void *b)
{
	const struct dwindex_place *x = a, *y = b;
	if (x->unit != y->unit)
		return x->unit < y->unit ? -1 : 1;
	return x->vaddr < y->vaddr ? -1 : x->vaddr > y->vaddr;
}

size_t dwindex_next(struct dwindex *f, uint64_t end, struct dwindex_place *ret)
{
	struct dwunit u;
	f->taken = ret;
	f->n_taken = 0;
	while (f->n_left && f->next < end && !f->n_taken && !f->file->out_of_memory &&
	       !dwfile_is_late(f->file) && dwunit_header(f->file, f->next, &u)) {
		uint64_t off = f->next;
		f->next = u.end;
		if (dwunit_is_compile(&u) && !is_listed(f, off))
			by_unit(f, off);
	}
	/* its ranges may be in any order */
	qsort(ret, f->n_taken, sizeof(*ret), compare_place);
	return f->n_taken;
}

/* Keeps only the places that were not found. */
static void keep_lost(struct dwindex *f)
{
	size_t n = f->n, n_found = 0, k = 0;
	for (size_t i = 0; i < n; i++) {
		if (f->place[i].unit != DWINDEX_NO_UNIT)
			n_found++;
		else if (f->near)
			f->near[k++] = f->near[i];
	}
	/* places without a unit are sorted last, in order */
	qsort(f->place, n, sizeof(*f->place), compare_place);
	f->place += n_found;
	f->n -= n_found;
}

void dwindex_find(struct dwindex *f, struct dwfile *file, struct dwindex_place *place, size_t n)
{
	*f = (struct dwindex){ .file = file, .place = place, .n = n, .n_left = n };
	for (size_t i = 0; i < n; i++)
		place[i].unit = DWINDEX_NO_UNIT;
	if (!n)
		return;
	if (dwsection_is_packed(&file->sections, DWSECTION_INFO)) {
		f->near = calloc(n, sizeof(*f->near));
		file->out_of_memory |= !f->near;
	}
	by_aranges(f);
	if (f->near) {
		drop_padding(f);
		drop_stubs(f);
	}
	if (f->listed.n)
		qsort(f->listed.v, f->listed.n, sizeof(*f->listed.v), compare_u64);
	keep_lost(f);
}

void dwindex_done(struct dwindex *f)
{
	free(f->near);
	VEC_FREE(&f->listed);
}
