/* Names and line tables of Python functions, whole and damaged.  The line tables are those that
 * each version has made of one function. */

#include "symbolize/runtime/python-code.h"
#include "symbolize/runtime/runtime-memory.h"
#include "symbolize/runtime/runtime-pages.h"
#include "tap.h"
#include "tests/unit/symbolize/pymemory.h"

#include <stdio.h>
#include <stdlib.h>

static struct pymemory memory;
static const struct runtime_memory from = { gomemory_read, &memory.memory };
static struct runtime_pages pages;

static void start(unsigned int minor)
{
	struct python_layout l = { 0 };
	python_layout_of(minor, &l);
	pymemory_init(&memory, &l);
	runtime_pages_done(&pages);
	runtime_pages_init(&pages, &from, 1000);
}

/* ---- line tables --------------------------------------------------------------------------- */

struct run { uint32_t line; int n; };   /* so many instructions of 2 bytes on a line */

#define TABLE(...) (const uint8_t[]){ __VA_ARGS__ }, sizeof((const uint8_t[]){ __VA_ARGS__ })
#define RUNS(...) (const struct run[]){ __VA_ARGS__, { 0, 0 } }

static const struct { const char *version; enum python_lines_format format; const uint8_t *table;
		      size_t n; const struct run *run; } tables[] = {
	{ "3.8", PYTHON_LINES_LNOTAB,
	  TABLE(0, 2, 2, 1, 2, 255, 4, 2, 4, 2, 2, 1, 12, 1, 14, 2, 6, 1, 6, 2, 2, 254, 6, 127, 0,
		77),
	  RUNS({ 4, 1 }, { 5, 1 }, { 4, 2 }, { 6, 2 }, { 8, 1 }, { 9, 6 }, { 10, 7 }, { 12, 3 },
	       { 13, 3 }, { 15, 1 }, { 13, 3 }, { 217, 2 }) },
	{ "3.10", PYTHON_LINES_RANGES,
	  TABLE(2, 2, 2, 1, 4, 255, 4, 2, 2, 2, 12, 1, 10, 1, 2, 255, 12, 3, 6, 1, 2, 2, 6, 254, 0,
		127, 4, 77),
	  RUNS({ 4, 1 }, { 5, 1 }, { 4, 2 }, { 6, 2 }, { 8, 1 }, { 9, 6 }, { 10, 5 }, { 9, 1 },
	       { 12, 6 }, { 13, 3 }, { 15, 1 }, { 13, 3 }, { 217, 2 }) },
	{ "3.11", PYTHON_LINES_LOCATIONS,
	  TABLE(128, 0, 224, 9, 10, 216, 9, 10, 241, 3, 1, 10, 11, 128, 65, 224, 7, 8, 240, 0, 6, 5,
		18, 240, 4, 4, 9, 18, 221, 21, 26, 152, 49, 145, 88, 148, 88, 240, 0, 1, 13, 23,
		240, 0, 1, 13, 23, 144, 1, 216, 16, 17, 144, 81, 145, 6, 144, 1, 144, 1, 240, 3, 1,
		13, 23, 240, 6, 0, 17, 18, 136, 65, 136, 65, 248, 144, 1, 136, 65, 136, 69, 136, 69,
		136, 69, 136, 69, 240, 2, 2, 9, 20, 240, 0, 2, 9, 20, 224, 12, 18, 240, 5, 2, 9, 20,
		241, 0, 2, 9, 20, 244, 0, 2, 9, 20, 128, 65, 240, 88, 6, 0, 12, 13, 136, 49),
	  RUNS({ 2, 1 }, { 4, 1 }, { 5, 1 }, { 4, 3 }, { 6, 2 }, { 8, 1 }, { 9, 17 }, { 10, 6 },
	       { 9, 1 }, { 12, 3 }, { 0, 1 }, { 12, 6 }, { 13, 2 }, { 15, 1 }, { 13, 9 },
	       { 217, 2 }) },
	{ "3.13", PYTHON_LINES_LOCATIONS,
	  TABLE(128, 0, 224, 9, 10, 216, 9, 10, 241, 3, 1, 10, 11, 128, 65, 230, 7, 8, 240, 4, 4, 9,
		18, 220, 21, 26, 152, 49, 150, 88, 144, 1, 216, 16, 17, 145, 6, 146, 1, 241, 3, 0,
		22, 30, 240, 6, 0, 17, 18, 136, 65, 241, 6, 0, 13, 19, 243, 5, 2, 9, 20, 225, 12,
		18, 240, 3, 0, 17, 18, 243, 3, 0, 10, 11, 225, 12, 18, 240, 5, 0, 5, 6, 240, 0, 2,
		9, 20, 240, 88, 6, 0, 12, 13, 248, 240, 91, 6, 0, 17, 18, 137, 65, 252, 242, 2, 2,
		9, 20),
	  RUNS({ 2, 1 }, { 4, 1 }, { 5, 1 }, { 4, 3 }, { 6, 7 }, { 8, 1 }, { 9, 14 }, { 10, 6 },
	       { 9, 2 }, { 12, 2 }, { 15, 2 }, { 13, 4 }, { 15, 2 }, { 14, 1 }, { 13, 4 },
	       { 15, 2 }, { 13, 2 }, { 217, 1 }, { 0, 1 }, { 12, 3 }, { 0, 5 }, { 13, 3 }) },
};

