#include "tests/unit/symbolize/v8vm.h"

#include "symbolize/cfi/cfi.h"
#include "tests/unit/symbolize/elfsymbols.h"
#include "tests/unit/symbolize/flatmemory.h"

#include <string.h>
#include <unistd.h>

enum type {
	ONE_BYTE = 8, TWO_BYTE = 0, CONS = 9, SLICED = 11, THIN = 13, EXTERNAL = 10,
	MAP = 130, SHARED, SCOPE, SCRIPT, BYTECODE, INTERPRETER, CODE, STREAM, ARRAY, WRAPPER,
	ODDBALL, FUNCTION = 600, TYPES = 700
};

#define MAPS (V8VM_BASE + 0x1000)       /* one of 16 bytes for each type */

long v8vm_read(void *ctx, const struct iovec *local, size_t n_local, const struct iovec *remote,
	       size_t n_remote)
{
	const struct v8vm *v = ctx;
	const struct flatmemory m = { v->b, v->is_gone ? 0 : V8VM_BYTES, V8VM_BASE, false };
	return flatmemory_read(&m, local, n_local, remote, n_remote);
}

void v8vm_put(struct v8vm *v, uint64_t at, uint64_t value, size_t n_bytes)
{
	memcpy(v->b + (at - V8VM_BASE), &value, n_bytes);
}

/* ---- the constants ----------------------------------------------------------------------- */

struct constant {
	const char *name;
	unsigned int value, first, last;        /* in versions from first to last */
};

static const struct constant constants[] = {
	{ "v8dbg_class_Map__instance_type__uint16_t", 12, 0, 99 },
	{ "v8dbg_class_JSFunction__shared__SharedFunctionInfo", 24, 0, 11 },
	{ "v8dbg_class_JSFunction__shared__Tagged_SharedFunctionInfo_", 32, 12, 99 },
	{ "v8dbg_class_SharedFunctionInfo__function_data__Object", 8, 0, 11 },
	{ "v8dbg_class_SharedFunctionInfo__name_or_scope_info__Object", 16, 0, 11 },
	{ "v8dbg_class_SharedFunctionInfo__name_or_scope_info__Tagged_Object_", 16, 12, 12 },
	{ "v8dbg_class_SharedFunctionInfo__name_or_scope_info__Tagged_NameOrScopeInfoT_", 24, 13,
	  99 },
	{ "v8dbg_class_SharedFunctionInfo__script_or_debug_info__HeapObject", 32, 0, 11 },
	{ "v8dbg_class_SharedFunctionInfo__script__Tagged_HeapObject_", 32, 12, 12 },
	{ "v8dbg_class_SharedFunctionInfo__script__Tagged_HeapObject_", 40, 13, 99 },
	{ "v8dbg_class_Script__source__Object", 8, 0, 99 },
	{ "v8dbg_class_Script__name__Object", 16, 0, 99 },
	{ "v8dbg_class_String__length__int32_t", 12, 0, 99 },
	{ "v8dbg_class_SeqOneByteString__chars__char", 16, 0, 99 },
	{ "v8dbg_class_BytecodeArray__data__uintptr_t", 56, 0, 11 },
	{ "v8dbg_class_BytecodeArray__data__uintptr_t", 64, 12, 99 },
	{ "v8dbg_class_Code__instruction_start__uintptr_t", 128, 0, 10 },
	{ "v8dbg_class_Code__instruction_size__int", 40, 0, 10 },
	{ "v8dbg_class_InstructionStream__instruction_start__uintptr_t", 16, 11, 11 },
	{ "v8dbg_class_InstructionStream__instruction_start__uintptr_t", 32, 12, 99 },
	{ "v8dbg_class_Code__instruction_stream__Tagged_InstructionStream_", 32, 12, 99 },
	{ "v8dbg_class_Code__instruction_start__Address", 40, 12, 99 },
	{ "v8dbg_class_Code__instruction_size__int", 52, 12, 12 },
	{ "v8dbg_class_Code__instruction_size__int", 56, 13, 99 },
	{ "v8dbg_FirstJSFunctionType", FUNCTION, 12, 99 },
	{ "v8dbg_LastJSFunctionType", FUNCTION + 16, 12, 99 },
	{ "v8dbg_type_JSFunction__JS_FUNCTION_TYPE", FUNCTION, 0, 99 },
	{ "v8dbg_type_SharedFunctionInfo__SHARED_FUNCTION_INFO_TYPE", SHARED, 0, 99 },
	{ "v8dbg_type_ScopeInfo__SCOPE_INFO_TYPE", SCOPE, 0, 99 },
	{ "v8dbg_type_Script__SCRIPT_TYPE", SCRIPT, 0, 99 },
	{ "v8dbg_type_BytecodeArray__BYTECODE_ARRAY_TYPE", BYTECODE, 0, 99 },
	{ "v8dbg_type_InterpreterData__INTERPRETER_DATA_TYPE", INTERPRETER, 0, 99 },
	{ "v8dbg_type_Code__CODE_TYPE", CODE, 0, 99 },
	{ "v8dbg_type_InstructionStream__INSTRUCTION_STREAM_TYPE", STREAM, 11, 99 },
	{ "_ZN2v88internal7Version6minor_E", 2, 0, 99 },
};
#define CONSTANTS (sizeof(constants) / sizeof(*constants))

