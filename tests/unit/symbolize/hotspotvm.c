#include "tests/unit/symbolize/hotspotvm.h"

#include "symbolize/cfi/cfi.h"
#include "tests/unit/symbolize/elfsymbols.h"
#include "tests/unit/symbolize/flatmemory.h"

#include <string.h>
#include <unistd.h>

long hotspotvm_read(void *ctx, const struct iovec *local, size_t n_local,
		    const struct iovec *remote, size_t n_remote)
{
	const struct hotspotvm *v = ctx;
	const struct flatmemory m = { v->b, v->is_gone ? 0 : HOTSPOTVM_BYTES, HOTSPOTVM_BASE,
				      false };
	return flatmemory_read(&m, local, n_local, remote, n_remote);
}

void hotspotvm_put(struct hotspotvm *v, uint64_t at, uint64_t value, size_t n_bytes)
{
	memcpy(v->b + (at - HOTSPOTVM_BASE), &value, n_bytes);
}

static uint64_t add_text(struct hotspotvm *v, const char *text)
{
	uint64_t at = v->next;
	memcpy(v->b + (at - HOTSPOTVM_BASE), text, strlen(text) + 1);
	v->next += strlen(text) + 1;
	return at;
}

/* ---- the tables -------------------------------------------------------------------------- */

static const char *const variables[] = {
	"gHotSpotVMStructs", "gHotSpotVMStructEntryArrayStride",
	"gHotSpotVMStructEntryTypeNameOffset", "gHotSpotVMStructEntryFieldNameOffset",
	"gHotSpotVMStructEntryTypeStringOffset", "gHotSpotVMStructEntryIsStaticOffset",
	"gHotSpotVMStructEntryOffsetOffset", "gHotSpotVMStructEntryAddressOffset",
	"gHotSpotVMTypes", "gHotSpotVMTypeEntryArrayStride",
	"gHotSpotVMTypeEntryTypeNameOffset", "gHotSpotVMTypeEntrySizeOffset",
	"gHotSpotVMIntConstants", "gHotSpotVMIntConstantEntryArrayStride",
	"gHotSpotVMIntConstantEntryNameOffset", "gHotSpotVMIntConstantEntryValueOffset",
};
#define VARIABLES 16u
#define ROW_BYTES 56u               /* of all three tables */

struct row {
	const char *type, *name, *kind;
	unsigned int off, first, last;  /* in versions from first to last */
};

