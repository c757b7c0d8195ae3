/*
 * The tables are arrays of structs, whose own layout is in further variables; the entry after the
 * last one has no name.  Types of fields change between versions, so the width of each is taken
 * from its type's name.  Nothing depends on the version where the tables say it.
 */

#include "symbolize/runtime/hotspot-layout.h"

#include "base/cleanup.h"
#include "symbolize/runtime/runtime-pages.h"
#include "symbolize/runtime/runtime-symbols.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define ENTRIES_MAX 8192u
#define STRIDE_MAX 256u
#define NAME_BYTES 96u
#define PAGES_MAX 4096u                /* that are read */
#define OBJECT_BYTES_MAX 4096u         /* the largest offset of a field */

#define AT(member) offsetof(struct hotspot_layout, member)

struct wanted {
	const char *type, *name;
	size_t at;
	bool is_needed;
};

static const struct wanted statics[] = {
	{ "CodeCache", "_heaps", AT(heaps), false },
	{ "CodeCache", "_heap", AT(heap), false },
	{ "AbstractInterpreter", "_code", AT(interpreter), false },
	{ "PerfMemory", "_start", AT(counters), false },
	{ "Abstract_VM_Version", "_vm_major_version", AT(major_version), true },
};

/* Where two rows have one place, the field has moved to another type or has another name. */
static const struct wanted fields[] = {
	{ "GrowableArrayBase", "_len", AT(array_len), false },
	{ "GenericGrowableArray", "_len", AT(array_len), false },
	{ "GrowableArray<int>", "_data", AT(array_data), false },
	{ "VirtualSpace", "_low", AT(space_low), true },
	{ "VirtualSpace", "_high", AT(space_high), true },
	{ "CodeHeap", "_memory", AT(heap_memory), true },
	{ "CodeHeap", "_segmap", AT(heap_segments), true },
	{ "CodeHeap", "_log2_segment_size", AT(heap_log2), true },
	{ "HeapBlock::Header", "_length", AT(block_length), true },
	{ "HeapBlock::Header", "_used", AT(block_used), true },
	{ "CodeBlob", "_name", AT(blob_name), true },
	{ "CodeBlob", "_size", AT(blob_size), true },
	{ "CodeBlob", "_frame_size", AT(blob_frame_size), true },
	{ "CodeBlob", "_frame_complete_offset", AT(blob_complete), false },
	{ "CodeBlob", "_code_begin", AT(blob_code_begin), false },
	{ "CodeBlob", "_code_end", AT(blob_code_end), false },
	{ "CodeBlob", "_code_offset", AT(blob_code_off), false },
	{ "CodeBlob", "_data_offset", AT(blob_data_off), false },
	{ "CodeBlob", "_mutable_data", AT(blob_mutable), false },
	{ "CodeBlob", "_mutable_data_size", AT(blob_mutable_size), false },
	{ "CodeBlob", "_relocation_size", AT(blob_relocation_size), false },
	{ "nmethod", "_method", AT(code_method), true },
	{ "CompiledMethod", "_method", AT(code_method), true },
	{ "nmethod", "_compile_id", AT(code_id), true },
	{ "nmethod", "_scopes_pcs_offset", AT(code_pcs), false },
	{ "nmethod", "_dependencies_offset", AT(code_dependencies), false },
	{ "nmethod", "_metadata_offset", AT(code_metadata), false },
	{ "CompiledMethod", "_scopes_data_begin", AT(code_scopes_at), false },
	{ "nmethod", "_scopes_data_begin", AT(code_scopes_at), false },
	{ "nmethod", "_scopes_data_offset", AT(code_scopes), false },
	{ "nmethod", "_immutable_data", AT(code_immutable), false },
	{ "nmethod", "_immutable_data_size", AT(code_immutable_size), false },
	{ "PcDesc", "_pc_offset", AT(pc_off), false },
	{ "PcDesc", "_scope_decode_offset", AT(pc_scope), false },
	{ "Method", "_constMethod", AT(method_const), true },
	{ "ConstMethod", "_constants", AT(const_pool), true },
	{ "ConstMethod", "_flags", AT(const_flags), false },
	{ "ConstMethod", "_flags._flags", AT(const_flags), false },
	{ "ConstMethod", "_code_size", AT(const_code_size), false },
	{ "ConstMethod", "_name_index", AT(const_name), true },
	{ "ConstMethod", "_signature_index", AT(const_signature), true },
	{ "ConstantPool", "_pool_holder", AT(pool_holder), true },
	{ "ConstantPool", "_source_file_name_index", AT(pool_source), false },
	{ "Klass", "_name", AT(klass_name), true },
	{ "InstanceKlass", "_source_file_name_index", AT(klass_source), false },
	{ "Symbol", "_length", AT(symbol_length), true },
	{ "Symbol", "_body", AT(symbol_body), true },
	{ "StubQueue", "_stub_buffer", AT(queue_buffer), false },
	{ "StubQueue", "_buffer_limit", AT(queue_limit), false },
};

