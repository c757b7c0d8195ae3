/* Line programs built by hand. */

#include "symbolize/dwarf/dwline.h"
#include "tests/unit/symbolize/dwbuild.h"
#include "tests/unit/tap.h"

#include <dwarf.h>

/* Special opcodes: line += -3 .. 8; each 12 more are one more instruction. */
#define LINE_BASE (-3)
#define LINE_RANGE 12
#define OPCODE_BASE 14               /* one more than known: must be skipped */
#define STEP(insns, lines) \
	((uint8_t)(OPCODE_BASE + (lines) - LINE_BASE + (insns) * LINE_RANGE))

static void put_opcodes(struct dwbuild *b, unsigned version, unsigned max_ops, unsigned min_bytes)
{
	static const uint8_t operands[] = { 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1, 2 };
	dwbuild_u8(b, min_bytes);
	if (version >= 4)
		dwbuild_u8(b, max_ops);
	dwbuild_u8(b, 1);
	dwbuild_u8(b, (uint8_t)LINE_BASE);
	dwbuild_u8(b, LINE_RANGE);
	dwbuild_u8(b, OPCODE_BASE);
	for (size_t i = 0; i < sizeof(operands); i++)
		dwbuild_u8(b, operands[i]);
}

/* Folders /src/a and b, files one.c (in none), two.c (1), three.c (2), /four.c. */
static void put_head_old(struct dwbuild *b, unsigned version, unsigned max_ops, unsigned min_bytes)
{
	dwbuild_u32(b, 0);
	dwbuild_u16(b, version);
	size_t at = b->n;
	dwbuild_u32(b, 0);
	put_opcodes(b, version, max_ops, min_bytes);
	dwbuild_text(b, "/src/a");
	dwbuild_text(b, "b");
	dwbuild_u8(b, 0);
	static const char *const name[] = { "one.c", "two.c", "three.c", "/four.c" };
	for (unsigned i = 0; i < 4; i++) {
		dwbuild_text(b, name[i]);
		dwbuild_u8(b, i % 3);
		dwbuild_u16(b, 0);
	}
	dwbuild_u8(b, 0);
	dwbuild_close(b, at);
}

/* Folders /build, sub; files main.c (0), sub.h (1), each with an MD5. */
static void put_head_new(struct dwbuild *b)
{
	dwbuild_u32(b, 0);
	dwbuild_u16(b, 5);
	dwbuild_u16(b, 8);
	size_t at = b->n;
	dwbuild_u32(b, 0);
	put_opcodes(b, 5, 1, 1);
	dwbuild_u8(b, 1);
	dwbuild_u16(b, DW_LNCT_path | DW_FORM_string << 8);
	dwbuild_u8(b, 2);
	dwbuild_text(b, "/build");
	dwbuild_text(b, "sub");
	dwbuild_u8(b, 3);
	dwbuild_u16(b, DW_LNCT_path | DW_FORM_string << 8);
	dwbuild_u16(b, DW_LNCT_directory_index | DW_FORM_udata << 8);
	dwbuild_u16(b, DW_LNCT_MD5 | DW_FORM_data16 << 8);
	dwbuild_u8(b, 2);
	for (unsigned i = 0; i < 2; i++) {
		dwbuild_text(b, i ? "sub.h" : "main.c");
		dwbuild_u8(b, i);
		dwbuild_u64(b, 0x1122334455667788);
		dwbuild_u64(b, 0);
	}
	dwbuild_close(b, at);
}

static void put_address(struct dwbuild *b, uint64_t vaddr)
{
	dwbuild_u16(b, 9 << 8);
	dwbuild_u8(b, DW_LNE_set_address);
	dwbuild_u64(b, vaddr);
}

static void put_end(struct dwbuild *b, unsigned n_bytes)
{
	dwbuild_u16(b, DW_LNS_advance_pc | n_bytes << 8);
	dwbuild_u16(b, 1 << 8);
	dwbuild_u8(b, DW_LNE_end_sequence);
}

struct case_ {
	uint64_t vaddr;
	uint32_t line, column;
	const char *path;            /* NULL: no row covers it */
};

static void run(const char *title, struct dwbuild *b, const struct case_ *want, size_t n)
{
	struct dwfile file;
	struct dwline l;
	struct dwline_row row[16] = {{0}};
	struct dwunit u = { .file = &file, .format = { 5, 8, 4 },
		.lines = { .form = DW_FORM_sec_offset } };
	dwbuild_close(b, 0);
	dwfile_init(&file, NULL, -1);
	dwbuild_lend(&file, DWSECTION_LINE, b);
	dwfile_begin(&file);
	for (size_t i = 0; i < n; i++)
		row[i].vaddr = want[i].vaddr;
	if (tap_ok(dwline_open(&l, &u), "%s: header", title)) {
		dwline_run(&l, row, n);
		for (size_t i = 0; i < n; i++) {
			tap_ok(row[i].found == (want[i].path != NULL) &&
			       row[i].line == want[i].line && row[i].column == want[i].column,
			       "%s: %#llx is line %u column %u (got %u, %u)", title,
			       (unsigned long long)want[i].vaddr, want[i].line, want[i].column,
			       row[i].line, row[i].column);
			if (row[i].found)
				tap_str(dwline_path(&l, row[i].file), want[i].path, "its file");
		}
		tap_ok(!dwline_path(&l, 1000), "%s: no file 1000", title);
		dwline_close(&l);
	}
	/* truncated anywhere it gives less, but nothing beyond its end */
	for (size_t k = 0; k < b->n; k++) {
		file.sections.v[DWSECTION_LINE].n_bytes = k;
		if (dwline_open(&l, &u)) {
			dwline_run(&l, row, n);
			dwline_close(&l);
		}
	}
	dwbuild_done(&file);
}