/* Objects of the scene: code heap 0x14000, array 0x14100, ... see put_objects(). */
static const struct row rows[] = {
	{ "GrowableArrayBase", "_len", "int", 0, 17, 99 },
	{ "GrowableArray<int>", "_data", "int*", 8, 8, 99 },
	{ "VirtualSpace", "_low", "char*", 16, 8, 99 },
	{ "VirtualSpace", "_high", "char*", 24, 8, 99 },
	{ "CodeHeap", "_memory", "VirtualSpace", 8, 8, 99 },
	{ "CodeHeap", "_segmap", "VirtualSpace", 64, 8, 99 },
	{ "CodeHeap", "_log2_segment_size", "int", 128, 8, 99 },
	{ "HeapBlock::Header", "_length", "size_t", 0, 8, 24 },
	{ "HeapBlock::Header", "_length", "uint32_t", 0, 25, 99 },
	{ "HeapBlock::Header", "_used", "bool", 8, 8, 24 },
	{ "HeapBlock::Header", "_used", "bool", 4, 25, 99 },
	{ "CodeBlob", "_name", "const char*", 0, 8, 99 },
	{ "CodeBlob", "_size", "int", 8, 8, 99 },
	{ "CodeBlob", "_frame_size", "int", 12, 8, 99 },
	{ "CodeBlob", "_frame_complete_offset", "int", 16, 8, 24 },
	{ "CodeBlob", "_frame_complete_offset", "int16_t", 16, 25, 99 },
	{ "CodeBlob", "_code_offset", "int", 20, 8, 8 },
	{ "CodeBlob", "_data_offset", "int", 24, 8, 99 },
	{ "CodeBlob", "_code_begin", "address", 32, 17, 24 },
	{ "CodeBlob", "_code_end", "address", 40, 17, 24 },
	{ "CodeBlob", "_code_offset", "int", 20, 25, 99 },
	{ "CodeBlob", "_relocation_size", "int", 28, 25, 99 },
	{ "CodeBlob", "_mutable_data", "address", 48, 25, 99 },
	{ "CodeBlob", "_mutable_data_size", "int", 56, 25, 99 },
	{ "nmethod", "_method", "Method*", 64, 8, 8 },
	{ "CompiledMethod", "_method", "Method*", 64, 17, 22 },
	{ "nmethod", "_method", "Method*", 64, 23, 99 },
	{ "nmethod", "_compile_id", "int", 72, 8, 99 },
	{ "nmethod", "_scopes_pcs_offset", "int", 76, 8, 99 },
	{ "nmethod", "_dependencies_offset", "int", 80, 8, 22 },
	{ "nmethod", "_metadata_offset", "int", 84, 8, 24 },
	{ "CompiledMethod", "_scopes_data_begin", "address", 88, 17, 22 },
	{ "nmethod", "_scopes_data_offset", "int", 88, 8, 8 },
	{ "nmethod", "_scopes_data_offset", "int", 88, 23, 99 },
	{ "nmethod", "_immutable_data", "address", 96, 23, 99 },
	{ "nmethod", "_immutable_data_size", "int", 104, 23, 99 },
	{ "PcDesc", "_pc_offset", "int", 0, 8, 99 },
	{ "PcDesc", "_scope_decode_offset", "int", 4, 8, 99 },
	{ "Method", "_constMethod", "ConstMethod*", 8, 8, 99 },
	{ "ConstMethod", "_constants", "ConstantPool*", 8, 8, 99 },
	{ "ConstMethod", "_flags", "u2", 16, 8, 17 },
	{ "ConstMethod", "_flags._flags", "u4", 16, 18, 99 },
	{ "ConstMethod", "_code_size", "u2", 20, 8, 99 },
	{ "ConstMethod", "_name_index", "u2", 22, 8, 99 },
	{ "ConstMethod", "_signature_index", "u2", 24, 8, 99 },
	{ "ConstantPool", "_pool_holder", "InstanceKlass*", 8, 8, 99 },
	{ "ConstantPool", "_source_file_name_index", "u2", 16, 17, 99 },
	{ "Klass", "_name", "Symbol*", 8, 8, 99 },
	{ "InstanceKlass", "_source_file_name_index", "u2", 24, 8, 8 },
	{ "Symbol", "_length", "unsigned short", 4, 8, 11 },
	{ "Symbol", "_length", "u2", 4, 12, 99 },
	{ "Symbol", "_body[0]", "u1", 6, 8, 99 },
	{ "Symbol", "_body", "", 6, 8, 99 },
	{ "StubQueue", "_stub_buffer", "address", 8, 8, 99 },
	{ "StubQueue", "_buffer_limit", "int", 20, 8, 99 },
	{ "Thread", "_unrelated", "long", 0, 8, 99 },
};

static uint64_t variable_at(unsigned int i)
{
	return HOTSPOTVM_BASE + 8 * i;
}

/* A row at `at`: texts at 0, 8, 16; a number at 24; words at 32 and 40. */
static void put_row(struct hotspotvm *v, uint64_t at, const char *a, const char *b,
		    const char *c, uint64_t is_static, uint64_t off, uint64_t address)
{
	hotspotvm_put(v, at, a ? add_text(v, a) : 0, 8);
	hotspotvm_put(v, at + 8, b ? add_text(v, b) : 0, 8);
	hotspotvm_put(v, at + 16, c ? add_text(v, c) : 0, 8);
	hotspotvm_put(v, at + 24, is_static, 4);
	hotspotvm_put(v, at + 32, off, 8);
	hotspotvm_put(v, at + 40, address, 8);
}

static bool is_left_out(const struct hotspotvm *v, const char *name)
{
	return v->without && strcmp(v->without, name) == 0;
}

