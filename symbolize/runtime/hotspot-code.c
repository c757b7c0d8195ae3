/*
 * A piece of code is a CodeBlob: a header, then the code (codeBlob.hpp of OpenJDK).  The header of
 * a compiled method (an nmethod) also leads to the method and to its tables (hotspot-tables.c).
 *
 * The tables are copied when the code is first met, because they can disappear with it.  Methods
 * are read when they are first needed, and kept with the code: while its compilation is the same,
 * so are they.
 */

#include "symbolize/runtime/hotspot-code.h"

#include "base/cleanup.h"
#include "symbolize/runtime/hotspot-heap.h"
#include "symbolize/runtime/hotspot-interpreter.h"
#include "symbolize/runtime/hotspot-layout.h"
#include "symbolize/runtime/hotspot-method.h"
#include "symbolize/runtime/hotspot-scopes.h"
#include "symbolize/runtime/hotspot-tables.h"
#include "symbolize/runtime/hotspot-unloads.h"
#include "symbolize/runtime/runtime-memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLOB_BYTES_MAX 1024u
#define NAME_BYTES 96u
#define CODE_BYTES_MAX (64u << 20)
#define PAGE_BYTES 4096u

struct program {
	struct hotspot_layout layout;
	struct hotspot_heaps heaps;
	struct hotspot_interpreter interpreter;
	struct hotspot_unloads unloads;
};

/* Of one blob. */
struct code {
	char name[NAME_BYTES];          /* of a stub */
	struct hotspot_method own;      /* name NULL: a stub */
	bool is_bytecode;
	struct hotspot_tables tables;
	struct hotspot_method *method;  /* by number in metadata; name NULL: not read yet */
	bool *is_tried;
};

struct range {
	uint64_t start, end;
};

/* ---- a program --------------------------------------------------------------------------- */

static enum runtime_code_result open_program(const struct runtime_code_source *from,
					     struct runtime_code_program *ret)
{
	struct program *p = calloc(1, sizeof(*p));
	*ret = (struct runtime_code_program){ .data = NULL };
	if (!p)
		return RUNTIME_CODE_UNREADABLE;
	enum hotspot_layout_result r = hotspot_layout_read(from->cfi, from->bias, from->memory,
							   &p->layout, &ret->missing);
	if (r == HOTSPOT_LAYOUT_ABSENT)
		ret->missing = "gHotSpotVMStructs";
	if (p->layout.version)
		snprintf(ret->version, sizeof(ret->version), "%u", p->layout.version);
	if (r == HOTSPOT_LAYOUT_OK && p->layout.blob_bytes <= BLOB_BYTES_MAX - 8) {
		ret->data = p;
		return RUNTIME_CODE_OK;
	}
	free(p);
	return r == HOTSPOT_LAYOUT_UNREADABLE ? RUNTIME_CODE_UNREADABLE : RUNTIME_CODE_UNSUPPORTED;
}

static void close_program(void *program)
{
	struct program *p = program;
	hotspot_interpreter_done(&p->interpreter);
	free(p);
}

/* ---- blobs ------------------------------------------------------------------------------- */

static void release_code(struct runtime_code *code)
{
	struct code *c = code->data;
	if (!c)
		return;
	for (uint32_t i = 0; c->method && i < c->tables.n_metadata; i++)
		hotspot_method_done(&c->method[i]);
	hotspot_method_done(&c->own);
	hotspot_tables_done(&c->tables);
	free(c->method);
	free(c->is_tried);
	free(c);
	code->data = NULL;
}

/* The blob's name, a C string. */
static bool read_name(const struct runtime_memory *m, uint64_t at, char name[NAME_BYTES])
{
	size_t first = PAGE_BYTES - at % PAGE_BYTES, n = NAME_BYTES - 1;
	memset(name, 0, NAME_BYTES);
	if (!at || (!runtime_memory_read(m, at, name, n) &&
		    (first >= n || !runtime_memory_read(m, at, name, first))))
		return false;
	for (char *p = name; *p; p++)
		if ((unsigned char)*p < ' ' || (unsigned char)*p >= 0x7f)
			return false;
	return name[0] != '\0';
}