static const struct wanted types[] = {
	{ "HeapBlock", NULL, AT(block_bytes), true },
	{ "PcDesc", NULL, AT(pc_bytes), false },
	{ "ConstMethod", NULL, AT(const_bytes), true },
	{ "ConstantPool", NULL, AT(pool_bytes), true },
};

static const struct wanted constants[] = {
	{ "ConstMethod::_has_linenumber_table", NULL, AT(has_lines), false },
	{ "ConstMethodFlags::_misc_has_linenumber_table", NULL, AT(has_lines), false },
};

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static void *member(struct hotspot_layout *l, const struct wanted *w)
{
	return (char *)l + w->at;
}

uint64_t hotspot_get(const void *object, struct hotspot_field f)
{
	const uint8_t *p = (const uint8_t *)object + f.off;
	uint16_t two;
	uint32_t four;
	uint64_t eight;
	switch (f.n_bytes) {
	case 1:
		return *p;
	case 2:
		memcpy(&two, p, sizeof(two));
		return two;
	case 4:
		memcpy(&four, p, sizeof(four));
		return four;
	case 8:
		memcpy(&eight, p, sizeof(eight));
		return eight;
	default:
		return 0;
	}
}

/* By the name of its type; 0: unknown. */
static uint8_t width_of(const char *type)
{
	static const struct { const char *name; uint8_t n_bytes; } width[] = {
		{ "u1", 1 }, { "bool", 1 }, { "uint8_t", 1 }, { "char", 1 },
		{ "u2", 2 }, { "jushort", 2 }, { "short", 2 }, { "int16_t", 2 },
		{ "uint16_t", 2 }, { "unsigned short", 2 },
		{ "u4", 4 }, { "int", 4 }, { "jint", 4 }, { "juint", 4 }, { "uint", 4 },
		{ "unsigned int", 4 }, { "int32_t", 4 }, { "uint32_t", 4 },
		{ "size_t", 8 }, { "address", 8 }, { "uint64_t", 8 }, { "intptr_t", 8 },
	};
	size_t n = strlen(type);
	if (n && type[n - 1] == '*')
		return 8;
	for (size_t i = 0; i < COUNT(width); i++)
		if (strcmp(type, width[i].name) == 0)
			return width[i].n_bytes;
	return 0;
}

/* ---- tables ------------------------------------------------------------------------------ */

/* Variables of libjvm.so that hold an address, a stride and offsets. */
struct table {
	const char *name;               /* "gHotSpotVMStructs" */
	const char *stride;
	const char *off[6];
};

static const struct table structs_table = {
	"gHotSpotVMStructs", "gHotSpotVMStructEntryArrayStride",
	{ "gHotSpotVMStructEntryTypeNameOffset", "gHotSpotVMStructEntryFieldNameOffset",
	  "gHotSpotVMStructEntryTypeStringOffset", "gHotSpotVMStructEntryIsStaticOffset",
	  "gHotSpotVMStructEntryOffsetOffset", "gHotSpotVMStructEntryAddressOffset" },
};
static const struct table types_table = {
	"gHotSpotVMTypes", "gHotSpotVMTypeEntryArrayStride",
	{ "gHotSpotVMTypeEntryTypeNameOffset", "gHotSpotVMTypeEntrySizeOffset" },
};
static const struct table constants_table = {
	"gHotSpotVMIntConstants", "gHotSpotVMIntConstantEntryArrayStride",
	{ "gHotSpotVMIntConstantEntryNameOffset", "gHotSpotVMIntConstantEntryValueOffset" },
};

#define TABLE_WORDS 8u
enum { AT_TABLE, AT_STRIDE, AT_OFF };

struct entry {
	const uint8_t *bytes;
	uint64_t off[6];
};