/* The addresses of the static fields: 0x14200 and on. */
static uint64_t put_structs(struct hotspotvm *v, uint64_t at)
{
	const char *heap = v->version == 8 ? "_heap" : "_heaps";
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const struct row *r = &rows[i];
		if (v->version < r->first || v->version > r->last ||
		    is_left_out(v, r->name))
			continue;
		put_row(v, at, r->type, r->name, r->kind, 0, r->off, 0);
		at += ROW_BYTES;
	}
	put_row(v, at, "CodeCache", heap, "CodeHeap*", 1, 0, 0x14200);
	put_row(v, at + ROW_BYTES, "Abstract_VM_Version", "_vm_major_version", "int", 1,
		0, 0x14208);
	put_row(v, at + 2 * ROW_BYTES, "AbstractInterpreter", "_code", "StubQueue*", 1, 0, 0x14210);
	at += 3 * ROW_BYTES;
	if (!is_left_out(v, "_start")) {
		put_row(v, at, "PerfMemory", "_start", "char*", 1, 0, 0x14218);
		at += ROW_BYTES;
	}
	return at + ROW_BYTES;
}

static void put_tables(struct hotspotvm *v)
{
	static const struct { const char *name; unsigned int n_bytes; } type[] = {
		{ "HeapBlock", 16 }, { "PcDesc", 16 }, { "ConstMethod", 32 },
		{ "ConstantPool", 24 }, { "Thread", 600 },
	};
	const uint64_t word[VARIABLES] = {
		HOTSPOTVM_TABLES, ROW_BYTES, 0, 8, 16, 24, 32, 40,
		0, ROW_BYTES, 0, 32,
		0, ROW_BYTES, 0, 24,
	};
	for (unsigned int i = 0; i < VARIABLES; i++)
		hotspotvm_put(v, variable_at(i), word[i], 8);
	v->next = HOTSPOTVM_TABLES + 0x1200;
	uint64_t at = put_structs(v, HOTSPOTVM_TABLES);
	hotspotvm_put(v, variable_at(8), at, 8);
	for (size_t i = 0; i < sizeof(type) / sizeof(*type); i++, at += ROW_BYTES)
		put_row(v, at, type[i].name, NULL, NULL, 0, type[i].n_bytes, 0);
	at += ROW_BYTES;
	hotspotvm_put(v, variable_at(12), at, 8);
	put_row(v, at, v->version < 20 ? "ConstMethod::_has_linenumber_table" :
		"ConstMethodFlags::_misc_has_linenumber_table", NULL, NULL, 1, 0, 0);
}

/* ---- objects ----------------------------------------------------------------------------- */

static uint64_t put_symbol(struct hotspotvm *v, uint64_t at, const char *text)
{
	hotspotvm_put(v, at + 4, strlen(text), 2);
	memcpy(v->b + (at + 6 - HOTSPOTVM_BASE), text, strlen(text));
	return at;
}

/* A class with one method at `at`, which takes 0x200 bytes.  Its lines: bytecode 0 is line 10,
 * 4 is line 12, 9 is line 1012. */
static void put_method(struct hotspotvm *v, uint64_t at, const char *class,
		       const char *name, const char *file)
{
	/* 2000, for a step of 1000, is 208 + 64 * 28 */
	const uint8_t x = v->version >= 20;
	const uint8_t lines[] = { 255, x, (uint8_t)(20 + x), 4 << 3 | 2, 255, (uint8_t)(10 + x),
				  (uint8_t)(208 + x), (uint8_t)(28 + x), 0 };
	uint64_t method = at, constant = at + 0x20, pool = at + 0x60, klass = at + 0xb0;
	hotspotvm_put(v, method + 8, constant, 8);
	hotspotvm_put(v, constant + 8, pool, 8);
	hotspotvm_put(v, constant + 16, 1, v->version >= 18 ? 4 : 2);
	hotspotvm_put(v, constant + 20, 10, 2);
	hotspotvm_put(v, constant + 22, 1, 2);
	hotspotvm_put(v, constant + 24, 2, 2);
	memcpy(v->b + (constant + 32 + 10 - HOTSPOTVM_BASE), lines, sizeof(lines));
	hotspotvm_put(v, pool + 8, klass, 8);
	if (v->version >= 17)
		hotspotvm_put(v, pool + 16, 3, 2);
	else
		hotspotvm_put(v, klass + 24, 3, 2);
	hotspotvm_put(v, klass + 8, put_symbol(v, at + 0x100, class), 8);
	hotspotvm_put(v, pool + 24 + 8, put_symbol(v, at + 0x140, name), 8);
	hotspotvm_put(v, pool + 24 + 16, put_symbol(v, at + 0x180, "(I)V") | 1, 8);
	hotspotvm_put(v, pool + 24 + 24, put_symbol(v, at + 0x1c0, file), 8);
}

