/* PHP's functions: names, files and lines. */

#include "base/utf8.h"
#include "symbolize/runtime/php-program.h"
#include "symbolize/runtime/runtime-pages.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* That of a file's own code, as in PHP's backtraces. */
#define FILE_NAME "{main}"

#define TEXT_BYTES_MAX (RUNTIME_FUNCTION_TEXT_BYTES / 4)

struct head { uint8_t bytes[UINT8_MAX + 1]; };

static uint64_t word_at(const struct head *h, size_t off)
{
	uint64_t x;
	memcpy(&x, h->bytes + off, sizeof(x));
	return x;
}

static uint32_t int_at(const struct head *h, size_t off)
{
	uint32_t x;
	memcpy(&x, h->bytes + off, sizeof(x));
	return x;
}

static bool read_head(const struct php_program *p, struct runtime_pages *pages, uint64_t at,
		      struct head *ret)
{
	const uint8_t *type = &ret->bytes[PHP_FUNC_TYPE];
	return at % 8 == 0 && runtime_pages_read(pages, at, ret->bytes, p->layout->bytes) &&
	       (*type == PHP_FUNC_USER || *type == PHP_FUNC_EVAL);
}

/* Of a string that may be missing. */
static bool hash_of(struct runtime_pages *pages, uint64_t at, uint64_t *ret)
{
	*ret = 0;
	return !at || (at % 8 == 0 &&
		       runtime_pages_read(pages, at + PHP_STRING_HASH, ret, sizeof(*ret)));
}

bool php_function_key(const struct php_program *p, struct runtime_pages *pages, uint64_t at,
		      struct runtime_function_key *ret)
{
	const struct php_layout *l = p->layout;
	struct head h;
	if (!read_head(p, pages, at, &h))
		return false;
	uint64_t name = word_at(&h, PHP_FUNC_NAME), file = word_at(&h, l->file);
	*ret = (struct runtime_function_key){ {
		word_at(&h, l->opcodes), int_at(&h, l->last), name, 0,
		word_at(&h, PHP_FUNC_SCOPE), file, 0, word_at(&h, l->first_line),
	} };
	return hash_of(pages, name, &ret->word[3]) && hash_of(pages, file, &ret->word[6]);
}

/* Appends a string.  Those with a NUL end there: what follows makes names of classes unique. */
static bool append(struct runtime_pages *pages, uint64_t at, char *buf, size_t n_buf)
{
	uint64_t n;
	char raw[TEXT_BYTES_MAX], clean[UTF8_CLEAN_MAX(TEXT_BYTES_MAX) + 1];
	if (at % 8 != 0 || !runtime_pages_read(pages, at + PHP_STRING_LENGTH, &n, sizeof(n)))
		return false;
	n = n < sizeof(raw) ? n : sizeof(raw);
	if (!runtime_pages_read(pages, at + PHP_STRING_TEXT, raw, n))
		return false;
	n = strnlen(raw, n);
	clean[utf8_clean(clean, raw, n)] = '\0';
	size_t used = strlen(buf);
	snprintf(buf + used, n_buf - used, "%s", clean);
	return true;
}

static bool read_name(struct runtime_pages *pages, uint64_t name, uint64_t scope,
		      struct runtime_function *ret)
{
	uint64_t class_name;
	if (!name) {
		snprintf(ret->name, sizeof(ret->name), "%s", FILE_NAME);
		return true;
	}
	if (scope) {
		if (!runtime_pages_read(pages, scope + PHP_CLASS_NAME, &class_name,
					sizeof(class_name)) ||
		    !append(pages, class_name, ret->name, sizeof(ret->name)))
			return false;
		size_t used = strlen(ret->name);
		snprintf(ret->name + used, sizeof(ret->name) - used, "::");
	}
	return append(pages, name, ret->name, sizeof(ret->name));
}

static void read_lines(struct runtime_pages *pages, uint64_t start, uint32_t n,
		       struct runtime_function_lines *ret)
{
	n = n < RUNTIME_FUNCTION_LINES_MAX ? n : RUNTIME_FUNCTION_LINES_MAX;
	ret->line = calloc(n, sizeof(*ret->line));
	ret->bytes = PHP_OP_BYTES;
	while (ret->line && ret->n < n &&
	       runtime_pages_read(pages, start + (uint64_t)ret->n * PHP_OP_BYTES + PHP_OP_LINE,
				  &ret->line[ret->n], sizeof(*ret->line)))
		ret->n++;
	uint32_t *all = reallocarray(ret->line, ret->n + 1u, sizeof(*ret->line));
	ret->line = all ? all : ret->line;
}

bool php_function_read(const struct php_program *p, struct runtime_pages *pages, uint64_t at,
		       struct runtime_function *ret)
{
	const struct php_layout *l = p->layout;
	struct head h;
	*ret = (struct runtime_function){ .first_line = 0 };
	if (!read_head(p, pages, at, &h))
		return false;
	uint64_t file = word_at(&h, l->file);
	uint32_t n = int_at(&h, l->last);
	ret->first_line = int_at(&h, l->first_line);
	ret->start = word_at(&h, l->opcodes);
	ret->n_bytes = (uint64_t)n * PHP_OP_BYTES;
	if (!n || ret->start % 8 != 0 ||
	    !read_name(pages, word_at(&h, PHP_FUNC_NAME), word_at(&h, PHP_FUNC_SCOPE), ret) ||
	    (file && !append(pages, file, ret->file, sizeof(ret->file))))
		return false;
	read_lines(pages, ret->start, n, &ret->lines);
	return true;
}
