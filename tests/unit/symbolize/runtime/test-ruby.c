/* Ruby in memory: versions, threads, frames and functions. */

#include "symbolize/runtime/ruby-glue.h"
#include "symbolize/runtime/ruby-program.h"
#include "symbolize/runtime/runtime-pages.h"
#include "tap.h"
#include "tests/unit/symbolize/gomemory.h"

#include <stdio.h>
#include <stdlib.h>

#define VERSION GOMEMORY_DATA
#define VM (GOMEMORY_DATA + 0x100u)
#define TID 4242u
#define STACK_WORDS 64u

static struct gomemory memory;
static const struct runtime_memory from = { gomemory_read, &memory };
static struct runtime_pages pages;
static struct ruby_program program;
static uint64_t next = GOMEMORY_HEAP + 0x100;

static uint64_t room(size_t n)
{
	uint64_t at = next;
	next += (n + 15) & ~(size_t)15;
	return at;
}

static uint64_t words(size_t n, const uint64_t *word)
{
	uint64_t at = room(8 * n);
	for (size_t i = 0; i < n; i++)
		gomemory_word(&memory, at + 8 * i, word[i]);
	return at;
}

#define WORDS(...) \
	words(sizeof((uint64_t[]){ __VA_ARGS__ }) / 8, (const uint64_t[]){ __VA_ARGS__ })

/* Short texts are in the object. */
static uint64_t put_text(const char *text)
{
	size_t n = strlen(text);
	uint64_t at = room(48);
	if (n < 24) {
		bool has_length = program.layout->has_string_length;
		gomemory_word(&memory, at, has_length ? 5 : 5 | n << 14);
		gomemory_word(&memory, at + RUBY_STRING_TEXT, n);
		gomemory_put(&memory, at + RUBY_STRING_TEXT + (has_length ? 8 : 0), text, n + 1);
		return at;
	}
	uint64_t outside = room(n + 1);
	gomemory_put(&memory, outside, text, n + 1);
	gomemory_word(&memory, at, 5 | 1 << 13);
	gomemory_word(&memory, at + RUBY_STRING_TEXT, n);
	gomemory_word(&memory, at + RUBY_STRING_TEXT + 8, outside);
	return at;
}

/* n words of instructions: those before the middle are on line 11, the others on line 12. */
static uint64_t put_function(const char *label, uint64_t path, uint32_t n)
{
	const struct ruby_layout *l = program.layout;
	uint64_t iseq = room(32), body = room(RUBY_BODY_BYTES), info = room(36);
	uint64_t index = room(48 + 80 * (n / 512 + 1)), code = room(8 * n);
	uint32_t size = n, entries = 2, line[2] = { 11, 12 }, rank = 1;
	gomemory_word(&memory, iseq, 26 | 7 << 12);
	gomemory_word(&memory, iseq + RUBY_ISEQ_BODY, body);
	gomemory_put(&memory, body + RUBY_BODY_SIZE, &size, 4);
	gomemory_word(&memory, body + RUBY_BODY_CODE, code);
	gomemory_word(&memory, body + RUBY_BODY_PATH, path);
	gomemory_word(&memory, body + RUBY_BODY_LABEL, put_text(label));
	gomemory_word(&memory, body + RUBY_BODY_FIRST_LINE,
		      l->has_number_objects ? 10 << 1 | 1 : 10 | UINT64_C(7) << 32);
	gomemory_word(&memory, body + l->info, info);
	gomemory_put(&memory, body + l->info_size, &entries, 4);
	gomemory_word(&memory, body + l->info_index, index);
	gomemory_put(&memory, info, &line[0], 4);
	gomemory_put(&memory, info + RUBY_INFO_BYTES, &line[1], 4);
	for (uint32_t i = 0; i < 6; i++) {
		uint64_t ranks = 0;
		for (uint32_t k = 0; k < 9; k++)
			ranks |= (uint64_t)(9 * i + k < n / 2 ? 1 : 2) << 7 * k;
		gomemory_word(&memory, index + 8 * i, ranks);
	}
	/* the second entry begins in the first block: its bit is set, and counts from there on */
	gomemory_put(&memory, index + 48, &rank, 4);
	if (n / 2 >= 54) {
		uint32_t at = n / 2 - 54;
		gomemory_word(&memory, index + 64 + 8 * (at / 64), UINT64_C(1) << at % 64);
		uint64_t small = 0;
		for (uint32_t k = at / 64 + 1; k < 8; k++)
			small |= UINT64_C(1) << 9 * (k - 1);
		gomemory_word(&memory, index + 56, small);
	} else {
		rank = 2;
		gomemory_put(&memory, index + 48, &rank, 4);
	}
	return iseq;
}