#define OUTSIDE 0x14800u      /* tables outside of the blob, since JDK 23 */

/* At offset 0x40 of the code Inner.step is at bytecode 4, in Outer.run at bytecode 9; at 0x80
 * Outer.run is at bytecode 0. */
static void put_debug(struct hotspotvm *v)
{
	bool is_outside = v->version >= 23;
	const uint8_t x = v->version >= 20;
	uint64_t metadata = is_outside ? OUTSIDE + 8 : HOTSPOTVM_BLOB + 0x300;
	uint64_t scopes = is_outside ? OUTSIDE + 0x80 : HOTSPOTVM_BLOB + 0x310;
	uint64_t pcs = is_outside ? OUTSIDE + 0x40 : HOTSPOTVM_BLOB + 0x320;
	const uint8_t stream[] = { 0, 0, 1, 10, 1, 2, 5, 0, 1, 1 };
	const uint32_t pc[4][2] = { { UINT32_MAX, 0 }, { 0x40, 4 }, { 0x80, 7 }, { INT32_MAX, 0 } };
	hotspotvm_put(v, metadata, HOTSPOTVM_OUTER, 8);
	hotspotvm_put(v, metadata + 8, HOTSPOTVM_INNER, 8);
	for (size_t i = 0; i < sizeof(stream); i++)
		hotspotvm_put(v, scopes + i, stream[i] + x, 1);
	for (size_t i = 0; i < 4; i++) {
		hotspotvm_put(v, pcs + 16 * i, pc[i][0], 4);
		hotspotvm_put(v, pcs + 16 * i + 4, pc[i][1], 4);
	}
	if (is_outside) {
		hotspotvm_put(v, HOTSPOTVM_BLOB + 48, OUTSIDE, 8);
		hotspotvm_put(v, HOTSPOTVM_BLOB + 56, 0x18, 4);
		hotspotvm_put(v, HOTSPOTVM_BLOB + 28, 5, 4);
		hotspotvm_put(v, HOTSPOTVM_BLOB + 96, OUTSIDE + 0x40, 8);
		hotspotvm_put(v, HOTSPOTVM_BLOB + 104, 0x50, 4);
		hotspotvm_put(v, HOTSPOTVM_BLOB + 76, 0, 4);
		hotspotvm_put(v, HOTSPOTVM_BLOB + 88, 0x40, 4);
		return;
	}
	hotspotvm_put(v, HOTSPOTVM_BLOB + 84, 0x300, 4);
	hotspotvm_put(v, HOTSPOTVM_BLOB + 76, 0x320, 4);
	hotspotvm_put(v, HOTSPOTVM_BLOB + 80, 0x360, 4);
	if (v->version >= 17)
		hotspotvm_put(v, HOTSPOTVM_BLOB + 88, scopes, 8);
	else
		hotspotvm_put(v, HOTSPOTVM_BLOB + 88, 0x310, 4);
}

static void put_blob(struct hotspotvm *v, uint64_t at, const char *name,
		     uint64_t code, uint64_t n_bytes)
{
	hotspotvm_put(v, at, add_text(v, name), 8);
	hotspotvm_put(v, at + 8, 0x400, 4);
	hotspotvm_put(v, at + 24, code + n_bytes - at, 4);
	hotspotvm_put(v, at + 20, code - at, 4);
	if (v->version >= 17 && v->version < 25) {
		hotspotvm_put(v, at + 32, code, 8);
		hotspotvm_put(v, at + 40, code + n_bytes, 8);
	}
}

static void put_segments(struct hotspotvm *v, unsigned int first, unsigned int n)
{
	uint64_t block = HOTSPOTVM_HEAP + 0x80 * first;
	for (unsigned int i = 0; i < n; i++)
		hotspotvm_put(v, HOTSPOTVM_SEGMENTS + first + i, i < 3 ? i : 2, 1);
	hotspotvm_put(v, block, n, v->version >= 25 ? 4 : 8);
	hotspotvm_put(v, block + (v->version >= 25 ? 4 : 8), 1, 1);
}