static void line_tables(void)
{
	for (size_t i = 0; i < sizeof(tables) / sizeof(*tables); i++) {
		struct python_lines l = { .bytes = malloc(tables[i].n), .first = 2,
					  .n_bytes = (uint32_t)tables[i].n };
		int n_wrong = 0, off = 0;
		memcpy(l.bytes, tables[i].table, tables[i].n);
		for (const struct run *r = tables[i].run; r->n; r++)
			for (int k = 0; k < r->n; k++, off += 2)
				n_wrong += python_lines_find(tables[i].format, &l, off) != r->line;
		tap_ok(n_wrong == 0, "%s: the line of each instruction", tables[i].version);
		tap_ok(python_lines_find(tables[i].format, &l, -2) == 2,
		       "%s: a function that has not begun", tables[i].version);
		for (uint32_t n = 0; n < tables[i].n; n++) {
			l.n_bytes = n;
			for (int at = 0; at < off; at += 2)
				python_lines_find(tables[i].format, &l, at);
		}
		python_lines_done(&l);
		tap_ok(python_lines_find(tables[i].format, &l, 2) == 0, "%s: no table",
		       tables[i].version);
	}
	struct python_lines huge = { .bytes = malloc(8), .n_bytes = 8, .first = INT32_MAX };
	memset(huge.bytes, 0xff, 8);
	huge.bytes[0] = 0x80 | 13 << 3;
	tap_int(python_lines_find(PYTHON_LINES_LOCATIONS, &huge, 0), 0, "a line that no file has");
	python_lines_done(&huge);
}

/* ---- text ---------------------------------------------------------------------------------- */

static void reads(uint64_t at, const char *want, const char *what)
{
	char text[PYTHON_TEXT_BYTES_MAX] = "-";
	runtime_pages_forget(&pages);
	python_code_text(&pages, &memory.l, at, text, sizeof(text));
	tap_str(text, want, what);
}

static void texts(unsigned int minor)
{
	static const uint8_t latin[] = { 'f', 0xe9 };
	static const uint16_t greek[] = { 0x3b1, 0x20ac, 0xd800, 'x' };
	static const uint32_t emoji[] = { 0x1f40d, 0x110000, '\n' };
	char many[2000];
	start(minor);
	printf("# Python 3.%u\n", minor);
	reads(pymemory_text(&memory, "main", 4, 1, true), "main", "ASCII");
	reads(pymemory_text(&memory, latin, 2, 1, false), "fé", "one byte for a character");
	reads(pymemory_text(&memory, greek, 4, 2, false), "α€?x", "two bytes");
	reads(pymemory_text(&memory, emoji, 3, 4, false), "🐍??", "four bytes");
	reads(pymemory_text(&memory, "", 0, 1, true), "", "nothing");
	reads(0x10, "-", "it cannot be read");
	reads(pymemory_text(&memory, greek, 1, 3, false), "-", "no such kind of characters");
	uint64_t loose = pymemory_text(&memory, "x", 1, 1, true);
	pymemory_int(&memory, loose + PYTHON_TEXT_STATE_OFF, 1 << 2 | 1 << 6);
	reads(loose, "-", "the characters are elsewhere");
	memset(many, 'y', sizeof(many));
	uint64_t at = pymemory_text(&memory, many, sizeof(many), 1, true);
	char text[PYTHON_TEXT_BYTES_MAX];
	runtime_pages_forget(&pages);
	tap_ok(python_code_text(&pages, &memory.l, at, text, sizeof(text)) &&
	       strlen(text) == sizeof(text) - 1, "longer text is cut");
	gomemory_word(&memory.memory, at + PYTHON_SIZE_OFF, UINT64_MAX);
	reads(at, "-", "an impossible length");
}

