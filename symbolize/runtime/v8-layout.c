/*
 * The name of a constant ends with the C++ type of its field, which changes from version to
 * version, so only what is before it is compared.  What has no constant was read off the memory of
 * V8 10.2 (Node 18), 11.3 (20), 12.4 (22), 13.6 (24) and 14.6 (26); readers check the type of each
 * object, so that a wrong offset gives no name rather than a wrong one.
 */

#include "symbolize/runtime/v8-layout.h"

#include "symbolize/cfi/cfi.h"
#include "symbolize/runtime/runtime-code.h"
#include "symbolize/runtime/runtime-memory.h"
#include "symbolize/runtime/runtime-symbols.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define PREFIX "v8dbg_"
#define MAJOR_MIN 10u
#define OFFSET_MAX 4096
#define BUILTINS_BYTES_MAX (64u << 20)

#define AT(member) offsetof(struct v8_layout, member)
#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

struct wanted {
	const char *name;               /* without PREFIX; the rest of it is not compared */
	size_t at;
	bool is_needed;
};

/* Where two rows have one place, the field has another name in another version. */
static const struct wanted wanted[] = {
	{ "class_Map__instance_type__", AT(map_type), true },
	{ "class_JSFunction__shared__", AT(function_shared), true },
	{ "class_SharedFunctionInfo__function_data__", AT(shared_data), false },
	{ "class_SharedFunctionInfo__name_or_scope_info__", AT(shared_name), true },
	{ "class_SharedFunctionInfo__script_or_debug_info__", AT(shared_script), false },
	{ "class_SharedFunctionInfo__script__", AT(shared_script), true },
	{ "class_Script__source__", AT(script_source), true },
	{ "class_Script__name__", AT(script_name), true },
	{ "class_String__length__", AT(string_length), true },
	{ "class_SeqOneByteString__chars__", AT(string_chars), true },
	{ "class_BytecodeArray__data__", AT(bytecode_first), true },
	{ "class_Code__instruction_stream__", AT(code_stream), false },
	{ "class_Code__instruction_start__Address", AT(code_start), false },
	{ "class_Code__instruction_start__uintptr_t", AT(stream_start), false },
	{ "class_InstructionStream__instruction_start__", AT(stream_start), true },
	{ "class_Code__instruction_size__", AT(code_size), false },
	{ "FirstJSFunctionType", AT(type.function_first), false },
	{ "LastJSFunctionType", AT(type.function_last), false },
	{ "type_JSFunction__JS_FUNCTION_TYPE", AT(type.function_first), true },
	{ "type_SharedFunctionInfo__", AT(type.shared), true },
	{ "type_ScopeInfo__", AT(type.scope), true },
	{ "type_Script__", AT(type.script), true },
	{ "type_BytecodeArray__", AT(type.bytecode), true },
	{ "type_InterpreterData__", AT(type.interpreter), true },
	{ "type_Code__", AT(type.code), true },
	{ "type_InstructionStream__", AT(type.stream), false },
};

/* ---- constants --------------------------------------------------------------------------- */

static int32_t *member(struct v8_layout *l, size_t i)
{
	return (int32_t *)((char *)l + wanted[i].at);
}

enum { MAJOR, MINOR, BLOB, BLOB_SIZE, N_SYMBOLS };

static const char *const symbols[N_SYMBOLS] = {
	[MAJOR] = "_ZN2v88internal7Version6major_E",
	[MINOR] = "_ZN2v88internal7Version6minor_E",
	[BLOB] = "_ZN2v88internal7Isolate23CurrentEmbeddedBlobCodeEv",
	[BLOB_SIZE] = "_ZN2v88internal7Isolate27CurrentEmbeddedBlobCodeSizeEv",
};

/* Virtual addresses; 0: there is no such constant, or symbol. */
struct found {
	uint64_t vaddr[COUNT(wanted)], symbol[N_SYMBOLS];
};

static void take_symbol(void *ctx, const char *name, uint64_t vaddr)
{
	struct found *f = ctx;
	if (strncmp(name, PREFIX, strlen(PREFIX)) != 0) {
		for (size_t i = 0; i < N_SYMBOLS; i++)
			if (strcmp(name, symbols[i]) == 0)
				f->symbol[i] = vaddr;
		return;
	}
	const char *rest = name + strlen(PREFIX);
	for (size_t i = 0; i < COUNT(wanted); i++)
		if (!f->vaddr[i] && strncmp(rest, wanted[i].name, strlen(wanted[i].name)) == 0)
			f->vaddr[i] = vaddr;
}

/* In stripped files all are dynamic; 24.11.1 has hidden constants, and 24 hidden functions. */
static void find_symbols(struct cfi *c, struct found *f)
{
	static const char *const prefix[] = { PREFIX, "_ZN2v88internal7" };
	*f = (struct found){ .vaddr = { 0 } };
	runtime_symbols_each(c, RUNTIME_SYMBOLS_DYNAMIC, prefix, COUNT(prefix), take_symbol, f);
	bool has_all = f->vaddr[0];
	for (size_t i = 0; i < N_SYMBOLS; i++)
		has_all &= f->symbol[i] != 0;
	if (!has_all)
		runtime_symbols_each(c, RUNTIME_SYMBOLS_ALL, prefix, COUNT(prefix), take_symbol, f);
}