static struct range code_range(const struct hotspot_layout *l, uint64_t blob, const uint8_t *b)
{
	if (l->blob_code_begin.n_bytes == 8 && l->blob_code_end.n_bytes == 8)
		return (struct range){ hotspot_get(b, l->blob_code_begin),
				       hotspot_get(b, l->blob_code_end) };
	return (struct range){ blob + hotspot_get(b, l->blob_code_off),
			       blob + hotspot_get(b, l->blob_data_off) };
}

/* Indices of a blob's witnesses: in the order of addresses they are one range, and are read faster.
 * The block's header is before the blob. */
enum { WITNESS_BLOCK, WITNESS_NAME, WITNESS_METHOD, WITNESS_ID, WITNESS_SEGMENT };

static void set_witness(struct runtime_code *code, unsigned int i, uint64_t blob, const uint8_t *b,
			struct hotspot_field f)
{
	struct runtime_code_witness *w = &code->witness[i];
	w->at = blob + f.off;
	w->n_bytes = f.n_bytes;
	memcpy(w->bytes, b + f.off, f.n_bytes);
}

/*
 * The block's length, and that it is in use.  A freed blob keeps its header for some time, while
 * another one covers only its end.
 */
static bool set_block_witness(const struct hotspot_layout *l, const struct runtime_memory *m,
			      uint64_t blob, struct runtime_code *code)
{
	struct runtime_code_witness *w = &code->witness[WITNESS_BLOCK];
	uint32_t length_end = l->block_length.off + l->block_length.n_bytes;
	uint32_t used_end = l->block_used.off + l->block_used.n_bytes;
	uint32_t first = l->block_length.off < l->block_used.off ? l->block_length.off
								 : l->block_used.off;
	uint32_t end = length_end > used_end ? length_end : used_end;
	if (end - first > sizeof(w->bytes))
		return false;
	w->at = blob - l->block_bytes + first;
	w->n_bytes = (uint8_t)(end - first);
	return runtime_memory_read(m, w->at, w->bytes, w->n_bytes) &&
	       w->bytes[l->block_used.off - first];
}

/* The block begins where the segment map says it does.  A header that is left over inside a newer
 * block may still say that it is in use. */
static void set_segment_witness(uint64_t segment, struct runtime_code *code)
{
	code->witness[WITNESS_SEGMENT] = (struct runtime_code_witness){ .at = segment,
									.n_bytes = 1 };
}

static void set_frame(const struct hotspot_layout *l, const uint8_t *b, struct runtime_code *code)
{
	uint64_t words = hotspot_get(b, l->blob_frame_size);
	uint64_t complete = hotspot_get(b, l->blob_complete);
	bool has_complete = l->blob_complete.n_bytes && complete <= code->n_bytes;
	code->frame_words = words >= 2 && words < INT16_MAX ? (uint32_t)words : 0;
	code->body_off = has_complete ? (uint32_t)complete : UINT32_MAX;
}

/*
 * Of an nmethod.  False: its method cannot be read, as when its class has been unloaded.  From then
 * on the nmethod has no method, but until it is swept (JDK 8 to 19) it keeps its number, and
 * its tables lead to methods whose memory is free.
 */
static bool read_method(const struct hotspot_layout *l, const struct runtime_memory *m,
			uint64_t blob, const uint8_t *b, struct code *c, struct runtime_code *code)
{
	uint64_t method = hotspot_get(b, l->code_method);
	code->serial = hotspot_get(b, l->code_id);
	set_witness(code, WITNESS_METHOD, blob, b, l->code_method);
	set_witness(code, WITNESS_ID, blob, b, l->code_id);
	if (!method || !hotspot_method_read(l, m, method, &c->own, NULL))
		return false;
	hotspot_tables_read(l, m, blob, b, &c->tables);
	c->method = calloc(c->tables.n_metadata + 1, sizeof(*c->method));
	c->is_tried = calloc(c->tables.n_metadata + 1, sizeof(*c->is_tried));
	code->name = c->own.name;
	code->linkage = c->own.linkage;
	return true;
}

/* Was the blob the same all the time while the parts were read? */
static bool is_still(const struct runtime_memory *m, const struct runtime_code *code)
{
	uint8_t now[RUNTIME_CODE_WITNESS_BYTES];
	for (unsigned int i = 0; i < RUNTIME_CODE_WITNESSES; i++) {
		const struct runtime_code_witness *w = &code->witness[i];
		if (w->n_bytes && (!runtime_memory_read(m, w->at, now, w->n_bytes) ||
				   memcmp(now, w->bytes, w->n_bytes) != 0))
			return false;
	}
	return true;
}