/* ---- code objects -------------------------------------------------------------------------- */

static void codes(unsigned int minor)
{
	static const uint8_t table[] = { 0, 0 };
	struct python_code c;
	struct python_code_key one, other;
	start(minor);
	const struct python_layout *l = &memory.l;
	printf("# Python 3.%u\n", minor);
	uint64_t at = pymemory_code(&memory, "Shop.pay", 12, table, sizeof(table));
	bool ok = python_code_read(&pages, l, PYMEMORY_CODE_TYPE, at, &c);
	tap_ok(ok && strcmp(c.name, "Shop.pay") == 0 && strcmp(c.file, "/srv/a.py") == 0 &&
	       c.lines.first == 12 && c.lines.n_bytes == 2 && c.n_bytes == 40, "a function");
	tap_ok(python_code_has_lines(&pages, l, PYMEMORY_BYTES_TYPE, at) &&
	       !python_code_has_lines(&pages, l, PYMEMORY_CODE_TYPE, at), "a line table");
	tap_ok(l->has_object_code ? c.start > at + 320 : c.start == at + l->code_start,
	       "where its instructions are");
	python_lines_done(&c.lines);
	tap_ok(!python_code_read(&pages, l, PYMEMORY_CODE_TYPE + 8, at, &c) &&
	       !python_code_read(&pages, l, PYMEMORY_CODE_TYPE, at + 8, &c) &&
	       !python_code_read(&pages, l, PYMEMORY_CODE_TYPE, at + 4, &c) &&
	       !python_code_read(&pages, l, PYMEMORY_CODE_TYPE, 0x10, &c), "no function");
	python_code_key(&pages, l, PYMEMORY_CODE_TYPE, at, &one);
	gomemory_word(&memory.memory, at + l->code_lines, 0x10);
	runtime_pages_forget(&pages);
	tap_ok(python_code_key(&pages, l, PYMEMORY_CODE_TYPE, at, &other) &&
	       other.lines != one.lines, "another function at its address is recognised");
	ok = python_code_read(&pages, l, PYMEMORY_CODE_TYPE, at, &c);
	tap_ok(ok && !c.lines.bytes, "a line table that cannot be read");
	gomemory_word(&memory.memory, at + l->code_file, 0x10);
	runtime_pages_forget(&pages);
	tap_ok(!python_code_read(&pages, l, PYMEMORY_CODE_TYPE, at, &c), "nor a file's name");
}

/* Names are used by their addresses. */
static void uses(unsigned int minor)
{
	static const uint8_t table[] = { 0, 0 };
	start(minor);
	const struct python_layout *l = &memory.l;
	uint64_t caller = pymemory_code(&memory, "pay", 1, table, sizeof(table)), name;
	uint64_t callee = pymemory_code(&memory, "send", 9, table, sizeof(table));
	uint64_t names = pymemory_room(&memory, l->tuple_bytes + 16);
	tap_ok(!python_code_uses(&pages, l, caller, callee), "3.%u: no names", minor);
	runtime_pages_read(&pages, callee + l->code_name, &name, sizeof(name));
	gomemory_word(&memory.memory, caller + l->code_names, names);
	gomemory_word(&memory.memory, names + PYTHON_SIZE_OFF, 2);
	gomemory_word(&memory.memory, names + l->tuple_bytes + 8, name);
	runtime_pages_forget(&pages);
	tap_ok(python_code_uses(&pages, l, caller, callee) &&
	       !python_code_uses(&pages, l, callee, caller), "3.%u: it names the other", minor);
	gomemory_word(&memory.memory, names + PYTHON_SIZE_OFF, 1);
	runtime_pages_forget(&pages);
	tap_ok(!python_code_uses(&pages, l, caller, callee), "3.%u: another one", minor);
	gomemory_word(&memory.memory, names + PYTHON_SIZE_OFF, UINT64_MAX);
	runtime_pages_forget(&pages);
	tap_ok(python_code_uses(&pages, l, caller, callee), "3.%u: at most so many are read",
	       minor);
}

int main(void)
{
	line_tables();
	for (unsigned int minor = 8; minor <= 12; minor += 4) {
		texts(minor);
		codes(minor);
	}
	codes(11);
	uses(11);
	uses(12);
	runtime_pages_done(&pages);
	return tap_done();
}