static void old(unsigned version)
{
	struct dwbuild b = {0};
	char title[32];
	snprintf(title, sizeof(title), "DWARF %u", version);
	put_head_old(&b, version, 1, 1);
	put_address(&b, 0x2000);             /* not the lowest: sequences have no order */
	dwbuild_u8(&b, STEP(0, 4));          /* 2000: one.c 5 */
	dwbuild_u16(&b, DW_LNS_set_file | 2 << 8);
	dwbuild_u16(&b, DW_LNS_set_column | 7 << 8);
	dwbuild_u8(&b, STEP(4, -2));         /* 2004: two.c 3:7 */
	dwbuild_u8(&b, STEP(0, 8));          /* 2004 again: 11:7 */
	dwbuild_u8(&b, 13);                  /* unknown, two operands */
	dwbuild_u8(&b, 1);
	dwbuild_u16(&b, 0x7fff);
	dwbuild_u16(&b, DW_LNS_set_file | 3 << 8);
	dwbuild_u8(&b, DW_LNS_const_add_pc); /* 20 instructions */
	dwbuild_u16(&b, DW_LNS_advance_line | 9 << 8);
	dwbuild_u8(&b, DW_LNS_copy);         /* 2018: three.c 20:7 */
	put_end(&b, 8);                      /* 2020 */
	put_address(&b, 0x1000);
	dwbuild_u8(&b, DW_LNS_fixed_advance_pc);
	dwbuild_u16(&b, 0x10);
	dwbuild_u16(&b, DW_LNS_set_file | 4 << 8);
	dwbuild_u8(&b, DW_LNS_copy);         /* 1010: four.c 1 */
	put_end(&b, 1);
	const struct case_ want[] = {
		{ 0x100f, 0, 0, NULL },
		{ 0x1010, 1, 0, "/four.c" },
		{ 0x1011, 0, 0, NULL },
		{ 0x2000, 5, 0, "one.c" },
		{ 0x2003, 5, 0, "one.c" },
		{ 0x2004, 11, 7, "/src/a/two.c" },
		{ 0x2017, 11, 7, "/src/a/two.c" },
		{ 0x2018, 20, 7, "b/three.c" },
		{ 0x201f, 20, 7, "b/three.c" },
		{ 0x2020, 0, 0, NULL },
	};
	run(title, &b, want, sizeof(want) / sizeof(*want));
}

static void new(void)
{
	struct dwbuild b = {0};
	put_head_new(&b);
	put_address(&b, 0x1000);
	dwbuild_u8(&b, STEP(0, 1));          /* file 1, line 2 */
	dwbuild_u16(&b, DW_LNS_set_file | 0 << 8);
	dwbuild_u8(&b, STEP(2, 1));
	put_end(&b, 2);
	const struct case_ want[] = {
		{ 0x1000, 2, 0, "sub/sub.h" }, { 0x1002, 3, 0, "/build/main.c" },
	};
	run("DWARF 5", &b, want, 2);
}

static void dropped(void)
{
	struct dwbuild b = {0};
	put_head_old(&b, 4, 1, 1);
	put_address(&b, 0);
	dwbuild_u8(&b, STEP(0, 1));
	put_end(&b, 100);
	put_address(&b, 0x10);
	dwbuild_u8(&b, STEP(0, 2));
	put_end(&b, 16);
	const struct case_ want[] = {
		{ 0x8, 0, 0, NULL }, { 0x18, 3, 0, "one.c" }, { 0x30, 0, 0, NULL },
	};
	run("dropped code", &b, want, 3);
}

static void vliw(void)
{
	struct dwbuild b = {0};
	put_head_old(&b, 4, 3, 8);           /* three operations in each eight bytes */
	put_address(&b, 0x1000);
	dwbuild_u8(&b, STEP(0, 1));          /* 1000.0: 2 */
	dwbuild_u8(&b, STEP(2, 1));          /* 1000.2: 3 */
	dwbuild_u8(&b, STEP(2, 1));          /* 1008.1: 4 */
	put_end(&b, 2);                      /* 1010.0 */
	const struct case_ want[] = {
		{ 0x1000, 3, 0, "one.c" }, { 0x1008, 4, 0, "one.c" }, { 0x1010, 0, 0, NULL },
	};
	run("VLIW", &b, want, 3);
}

static void added_file(void)
{
	struct dwbuild b = {0};
	put_head_old(&b, 3, 1, 1);
	dwbuild_u16(&b, 10 << 8);
	dwbuild_u8(&b, DW_LNE_define_file);
	dwbuild_text(&b, "new.c");
	dwbuild_u8(&b, 2);
	dwbuild_u16(&b, 0);
	put_address(&b, 0x1000);
	dwbuild_u16(&b, DW_LNS_set_file | 5 << 8);
	dwbuild_u8(&b, STEP(0, 1));
	put_end(&b, 2);
	const struct case_ want[] = {{ 0x1000, 2, 0, "b/new.c" }};
	run("DW_LNE_define_file", &b, want, 1);
}

int main(void)
{
	old(2);
	old(3);
	old(4);
	new();
	dropped();
	vliw();
	added_file();
	return tap_done();
}
