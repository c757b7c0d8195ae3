/* Which versions are supported, and what is known of others. */

#include "symbolize/arch/arch.h"
#include "symbolize/cfi/cfi.h"
#include "symbolize/runtime/python-glue.h"
#include "symbolize/runtime/python-program.h"
#include "symbolize/runtime/runtime-memory.h"
#include "tap.h"
#include "tests/unit/symbolize/gomemory.h"

static struct gomemory memory;
static const struct runtime_memory from = { gomemory_read, &memory };
static struct cfi cfi = { .arch = &arch_x86_64, .fd = -1 };

#define RUNTIME 0x1000u         /* vaddrs */
#define VERSION 0x1800u

static enum python_program_result opens(const char *path, uint32_t version,
					struct python_program *ret)
{
	const struct python_places places = {
		.path = path, .cfi = &cfi, .memory = &from, .bias = GOMEMORY_DATA,
		.runtime = RUNTIME, .version = version ? VERSION : 0,
	};
	gomemory_put(&memory, GOMEMORY_DATA + VERSION, &version, sizeof(version));
	return python_program_open(&places, ret);
}

int main(void)
{
	struct python_program p;
	tap_ok(opens("/usr/bin/python3", 0x030b02f0, &p) == PYTHON_PROGRAM_OK &&
	       p.layout.minor == 11 && p.runtime == GOMEMORY_DATA + RUNTIME && !p.code.loop.n,
	       "by the number in the program");
	tap_str(p.version, "3.11.2", "its version");
	tap_ok(opens("/usr/lib/libpython3.10.so.1.0", 0, &p) == PYTHON_PROGRAM_OK &&
	       p.layout.minor == 10, "before 3.11 by the file's name");
	tap_str(p.version, "3.10", "its version");
	tap_ok(opens("/opt/python3.8/bin/app", 0, &p) == PYTHON_PROGRAM_UNSUPPORTED && !*p.version,
	       "which may not say it");
	tap_ok(opens("/usr/bin/python3.7", 0, &p) == PYTHON_PROGRAM_UNSUPPORTED,
	       "an older version");
	tap_str(p.version, "3.7", "is named");
	tap_ok(opens("/usr/bin/python3", 0x040000f0, &p) == PYTHON_PROGRAM_UNSUPPORTED &&
	       opens("/usr/bin/python3.x", 0, &p) == PYTHON_PROGRAM_UNSUPPORTED,
	       "nor Python 4, or none");
	cfi.arch = &arch_arm64;
	tap_ok(opens("/usr/bin/python3.10", 0, &p) == PYTHON_PROGRAM_UNSUPPORTED &&
	       opens("/usr/bin/python3", 0x030b02f0, &p) == PYTHON_PROGRAM_OK,
	       "threads without ids are found on x86-64 only");
	cfi.arch = &arch_x86_64;

	uint64_t table[PYTHON_LAYOUT_TABLE_BYTES / 8] = { [1] = 0x030f00a1 };
	memcpy(table, "xdebugpy", 8);
	gomemory_put(&memory, GOMEMORY_DATA + RUNTIME, table, sizeof(table));
	tap_ok(opens("/usr/bin/python3", 0, &p) == PYTHON_PROGRAM_UNSUPPORTED, "a newer version");
	tap_str(p.version, "3.15.0", "is named");
	table[1] = 0x030d01f0;
	table[2] = 1;
	gomemory_put(&memory, GOMEMORY_DATA + RUNTIME, table, sizeof(table));
	tap_ok(opens("/usr/bin/python3", 0, &p) == PYTHON_PROGRAM_FREE_THREADED, "without GIL");
	memory.is_gone = true;
	tap_ok(opens("/usr/bin/python3", 0, &p) == PYTHON_PROGRAM_UNREADABLE, "it has ended");

	const struct runtime_loop loop = { .n = 2, .part = { { 10, 20 }, { 40, 50 } } };
	tap_ok(!runtime_loop_has(&loop, 9) && runtime_loop_has(&loop, 10) &&
	       !runtime_loop_has(&loop, 20) && runtime_loop_has(&loop, 49),
	       "the loop's parts");
	tap_ok(python_glue_is("_PyEval_Vector") && python_glue_is("method_vectorcall") &&
	       !python_glue_is("list_sort_impl") && !python_glue_is("builtin_sorted"),
	       "functions that only pass calls on");
	return tap_done();
}
