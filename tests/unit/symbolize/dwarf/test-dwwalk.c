/* Units, ranges, names and walks over debug information built by hand; tests/symbols/compare.py has
 * that of compilers. */

#include "symbolize/dwarf/dwindex.h"
#include "symbolize/dwarf/dwname.h"
#include "symbolize/dwarf/dwtext.h"
#include "symbolize/dwarf/dwrange.h"
#include "symbolize/dwarf/dwwalk.h"
#include "tests/unit/symbolize/dwbuild.h"
#include "tests/unit/tap.h"

#include <dwarf.h>

enum { UNIT = 1, FUNCTION, INLINED, ABSTRACT, STRUCT, TWIN, LISTED };

static void put_abbrevs(struct dwbuild *b)
{
	DWBUILD_ABBREV(b, UNIT, DW_TAG_compile_unit, 1, DW_AT_low_pc, DW_FORM_addr,
		       DW_AT_high_pc, DW_FORM_data4);
	DWBUILD_ABBREV(b, FUNCTION, DW_TAG_subprogram, 1, DW_AT_sibling, DW_FORM_ref4,
		       DW_AT_name, DW_FORM_string, DW_AT_low_pc, DW_FORM_addr, DW_AT_high_pc,
		       DW_FORM_data4);
	DWBUILD_ABBREV(b, INLINED, DW_TAG_inlined_subroutine, 1, DW_AT_abstract_origin,
		       DW_FORM_ref_addr, DW_AT_low_pc, DW_FORM_addr, DW_AT_high_pc, DW_FORM_data4,
		       DW_AT_call_line, DW_FORM_data1);
	DWBUILD_ABBREV(b, ABSTRACT, DW_TAG_subprogram, 0, DW_AT_name, DW_FORM_string,
		       DW_AT_decl_line, DW_FORM_data1, DW_AT_specification, DW_FORM_ref_addr);
	DWBUILD_ABBREV(b, STRUCT, DW_TAG_structure_type, 1);
	/* out of order, and a second one with the same number */
	DWBUILD_ABBREV(b, LISTED, DW_TAG_subprogram, 0, DW_AT_name, DW_FORM_string, DW_AT_ranges,
		       DW_FORM_data4);
	DWBUILD_ABBREV(b, TWIN, DW_TAG_subprogram, 0, DW_AT_name, DW_FORM_strp_sup,
		       DW_AT_low_pc, DW_FORM_addr, DW_AT_high_pc, DW_FORM_data4);
	dwbuild_u8(b, 0);
}

static size_t put_unit(struct dwbuild *b, uint64_t vaddr, uint64_t n_bytes)
{
	size_t at = b->n;
	dwbuild_u32(b, 0);
	dwbuild_u16(b, 4);
	dwbuild_u32(b, 0);
	dwbuild_u8(b, 8);
	dwbuild_u8(b, UNIT);
	dwbuild_u64(b, vaddr);
	dwbuild_u32(b, n_bytes);
	return at;
}

static void end_unit(struct dwbuild *b, size_t at)
{
	dwbuild_u8(b, 0);
	dwbuild_close(b, at);
}

/* Returns where its sibling is to be written. */
static size_t put_function(struct dwbuild *b, const char *name, uint64_t vaddr, uint64_t n_bytes)
{
	dwbuild_u8(b, FUNCTION);
	size_t at = b->n;
	dwbuild_u32(b, 0);
	dwbuild_text(b, name);
	dwbuild_u64(b, vaddr);
	dwbuild_u32(b, n_bytes);
	return at;
}

static void end_function(struct dwbuild *b, size_t unit, size_t at)
{
	dwbuild_u8(b, 0);
	size_t n = b->n;
	b->n = at;
	dwbuild_u32(b, n - unit);
	b->n = n;
}

static void put_inlined(struct dwbuild *b, uint64_t origin, uint64_t vaddr, uint64_t n_bytes,
			unsigned line)
{
	dwbuild_u8(b, INLINED);
	dwbuild_u32(b, origin);
	dwbuild_u64(b, vaddr);
	dwbuild_u32(b, n_bytes);
	dwbuild_u8(b, line);
}

static size_t put_abstract(struct dwbuild *b, const char *name, unsigned line, uint64_t origin)
{
	size_t at = b->n;
	dwbuild_u8(b, ABSTRACT);
	dwbuild_text(b, name);
	dwbuild_u8(b, line);
	dwbuild_u32(b, origin);
	return at;
}