static bool is_left_out(const struct v8vm *v, const struct constant *c)
{
	return v->major < c->first || v->major > c->last ||
	       (v->without && strncmp(c->name, v->without, strlen(v->without)) == 0);
}

/* Addresses of the two functions, and of the variables that they return. */
#define BLOB_CODE (V8VM_BASE + 0x100)
#define SIZE_CODE (V8VM_BASE + 0x120)
#define BLOB (V8VM_BASE + 0x140)
#define BLOB_SIZE (V8VM_BASE + 0x148)
#define MAJOR (V8VM_BASE + 0x150)

static void put_builtins(struct v8vm *v)
{
	/* push %rbp; mov %rsp, %rbp; mov BLOB(%rip), %rax; pop %rbp; ret */
	static const uint8_t blob[] = { 0x55, 0x48, 0x89, 0xe5, 0x48, 0x8b, 0x05,
					BLOB - BLOB_CODE - 11, 0, 0, 0, 0x5d, 0xc3 };
	static const uint8_t size[] = { 0x8b, 0x05, BLOB_SIZE - SIZE_CODE - 6, 0, 0, 0, 0xc3 };
	memcpy(v->b + (BLOB_CODE - V8VM_BASE), blob, sizeof(blob));
	memcpy(v->b + (SIZE_CODE - V8VM_BASE), size, sizeof(size));
	v8vm_put(v, BLOB, V8VM_BUILTINS, 8);
	v8vm_put(v, BLOB_SIZE, V8VM_BUILTINS_BYTES, 4);
	v8vm_put(v, MAJOR, v->major, 4);
}

static bool write_file(struct v8vm *v)
{
	struct elfsymbols_symbol symbol[CONSTANTS + 3] = {
		{ "_ZN2v88internal7Isolate23CurrentEmbeddedBlobCodeEv", BLOB_CODE, 13, true },
		{ "_ZN2v88internal7Isolate27CurrentEmbeddedBlobCodeSizeEv", SIZE_CODE, 7, true },
		{ "_ZN2v88internal7Version6major_E", MAJOR, 4, false },
	};
	size_t n = 3;
	for (size_t i = 0; i < CONSTANTS; i++) {
		uint64_t at = V8VM_CONSTANTS + 4 * i;
		if (is_left_out(v, &constants[i]))
			continue;
		v8vm_put(v, at, constants[i].value, 4);
		symbol[n++] = (struct elfsymbols_symbol){ constants[i].name, at, 4, false };
	}
	v->fd = elfsymbols_open(symbol, n, &v->cfi);
	return v->fd >= 0;
}

/* ---- objects ----------------------------------------------------------------------------- */

static uint64_t map_of(enum type type)
{
	return MAPS + (uint64_t)(type % 256) * 16 + 1;
}

static void put_maps(struct v8vm *v)
{
	for (unsigned int i = 0; i < 256; i++) {
		v8vm_put(v, MAPS + i * 16, MAPS + MAP * 16 + 1, 8);
		v8vm_put(v, MAPS + i * 16 + 12, i == FUNCTION % 256 ? FUNCTION : i, 2);
	}
}

static void set(struct v8vm *v, uint64_t object, unsigned int off, uint64_t word)
{
	v8vm_put(v, object - 1 + off, word, 8);
}