static bool read_blob(const struct hotspot_layout *l, const struct runtime_memory *m,
		      uint64_t blob, uint64_t segment, uint64_t pc, struct runtime_code *code)
{
	uint8_t b[BLOB_BYTES_MAX] = { 0 };
	struct code *c = calloc(1, sizeof(*c));
	*code = (struct runtime_code){ .data = c };
	if (!c || !set_block_witness(l, m, blob, code) ||
	    !runtime_memory_read(m, blob, b, l->blob_bytes) ||
	    !read_name(m, hotspot_get(b, l->blob_name), c->name))
		return false;
	struct range r = code_range(l, blob, b);
	if (pc < r.start || pc >= r.end || r.end - r.start > CODE_BYTES_MAX)
		return false;
	code->start = r.start;
	code->n_bytes = r.end - r.start;
	code->name = c->name;
	set_frame(l, b, code);
	bool is_method = strcmp(c->name, "nmethod") == 0 ||
			 strcmp(c->name, "native nmethod") == 0;
	set_witness(code, WITNESS_NAME, blob, b, l->blob_name);
	set_segment_witness(segment, code);
	if ((is_method && !read_method(l, m, blob, b, c, code)) || !is_still(m, code))
		return false;
	code->n_held_bytes = sizeof(*c) + c->tables.n_pcs_bytes + c->tables.n_scopes_bytes +
		c->tables.n_metadata * (sizeof(*c->tables.metadata) + sizeof(*c->method) + 1) +
		(is_method ? hotspot_method_bytes(&c->own) : 0);
	return true;
}

/* ---- bytecode ---------------------------------------------------------------------------- */

static bool add_witness(const struct runtime_memory *m, struct runtime_code *code, unsigned int i,
			uint64_t at, uint8_t n_bytes)
{
	struct runtime_code_witness *w = &code->witness[i];
	w->at = at;
	w->n_bytes = n_bytes;
	return runtime_memory_read(m, at, w->bytes, n_bytes);
}

/* The end of a text says more than its beginning. */
static bool add_text_witness(const struct hotspot_layout *l, const struct runtime_memory *m,
			     struct runtime_code *code, unsigned int i, uint64_t symbol,
			     size_t n_text)
{
	size_t n = n_text < RUNTIME_CODE_WITNESS_BYTES ? n_text : RUNTIME_CODE_WITNESS_BYTES;
	return add_witness(m, code, i, (symbol & ~(uint64_t)1) + l->symbol_body.off + n_text - n,
			   (uint8_t)n);
}

/*
 * Memory of methods that are gone is used again soon, often for methods that are much alike, as
 * when a class is loaded again: everything up to the names is proven.
 */
static bool read_bytecode(const struct hotspot_layout *l, const struct runtime_memory *m,
			  const struct hotspot_interpreted *i, struct runtime_code *code)
{
	struct hotspot_method_places p;
	struct code *c = calloc(1, sizeof(*c));
	*code = (struct runtime_code){ .data = c, .start = i->start, .n_bytes = i->end - i->start,
				       .serial = 1, .body_off = UINT32_MAX };
	if (!c || !hotspot_method_read(l, m, i->method, &c->own, &p) ||
	    !add_witness(m, code, 0, i->method + l->method_const.off, 8) ||
	    !add_witness(m, code, 1, p.constant + l->const_pool.off, 8) ||
	    !add_witness(m, code, 6, p.holder_at, 8) ||
	    !add_witness(m, code, 7, p.constant + l->const_name.off, 2) ||
	    !add_witness(m, code, 2, p.class_at, 8) || !add_witness(m, code, 3, p.name_at, 8) ||
	    !add_text_witness(l, m, code, 4, p.class_text, c->own.n_class_bytes) ||
	    !add_text_witness(l, m, code, 5, p.name_text, c->own.n_name_bytes) ||
	    (i->start != i->method && p.constant + l->const_bytes != i->start))
		return false;
	c->is_bytecode = i->start != i->method;
	code->name = c->own.name;
	code->linkage = c->own.linkage;
	code->n_held_bytes = sizeof(*c) + hotspot_method_bytes(&c->own);
	return is_still(m, code);
}