/* "inner@line < outer@0" for vaddr; "" if no function covers it; "-" if no unit does. */
static const char *chain(struct dwfile *file, uint64_t vaddr)
{
	static char text[256];
	struct dwindex_place at = { .vaddr = vaddr };
	struct dwindex index;
	struct dwwalk_place place = { .vaddr = vaddr };
	struct dwunit u;
	strcpy(text, "-");
	dwfile_begin(file);
	dwindex_find(&index, file, &at, 1);
	dwindex_next(&index, UINT64_MAX, &at);
	dwindex_done(&index);
	if (at.unit == DWINDEX_NO_UNIT || !dwunit_open(file, at.unit, &u))
		return text;
	struct dwwalk w = { .u = &u, .place = &place, .n = 1 };
	dwwalk_run(&w);
	size_t n = 0;
	text[0] = 0;
	for (int32_t i = place.top; i != DWWALK_NO_NODE; i = w.nodes.v[i].parent) {
		struct dwname name;
		struct dwcall call;
		dwname_read(&u, w.nodes.v[i].off, &name, &call);
		dwtext_read(file, &file->sections);
		const char *known = dwtext_get(file, name.name);
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s@%u:%u", n ? " < " : "",
				      known ? known : "?", name.start_line, call.line);
	}
	VEC_FREE(&w.nodes);
	dwunit_close(&u);
	return text;
}

static void open_file(struct dwfile *file, const struct dwbuild *info, const struct dwbuild *ranges)
{
	struct dwbuild abbrev = {0};
	put_abbrevs(&abbrev);
	dwfile_init(file, NULL, -1);
	for (unsigned i = 0; i < DWSECTION_N; i++)
		dwbuild_lend(file, i, &(struct dwbuild){0});
	free((void *)file->sections.v[DWSECTION_INFO].base);
	free((void *)file->sections.v[DWSECTION_ABBREV].base);
	dwbuild_lend(file, DWSECTION_INFO, info);
	dwbuild_lend(file, DWSECTION_ABBREV, &abbrev);
	if (ranges) {
		free((void *)file->sections.v[DWSECTION_RANGES].base);
		dwbuild_lend(file, DWSECTION_RANGES, ranges);
	}
}

static void inlines(void)
{
	struct dwbuild b = {0};
	struct dwfile file;
	/* the first unit has the origins of the second one's inlined calls */
	size_t unit = put_unit(&b, 0x9000, 0x10);
	size_t loop = b.n;
	put_abstract(&b, "loop", 9, loop);
	size_t inner = put_abstract(&b, "", 0, b.n + 7);
	put_abstract(&b, "inner", 4, 0xffff);
	end_unit(&b, unit);

	unit = put_unit(&b, 0x1000, 0x300);
	dwbuild_u8(&b, STRUCT);
	size_t at = put_function(&b, "method", 0x1200, 0x100);
	end_function(&b, unit, at);
	dwbuild_u8(&b, 0);
	at = put_function(&b, "skipped", 0x1100, 0x100);
	dwbuild_u8(&b, 0x7f);                /* no such abbreviation: must not be read */
	end_function(&b, unit, at);
	at = put_function(&b, "f", 0x1000, 0x100);
	put_inlined(&b, inner, 0x1020, 0x20, 11);
	put_inlined(&b, loop, 0x1030, 0x8, 12);
	dwbuild_u8(&b, 0);
	dwbuild_u8(&b, 0);
	end_function(&b, unit, at);
	end_unit(&b, unit);
	open_file(&file, &b, NULL);

	tap_str(chain(&file, 0x1000), "f@0:0", "a function");
	tap_str(chain(&file, 0x1020), "inner@4:11 < f@0:0", "an inlined call, named elsewhere");
	tap_str(chain(&file, 0x1037), "loop@9:12 < inner@4:11 < f@0:0",
		"a nested one whose origin is itself");
	tap_str(chain(&file, 0x1038), "inner@4:11 < f@0:0", "the outer call after the nested one");
	tap_str(chain(&file, 0x1210), "method@0:0", "a definition within a class");
	tap_str(chain(&file, 0x9001), "", "a unit without a function there");
	tap_str(chain(&file, 0x9010), "-", "no unit");
	dwbuild_done(&file);
}

static void ranges(void)
{
	struct dwbuild b = {0}, list = {0};
	struct dwfile file;
	size_t unit = put_unit(&b, 0x1000, 0x1000);
	dwbuild_u8(&b, LISTED);
	dwbuild_text(&b, "parts");
	dwbuild_u32(&b, 0);
	dwbuild_u8(&b, TWIN);
	dwbuild_u32(&b, 5);
	dwbuild_u64(&b, 0x1800);
	dwbuild_u32(&b, 4);
	end_unit(&b, unit);
	dwbuild_u64(&list, 0x10);            /* from the unit's low_pc */
	dwbuild_u64(&list, 0x20);
	dwbuild_u64(&list, 0x30);            /* empty */
	dwbuild_u64(&list, 0x30);
	dwbuild_u64(&list, UINT64_MAX);      /* from 0x1400 */
	dwbuild_u64(&list, 0x1400);
	dwbuild_u64(&list, 0);
	dwbuild_u64(&list, 8);
	dwbuild_u64(&list, 0);
	dwbuild_u64(&list, 0);
	dwbuild_u64(&list, 0x100);           /* after the end */
	dwbuild_u64(&list, 0x200);
	open_file(&file, &b, &list);
	tap_str(chain(&file, 0x1010), "parts@0:0", "first range");
	tap_str(chain(&file, 0x1020), "", "after it");
	tap_str(chain(&file, 0x1030), "", "an empty range");
	tap_str(chain(&file, 0x1407), "parts@0:0", "range with another base");
	tap_str(chain(&file, 0x1500), "", "bytes after the end are ignored");
	tap_str(chain(&file, 0x1800), "?@0:0", "a name in dwz's file, which is missing");
	file.n_steps_left = 0;
	struct dwunit u;
	struct dwrange r;
	uint64_t start, end;
	if (tap_ok(dwunit_open(&file, 0, &u), "unit")) {
		dwrange_init(&r, &u, &(struct dwcode){ .ranges = { .form = DW_FORM_data4 } });
		tap_ok(!dwrange_next(&r, &start, &end), "no range when all steps are used up");
		dwunit_close(&u);
	}
	dwbuild_done(&file);
}

