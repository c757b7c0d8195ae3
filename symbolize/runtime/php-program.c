/*
 * Every address comes from the program, which goes on running: lists may have no end, and what is
 * at an address may be something else by now.
 */

#include "symbolize/runtime/php-program.h"

#include "symbolize/runtime/runtime-cycle.h"
#include "symbolize/runtime/runtime-pages.h"

#include <stdio.h>
#include <string.h>

/* The first module is "Core" before modules are sorted, and it depends on none of them. */
#define MODULES_SEEN 8u
#define CORE "Core"

static uint64_t word_at(const uint8_t *bytes, size_t off)
{
	uint64_t x;
	memcpy(&x, bytes + off, sizeof(x));
	return x;
}

static uint32_t int_at(const uint8_t *bytes, size_t off)
{
	uint32_t x;
	memcpy(&x, bytes + off, sizeof(x));
	return x;
}

static bool read_word(struct runtime_pages *pages, uint64_t at, uint64_t *ret)
{
	return runtime_pages_read(pages, at, ret, sizeof(*ret));
}

/* ---- versions ------------------------------------------------------------------------------ */

/* The module with PHP's own version; false: it is missing, or cannot be read.  While PHP starts,
 * the module has the version of the Zend engine; it gets the other one when it gets its function
 * for phpinfo (php_module_startup in main/main.c). */
static bool find_core(struct runtime_pages *pages, uint64_t modules, uint8_t ret[PHP_MODULE_BYTES])
{
	uint64_t bucket, at;
	uint32_t n;
	char name[sizeof(CORE)];
	if (!read_word(pages, modules + PHP_TABLE_BUCKETS, &bucket) ||
	    !runtime_pages_read(pages, modules + PHP_TABLE_USED, &n, sizeof(n)))
		return false;
	for (uint32_t i = 0; i < n && i < MODULES_SEEN; i++) {
		if (read_word(pages, bucket + i * PHP_BUCKET_BYTES, &at) &&
		    runtime_pages_read(pages, at, ret, PHP_MODULE_BYTES) &&
		    runtime_pages_text(pages, word_at(ret, PHP_MODULE_NAME), name, sizeof(name)) &&
		    strcmp(name, CORE) == 0)
			return word_at(ret, PHP_MODULE_INFO) != 0;
	}
	return false;
}

static void read_version(struct runtime_pages *pages, const uint8_t core[PHP_MODULE_BYTES],
			 struct php_program *ret)
{
	char *v = ret->version;
	if (!runtime_pages_text(pages, word_at(core, PHP_MODULE_VERSION), v, PHP_VERSION_BYTES))
		*v = '\0';
	for (; *v; v++)
		if (*v < ' ' || *v > '~')
			*v = '?';
	if (!*ret->version)
		snprintf(ret->version, sizeof(ret->version), "with API %u",
			 int_at(core, PHP_MODULE_API));
}

enum php_program_result php_program_open(struct runtime_pages *pages, uint64_t modules,
					 uint64_t globals, struct php_program *ret)
{
	uint8_t core[PHP_MODULE_BYTES];
	uint64_t buckets;
	*ret = (struct php_program){ .globals = globals };
	if (!read_word(pages, modules + PHP_TABLE_BUCKETS, &buckets))
		return PHP_PROGRAM_UNREADABLE;
	if (!buckets || !find_core(pages, modules, core))
		return PHP_PROGRAM_STARTING;
	read_version(pages, core, ret);
	ret->layout = php_layout_of(int_at(core, PHP_MODULE_API));
	if (!ret->layout)
		return PHP_PROGRAM_UNSUPPORTED;
	if (core[PHP_MODULE_THREADS] || !globals)
		return PHP_PROGRAM_THREADS;
	return core[PHP_MODULE_DEBUG] ? PHP_PROGRAM_DEBUG : PHP_PROGRAM_OK;
}

