/* PHP in memory: versions, frames and functions. */

#include "symbolize/runtime/php-glue.h"
#include "symbolize/runtime/php-program.h"
#include "symbolize/runtime/runtime-pages.h"
#include "tap.h"
#include "tests/unit/symbolize/gomemory.h"

#include <stdlib.h>

#define MODULES GOMEMORY_DATA
#define GLOBALS (GOMEMORY_DATA + 0x1000u)

static struct gomemory memory;
static const struct runtime_memory from = { gomemory_read, &memory };
static struct runtime_pages pages;
static bool is_starting;
static struct php_program program;
static uint64_t next;

static uint64_t room(size_t n)
{
	uint64_t at = next;
	next += (n + 15) & ~(size_t)15;
	return at;
}

static void put_int(uint64_t at, uint32_t x)
{
	gomemory_put(&memory, at, &x, sizeof(x));
}

static uint64_t put_text(const char *text, size_t n)
{
	uint64_t at = room(PHP_STRING_TEXT + n + 1);
	gomemory_word(&memory, at + PHP_STRING_HASH, 7 * n);
	gomemory_word(&memory, at + PHP_STRING_LENGTH, n);
	gomemory_put(&memory, at + PHP_STRING_TEXT, text, n + 1);
	return at;
}

/* A function with three operations on lines first + 1 to first + 3; without text: of C. */
static uint64_t put_function(const char *text, uint64_t scope, uint32_t first)
{
	const struct php_layout *l = program.layout;
	uint64_t at = room(l->bytes), ops = room(3 * PHP_OP_BYTES);
	uint8_t type = text ? PHP_FUNC_USER : PHP_FUNC_INTERNAL;
	gomemory_put(&memory, at, &type, 1);
	if (text && *text)
		gomemory_word(&memory, at + PHP_FUNC_NAME, put_text(text, strlen(text)));
	gomemory_word(&memory, at + PHP_FUNC_SCOPE, scope);
	put_int(at + l->last, 3);
	gomemory_word(&memory, at + l->opcodes, ops);
	gomemory_word(&memory, at + l->file, put_text("/srv/a.php", 10));
	put_int(at + l->first_line, first);
	for (uint32_t i = 0; i < 3; i++)
		put_int(ops + i * PHP_OP_BYTES + PHP_OP_LINE, first + i + 1);
	return at;
}

static uint64_t put_frame(uint64_t function, uint32_t operation, uint64_t previous, uint32_t info)
{
	uint64_t at = room(96), ops = 0;
	if (function)
		memcpy(&ops, memory.heap + (function - GOMEMORY_HEAP) + program.layout->opcodes, 8);
	gomemory_word(&memory, at + PHP_FRAME_OPLINE, ops + operation * PHP_OP_BYTES);
	gomemory_word(&memory, at + PHP_FRAME_FUNC, function);
	gomemory_word(&memory, at + PHP_FRAME_PREVIOUS, previous);
	put_int(at + PHP_FRAME_CALL_INFO, info);
	return at;
}

/* Its "Core" is the second of two modules. */
static enum php_program_result opens(uint32_t api, bool has_threads, bool is_debug,
				     uint64_t globals)
{
	static const uint8_t one = 1;
	uint64_t buckets = room(2 * PHP_BUCKET_BYTES), other = room(PHP_MODULE_BYTES);
	uint64_t core = room(PHP_MODULE_BYTES);
	gomemory_word(&memory, MODULES + PHP_TABLE_BUCKETS, buckets);
	put_int(MODULES + PHP_TABLE_USED, 2);
	gomemory_word(&memory, buckets, other);
	gomemory_word(&memory, buckets + PHP_BUCKET_BYTES, core);
	gomemory_word(&memory, other + PHP_MODULE_NAME, put_text("date", 4) + PHP_STRING_TEXT);
	gomemory_word(&memory, core + PHP_MODULE_NAME, put_text("Core", 4) + PHP_STRING_TEXT);
	gomemory_word(&memory, core + PHP_MODULE_INFO, is_starting ? 0 : 0x1000);
	gomemory_word(&memory, core + PHP_MODULE_VERSION,
		      put_text(is_starting ? "4.2.36" : "8.2.36", 6) + PHP_STRING_TEXT);
	put_int(core + PHP_MODULE_API, api);
	if (has_threads)
		gomemory_put(&memory, core + PHP_MODULE_THREADS, &one, 1);
	if (is_debug)
		gomemory_put(&memory, core + PHP_MODULE_DEBUG, &one, 1);
	runtime_pages_forget(&pages);
	return php_program_open(&pages, MODULES, globals, &program);
}

