/* The functions of a hostile Ruby: its memory, which begins with the address of its VM and with a
 * version. */

#include "symbolize/runtime/ruby-program.h"
#include "symbolize/runtime/runtime-pages.h"
#include "tests/fuzz/gohostile.h"
#include "tests/fuzz/runtimecheck.h"

#include <string.h>

#define BASE 0x10000u
#define PAGES_MAX 200u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_function(struct runtime_pages *pages, const struct ruby_program *p, uint64_t at)
{
	struct runtime_function_key key;
	struct runtime_function f;
	if (!ruby_function_key(p, pages, at, &key) || !ruby_function_read(p, pages, at, &f))
		return;
	runtimecheck_function(&f);
}

static void read_all(struct runtime_pages *pages, const struct ruby_program *p)
{
	struct runtime_frames f = { 0 };
	struct ruby_stack s;
	bool is_known;
	if (ruby_program_stack(p, pages, 7, &s, &is_known) &&
	    ruby_program_frames(p, pages, &s, &f)) {
		runtimecheck_frames(&f, RUNTIME_FRAMES_MAX);
		for (size_t i = 0; i < f.v.n && i < 8; i++)
			read_function(pages, p, f.v.v[i].code);
	}
	runtime_frames_done(&f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 8 || size > 65536)
		return 0;
	struct gohostile memory = { .data = data, .size = size, .base = BASE };
	const struct runtime_memory m = { gohostile_read, &memory };
	struct ruby_program p;
	struct runtime_pages pages;
	runtime_pages_init(&pages, &m, PAGES_MAX);
	ruby_program_open(&pages, BASE + 8, BASE, &p);
	if (!memchr(p.version, 0, sizeof(p.version)))
		abort();
	/* also if the proof has failed, or the version is unknown */
	if (!p.layout)
		p.layout = ruby_layout_find(data[size - 1] & 1 ? "3.1.0" : "3.3.0");
	p.vm = BASE;
	read_all(&pages, &p);
	for (unsigned int i = 0; i < 4; i++)
		read_function(&pages, &p, BASE + 64 * i);
	uint64_t vm;
	bool is_indirect;
	ruby_layout_vm(data, size, BASE, &vm, &is_indirect);
	runtime_pages_done(&pages);
	return 0;
}
