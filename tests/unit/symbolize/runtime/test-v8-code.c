/* Names, files and lines in the memory of programs with V8 of five versions, whole and damaged. */

#include "symbolize/runtime/runtime-code.h"
#include "symbolize/runtime/runtime-memory.h"
#include "symbolize/runtime/runtime-pages.h"
#include "symbolize/runtime/v8-code.h"
#include "symbolize/runtime/v8-layout.h"
#include "symbolize/runtime/v8-script.h"
#include "symbolize/runtime/v8-text.h"
#include "tap.h"
#include "tests/unit/symbolize/v8vm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct v8vm vm;
static const struct runtime_memory memory = { v8vm_read, &vm };
static struct runtime_code_source from = { .memory = &memory };
static struct runtime_code_program program;

static enum runtime_code_result start(unsigned int major, const char *without)
{
	vm.major = major;
	vm.without = without;
	if (!v8vm_init(&vm))
		abort();
	from.cfi = vm.cfi;
	return v8_code_ops.open(&from, &program);
}

static void stop(void)
{
	if (program.data)
		v8_code_ops.close(program.data);
	v8vm_done(&vm);
	program.data = NULL;
}

/* "-": no code there */
static void has(uint64_t pc, const char *want, const char *what)
{
	char got[256] = "-";
	struct runtime_code code;
	struct runtime_call call[RUNTIME_CALLS_MAX];
	if (v8_code_ops.find(program.data, &from, pc, &code)) {
		size_t n = v8_code_ops.calls(program.data, &from, &code, pc, call);
		snprintf(got, sizeof(got), "%zu %s %s:%u from %u", n, call[0].name,
			 call[0].file ? call[0].file : "-", call[0].line, call[0].first_line);
		v8_code_ops.release(&code);
	}
	tap_str(got, want, what);
}

/* What stands for the pc of a frame; 0: nothing. */
static uint64_t pc_of(struct runtime_frame f)
{
	uint64_t pc = 0;
	return v8_code_ops.frame(program.data, &from, &f, &pc) == RUNTIME_FRAME_FOUND ? pc : 0;
}

static uint64_t pc_at(struct v8vm_function f, uint32_t off)
{
	return pc_of(v8vm_frame(&vm, f, off));
}

static void all_names(unsigned int major)
{
	char version[16];
	snprintf(version, sizeof(version), "%u.2", major);
	tap_ok(start(major, NULL) == RUNTIME_CODE_OK, "V8 %s can be read", version);
	tap_str(program.version, version, "its version");
	has(V8VM_CODE + 0x40, "1 inner /app/main.js:5 from 5", "compiled code");
	has(V8VM_CODE + V8VM_CODE_BYTES - 1, "1 inner /app/main.js:5 from 5", "its last byte");
	has(V8VM_CODE + V8VM_CODE_BYTES, "-", "the address after it");
	has(V8VM_BASELINE + 4, "-", "baseline code whose bytecode no frame has shown");
	has(pc_at(vm.outer, 0), "1 outer /app/main.js:2 from 2", "an interpreted function");
	has(pc_at(vm.outer, 5), "1 outer /app/main.js:4 from 2", "the line of its bytecode");
	has(pc_at(vm.method, 0), "1 Kind.method /app/main.js:2 from 4", "an inferred name");
	has(V8VM_BASELINE + 4, "1 outer /app/main.js:2 from 2", "baseline code");
	has(V8VM_STUB + 4, "-", "code without a function");
	has(0x7fff0000, "-", "an address without memory");
	stop();
}

/* ---- frames ------------------------------------------------------------------------------ */

static void other_frames(void)
{
	start(11, NULL);
	struct runtime_frame f = v8vm_frame(&vm, vm.outer, 0);
	f.vaddr = V8VM_BUILTINS + V8VM_BUILTINS_BYTES;
	tap_ok(!pc_of(f), "a frame with a pc elsewhere");
	f = v8vm_frame(&vm, vm.outer, 0x20);
	tap_ok(!pc_of(f), "an offset after the bytecode");
	f = v8vm_frame(&vm, vm.outer, 0);
	f.below[4] = vm.outer.shared;
	tap_ok(!pc_of(f), "an offset that is an object");
	f = v8vm_frame(&vm, vm.outer, 0);
	f.below[0] = 26;
	tap_ok(!pc_of(f), "a frame of another kind, with a mark in place of the context");
	f = v8vm_frame(&vm, vm.outer, 0);
	f.below[3] = vm.outer.shared;
	tap_ok(!pc_of(f), "something else in place of the bytecode");
	stop();
}

static void two_witnesses(void)
{
	start(12, NULL);
	struct v8vm_function mixed = vm.outer;
	mixed.function = vm.method.function;
	tap_ok(!pc_at(mixed, 0), "bytecode of another function, which is not known yet");
	tap_ok(pc_at(vm.outer, 0), "the right function");
	tap_ok(!pc_at(mixed, 0), "the wrong one again, when the bytecode is known");
	mixed.function = vm.one_byte;
	tap_ok(pc_at(mixed, 0), "a function that was moved, when the bytecode is known");
	mixed = vm.method;
	mixed.function = vm.one_byte;
	tap_ok(!pc_at(mixed, 0), "and when it is not");
	stop();
}

