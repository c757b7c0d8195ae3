/* The functions of a hostile Python, by the addresses of code objects and of instructions: a byte
 * for the version, then its memory, which changes between two readings. */

#include "agg/vfuncs.h"
#include "interp/pycodes.h"
#include "symbolize/runtime/runtime-pages.h"
#include "tests/fuzz/gohostile.h"

#include <stdlib.h>

#define BASE 0x10000u
#define PAGES_MAX 200u
#define SECOND_NS 1000000000u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(struct pycodes *c, uint32_t id)
{
	if (id == PYCODES_NONE)
		return;
	if (id >= c->v.n || c->v.v[id].lines.n_bytes > PYTHON_LINES_BYTES_MAX)
		abort();
	for (uint32_t off = 0; off < 64; off += 6)
		if (pycodes_line(c, id, off) > INT32_MAX ||
		    pycodes_line(c, id, off) != pycodes_line(c, id, off))
			abort();
}

/* Spans are sorted, and none overlaps the next one. */
static void check_spans(const struct pycodes *c)
{
	for (size_t i = 0; i < c->spans.v.n; i++) {
		const struct codespan *s = &c->spans.v.v[i];
		if (!s->n_bytes || s->id >= c->v.n ||
		    (i + 1 < c->spans.v.n && s[1].start - s->start < s->n_bytes))
			abort();
	}
}

static void read_all(struct pycodes *c, const struct gohostile *m)
{
	for (size_t at = 0; at < m->size && at < 4096; at += 64) {
		uint64_t instruction;
		check(c, pycodes_at(c, m->base + at));
		check(c, pycodes_of(c, m->base + at + 2, true));
		if (at + 8 > m->size)
			break;
		memcpy(&instruction, m->data + at, sizeof(instruction));
		check(c, pycodes_of(c, instruction, at % 128 == 0));
	}
	check_spans(c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 64 || size > 65536)
		return 0;
	struct gohostile memory = { .data = data + 1, .size = size - 1, .base = BASE };
	const struct runtime_memory m = { gohostile_read, &memory };
	struct python_layout layout;
	struct runtime_pages pages;
	struct vfuncs vfuncs;
	python_layout_of(8 + data[0] % 5, &layout);
	runtime_pages_init(&pages, &m, PAGES_MAX);
	vfuncs_init(&vfuncs, NULL);
	struct pycodes codes = {
		.pages = &pages, .layout = &layout, .vfuncs = &vfuncs, .code_type = BASE,
		.bytes_type = BASE,
		.now_ns = 1,
	};
	read_all(&codes, &memory);
	codes.now_ns += SECOND_NS;
	memory.data += 8;
	memory.size -= 8;
	runtime_pages_forget(&pages);
	pycodes_limit(&codes);
	read_all(&codes, &memory);
	pycodes_done(&codes);
	vfuncs_done(&vfuncs);
	runtime_pages_done(&pages);
	return 0;
}