/* The counters of jstat: header, then entries with name and value. */
static void put_counters(struct hotspotvm *v)
{
	static const char *const name[] = { "java.cls.unloadedClasses",
					    "java.cls.sharedUnloadedClasses", "sun.rt.other" };
	const uint64_t start = HOTSPOTVM_COUNTERS;
	hotspotvm_put(v, 0x14218, start, 8);
	hotspotvm_put(v, start, UINT64_C(0x201c0c0feca), 8);
	hotspotvm_put(v, start + 8, 0x40 + 3 * 0x40, 4);
	hotspotvm_put(v, start + 24, 0x40, 4);
	hotspotvm_put(v, start + 28, 3, 4);
	for (unsigned int i = 0; i < 3; i++) {
		uint64_t entry = start + 0x40 * (i + 1);
		hotspotvm_put(v, entry, 0x40, 4);
		hotspotvm_put(v, entry + 4, 20, 4);
		hotspotvm_put(v, entry + 12, 'J', 1);
		hotspotvm_put(v, entry + 16, 0x38, 4);
		memcpy(v->b + (entry + 20 - HOTSPOTVM_BASE), name[i], strlen(name[i]) + 1);
	}
}

static void put_objects(struct hotspotvm *v)
{
	const uint64_t code_heap = 0x14000, array = 0x14100, data = 0x14120;
	hotspotvm_put(v, 0x14200, v->version == 8 ? code_heap : array, 8);
	hotspotvm_put(v, 0x14208, v->version == 8 ? 25 : v->version, 4);
	hotspotvm_put(v, 0x14210, 0x14300, 8);
	hotspotvm_put(v, 0x14300 + 8, HOTSPOTVM_INTERPRETER, 8);
	hotspotvm_put(v, 0x14300 + 20, HOTSPOTVM_INTERPRETER_BYTES, 4);
	hotspotvm_put(v, array, 1, 4);
	hotspotvm_put(v, array + 8, data, 8);
	hotspotvm_put(v, data, code_heap, 8);
	hotspotvm_put(v, code_heap + 8 + 16, HOTSPOTVM_HEAP, 8);
	hotspotvm_put(v, code_heap + 8 + 24, HOTSPOTVM_HEAP + 0x1000, 8);
	hotspotvm_put(v, code_heap + 64 + 16, HOTSPOTVM_SEGMENTS, 8);
	hotspotvm_put(v, code_heap + 64 + 24, HOTSPOTVM_SEGMENTS + 32, 8);
	hotspotvm_put(v, code_heap + 128, 7, 4);
	memset(v->b + (HOTSPOTVM_SEGMENTS - HOTSPOTVM_BASE), 255, 32);
	put_segments(v, 2, 9);
	put_segments(v, 20, 4);
	put_blob(v, HOTSPOTVM_BLOB, "nmethod", HOTSPOTVM_CODE, HOTSPOTVM_CODE_BYTES);
	put_blob(v, HOTSPOTVM_STUB, "StubRoutines (1)", HOTSPOTVM_STUB_CODE, 0x80);
	hotspotvm_put(v, HOTSPOTVM_BLOB + 12, 6, 4);
	hotspotvm_put(v, HOTSPOTVM_BLOB + 16, 0x18, 2);
	hotspotvm_put(v, HOTSPOTVM_BLOB + 64, HOTSPOTVM_OUTER, 8);
	hotspotvm_put(v, HOTSPOTVM_BLOB + 72, 33, 4);
	put_method(v, HOTSPOTVM_OUTER, "pack/Outer", "run", "Outer.java");
	put_method(v, HOTSPOTVM_INNER, "pack/Inner", "step", "Inner.java");
	put_debug(v);
	put_counters(v);
}

/* ---- the file ---------------------------------------------------------------------------- */

/* With the variables as dynamic symbols; false: no memory. */
static bool write_file(struct hotspotvm *v)
{
	struct elfsymbols_symbol symbol[VARIABLES];
	for (unsigned int i = 0; i < VARIABLES; i++)
		symbol[i] = (struct elfsymbols_symbol){ variables[i], variable_at(i), 8, false };
	v->fd = elfsymbols_open(symbol, VARIABLES, &v->cfi);
	return v->fd >= 0;
}

void hotspotvm_done(struct hotspotvm *v)
{
	cfi_close(v->cfi);
	close(v->fd);
	v->cfi = NULL;
}

bool hotspotvm_init(struct hotspotvm *v)
{
	memset(v->b, 0, sizeof(v->b));
	v->is_gone = false;
	put_tables(v);
	put_objects(v);
	return v->next < HOTSPOTVM_OBJECTS && write_file(v);
}