static bool read_constants(const struct runtime_code_source *from, const struct found *f,
			   struct v8_layout *l)
{
	struct iovec local[COUNT(wanted)], remote[COUNT(wanted)];
	int32_t value[COUNT(wanted)];
	size_t row[COUNT(wanted)], n = 0;
	for (size_t i = 0; i < COUNT(wanted); i++) {
		if (!f->vaddr[i])
			continue;
		row[n] = i;
		local[n] = (struct iovec){ &value[n], sizeof(value[n]) };
		remote[n] = (struct iovec){ (void *)(uintptr_t)(from->bias + f->vaddr[i]),
					    sizeof(value[n]) };
		n++;
	}
	if (from->memory->read(from->memory->ctx, local, n, remote, n) !=
	    (long)(n * sizeof(*value)))
		return false;
	for (size_t i = 0; i < n; i++)
		if (*member(l, row[i]) < 0)
			*member(l, row[i]) = value[i] >= 0 && value[i] < OFFSET_MAX ? value[i] : -1;
	return true;
}

static const char *missing_constant(struct v8_layout *l)
{
	for (size_t i = 0; i < COUNT(wanted); i++)
		if (wanted[i].is_needed && *member(l, i) < 0)
			return wanted[i].name;
	return NULL;
}

/* ---- the version ------------------------------------------------------------------------- */

static bool read_version(const struct runtime_code_source *from, const struct found *f,
			 struct v8_layout *l)
{
	uint32_t minor;
	if (!runtime_memory_read(from->memory, from->bias + f->symbol[MAJOR], &l->major,
				 sizeof(l->major)) ||
	    !runtime_memory_read(from->memory, from->bias + f->symbol[MINOR], &minor,
				 sizeof(minor)))
		return false;
	if (l->major < 100 && minor < 1000)
		snprintf(l->version, sizeof(l->version), "%u.%u", l->major, minor);
	return true;
}

/* The value of the variable that a function returns: "mov VARIABLE(%rip), %eax" or the same with
 * %rax is its first instruction but those of a frame. */
static bool read_returned(const struct runtime_code_source *from, uint64_t function,
			  uint64_t *value, size_t n_bytes)
{
	uint8_t code[16];
	int32_t off;
	uint64_t at = from->bias + function;
	*value = 0;
	if (!function || !runtime_memory_read(from->memory, at, code, sizeof(code)))
		return false;
	for (size_t i = 0; i + 6 <= sizeof(code); i++) {
		if (code[i] != 0x8b || code[i + 1] != 0x05)
			continue;
		memcpy(&off, code + i + 2, sizeof(off));
		return runtime_memory_read(from->memory, at + i + 6 + (uint64_t)(int64_t)off,
					   value, n_bytes);
	}
	return false;
}

/* While the program is starting, there are none. */
static bool read_builtins(const struct runtime_code_source *from, const struct found *f,
			  struct v8_layout *l)
{
	uint64_t n_bytes;
	if (!read_returned(from, f->symbol[BLOB], &l->builtins_start, 8) || !l->builtins_start ||
	    !read_returned(from, f->symbol[BLOB_SIZE], &n_bytes, 4) || !n_bytes ||
	    n_bytes > BUILTINS_BYTES_MAX)
		return false;
	l->builtins_start -= from->bias;
	l->builtins_end = l->builtins_start + n_bytes;
	return true;
}

/* ---- what has no constant ---------------------------------------------------------------- */

/* Sources: bytecode-array.h, code.h, deoptimization-data.h, scope-info.tq of each version. */
static void set_by_version(struct v8_layout *l)
{
	bool is_trusted = l->major >= 12;
	if (l->shared_data < 0)
		l->shared_data = 8;
	if (l->type.function_last < l->type.function_first)
		l->type.function_last = l->type.function_first + 16;
	l->bytecode_positions = is_trusted ? 24 : 32;
	l->code_data = is_trusted ? 8 : 16;
	l->code_positions = is_trusted ? 16 : 24;
	if (l->type.stream >= 0 && l->code_stream < 0)
		l->code_stream = 32;
	if (l->code_stream >= 0 && l->code_start < 0)
		l->code_start = 40;
	if (l->code_size < 0)
		l->code_size = 56;
	l->scope_first = l->major >= 13 ? 48 : 32;
	l->scope_start = l->major >= 13 ? 32 : -1;
	l->deopt_shared = l->major >= 13 ? 7 : 6;
	l->is_wrapped = l->major >= 13;
	l->deopt_literals = l->major >= 13 ? 3 : 2;
	l->deopt_inlining = l->major >= 13 ? 8 : 7;
}

static void clear(struct v8_layout *l)
{
	*l = (struct v8_layout){ .major = 0 };
	for (size_t i = 0; i < COUNT(wanted); i++)
		*member(l, i) = -1;
}

enum v8_layout_result v8_layout_read(const struct runtime_code_source *from, struct v8_layout *l,
				     const char **ret_missing)
{
	struct found f;
	clear(l);
	find_symbols(from->cfi, &f);
	*ret_missing = PREFIX "*";
	if (!f.vaddr[0] || !f.symbol[MAJOR] || !f.symbol[MINOR])
		return V8_LAYOUT_UNSUPPORTED;
	if (!read_version(from, &f, l) || !read_constants(from, &f, l))
		return V8_LAYOUT_UNREADABLE;
	*ret_missing = "V8 10.2 or later";
	if (l->major < MAJOR_MIN)
		return V8_LAYOUT_UNSUPPORTED;
	*ret_missing = missing_constant(l);
	if (*ret_missing)
		return V8_LAYOUT_UNSUPPORTED;
	set_by_version(l);
	return read_builtins(from, &f, l) ? V8_LAYOUT_OK : V8_LAYOUT_UNREADABLE;
}