static uint64_t put_frame(uint64_t stack, uint32_t number, uint64_t iseq, uint64_t pc,
			  uint64_t flags)
{
	uint64_t at = stack + 8 * STACK_WORDS - program.layout->frame_bytes * (uint64_t)number;
	gomemory_word(&memory, at + RUBY_FRAME_PC, pc);
	gomemory_word(&memory, at + RUBY_FRAME_ISEQ, iseq);
	gomemory_word(&memory, at + RUBY_FRAME_EP, WORDS(flags));
	return at;
}

static enum ruby_program_result open_again(uint64_t vm)
{
	runtime_pages_forget(&pages);
	return ruby_program_open(&pages, VERSION, vm, &program);
}

static void test_versions(void)
{
	gomemory_put(&memory, VERSION, "3.1.7", 6);
	gomemory_word(&memory, VM, 0);
	tap_ok(open_again(VM) == RUBY_PROGRAM_STARTING, "its VM does not exist yet");
	tap_str(program.version, "3.1.7", "its version");
	tap_ok(open_again(0) == RUBY_PROGRAM_NO_VM, "the variable is not known");
	gomemory_put(&memory, VERSION, "3.10.0", 7);
	tap_ok(open_again(VM) == RUBY_PROGRAM_UNSUPPORTED, "another version");
	tap_ok(ruby_program_open(&pages, 0x1000, VM, &program) == RUBY_PROGRAM_UNREADABLE &&
	       !*program.version, "nothing can be read");
}

/* The first instructions of rb_during_gc(). */
static void test_vm(void)
{
	static const uint8_t lea[] = { 0xf3, 0x0f, 0x1e, 0xfa, 0x48, 0x8d, 0x05, 0x85,
				       0xc3, 0x3d, 0x00, 0x48, 0x8b, 0x00, 0x48, 0x85 };
	static const uint8_t got[] = { 0x48, 0x8b, 0x05, 0xa1, 0xf7, 0x2d, 0x00, 0x48, 0x8b, 0x00 };
	static const uint8_t mov[] = { 0x48, 0x8b, 0x05, 0xf0, 0xff, 0xff, 0xff, 0x48, 0x85, 0xc0 };
	static const uint8_t other[] = { 0x48, 0x8d, 0x05, 0, 0, 0, 0, 0xc3, 0, 0 };
	uint64_t vm;
	bool is_indirect;
	tap_ok(ruby_layout_vm(lea, sizeof(lea), 0x110720, &vm, &is_indirect) &&
	       vm == 0x4ecab0 && !is_indirect, "the VM's variable: lea");
	tap_ok(ruby_layout_vm(got, sizeof(got), 0xcf4e0, &vm, &is_indirect) &&
	       vm == 0x3aec88 && is_indirect, "in the global offset table");
	tap_ok(ruby_layout_vm(mov, sizeof(mov), 0x1000, &vm, &is_indirect) &&
	       vm == 0xff7 && !is_indirect, "mov");
	tap_ok(!ruby_layout_vm(other, sizeof(other), 0x1000, &vm, &is_indirect) &&
	       !ruby_layout_vm(lea, 13, 0x1000, &vm, &is_indirect) &&
	       !ruby_layout_vm(lea, 0, 0x1000, &vm, &is_indirect), "other code, and no code");
}

static void test_functions(void)
{
	struct runtime_function f;
	struct runtime_function_key key, other;
	uint64_t items = WORDS(put_text("/srv/shop/lib/long/name.rb"), put_text("/real.rb"));
	uint64_t array = WORDS(7, 0, 2, 0, items);
	uint64_t own_array = WORDS(7 | 1 << 13 | 2 << 15, 0, put_text("a.rb"), put_text("/a.rb"));
	uint64_t small = put_function("block in pay", array, 10);
	uint64_t large = put_function("a label that is not in its object", own_array, 300);
	runtime_pages_forget(&pages);
	bool is_read = ruby_function_read(&program, &pages, small, &f);
	tap_ok(is_read && f.first_line == 10 && f.n_bytes == 80, "a function");
	tap_str(f.name, "block in pay", "its label");
	tap_str(f.file, "/srv/shop/lib/long/name.rb", "its path");
	tap_ok(runtime_function_line(&f.lines, 32) == 11 &&
	       runtime_function_line(&f.lines, 40) == 12 &&
	       !runtime_function_line(&f.lines, 80), "its lines");
	free(f.lines.line);
	is_read = ruby_function_read(&program, &pages, large, &f);
	tap_ok(is_read && runtime_function_line(&f.lines, 8 * 149) == 11 &&
	       runtime_function_line(&f.lines, 8 * 150) == 12 &&
	       runtime_function_line(&f.lines, 8 * 299) == 12, "lines of a larger one");
	tap_str(f.name, "a label that is not in its object", "its label");
	tap_str(f.file, "a.rb", "its path");
	free(f.lines.line);
	tap_ok(ruby_function_key(&program, &pages, small, &key) &&
	       ruby_function_key(&program, &pages, large, &other) &&
	       memcmp(&key, &other, sizeof(key)) != 0 &&
	       !ruby_function_key(&program, &pages, array, &key) &&
	       !ruby_function_key(&program, &pages, 0x1000, &key), "keys, and other objects");
}

