/* The threads of a hostile Python: a byte for the version and how that is found, then its memory,
 * which begins with _PyRuntime.  The same bytes are also a line table, and the start is the code of
 * its functions. */

#include "symbolize/cfi/cfi.h"
#include "symbolize/runtime/python-code.h"
#include "symbolize/runtime/python-program.h"
#include "symbolize/runtime/python-threads.h"
#include "symbolize/runtime/runtime-pages.h"
#include "tests/fuzz/gohostile.h"
#include "tests/unit/symbolize/cfibuild.h"

#include <stdlib.h>

#define BASE 0x10000u
#define PAGES_MAX 200u

/* Its code: vaddrs of functions, the first three of them with the input's bytes, and of
 * .eh_frame. */
enum {
	RESTORE = 0x1000, ATTACH = 0x1010, LOOP = 0x1020, TAKE = 0x1100, PART = 0x1400,
	CODE_END = 0x1440, EH_FRAME = 0x9000,
};
#define CODE_BYTES 0x40u

/* Where its version is, in inputs that are not of 3.13 or later. */
#define VERSION (BASE + 0x40u)

enum { CHOICE_VERSION = 1, CHOICE_PATH = 2, CHOICE_ARM64 = 4, CHOICES = 8 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_lines(const uint8_t *data, size_t size)
{
	struct python_lines l = { .bytes = (uint8_t *)data, .n_bytes = (uint32_t)size };
	for (int f = PYTHON_LINES_LNOTAB; f <= PYTHON_LINES_LOCATIONS; f++)
		for (int64_t off = -2; off < 4096; off += 1021)
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

static struct cfi *open_code(const uint8_t *bytes, size_t n_bytes)
{
	static uint8_t code[CODE_END - RESTORE];
	static struct cfibuild b;
	const struct cfi_bytes none = { 0 };
	struct cfi *c;
	memset(code, 0x90, sizeof(code));
	memcpy(code, bytes, n_bytes < CODE_BYTES ? n_bytes : CODE_BYTES);
	if (!b.n) {
		const uint64_t start[] = { RESTORE, ATTACH, LOOP, TAKE };
		const uint64_t end[] = { ATTACH, LOOP, RESTORE + CODE_BYTES, PART };
		b = (struct cfibuild){ .vaddr = EH_FRAME, .is_eh = true };
		cfibuild_cie_x86(&b, "zR");
		for (unsigned int i = 0; i < 4; i++) {
			cfibuild_fde(&b, start[i], end[i] - start[i]);
			cfibuild_end(&b);
		}
		/* the frame of another function */
		cfibuild_fde(&b, PART, CODE_END - PART);
		CFIBUILD(&b, DW_CFA_def_cfa_offset, 64);
		cfibuild_end(&b);
		cfibuild_terminate(&b);
	}
	if (cfi_open_sections(&arch_x86_64, none, cfibuild_section(&b), none, &c) < 0)
		abort();
	c->image = code;
	c->n_image_bytes = sizeof(code);
	c->load[0] = (struct cfi_load){ .vaddr = RESTORE, .n_file_bytes = sizeof(code) };
	c->n_loads = 1;
	return c;
}

static void check_program(const struct python_program *p, enum python_program_result r)
{
	uint64_t n_take = p->code.take_lock.end - p->code.take_lock.start;
	if (!memchr(p->version, 0, sizeof(p->version)) || p->code.loop.n > RUNTIME_LOOP_PARTS_MAX)
		abort();
	if (r == PYTHON_PROGRAM_OK && (!p->version[0] || p->layout.minor < 8 ||
				       p->layout.minor > PYTHON_LAYOUT_NEWEST))
		abort();
	/* what an unknown version calls is not asked */
	if (r != PYTHON_PROGRAM_OK && (p->code.loop.n || n_take))
		abort();
	if (n_take && (n_take < 400 || n_take > 4096))
		abort();
	for (unsigned int i = 0; i < p->code.loop.n; i++)
		if (p->code.loop.part[i].start >= p->code.loop.part[i].end)
			abort();
}

/* The path may be any: it is the end of the input. */
static void open_program(const struct runtime_memory *m, uint8_t choices, const uint8_t *data,
			 size_t size)
{
	char path[64] = "/usr/lib/libpython3.10.so.1.0";
	struct cfi *c = open_code(data, size);
	struct python_places from = {
		.path = path, .cfi = c, .memory = m, .runtime = BASE, .code_type = BASE,
		.version = choices & CHOICE_VERSION ? VERSION : 0, .loop = LOOP,
		.n_loop_bytes = RESTORE + CODE_BYTES - LOOP, .restore = RESTORE,
		.n_restore_bytes = ATTACH - RESTORE,
	};
	struct python_program p;
	if (choices & CHOICE_PATH) {
		size_t n = size < sizeof(path) - 1 ? size : sizeof(path) - 1;
		memcpy(path, data + size - n, n);
		path[n] = '\0';
	}
	if (choices & CHOICE_ARM64)
		c->arch = &arch_arm64;
	enum python_program_result r = python_program_open(&from, &p);
	check_program(&p, r);
	/* the next process of the file, whose code is known */
	struct python_program next;
	from.cfi = NULL;
	from.code = &p.code;
	if (r == PYTHON_PROGRAM_OK && (python_program_open(&from, &next) != r ||
				       next.code.loop.n != p.code.loop.n ||
				       next.code.take_lock.start != p.code.take_lock.start))
		abort();
	cfi_close(c);
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
	open_program(&m, data[0] / 5 % CHOICES, data + 1, size - 1);
	memory.n_read = 0;
	runtime_pages_init(&pages, &m, PAGES_MAX);
	read_all(&pages, &p);
	for (unsigned i = 0; i < 4; i++)
		read_code(&pages, &p, BASE + 64 * i);
	runtime_pages_done(&pages);
	read_lines(data, size);
	return 0;
}