static uint64_t entry_word(const struct entry *e, unsigned int i)
{
	return hotspot_get(e->bytes, (struct hotspot_field){ (uint16_t)e->off[i], 8 });
}

static uint32_t entry_number(const struct entry *e, unsigned int i)
{
	return (uint32_t)hotspot_get(e->bytes, (struct hotspot_field){ (uint16_t)e->off[i], 4 });
}

struct reading {
	struct hotspot_layout *layout;
	struct runtime_pages *pages;
};

typedef void entry_fn(const struct reading *r, const struct entry *e);

/* Calls take for each entry. */
static enum hotspot_layout_result each_entry(const struct reading *r, struct cfi *c, uint64_t bias,
					     const struct table *t, entry_fn *take)
{
	struct runtime_symbol s[TABLE_WORDS] = {
		{ .name = t->name, .min_bytes = 8, .max_bytes = 8 },
		{ .name = t->stride, .min_bytes = 8, .max_bytes = 8 },
	};
	uint64_t word[TABLE_WORDS] = { 0 };
	uint8_t bytes[STRIDE_MAX];
	struct entry e = { .bytes = bytes };
	size_t n = AT_OFF;
	for (; n - AT_OFF < COUNT(t->off) && t->off[n - AT_OFF]; n++)
		s[n] = (struct runtime_symbol){ .name = t->off[n - AT_OFF], .min_bytes = 8,
						.max_bytes = 8 };
	runtime_symbols_find(c, RUNTIME_SYMBOLS_DYNAMIC, s, n);
	for (size_t i = 0; i < n; i++) {
		if (!s[i].vaddr)
			return HOTSPOT_LAYOUT_ABSENT;
		if (!runtime_pages_read(r->pages, s[i].vaddr + bias, &word[i], 8))
			return HOTSPOT_LAYOUT_UNREADABLE;
		if (i >= AT_STRIDE && word[i] > STRIDE_MAX - (i > AT_STRIDE ? 8 : 0))
			return HOTSPOT_LAYOUT_UNSUPPORTED;
	}
	memcpy(e.off, word + AT_OFF, sizeof(e.off));
	for (uint64_t i = 0; i < ENTRIES_MAX && word[AT_STRIDE] >= 8; i++) {
		uint64_t at = word[AT_TABLE] + i * word[AT_STRIDE];
		memset(bytes, 0, sizeof(bytes));
		if (!runtime_pages_read(r->pages, at, bytes, word[AT_STRIDE]))
			return HOTSPOT_LAYOUT_UNREADABLE;
		if (!entry_word(&e, 0))
			return HOTSPOT_LAYOUT_OK;
		take(r, &e);
	}
	return HOTSPOT_LAYOUT_UNSUPPORTED;
}

static const struct wanted *find_wanted(const struct wanted *w, size_t n, const char *type,
					const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(w[i].type, type) == 0 && (!name || strcmp(w[i].name, name) == 0))
			return &w[i];
	return NULL;
}

static void take_struct(const struct reading *r, const struct entry *e)
{
	char type[NAME_BYTES], name[NAME_BYTES], kind[NAME_BYTES];
	if (!runtime_pages_text(r->pages, entry_word(e, 0), type, sizeof(type)) ||
	    !runtime_pages_text(r->pages, entry_word(e, 1), name, sizeof(name)))
		return;
	bool is_static = entry_number(e, 3);
	const struct wanted *w = is_static ? find_wanted(statics, COUNT(statics), type, name)
					   : find_wanted(fields, COUNT(fields), type, name);
	if (!w)
		return;
	if (is_static) {
		*(uint64_t *)member(r->layout, w) = entry_word(e, 5);
		return;
	}
	uint64_t off = entry_word(e, 4);
	if (off > OBJECT_BYTES_MAX ||
	    !runtime_pages_text(r->pages, entry_word(e, 2), kind, sizeof(kind)))
		kind[0] = '\0';
	/* an object within another, whose own fields count */
	uint8_t n_bytes = strcmp(kind, "VirtualSpace") == 0 || w->at == AT(symbol_body) ?
		1 : width_of(kind);
	if (off <= OBJECT_BYTES_MAX && n_bytes)
		*(struct hotspot_field *)member(r->layout, w) =
			(struct hotspot_field){ (uint16_t)off, n_bytes };
}