static void later_changes(void)
{
	uint64_t pc;
	start(11, NULL);
	pc = pc_at(vm.outer, 0);
	v8vm_put(&vm, vm.outer.shared - 1 + 8, vm.method.bytecode, 8);
	has(pc, "-", "bytecode that the function has no more");
	v8vm_put(&vm, vm.outer.shared - 1 + 8, vm.outer.bytecode, 8);
	has(pc, "-", "is forgotten");
	tap_ok(pc_at(vm.outer, 0) == pc, "until a frame shows it again");
	has(pc, "1 outer /app/main.js:2 from 2", "with its name");
	struct runtime_code code;
	v8_code_ops.find(program.data, &from, V8VM_CODE, &code);
	tap_ok(code.start == V8VM_CODE && code.n_bytes == V8VM_CODE_BYTES, "the extent of code");
	tap_ok(code.witness[0].at == V8VM_CODE - 16 && code.witness[0].n_bytes == 16 &&
	       code.witness[1].n_bytes == 16, "the head of the code is what proves it");
	v8_code_ops.release(&code);
	vm.is_gone = true;
	has(V8VM_CODE, "-", "a process that has ended");
	vm.is_gone = false;
	stop();
}

static void refused(void)
{
	tap_ok(start(13, "v8dbg_type_ScopeInfo") == RUNTIME_CODE_UNSUPPORTED,
	       "without a constant");
	tap_str(program.missing, "type_ScopeInfo__", "which is named");
	stop();
	tap_ok(start(13, "v8dbg_") == RUNTIME_CODE_UNSUPPORTED, "without all of them");
	tap_str(program.missing, "v8dbg_*", "which is reported, too");
	stop();
	tap_ok(start(9, NULL) == RUNTIME_CODE_UNSUPPORTED, "V8 9");
	tap_str(program.version, "9.2", "its version is known");
	stop();
	start(12, NULL);
	vm.is_gone = true;
	struct runtime_code_program other;
	tap_ok(v8_code_ops.open(&from, &other) == RUNTIME_CODE_UNREADABLE, "no memory to read");
	stop();
}

/* ---- strings and lines ------------------------------------------------------------------- */

static void is_text(const struct v8_heap *h, uint64_t string, const char *want, const char *what)
{
	char got[64];
	tap_str(v8_text(h, string, got, sizeof(got)) ? got : "-", want, what);
}

static void texts(void)
{
	struct v8_layout layout;
	struct runtime_pages pages;
	const char *missing;
	char small[8];
	start(11, NULL);
	tap_ok(v8_layout_read(&from, &layout, &missing) == V8_LAYOUT_OK, "the layout");
	runtime_pages_init(&pages, &memory, 64);
	const struct v8_heap h = { &layout, &pages };
	is_text(&h, vm.one_byte, "plain \xc3\xa9 text", "Latin-1");
	is_text(&h, vm.two_byte, "x\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80?!",
		"UTF-16, with a pair and half of one");
	is_text(&h, vm.cons, "plain \xc3\xa9 textand more", "joined strings");
	is_text(&h, vm.sliced, "text", "a part of a string");
	is_text(&h, vm.thin, "plain \xc3\xa9 text", "a string that is another one");
	is_text(&h, vm.external, "plai", "a string outside of the heap");
	is_text(&h, vm.outer.shared, "-", "no string");
	is_text(&h, 0x7001, "-", "no memory");
	tap_ok(v8_text(&h, vm.cons, small, sizeof(small)) && strlen(small) == 6,
	       "what does not fit is left out, not half of a character");
	v8vm_put(&vm, vm.cons - 1 + 24, vm.cons, 8);
	runtime_pages_forget(&pages);
	tap_ok(v8_text(&h, vm.cons, small, sizeof(small)), "a string that is a part of itself");
	runtime_pages_done(&pages);
	stop();
}

static void is_position(const uint8_t *table, size_t n, uint32_t off, int64_t want,
			const char *what)
{
	tap_int(v8_positions_find(table, n, off).offset, want, what);
}

static void positions(void)
{
	static const uint8_t table[] = { 0, 8, 9 * 2, 96, 3, 95 };
	static const uint8_t deep[] = { 0, 0x80 | (1 << 3), 0x80, 0x80, 0x80, 0x80 | 0x30, 0x00 };
	is_position(table, 4, 0, 1, "the first entry");
	is_position(table, 4, 8, 1, "until the next one");
	is_position(table, 4, 9, 25, "which is there");
	is_position(table, 0, 9, -1, "no table");
	is_position(table, 3, 9, 1, "a table that is cut");
	is_position(table, sizeof(table), 10, 1, "an expression, further back");
	is_position(deep, sizeof(deep), 0, 1, "the position in an inlined function");
	tap_int(v8_positions_find(deep, sizeof(deep), 0).inlined, 3, "and its number");
}

int main(void)
{
	for (unsigned int major = 10; major <= 14; major++)
		all_names(major);
	other_frames();
	two_witnesses();
	later_changes();
	refused();
	texts();
	positions();
	return tap_done();
}
