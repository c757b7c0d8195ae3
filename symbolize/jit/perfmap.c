/* Parses numbers without strtoull, which needs a NUL and accepts signs and spaces. */

#include "symbolize/jit/perfmap.h"

#include "symbolize/jit/jitcode.h"

#include <stdbool.h>
#include <string.h>

static int digit_of(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* A number and the blanks after it; false: no number or no blank. */
static bool take_number(const char **at, const char *end, uint64_t *ret)
{
	const char *p = *at;
	uint64_t value = 0;
	int n_digits = 0, digit;
	if (end - p > 2 && p[0] == '0' && (p[1] == 'x' || p[1] == 'X'))
		p += 2;
	for (; p < end && (digit = digit_of(*p)) >= 0; p++, n_digits++)
		value = value << 4 | (uint64_t)digit;
	if (n_digits == 0 || n_digits > 16 || p == end || (*p != ' ' && *p != '\t'))
		return false;
	while (p < end && (*p == ' ' || *p == '\t'))
		p++;
	*at = p;
	*ret = value;
	return true;
}

static bool take_line(struct jitcode *j, const char *p, const char *end, uint64_t from_ns)
{
	struct jitcode_entry e = { .from_ns = from_ns };
	while (end > p && (end[-1] == '\r' || end[-1] == ' '))
		end--;
	if (!take_number(&p, end, &e.start) || !take_number(&p, end, &e.n_bytes) || p == end)
		return false;
	e.name = jitcode_keep_name(j, p, (size_t)(end - p));
	return e.name && jitcode_add(j, &e);
}

size_t perfmap_take(struct jitcode *j, const char *text, size_t n, uint64_t from_ns, uint64_t *bad)
{
	const char *line = text, *text_end = text + n, *end;
	while (!j->is_full && (end = memchr(line, '\n', (size_t)(text_end - line)))) {
		if (end > line && !take_line(j, line, end, from_ns))
			++*bad;
		line = end + 1;
	}
	if (line == text && n >= PERFMAP_LINE_BYTES_MAX) {
		++*bad;
		return n;
	}
	return (size_t)(line - text);
}