/* Siblings that lead back or away, and all kinds of damage. */
static void hostile(void)
{
	for (unsigned i = 0; i < 3; i++) {
		static const uint32_t sibling[] = { 1, 0xb, 0x7fffffff };
		struct dwbuild b = {0};
		struct dwfile file;
		size_t unit = put_unit(&b, 0x1000, 0x100);
		size_t at = put_function(&b, "other", 0x2000, 0x10);
		end_function(&b, unit, at);
		memcpy(b.v + at, &sibling[i], 4);
		at = put_function(&b, "wanted", 0x1000, 0x10);
		end_function(&b, unit, at);
		end_unit(&b, unit);
		open_file(&file, &b, NULL);
		/* one out of the unit is ignored; the full walk needs none */
		tap_str(chain(&file, 0x1000), "wanted@0:0",
			"a wrong DW_AT_sibling hides no function");
		/* and every shorter file, and every changed byte */
		for (size_t k = 0; k < b.n; k++) {
			file.sections.v[DWSECTION_INFO].n_bytes = k;
			chain(&file, 0x1000);
		}
		file.sections.v[DWSECTION_INFO].n_bytes = b.n;
		uint8_t *v = (uint8_t *)file.sections.v[DWSECTION_INFO].base;
		for (size_t k = 0; k < b.n * 8; k++) {
			v[k / 8] ^= (uint8_t)(1u << k % 8);
			chain(&file, 0x1000);
			v[k / 8] ^= (uint8_t)(1u << k % 8);
		}
		tap_ok(!file.out_of_memory, "damaged units do not use up memory");
		dwbuild_done(&file);
	}

	struct dwbuild b = {0};
	struct dwfile file;
	size_t unit = put_unit(&b, 0x1000, 0x100);
	for (unsigned i = 0; i < 1500; i++)
		dwbuild_u8(&b, STRUCT);
	end_unit(&b, unit);
	open_file(&file, &b, NULL);
	tap_str(chain(&file, 0x1000), "", "1500 nested levels are given up");
	dwbuild_done(&file);
}

/* Sets of .debug_aranges: the units' own ranges, where a set exists, are not read. */
static void aranges(void)
{
	struct dwbuild b = {0}, set = {0};
	struct dwfile file;
	size_t first = put_unit(&b, 0x1000, 0x100);
	size_t at = put_function(&b, "first", 0x1000, 0x400);
	end_function(&b, first, at);
	end_unit(&b, first);
	size_t second = put_unit(&b, 0x1000, 0x300);
	at = put_function(&b, "second", 0x1000, 0x400);
	end_function(&b, second, at);
	end_unit(&b, second);
	open_file(&file, &b, NULL);
	tap_str(chain(&file, 0x1080), "first@0:0", "no .debug_aranges: the first unit that has it");
	dwbuild_u32(&set, 0);
	dwbuild_u16(&set, 2);
	dwbuild_u32(&set, first);
	dwbuild_u16(&set, 8);
	dwbuild_u32(&set, 0);                /* alignment */
	dwbuild_u64(&set, 0);                /* dropped code */
	dwbuild_u64(&set, 0x2000);
	dwbuild_u64(&set, 0x1000);
	dwbuild_u64(&set, 0x10);
	dwbuild_u64(&set, 0);
	dwbuild_u64(&set, 0);
	dwbuild_close(&set, 0);
	free((void *)file.sections.v[DWSECTION_ARANGES].base);
	dwbuild_lend(&file, DWSECTION_ARANGES, &set);
	tap_str(chain(&file, 0x100f), "first@0:0", "by .debug_aranges");
	tap_str(chain(&file, 0x1010), "second@0:0",
		"by the ranges of a unit that .debug_aranges omits");
	tap_str(chain(&file, 0x1300), "-", "an address in no unit");
	dwbuild_done(&file);
}

int main(void)
{
	inlines();
	ranges();
	hostile();
	aranges();
	return tap_done();
}
