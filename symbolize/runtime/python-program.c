#include "symbolize/runtime/python-program.h"

#include "symbolize/arch/arch.h"
#include "symbolize/cfi/cfi.h"
#include "symbolize/runtime/runtime-memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- version ------------------------------------------------------------------------------- */

/* PY_VERSION_HEX */
static void set_version(struct python_program *ret, uint32_t hex)
{
	snprintf(ret->version, sizeof(ret->version), "%u.%u.%u", hex >> 24, hex >> 16 & 0xff,
		 hex >> 8 & 0xff);
}

/* "python3.8" in the path's last part; false: there is none. */
static bool version_of_path(const char *path, unsigned int *ret_minor)
{
	static const char name[] = "python3.";
	const char *slash = strrchr(path, '/'), *at = strstr(slash ? slash : path, name);
	if (!at)
		return false;
	at += strlen(name);
	char *end;
	unsigned long minor = strtoul(at, &end, 10);
	*ret_minor = (unsigned int)minor;
	return end > at && minor < 100;
}

static enum python_program_result find_layout(const struct python_places *from,
					      struct python_program *ret)
{
	uint8_t table[PYTHON_LAYOUT_TABLE_BYTES];
	uint32_t hex = 0;
	unsigned int minor;
	if (!runtime_memory_read(from->memory, ret->runtime, table, sizeof(table)))
		return PYTHON_PROGRAM_UNREADABLE;
	enum python_layout_table found = python_layout_read(table, &ret->layout, &hex);
	if (found != PYTHON_LAYOUT_NO_TABLE) {
		set_version(ret, hex);
		return found == PYTHON_LAYOUT_OK ? PYTHON_PROGRAM_OK :
		       found == PYTHON_LAYOUT_UNKNOWN ? PYTHON_PROGRAM_UNSUPPORTED :
							PYTHON_PROGRAM_FREE_THREADED;
	}
	if (from->version) {
		if (!runtime_memory_read(from->memory, from->version + from->bias, &hex,
					 sizeof(hex)))
			return PYTHON_PROGRAM_UNREADABLE;
		set_version(ret, hex);
		minor = hex >> 24 == 3 ? hex >> 16 & 0xff : 0;
	} else {
		if (!version_of_path(from->path, &minor))
			return PYTHON_PROGRAM_UNSUPPORTED;
		snprintf(ret->version, sizeof(ret->version), "3.%u", minor);
	}
	return python_layout_of(minor, &ret->layout) ? PYTHON_PROGRAM_OK :
						       PYTHON_PROGRAM_UNSUPPORTED;
}

/* ---- the global lock ----------------------------------------------------------------------- */

/* take_gil() has 490 to 1160 bytes; no other function that is called on the way has 400. */
#define TAKE_BYTES_MIN 400u
#define TAKE_BYTES_MAX 4096u
#define HOPS 2u

/* It has no symbol in stripped files, and its callers are mostly inlined; but PyEval_RestoreThread
 * is exported and calls it, from 3.13 on by way of _PyThreadState_Attach. */
static void find_lock(const struct python_places *from, struct python_loop_code *ret)
{
	struct runtime_range r = { from->restore, from->restore + from->n_restore_bytes };
	for (unsigned int i = 0; i < HOPS && r.end - r.start < TAKE_BYTES_MIN; i++)
		if (!runtime_loop_callee(from->cfi, r.start, r.end - r.start, &r))
			return;
	if (r.end - r.start >= TAKE_BYTES_MIN && r.end - r.start <= TAKE_BYTES_MAX)
		ret->take_lock = r;
}

static void find_code(const struct python_places *from, struct python_loop_code *ret)
{
	ret->is_x86_64 = from->cfi->arch == &arch_x86_64;
	runtime_loop_find(&ret->loop, from->cfi, from->loop, from->n_loop_bytes);
	find_lock(from, ret);
}

enum python_program_result python_program_open(const struct python_places *from,
					       struct python_program *ret)
{
	*ret = (struct python_program){
		.runtime = from->runtime + from->bias, .code_type = from->code_type + from->bias,
		.bytes_type = from->bytes_type + from->bias,
	};
	enum python_program_result r = find_layout(from, ret);
	/* threads are found by the C library's structures, whose layout differs elsewhere */
	bool is_x86_64 = from->code ? from->code->is_x86_64 : from->cfi->arch == &arch_x86_64;
	if (r == PYTHON_PROGRAM_OK && ret->layout.thread_native_id == PYTHON_LAYOUT_NONE &&
	    !is_x86_64)
		return PYTHON_PROGRAM_UNSUPPORTED;
	if (r != PYTHON_PROGRAM_OK)
		return r;
	if (from->code)
		ret->code = *from->code;
	else
		find_code(from, &ret->code);
	return r;
}