/* ---- frames -------------------------------------------------------------------------------- */

bool php_program_innermost(const struct php_program *p, struct runtime_pages *pages, uint64_t *ret)
{
	return read_word(pages, p->globals + PHP_GLOBALS_CURRENT, ret);
}

bool php_program_code(struct runtime_pages *pages, uint64_t at, uint64_t *ret)
{
	return read_word(pages, at + PHP_FRAME_FUNC, ret);
}

/*
 * Generators that delegate to another one ("yield from") are not executed, and have no frames in
 * the list.  In their place is one without a function, which is a part of the generator that was
 * resumed.  As PHP does in backtraces (zend_generator_check_placeholder_frame), adds the generators
 * from the one before that which is executed to the one that was resumed.
 */
#define GENERATORS_MAX 256u

static bool add_generators(struct runtime_pages *pages, uint64_t at, uint64_t generator,
			   struct runtime_frames *ret)
{
	uint64_t resumed[GENERATORS_MAX], parent = generator;
	size_t n = 0;
	bool is_in_activation = ret->ends.n && ret->ends.v[ret->ends.n - 1] == ret->v.n;
	if (generator + PHP_GENERATOR_FAKE != at || !is_in_activation)
		return true;
	for (; n < GENERATORS_MAX; generator = parent) {
		if (!read_word(pages, generator + PHP_GENERATOR_PARENT, &parent) || !parent)
			break;
		resumed[n++] = generator;
	}
	while (n-- > 0) {
		struct runtime_frame f;
		if (!read_word(pages, resumed[n] + PHP_GENERATOR_FRAME, &f.at) ||
		    !read_word(pages, f.at + PHP_FRAME_FUNC, &f.code) ||
		    !read_word(pages, f.at + PHP_FRAME_OPLINE, &f.instruction))
			return true;
		if (!VEC_PUSH(&ret->v, f))
			return false;
	}
	ret->ends.v[ret->ends.n - 1] = (uint32_t)ret->v.n;
	return true;
}

/* False: no memory, or *ret_is_known is false. */
static bool add_frame(struct runtime_pages *pages, uint64_t at, const uint8_t *frame,
		      struct runtime_frames *ret, bool *ret_is_known)
{
	const struct runtime_frame f = {
		at, word_at(frame, PHP_FRAME_FUNC), word_at(frame, PHP_FRAME_OPLINE),
	};
	uint8_t type;
	*ret_is_known = true;
	if (!f.code)
		return add_generators(pages, at, word_at(frame, PHP_FRAME_THIS), ret);
	*ret_is_known = runtime_pages_read(pages, f.code + PHP_FUNC_TYPE, &type, 1);
	if (!*ret_is_known)
		return false;
	if (type == PHP_FUNC_INTERNAL)
		return true;
	if (!VEC_PUSH(&ret->v, f))
		return false;
	return !(int_at(frame, PHP_FRAME_CALL_INFO) & PHP_CALL_TOP) ||
	       VEC_PUSH(&ret->ends, (uint32_t)ret->v.n);
}

bool php_program_frames(struct runtime_pages *pages, uint64_t at, struct runtime_frames *ret)
{
	struct runtime_cycle cycle = { 0 };
	uint8_t frame[PHP_FRAME_BYTES];
	ret->v.n = ret->ends.n = 0;
	ret->is_whole = false;
	for (size_t i = 0; at && i < 2 * RUNTIME_FRAMES_MAX; i++) {
		bool is_known;
		if (ret->v.n == RUNTIME_FRAMES_MAX || !runtime_cycle_is_next(&cycle, at) ||
		    !runtime_pages_read(pages, at, frame, sizeof(frame)))
			return true;
		if (!add_frame(pages, at, frame, ret, &is_known))
			return !is_known;
		at = word_at(frame, PHP_FRAME_PREVIOUS);
	}
	ret->is_whole = !at;
	return true;
}