static uint64_t integer(uint32_t n)
{
	return (uint64_t)n << 32;
}

static uint64_t put_object_at(struct v8vm *v, uint64_t at, enum type type)
{
	v8vm_put(v, at, map_of(type), 8);
	return at + 1;
}

static uint64_t put_object(struct v8vm *v, enum type type, unsigned int n_bytes)
{
	uint64_t at = v->next;
	v->next += (n_bytes + 15) & ~15u;
	return put_object_at(v, at, type);
}

static uint64_t put_string(struct v8vm *v, const char *text)
{
	size_t n = strlen(text);
	uint64_t s = put_object(v, ONE_BYTE, (unsigned int)(16 + n));
	v8vm_put(v, s - 1 + 12, n, 4);
	memcpy(v->b + (s - 1 + 16 - V8VM_BASE), text, n);
	return s;
}

/* A string by others: its first and second field after the length. */
static uint64_t put_parts(struct v8vm *v, enum type type, uint32_t n, uint64_t first,
			  uint64_t second)
{
	uint64_t s = put_object(v, type, 32);
	v8vm_put(v, s - 1 + 12, n, 4);
	set(v, s, 16, first);
	set(v, s, 24, second);
	return s;
}

static uint64_t put_table(struct v8vm *v, const uint8_t *bytes, size_t n)
{
	uint64_t t = put_object(v, ARRAY, (unsigned int)(16 + n));
	set(v, t, 8, integer((uint32_t)n));
	memcpy(v->b + (t - 1 + 16 - V8VM_BASE), bytes, n);
	return t;
}

static void put_strings(struct v8vm *v)
{
	static const uint16_t wide[] = { 'x', 0xe9, 0x20ac, 0xd83d, 0xde00, 0xd83d, '!' };
	v->one_byte = put_string(v, "plain \xe9 text");
	v->two_byte = put_object(v, TWO_BYTE, 16 + sizeof(wide));
	v8vm_put(v, v->two_byte - 1 + 12, 7, 4);
	memcpy(v->b + (v->two_byte - 1 + 16 - V8VM_BASE), wide, sizeof(wide));
	v->cons = put_parts(v, CONS, 20, v->one_byte,
			    put_parts(v, CONS, 8, put_string(v, "and"),
				      put_string(v, " more")));
	v->sliced = put_parts(v, SLICED, 4, v->one_byte, integer(8));
	v->thin = put_parts(v, THIN, 12, v->one_byte, 0);
	v->external = put_parts(v, EXTERNAL, 4, 0x1234, v->one_byte - 1 + 16);
}

/* ---- functions --------------------------------------------------------------------------- */

/* Two variables of its context come before the names. */
static uint64_t put_scope(struct v8vm *v, uint64_t name, uint64_t inferred, uint32_t start)
{
	bool is_new = v->major >= 13;
	uint64_t s = put_object(v, SCOPE, 128), flags = 0x4171e2;
	unsigned int off = is_new ? 48 : 32;
	set(v, s, 8, is_new ? flags : integer((uint32_t)flags));
	set(v, s, 16, integer(1));
	set(v, s, 24, integer(2));
	for (unsigned int i = 0; i < 2; i++, off += 8) {
		set(v, s, off, v->thin);
		set(v, s, off + 16, integer(7));
	}
	off += 16;
	set(v, s, off, name);
	set(v, s, off + 8, integer(UINT32_MAX));
	set(v, s, off + 16, inferred);
	off = is_new ? 32 : off + 24;
	set(v, s, off, integer(start));
	set(v, s, off + 8, integer(start + 20));
	return s;
}

static uint64_t put_shared(struct v8vm *v, uint64_t data, uint64_t scope, uint64_t script)
{
	uint64_t s = put_object(v, SHARED, 64);
	set(v, s, 8, data);
	set(v, s, v->major >= 13 ? 24 : 16, scope);
	set(v, s, v->major >= 13 ? 40 : 32, script);
	return s;
}

uint32_t v8vm_bytecode_first(const struct v8vm *v)
{
	return v->major >= 12 ? 64 : 56;
}

/* At offset 0 is position 1, at 4 position 25: steps of both, the steps of the position times two
 * as it has a bit of another kind (1: plus one), each with its sign in bit 0. */