static void test_threads(void)
{
	struct runtime_frames f = { 0 };
	struct ruby_stack s;
	bool is_known;
	uint32_t tid = TID;
	uint64_t a = put_function("a", put_text("a.rb"), 4);
	uint64_t b = put_function("b", put_text("b.rb"), 4);
	const struct ruby_layout *l = program.layout;
	uint64_t stack = room(8 * STACK_WORDS);
	uint64_t ec = WORDS(stack, STACK_WORDS, 0, 0, 0, 0, 0), idle_ec = room(64);
	uint64_t thread = room(160), idle = room(160), ractor = room(512), vm = room(64);
	uint64_t native = l->thread_native ? room(160) : thread;
	put_frame(stack, 1, a, 0x2000, 0x20);
	put_frame(stack, 2, a, 0x2010, 0x20);
	put_frame(stack, 3, 0, 0, 0x80);
	put_frame(stack, 4, 0x77, 0x2000, 0x80);
	uint64_t at = put_frame(stack, 5, b, 0x2000, 0);
	gomemory_word(&memory, ec + RUBY_EC_FRAME, at);
	gomemory_word(&memory, VM, vm);
	gomemory_word(&memory, vm + RUBY_VM_MAIN_RACTOR, ractor);
	gomemory_word(&memory, ractor + l->ractor_threads, ractor + l->ractor_threads);
	tap_ok(open_again(VM) == RUBY_PROGRAM_STARTING, "it has no thread yet");
	gomemory_word(&memory, ractor + l->ractor_threads, idle);
	gomemory_word(&memory, idle, thread);
	gomemory_word(&memory, idle + l->thread_ec, idle_ec);
	tap_ok(open_again(VM) == RUBY_PROGRAM_MISFIT, "a context of no thread");
	gomemory_word(&memory, idle_ec + RUBY_EC_THREAD, idle);
	tap_ok(open_again(VM) == RUBY_PROGRAM_OK, "its own one");
	gomemory_word(&memory, thread, ractor + l->ractor_threads);
	gomemory_word(&memory, thread + l->thread_ec, ec);
	if (l->thread_native)
		gomemory_word(&memory, thread + l->thread_native, native);
	gomemory_put(&memory, native + l->native_tid, &tid, 4);
	runtime_pages_forget(&pages);
	tap_ok(ruby_program_stack(&program, &pages, TID, &s, &is_known) && s.at == at, "a thread");
	tap_ok(ruby_program_frames(&program, &pages, &s, &f) && f.is_whole && f.v.n == 2 &&
	       f.ends.n == 1 && f.v.v[0].code == b && f.v.v[1].code == a &&
	       f.ends.v[0] == 2, "its functions, without those of C and the outermost frame");
	tap_ok(!ruby_program_stack(&program, &pages, 1, &s, &is_known) && is_known, "no thread");
	gomemory_word(&memory, thread, idle);
	runtime_pages_forget(&pages);
	tap_ok(!ruby_program_stack(&program, &pages, 1, &s, &is_known) && !is_known,
	       "the list has a cycle");
	s = (struct ruby_stack){ .at = 0x1000, .end = UINT64_MAX };
	tap_ok(ruby_program_frames(&program, &pages, &s, &f) && !f.is_whole && !f.v.n, "no stack");
	runtime_frames_done(&f);
}

int main(void)
{
	static const char *const versions[] = { "3.1.2", "3.2.11", "3.3.8", "3.4.11" };
	runtime_pages_init(&pages, &from, 100000);
	test_versions();
	test_vm();
	for (size_t i = 0; i < sizeof(versions) / sizeof(*versions); i++) {
		gomemory_put(&memory, VERSION, versions[i], strlen(versions[i]) + 1);
		gomemory_word(&memory, VM, 0);
		open_again(VM);
		tap_str(program.layout ? program.version : "unknown", versions[i], "a version");
		test_functions();
		test_threads();
	}
	tap_ok(ruby_glue_is("rb_vm_exec") && ruby_glue_is("rb_yield") &&
	       !ruby_glue_is("rb_ary_each"),
	       "native functions that only pass calls on");
	runtime_pages_done(&pages);
	return tap_done();
}