static void test_versions(void)
{
	tap_ok(php_program_open(&pages, MODULES, GLOBALS, &program) == PHP_PROGRAM_STARTING,
	       "without modules yet");
	tap_ok(opens(20220829, false, false, GLOBALS) == PHP_PROGRAM_OK, "a version");
	tap_str(program.version, "8.2.36", "its name");
	tap_ok(opens(20250925, false, false, GLOBALS) == PHP_PROGRAM_UNSUPPORTED &&
	       opens(20200930, false, false, GLOBALS) == PHP_PROGRAM_UNSUPPORTED &&
	       *program.version, "8.5 and 8.0");
	tap_ok(opens(20220829, true, false, GLOBALS) == PHP_PROGRAM_THREADS &&
	       opens(20220829, false, false, 0) == PHP_PROGRAM_THREADS, "for threads");
	tap_ok(opens(20220829, false, true, GLOBALS) == PHP_PROGRAM_DEBUG, "for debugging");
	is_starting = true;
	tap_ok(opens(20220829, false, false, GLOBALS) == PHP_PROGRAM_STARTING,
	       "its own module still has the version of the engine");
	is_starting = false;
	put_int(MODULES + PHP_TABLE_USED, 1);
	runtime_pages_forget(&pages);
	tap_ok(php_program_open(&pages, MODULES, GLOBALS, &program) == PHP_PROGRAM_STARTING,
	       "its own module is missing");
	memory.is_gone = true;
	runtime_pages_forget(&pages);
	tap_ok(php_program_open(&pages, MODULES, GLOBALS, &program) == PHP_PROGRAM_UNREADABLE,
	       "it has ended");
	memory.is_gone = false;
}

static void test_functions(uint32_t api)
{
	struct runtime_function f;
	struct runtime_function_key key, other;
	opens(api, false, false, GLOBALS);
	uint64_t class_at = room(64);
	gomemory_word(&memory, class_at + PHP_CLASS_NAME, put_text("A\0/srv/a.php:3$0", 16));
	uint64_t method = put_function("run\xff", class_at, 10), file = put_function("", 0, 1);
	runtime_pages_forget(&pages);
	bool is_read = php_function_read(&program, &pages, method, &f);
	tap_ok(is_read && f.first_line == 10 && f.n_bytes == 96, "%u: a method", api);
	tap_str(f.name, "A::run\xef\xbf\xbd", "its name");
	tap_str(f.file, "/srv/a.php", "its file");
	tap_ok(runtime_function_line(&f.lines, 0) == 11 &&
	       runtime_function_line(&f.lines, 64) == 13 &&
	       runtime_function_line(&f.lines, 96) == 0 &&
	       runtime_function_line(&f.lines, UINT32_MAX) == 0, "its lines");
	free(f.lines.line);
	is_read = php_function_read(&program, &pages, file, &f);
	tap_ok(is_read && strcmp(f.name, "{main}") == 0, "code of a file");
	free(f.lines.line);
	tap_ok(php_function_key(&program, &pages, method, &key) &&
	       php_function_key(&program, &pages, file, &other) &&
	       memcmp(&key, &other, sizeof(key)) != 0, "functions have different keys");
	tap_ok(!php_function_key(&program, &pages, method + 4, &key) &&
	       !php_function_key(&program, &pages, 0x1000, &key) &&
	       !php_function_read(&program, &pages, put_function(NULL, 0, 1), &f),
	       "other addresses, and functions of C");
}

