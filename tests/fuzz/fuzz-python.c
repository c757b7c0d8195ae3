/* The threads of a hostile Python: a byte for the version, then its memory, which begins with
 * _PyRuntime.  The same bytes are also a line table. */

#include "symbolize/runtime/python-code.h"
#include "symbolize/runtime/python-program.h"
#include "symbolize/runtime/python-threads.h"
#include "symbolize/runtime/runtime-pages.h"
#include "tests/fuzz/gohostile.h"

#include <stdlib.h>

#define BASE 0x10000u
#define PAGES_MAX 200u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_lines(const uint8_t *data, size_t size)
{
	struct python_lines l = { .bytes = (uint8_t *)data, .n_bytes = (uint32_t)size };
	for (int f = PYTHON_LINES_LNOTAB; f <= PYTHON_LINES_LOCATIONS; f++)
		for (int64_t off = -2; off < 4096; off += 97)
			if (python_lines_find((enum python_lines_format)f, &l, off) > INT32_MAX)
				abort();
}

static void read_code(struct runtime_pages *pages, const struct python_program *p, uint64_t at)
{
	struct python_code c;
	if (!python_code_read(pages, &p->layout, p->code_type, at, &c))
		return;
	if (!memchr(c.name, 0, sizeof(c.name)) || !memchr(c.file, 0, sizeof(c.file)) ||
	    c.lines.n_bytes > PYTHON_LINES_BYTES_MAX)
		abort();
	python_lines_done(&c.lines);
}

static void read_all(struct runtime_pages *pages, const struct python_program *p)
{
	struct python_threads t = { 0 };
	struct python_frames f = { 0 };
	python_threads_read(p, pages, &t);
	if (t.v.n > PYTHON_THREADS_MAX)
		abort();
	for (size_t i = 0; i < t.v.n && i < 8; i++) {
		uint64_t at;
		if (!python_threads_frame(p, pages, &t.v.v[i], &at) ||
		    !python_frames_read(p, pages, at, &f))
			continue;
		if (f.frames.n > PYTHON_FRAMES_MAX)
			abort();
		for (size_t k = 0; k < f.ends.n; k++)
			if (f.ends.v[k] > f.frames.n)
				abort();
		for (size_t k = 0; k < f.frames.n && k < 8; k++)
			read_code(pages, p, f.frames.v[k].code);
	}
	VEC_FREE(&t.v);
	python_frames_done(&f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t table[PYTHON_LAYOUT_TABLE_BYTES] = { 0 };
	uint32_t version;
	if (size < 9 || size > 65536)
		return 0;
	struct gohostile memory = { .data = data + 1, .size = size - 1, .base = BASE };
	const struct runtime_memory m = { gohostile_read, &memory };
	struct python_program p = { .runtime = BASE, .code_type = BASE };
	struct runtime_pages pages;
	memcpy(table, data + 1, size - 1 < sizeof(table) ? size - 1 : sizeof(table));
	if (python_layout_read(table, &p.layout, &version) != PYTHON_LAYOUT_OK)
		python_layout_of(8 + data[0] % 5, &p.layout);
	runtime_pages_init(&pages, &m, PAGES_MAX);
	read_all(&pages, &p);
	for (unsigned i = 0; i < 4; i++)
		read_code(&pages, &p, BASE + 64 * i);
	runtime_pages_done(&pages);
	read_lines(data, size);
	return 0;
}