static uint64_t put_bytecode(struct v8vm *v)
{
	static const uint8_t positions[] = { 0, (1 + 1) * 2 * 2, 4 * 2, 24 * 2 * 2 };
	uint64_t b = put_object(v, BYTECODE, v8vm_bytecode_first(v) + 0x20);
	set(v, b, 8, integer(0x20));
	set(v, b, v->major >= 12 ? 24 : 32, put_table(v, positions, sizeof(positions)));
	return b;
}

static struct v8vm_function put_function(struct v8vm *v, uint64_t name, uint64_t inferred,
					 uint32_t start, uint64_t script)
{
	struct v8vm_function f = { .bytecode = put_bytecode(v) };
	uint64_t scope = put_scope(v, name, inferred, start);
	f.shared = put_shared(v, f.bytecode, scope, script);
	f.function = put_object(v, FUNCTION, 64);
	set(v, f.function, v->major >= 12 ? 32 : 24, f.shared);
	return f;
}

/* Compiled code at an address, whose Code has that data. */
static void put_code(struct v8vm *v, uint64_t start, uint64_t data)
{
	unsigned int head = v->major == 10 ? 128 : v->major == 11 ? 16 : 32;
	uint64_t stream = put_object_at(v, start - head, v->major == 10 ? CODE : STREAM);
	uint64_t code = stream;
	if (v->major > 10) {
		code = put_object(v, CODE, 72);
		set(v, stream, 8, code);
		set(v, code, 32, stream);
		set(v, code, 40, start);
	}
	set(v, code, v->major >= 12 ? 8 : 16, data);
	v8vm_put(v, code - 1 + (v->major == 10 ? 40 : v->major == 12 ? 52 : 56), V8VM_CODE_BYTES,
		 4);
}

static uint64_t put_deopt_data(struct v8vm *v, uint64_t shared)
{
	uint64_t data = put_object(v, ARRAY, 128);
	if (v->major >= 13) {
		uint64_t wrapper = put_object(v, WRAPPER, 16);
		set(v, wrapper, 8, shared);
		shared = wrapper;
	}
	set(v, data, 8, integer(9));
	set(v, data, v->major >= 13 ? 16 + 8 * 7 : 16 + 8 * 6, shared);
	return data;
}

static void put_functions(struct v8vm *v)
{
	/* lines begin at 0, 1, 20, 22, 39 and 41 */
	static const char text[] = "\nfunction outer() {\n\r\n  inner();//    \n}\n";
	uint64_t script = put_object(v, SCRIPT, 64), none = put_object(v, ODDBALL, 16);
	uint64_t empty = put_string(v, "");
	set(v, script, 8, put_string(v, text));
	set(v, script, 16, put_string(v, "/app/main.js"));
	set(v, script, 24, integer(0));
	v->outer = put_function(v, put_string(v, "outer"), none, 1, script);
	v->method = put_function(v, empty, put_parts(v, CONS, 11, put_string(v, "Kind."),
						     put_string(v, "method")), 24, script);
	uint64_t inner = put_shared(v, none, put_scope(v, put_string(v, "inner"), none, 40),
				    script);
	put_code(v, V8VM_CODE, put_deopt_data(v, inner));
	put_code(v, V8VM_BASELINE, v->outer.bytecode);
	/* what follows an empty array is another object */
	uint64_t nothing = put_deopt_data(v, inner);
	set(v, nothing, 8, 0);
	put_code(v, V8VM_STUB, nothing);
}

struct runtime_frame v8vm_frame(const struct v8vm *v, struct v8vm_function f, uint32_t off)
{
	return (struct runtime_frame){
		.pc = V8VM_BUILTINS + 8, .vaddr = V8VM_BUILTINS + 8, .fp = 0x7000,
		.below = { v->one_byte, f.function, integer(1), f.bytecode,
			   integer(v8vm_bytecode_first(v) - 1 + off) },
	};
}

void v8vm_done(struct v8vm *v)
{
	cfi_close(v->cfi);
	close(v->fd);
	v->cfi = NULL;
}

bool v8vm_init(struct v8vm *v)
{
	memset(v->b, 0, sizeof(v->b));
	v->is_gone = false;
	v->next = V8VM_OBJECTS;
	put_maps(v);
	put_builtins(v);
	put_strings(v);
	put_functions(v);
	return write_file(v);
}