static bool find_code(void *program, const struct runtime_code_source *from, uint64_t pc,
		      struct runtime_code *ret)
{
	struct program *p = program;
	const struct hotspot_heap *h = hotspot_heaps_find(&p->heaps, pc);
	const struct hotspot_interpreted *i =
		h ? NULL : hotspot_interpreter_at(&p->interpreter, pc);
	*ret = (struct runtime_code){ .data = NULL };
	if (i) {
		if (read_bytecode(&p->layout, from->memory, i, ret))
			return true;
		release_code(ret);
		return false;
	}
	if (!h && hotspot_heaps_read(&p->layout, from->memory, &p->heaps))
		h = hotspot_heaps_find(&p->heaps, pc);
	uint64_t segment;
	uint64_t blob = h ? hotspot_heap_blob(&p->layout, from->memory, h, pc, &segment) : 0;
	if (blob && read_blob(&p->layout, from->memory, blob, segment, pc, ret))
		return true;
	release_code(ret);
	return false;
}

static bool read_epoch(void *program, const struct runtime_code_source *from, uint64_t *ret)
{
	struct program *p = program;
	return hotspot_unloads_read(&p->unloads, &p->layout, from->memory, ret);
}

/* ---- functions --------------------------------------------------------------------------- */

/* The method with that number; NULL: it cannot be read. */
static const struct hotspot_method *method_of(const struct hotspot_layout *l,
					      const struct runtime_memory *m, struct code *c,
					      struct runtime_code *code, uint32_t number)
{
	uint32_t i = number - 1;
	if (i >= c->tables.n_metadata || !c->method || !c->is_tried)
		return NULL;
	if (!c->is_tried[i]) {
		c->is_tried[i] = true;
		if (hotspot_method_read(l, m, c->tables.metadata[i], &c->method[i], NULL))
			code->n_held_bytes += hotspot_method_bytes(&c->method[i]);
	}
	return c->method[i].name ? &c->method[i] : NULL;
}

static struct runtime_call call_of(const struct hotspot_layout *l, const struct hotspot_method *m,
				   int32_t bci)
{
	return (struct runtime_call){ .name = m->name, .linkage = m->linkage, .file = m->file,
				      .line = hotspot_method_line(l, m, bci) };
}

static size_t find_calls(void *program, const struct runtime_code_source *from,
			 struct runtime_code *code, uint64_t pc,
			 struct runtime_call ret[RUNTIME_CALLS_MAX])
{
	const struct hotspot_layout *l = &((struct program *)program)->layout;
	struct hotspot_scope scope[HOTSPOT_SCOPES_MAX];
	struct code *c = code->data;
	const struct hotspot_debug d = {
		.pcs = c->tables.pcs, .scopes = c->tables.scopes,
		.n_pcs_bytes = c->tables.n_pcs_bytes, .n_scopes_bytes = c->tables.n_scopes_bytes,
		.has_no_zeros = l->version >= 20,
	};
	_Static_assert(HOTSPOT_SCOPES_MAX <= RUNTIME_CALLS_MAX, "room for all scopes");
	size_t n = c->tables.n_metadata ?
		hotspot_scopes_find(l, &d, (uint32_t)(pc - code->start), scope) : 0;
	for (size_t i = 0; i < n; i++) {
		const struct hotspot_method *m = method_of(l, from->memory, c, code,
							   scope[i].metadata);
		if (!m) {
			n = 0;
			break;
		}
		ret[i] = call_of(l, m, scope[i].bci);
	}
	if (n)
		return n;
	int32_t bci = c->is_bytecode ? (int32_t)(pc - code->start) : -1;
	ret[0] = c->own.name ? call_of(l, &c->own, bci) : (struct runtime_call){ .name = c->name };
	return 1;
}

static enum runtime_frame_kind find_frame(void *program, const struct runtime_code_source *from,
					  const struct runtime_frame *f, uint64_t *ret_pc)
{
	struct program *p = program;
	return hotspot_interpreter_frame(&p->interpreter, &p->layout, from->memory, f, ret_pc) ?
		RUNTIME_FRAME_FOUND : RUNTIME_FRAME_PLAIN;
}

const struct runtime_code_ops hotspot_code_ops = {
	.frame = find_frame,
	.open = open_program,
	.close = close_program,
	.find = find_code,
	.epoch = read_epoch,
	.release = release_code,
	.calls = find_calls,
};
