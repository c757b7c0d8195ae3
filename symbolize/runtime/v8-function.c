/*
 * A function that was compiled has a ScopeInfo (scope-info.tq): flags, the numbers of parameters
 * and of the context's variables, in newer versions the position, then these variables' names and
 * properties, and what the flags say.  Many names are not in an array but in a table of their own.
 */

#include "symbolize/runtime/v8-function.h"

#include "base/path.h"
#include "symbolize/runtime/v8-layout.h"
#include "symbolize/runtime/v8-text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_BYTES 512u

#define FLAGS_OFF 8
#define VARIABLES_OFF 24
#define NAMES_MAX 75                    /* in an array */
#define VARIABLES_MAX 4096u

/* Of ScopeFlags. */
#define HAS_CLASS_VARIABLE(flags) ((flags) >> 10 & 1)
#define HAS_NAME(flags) ((flags) >> 12 & 3)
#define HAS_INFERRED_NAME(flags) ((flags) >> 14 & 1)

#define INTERPRETER_BYTECODE_OFF 8
#define DATA_STEPS_MAX 3u

struct scope {
	uint64_t name, inferred;        /* strings, or other objects */
	int64_t start;                  /* of the function in its source; -1: unknown */
};

static uint32_t flags_of(const struct v8_heap *h, uint64_t scope)
{
	uint64_t word = v8_word(h, scope, FLAGS_OFF);
	return (uint32_t)(v8_is_integer(word) ? word >> 32 : word);
}

static int64_t position_at(const struct v8_heap *h, uint64_t scope, int32_t off)
{
	uint64_t word = v8_word(h, scope, off), end = v8_word(h, scope, off + 8);
	return v8_is_integer(word) && v8_is_integer(end) && word <= end ? (int64_t)(word >> 32)
									 : -1;
}

static bool read_scope(const struct v8_heap *h, uint64_t at, struct scope *ret)
{
	const struct v8_layout *l = h->layout;
	uint32_t flags = flags_of(h, at);
	uint64_t n = v8_word(h, at, VARIABLES_OFF) >> 32;
	*ret = (struct scope){ .start = -1 };
	if (v8_type(h, at) != l->type.scope || n > VARIABLES_MAX)
		return false;
	int32_t n_names = n > NAMES_MAX ? 1 : (int32_t)n;
	int32_t off = l->scope_first + 8 * (n_names + (int32_t)n);
	off += HAS_CLASS_VARIABLE(flags) ? 8 : 0;
	if (HAS_NAME(flags)) {
		ret->name = v8_word(h, at, off);
		off += 16;
	}
	if (HAS_INFERRED_NAME(flags)) {
		ret->inferred = v8_word(h, at, off);
		off += 8;
	}
	ret->start = position_at(h, at, l->scope_start < 0 ? off : l->scope_start);
	return true;
}

/* A file has many functions without a name, which must not look like one. */
static void read_name(const struct v8_heap *h, const struct scope *s, const struct v8_function *f,
		      char name[TEXT_BYTES])
{
	if ((v8_text(h, s->name, name, TEXT_BYTES) && *name) ||
	    (v8_text(h, s->inferred, name, TEXT_BYTES) && *name))
		return;
	if (f->file && !f->first_line)
		snprintf(name, TEXT_BYTES, "(anonymous %.400s)", path_base_name(f->file));
	else if (f->file)
		snprintf(name, TEXT_BYTES, "(anonymous %.400s:%u)", path_base_name(f->file),
			 f->first_line);
	else
		strcpy(name, "(anonymous)");
}

/* Modules have URLs. */
static const char *without_scheme(const char *file)
{
	static const char scheme[] = "file://";
	size_t n = sizeof(scheme) - 1;
	return strncmp(file, scheme, n) == 0 && file[n] == '/' && !strchr(file, '%') ? file + n
										     : file;
}

bool v8_function_read(const struct v8_heap *h, struct v8_scripts *scripts, uint64_t shared,
		      struct v8_function *ret)
{
	const struct v8_layout *l = h->layout;
	char name[TEXT_BYTES], file[TEXT_BYTES];
	struct scope s;
	*ret = (struct v8_function){ .first_line = 0 };
	if (v8_type(h, shared) != l->type.shared ||
	    !read_scope(h, v8_word(h, shared, l->shared_name), &s))
		return false;
	uint64_t script = v8_word(h, shared, l->shared_script);
	if (v8_type(h, script) == l->type.script) {
		if (v8_text(h, v8_word(h, script, l->script_name), file, sizeof(file)) && *file)
			ret->file = strdup(without_scheme(file));
		ret->script = v8_script_key(h, script);
		if (s.start >= 0)
			ret->first_line = v8_script_line(h, scripts, &ret->script, s.start);
	}
	read_name(h, &s, ret, name);
	ret->name = strdup(name);
	if (ret->name)
		return true;
	v8_function_done(ret);
	return false;
}

void v8_function_done(struct v8_function *f)
{
	free(f->name);
	free(f->file);
	*f = (struct v8_function){ .name = NULL };
}

size_t v8_function_bytes(const struct v8_function *f)
{
	return (f->name ? strlen(f->name) : 0) + (f->file ? strlen(f->file) : 0) + 2;
}

uint64_t v8_function_bytecode(const struct v8_heap *h, uint64_t data)
{
	for (unsigned int i = 0; i < DATA_STEPS_MAX; i++) {
		int32_t type = v8_type(h, data);
		if (type < 0)
			return 0;
		if (type == h->layout->type.bytecode)
			return data;
		if (type == h->layout->type.interpreter)
			data = v8_word(h, data, INTERPRETER_BYTECODE_OFF);
		else if (type == h->layout->type.code)
			data = v8_word(h, data, h->layout->code_data);
		else
			return 0;
	}
	return 0;
}