static void take_type(const struct reading *r, const struct entry *e)
{
	char type[NAME_BYTES];
	if (!runtime_pages_text(r->pages, entry_word(e, 0), type, sizeof(type)))
		return;
	const struct wanted *w = find_wanted(types, COUNT(types), type, NULL);
	uint64_t n_bytes = entry_word(e, 1);
	if (w && n_bytes && n_bytes <= OBJECT_BYTES_MAX)
		*(uint32_t *)member(r->layout, w) = (uint32_t)n_bytes;
}

static void take_constant(const struct reading *r, const struct entry *e)
{
	char name[NAME_BYTES];
	if (!runtime_pages_text(r->pages, entry_word(e, 0), name, sizeof(name)))
		return;
	const struct wanted *w = find_wanted(constants, COUNT(constants), name, NULL);
	if (w)
		*(uint32_t *)member(r->layout, w) = entry_number(e, 1);
}

/* ---- what is missing --------------------------------------------------------------------- */

static const char *missing_field(struct hotspot_layout *l)
{
	static const char code[] = "CodeBlob::_code_begin";
	for (size_t i = 0; i < COUNT(statics); i++)
		if (statics[i].is_needed && !*(uint64_t *)member(l, &statics[i]))
			return statics[i].name;
	for (size_t i = 0; i < COUNT(fields); i++)
		if (fields[i].is_needed &&
		    !((struct hotspot_field *)member(l, &fields[i]))->n_bytes)
			return fields[i].name;
	for (size_t i = 0; i < COUNT(types); i++)
		if (types[i].is_needed && !*(uint32_t *)member(l, &types[i]))
			return types[i].type;
	if (!l->heap && (!l->heaps || !l->array_len.n_bytes || !l->array_data.n_bytes))
		return "CodeCache::_heaps";
	bool has_code = l->blob_code_begin.n_bytes == 8 && l->blob_code_end.n_bytes == 8;
	return has_code || (l->blob_code_off.n_bytes && l->blob_data_off.n_bytes) ? NULL : code;
}

static uint32_t end_of(struct hotspot_field f)
{
	return f.n_bytes ? (uint32_t)f.off + f.n_bytes : 0;
}

/* How much of a blob has all fields. */
static uint32_t blob_bytes(struct hotspot_layout *l)
{
	uint32_t n = 0;
	for (size_t i = 0; i < COUNT(fields); i++) {
		uint32_t end = fields[i].at >= AT(blob_name) && fields[i].at < AT(pc_off) ?
			end_of(*(struct hotspot_field *)member(l, &fields[i])) : 0;
		n = end > n ? end : n;
	}
	return n;
}

/* JDK 8 has the version of HotSpot, 25. */
static bool read_version(struct hotspot_layout *l, struct runtime_pages *p)
{
	uint32_t version;
	if (!runtime_pages_read(p, l->major_version, &version, sizeof(version)))
		return false;
	l->version = l->heaps ? version : HOTSPOT_VERSION_MIN;
	return true;
}

static bool is_too_old(const struct hotspot_layout *l)
{
	return l->version < HOTSPOT_VERSION_MIN;
}

enum hotspot_layout_result hotspot_layout_read(struct cfi *c, uint64_t bias,
					       const struct runtime_memory *memory,
					       struct hotspot_layout *ret,
					       const char **ret_missing)
{
	struct runtime_pages pages;
	runtime_pages_init(&pages, memory, PAGES_MAX);
	*ret = (struct hotspot_layout){ .heaps = 0 };
	*ret_missing = NULL;
	const struct reading r = { ret, &pages };
	enum hotspot_layout_result result = each_entry(&r, c, bias, &structs_table, take_struct);
	if (result == HOTSPOT_LAYOUT_OK)
		result = each_entry(&r, c, bias, &types_table, take_type);
	if (result == HOTSPOT_LAYOUT_OK)
		result = each_entry(&r, c, bias, &constants_table, take_constant);
	if (result == HOTSPOT_LAYOUT_OK) {
		*ret_missing = missing_field(ret);
		ret->blob_bytes = blob_bytes(ret);
		result = *ret_missing ? HOTSPOT_LAYOUT_UNSUPPORTED :
			read_version(ret, &pages) ? HOTSPOT_LAYOUT_OK : HOTSPOT_LAYOUT_UNREADABLE;
	}
	runtime_pages_done(&pages);
	if (result != HOTSPOT_LAYOUT_OK || !is_too_old(ret))
		return result;
	*ret_missing = "Abstract_VM_Version::_vm_major_version";
	return HOTSPOT_LAYOUT_UNSUPPORTED;
}
