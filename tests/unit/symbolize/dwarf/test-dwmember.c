/* Members of structures in debug information built by hand; tests/live/goroutines.sh has
 * that of Go's compilers. */

#include "symbolize/dwarf/dwmember.h"
#include "tests/unit/symbolize/dwbuild.h"
#include "tests/unit/tap.h"

#include <dwarf.h>

enum { UNIT = 1, STRUCT, TYPEDEF, MEMBER, BLOCK_MEMBER, FUNCTION };

static struct dwbuild info;

static void begin_unit(unsigned int language)
{
	dwbuild_u32(&info, 0);
	dwbuild_u16(&info, 4);
	dwbuild_u32(&info, 0);
	dwbuild_u8(&info, 8);
	dwbuild_u8(&info, UNIT);
	dwbuild_u8(&info, language);
}

static void put(unsigned int code, const char *name)
{
	dwbuild_u8(&info, code);
	dwbuild_text(&info, name);
}

static void put_member(const char *name, unsigned int off)
{
	put(MEMBER, name);
	dwbuild_u8(&info, (off & 0x7f) | 0x80);
	dwbuild_u8(&info, off >> 7);
}

static void end(void)
{
	dwbuild_u8(&info, 0);
}

static void end_unit(size_t at)
{
	end();
	dwbuild_close(&info, at);
}

static void open_file(struct dwfile *file)
{
	struct dwbuild abbrev = { 0 };
	DWBUILD_ABBREV(&abbrev, UNIT, DW_TAG_compile_unit, 1, DW_AT_language, DW_FORM_data1);
	DWBUILD_ABBREV(&abbrev, STRUCT, DW_TAG_structure_type, 1, DW_AT_name, DW_FORM_string);
	DWBUILD_ABBREV(&abbrev, TYPEDEF, DW_TAG_typedef, 0, DW_AT_name, DW_FORM_string);
	DWBUILD_ABBREV(&abbrev, MEMBER, DW_TAG_member, 0, DW_AT_name, DW_FORM_string,
		       DW_AT_data_member_location, DW_FORM_udata);
	DWBUILD_ABBREV(&abbrev, BLOCK_MEMBER, DW_TAG_member, 0, DW_AT_name, DW_FORM_string,
		       DW_AT_data_member_location, DW_FORM_block1);
	DWBUILD_ABBREV(&abbrev, FUNCTION, DW_TAG_subprogram, 1, DW_AT_name, DW_FORM_string);
	dwbuild_u8(&abbrev, 0);
	dwfile_init(file, NULL, -1);
	for (unsigned i = 0; i < DWSECTION_N; i++)
		dwbuild_lend(file, i, i == DWSECTION_INFO ? &info :
			     i == DWSECTION_ABBREV ? &abbrev : &(struct dwbuild){ 0 });
}

static void put_c_unit(void)
{
	size_t at = info.n;
	begin_unit(DW_LANG_C);
	put(STRUCT, "runtime.g");
	put_member("goid", 8);
	end();
	end_unit(at);
}

static void put_go_unit(void)
{
	size_t at = info.n;
	begin_unit(DW_LANG_Go);
	put(FUNCTION, "runtime.f");
	put(STRUCT, "runtime.g");
	put_member("goid", 16);
	end();
	end();
	put(TYPEDEF, "runtime.g");
	put_member("goid", 24);
	put(STRUCT, "runtime.g");
	put_member("stack", 0);
	put(STRUCT, "inner");
	put_member("goid", 32);
	end();
	put_member("goid", 152);
	put(BLOCK_MEMBER, "m");
	dwbuild_u8(&info, 1);
	dwbuild_u8(&info, 7);
	end();
	put(STRUCT, "runtime.m");
	put_member("goid", 40);
	end();
	end_unit(at);
}

static void members(void)
{
	struct dwmember m[] = {
		{ .type = "runtime.g", .name = "stack" }, { .type = "runtime.g", .name = "goid" },
		{ .type = "runtime.g", .name = "m" }, { .type = "runtime.g" },
		{ .type = "runtime.m", .name = "curg" }, { .type = "runtime.p" },
	};
	struct dwfile file;
	open_file(&file);
	dwmember_find(&file, DW_LANG_Go, m, sizeof(m) / sizeof(*m));
	tap_ok(m[0].is_found && m[0].off == 0, "the first member");
	tap_ok(m[1].is_found && m[1].off == 152,
	       "one whose name others have: in C, in a function, in a structure, beside it");
	tap_ok(!m[2].is_found, "one whose place is an expression");
	tap_ok(m[3].is_found, "a type");
	tap_ok(!m[4].is_found && !m[5].is_found, "a member and a type that do not exist");
	dwmember_find(&file, DW_LANG_C, m, sizeof(m) / sizeof(*m));
	tap_ok(m[1].is_found && m[1].off == 8 && !m[0].is_found, "another language");
	dwbuild_done(&file);
}

/* Every shorter file is read to its end, and shows no member that is not in it. */
static void damaged(void)
{
	bool is_right = true;
	for (size_t n = info.n; info.n > 0; info.n--) {
		struct dwmember m = { .type = "runtime.g", .name = "goid" };
		struct dwfile file;
		open_file(&file);
		dwmember_find(&file, DW_LANG_Go, &m, 1);
		is_right &= !m.is_found || (m.off == 152 && info.n > n / 2);
		dwbuild_done(&file);
	}
	tap_ok(is_right, "a file that is cut anywhere");
}

int main(void)
{
	put_c_unit();
	put_go_unit();
	members();
	damaged();
	return tap_done();
}
