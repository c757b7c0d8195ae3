/*
 * Arguments are separated by blanks, which arm64 also has inside of brackets.  Each is
 * SIZE@OPERAND; a negative size means a signed value, and a size with an f a floating-point number.
 */

#include "event/evarg.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define OPERAND_BYTES_MAX 96u

/* The end of the argument that begins at text. */
static const char *argument_end(const char *text)
{
	bool in_brackets = false;
	for (; *text && (in_brackets || (*text != ' ' && *text != '\t')); text++)
		in_brackets = *text == '[' || (in_brackets && *text != ']');
	return text;
}

/* Argument n, and its length; NULL: there are fewer. */
static const char *argument(const char *args, unsigned n, size_t *ret_n_bytes)
{
	while (n) {
		args += strspn(args, " \t");
		const char *end = argument_end(args);
		if (end == args)
			return NULL;
		*ret_n_bytes = (size_t)(end - args);
		if (--n)
			args = end;
	}
	return args;
}

unsigned evarg_count(const char *args)
{
	unsigned n = 0;
	size_t n_bytes;
	while (n < EVARG_MAX && argument(args, n + 1, &n_bytes))
		n++;
	return n;
}

/* "-4" before the operand. */
static int read_size(const char *text, const char *at, struct evarg *ret)
{
	char *end;
	long size = strtol(text, &end, 10);
	if (end + 1 == at && *end == 'f')
		return -EOPNOTSUPP;
	if (end != at || end == text)
		return -EINVAL;
	ret->is_signed = size < 0;
	size = size < 0 ? -size : size;
	if (size != 1 && size != 2 && size != 4 && size != 8)
		return -EINVAL;
	ret->n_bytes = (uint8_t)size;
	return 0;
}

int evarg_find(const char *args, unsigned n, const struct arch_probe *arch, struct evarg *ret)
{
	char text[OPERAND_BYTES_MAX];
	struct evarg a = { .n_bytes = 8 };
	size_t n_bytes;
	const char *begin = n && n <= EVARG_MAX ? argument(args, n, &n_bytes) : NULL;
	if (!begin)
		return -ENOENT;
	if (n_bytes >= sizeof(text))
		return -EINVAL;
	memcpy(text, begin, n_bytes);
	text[n_bytes] = '\0';
	/* Notes of other programs than gcc may lack the size: then it is that of a register. */
	char *at = strchr(text, '@');
	int r = at ? read_size(text, at, &a) : 0;
	if (r < 0)
		return r;
	if (!arch || !arch->operand(at ? at + 1 : text, &a.from))
		return -EOPNOTSUPP;
	if (a.from.kind == ARCHPROBE_REG && a.n_bytes > a.from.n_bytes)
		a.n_bytes = a.from.n_bytes;
	*ret = a;
	return 0;
}