static void test_frames(void)
{
	struct runtime_frames f = { 0 };
	uint64_t at;
	uint64_t a = put_function("a", 0, 10), b = put_function("b", 0, 20);
	uint64_t c_code = put_function(NULL, 0, 1);
	uint64_t main_frame = put_frame(put_function("", 0, 1), 2, 0, 3 * PHP_CALL_TOP / 2);
	uint64_t sort = put_frame(c_code, 0, put_frame(a, 1, main_frame, 0), 0);
	uint64_t callback = put_frame(b, 0, sort, PHP_CALL_TOP);
	uint64_t inner = put_frame(c_code, 0, callback, 0);
	gomemory_word(&memory, GLOBALS + PHP_GLOBALS_CURRENT, inner);
	runtime_pages_forget(&pages);
	tap_ok(php_program_innermost(&program, &pages, &at) && at == inner, "the innermost frame");
	tap_ok(php_program_frames(&pages, at, &f) && f.is_whole && f.v.n == 3 && f.ends.n == 2 &&
	       f.v.v[0].at == callback && f.v.v[0].code == b && f.v.v[1].code == a &&
	       f.v.v[2].at == main_frame && f.ends.v[0] == 1 && f.ends.v[1] == 3,
	       "functions without those of C, by activation");
	gomemory_word(&memory, main_frame + PHP_FRAME_PREVIOUS, callback);
	runtime_pages_forget(&pages);
	tap_ok(php_program_frames(&pages, at, &f) && !f.is_whole && f.v.n < 32, "a cycle ends");
	gomemory_word(&memory, main_frame + PHP_FRAME_PREVIOUS, 0x1000);
	runtime_pages_forget(&pages);
	tap_ok(php_program_frames(&pages, at, &f) && !f.is_whole && f.v.n == 3,
	       "they end where nothing can be read");
	runtime_frames_done(&f);
}

/* outer delegates to middle, and that to inner, which is executed. */
static void test_generators(void)
{
	struct runtime_frames f = { 0 };
	uint64_t outer = put_function("outer", 0, 10), middle = put_function("middle", 0, 20);
	uint64_t inner = put_function("inner", 0, 30), g_outer = room(288), g_middle = room(288);
	uint64_t main_frame = put_frame(put_function("", 0, 1), 2, 0, PHP_CALL_TOP);
	uint64_t fake = g_outer + PHP_GENERATOR_FAKE;
	gomemory_word(&memory, g_outer + PHP_GENERATOR_PARENT, g_middle);
	gomemory_word(&memory, g_outer + PHP_GENERATOR_FRAME, put_frame(outer, 1, 0, PHP_CALL_TOP));
	gomemory_word(&memory, g_middle + PHP_GENERATOR_PARENT, room(288));
	gomemory_word(&memory, g_middle + PHP_GENERATOR_FRAME,
		      put_frame(middle, 1, 0, PHP_CALL_TOP));
	gomemory_word(&memory, fake + PHP_FRAME_THIS, g_outer);
	gomemory_word(&memory, fake + PHP_FRAME_PREVIOUS, main_frame);
	uint64_t at = put_frame(inner, 0, fake, PHP_CALL_TOP);
	runtime_pages_forget(&pages);
	tap_ok(php_program_frames(&pages, at, &f) && f.is_whole && f.v.n == 4 && f.ends.n == 2 &&
	       f.v.v[0].code == inner && f.v.v[1].code == middle && f.v.v[2].code == outer &&
	       f.ends.v[0] == 3, "generators that delegate call the one that is executed");
	gomemory_word(&memory, g_middle + PHP_GENERATOR_PARENT, g_outer);
	runtime_pages_forget(&pages);
	tap_ok(php_program_frames(&pages, at, &f) && f.v.n < 300, "a cycle of them ends");
	gomemory_word(&memory, fake + PHP_FRAME_THIS, g_middle);
	runtime_pages_forget(&pages);
	tap_ok(php_program_frames(&pages, at, &f) && f.is_whole && f.v.n == 2, "no generator");
	runtime_frames_done(&f);
}

int main(void)
{
	static const uint32_t apis[] = { 20210902, 20220829, 20230831, 20240924 };
	next = GOMEMORY_HEAP + 0x100;
	runtime_pages_init(&pages, &from, 100000);
	test_versions();
	for (size_t i = 0; i < sizeof(apis) / sizeof(*apis); i++)
		test_functions(apis[i]);
	test_frames();
	test_generators();
	tap_ok(php_glue_is("zend_call_function") && php_glue_is("execute_ex") &&
	       !php_glue_is("zif_usort") && !php_glue_is("zend_sort"),
	       "native functions that only pass calls on");
	runtime_pages_done(&pages);
	return tap_done();
}
