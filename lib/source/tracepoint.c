/*
 * A description has a line "name: NAME", one line for each field,
 *
 *	field:pid_t prev_pid;	offset:24;	size:4;	signed:1;
 *
 * and "print fmt:", a format string with its arguments in C.  It comes from a file, so nothing in
 * it is trusted.
 */

#include "source/tracepoint.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* Parentheses within each other; the kernel's formats have four. */
#define DEPTH_MAX 32

static const char *skip_blanks(const char *s)
{
	return s + strspn(s, " \t");
}

bool tracepoint_is(const char *text, const char *name)
{
	static const char key[] = "name: ";
	size_t n = strlen(name);
	if (strncmp(text, key, sizeof(key) - 1) != 0)
		return false;
	text += sizeof(key) - 1;
	return strncmp(text, name, n) == 0 && (!text[n] || text[n] == '\n');
}

/* ---- fields ---------------------------------------------------------------------------- */

/* "offset:24;" after the blanks at *at. */
static bool take_number(const char **at, const char *key, uint32_t *ret)
{
	const char *s = skip_blanks(*at);
	size_t n = strlen(key);
	char *end;
	if (strncmp(s, key, n) != 0 || !isdigit((unsigned char)s[n]))
		return false;
	unsigned long x = strtoul(s + n, &end, 10);
	if (*end != ';' || x > UINT16_MAX)
		return false;
	*ret = (uint32_t)x;
	*at = end + 1;
	return true;
}

/* Does the declaration, which ends at the semicolon, declare that name, and not an array? */
static bool declares(const char *from, const char *semicolon, const char *name)
{
	size_t n = strlen(name);
	if ((size_t)(semicolon - from) <= n || memcmp(semicolon - n, name, n) != 0)
		return false;
	return !isalnum((unsigned char)semicolon[-(long)n - 1]) && semicolon[-(long)n - 1] != '_';
}

bool tracepoint_field(const char *text, const char *name, struct tracepoint_field *ret)
{
	static const char key[] = "field:";
	for (const char *line = text; line; line = strchr(line, '\n')) {
		line = skip_blanks(line + (*line == '\n'));
		if (strncmp(line, key, sizeof(key) - 1) != 0)
			continue;
		const char *from = line + sizeof(key) - 1;
		const char *at = from + strcspn(from, ";\n");
		struct tracepoint_field f;
		if (*at != ';' || !declares(from, at, name))
			continue;
		at++;
		if (!take_number(&at, "offset:", &f.offset) ||
		    !take_number(&at, "size:", &f.n_bytes) ||
		    (f.n_bytes != 1 && f.n_bytes != 2 && f.n_bytes != 4 && f.n_bytes != 8))
			return false;
		*ret = f;
		return true;
	}
	return false;
}

bool tracepoint_value(const struct tracepoint_field *f, const void *raw, size_t n_bytes,
		      bool is_swapped, uint64_t *ret)
{
	uint8_t b[8] = { 0 };
	bool is_big = is_swapped != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
	uint64_t x = 0;
	if (!f->n_bytes || f->offset > n_bytes || f->n_bytes > n_bytes - f->offset)
		return false;
	memcpy(b, (const uint8_t *)raw + f->offset, f->n_bytes);
	for (uint32_t i = 0; i < f->n_bytes; i++)
		x = x << 8 | b[is_big ? i : f->n_bytes - 1 - i];
	*ret = x;
	return true;
}

/* ---- expressions ----------------------------------------------------------------------- */

struct expression {
	const char *at;
	unsigned depth;
	bool is_bad;
};

static uint64_t any(struct expression *x);

static uint64_t primary(struct expression *x)
{
	uint64_t value = 0;
	x->at = skip_blanks(x->at);
	if (*x->at == '(' && x->depth < DEPTH_MAX) {
		x->at++;
		x->depth++;
		value = any(x);
		x->depth--;
		x->at = skip_blanks(x->at);
		x->is_bad |= *x->at != ')';
		x->at += *x->at == ')';
	} else if (isdigit((unsigned char)*x->at)) {
		char *end;
		value = strtoull(x->at, &end, 0);
		x->at = end + strspn(end, "uUlL");
	} else {
		x->is_bad = true;
	}
	return value;
}

/* Is the operator next, and not a longer one that begins like it?  Skips it then. */
static bool takes(struct expression *x, const char *op)
{
	size_t n = strlen(op);
	const char *s = skip_blanks(x->at);
	if (x->is_bad || strncmp(s, op, n) != 0 || s[n] == op[n - 1])
		return false;
	x->at = s + n;
	return true;
}

static uint64_t sum(struct expression *x)
{
	uint64_t value = primary(x);
	for (;;) {
		if (takes(x, "+"))
			value += primary(x);
		else if (takes(x, "-"))
			value -= primary(x);
		else
			return value;
	}
}

static uint64_t shifted(struct expression *x)
{
	uint64_t value = sum(x);
	while (takes(x, "<<")) {
		uint64_t n = sum(x);
		value = n < 64 ? value << n : 0;
	}
	return value;
}

static uint64_t masked(struct expression *x)
{
	uint64_t value = shifted(x);
	while (takes(x, "&"))
		value &= shifted(x);
	return value;
}

static uint64_t any(struct expression *x)
{
	uint64_t value = masked(x);
	while (takes(x, "|"))
		value |= masked(x);
	return value;
}

bool tracepoint_constant(const char **at, uint64_t *ret)
{
	struct expression x = { .at = *at };
	uint64_t value = any(&x);
	if (x.is_bad)
		return false;
	*at = x.at;
	*ret = value;
	return true;
}
