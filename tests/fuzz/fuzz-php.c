/* The functions of a hostile PHP: a byte for the version, then its memory, which begins with
 * module_registry and with executor_globals. */

#include "symbolize/runtime/php-program.h"
#include "symbolize/runtime/runtime-pages.h"
#include "tests/fuzz/gohostile.h"
#include "tests/fuzz/runtimecheck.h"

#include <string.h>

#define BASE 0x10000u
#define PAGES_MAX 200u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_function(struct runtime_pages *pages, const struct php_program *p, uint64_t at)
{
	struct runtime_function_key key;
	struct runtime_function f;
	if (!php_function_key(p, pages, at, &key) || !php_function_read(p, pages, at, &f))
		return;
	runtimecheck_function(&f);
}

static void read_all(struct runtime_pages *pages, const struct php_program *p)
{
	struct runtime_frames f = { 0 };
	uint64_t at;
	if (php_program_innermost(p, pages, &at) && php_program_frames(pages, at, &f)) {
		runtimecheck_frames(&f, RUNTIME_FRAMES_MAX + 256);
		for (size_t i = 0; i < f.v.n && i < 8; i++)
			read_function(pages, p, f.v.v[i].code);
	}
	runtime_frames_done(&f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint32_t api[] = { 20210902, 20220829, 20230831, 20240924 };
	if (size < 9 || size > 65536)
		return 0;
	struct gohostile memory = { .data = data + 1, .size = size - 1, .base = BASE };
	const struct runtime_memory m = { gohostile_read, &memory };
	struct php_program p;
	struct runtime_pages pages;
	runtime_pages_init(&pages, &m, PAGES_MAX);
	php_program_open(&pages, BASE, BASE, &p);
	if (!memchr(p.version, 0, sizeof(p.version)))
		abort();
	p.layout = php_layout_of(api[data[0] % 4]);
	read_all(&pages, &p);
	for (unsigned int i = 0; i < 4; i++)
		read_function(&pages, &p, BASE + 64 * i);
	runtime_pages_done(&pages);
	return 0;
}
