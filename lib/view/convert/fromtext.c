#include "view/convert/fromtext.h"

#include <string.h>

bool fromtext_line(struct fromtext *t, struct fromtext *ret)
{
	if (t->at == t->end)
		return false;
	const char *stop = memchr(t->at, '\n', fromtext_left(t));
	*ret = (struct fromtext){ t->at, stop ? stop : t->end };
	t->at = stop ? stop + 1 : t->end;
	return true;
}

void fromtext_skip(struct fromtext *t)
{
	while (t->at < t->end && (*t->at == ' ' || *t->at == '\t' || *t->at == '\r'))
		t->at++;
}

bool fromtext_take(struct fromtext *t, const char *word)
{
	size_t n = strlen(word);
	fromtext_skip(t);
	if (fromtext_left(t) < n || memcmp(t->at, word, n) != 0)
		return false;
	t->at += n;
	return true;
}

static unsigned digit_of(char c)
{
	return c >= '0' && c <= '9' ? (unsigned)(c - '0') :
	       c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10 :
	       c >= 'A' && c <= 'F' ? (unsigned)(c - 'A') + 10 : 16;
}

bool fromtext_number(struct fromtext *t, unsigned base, uint64_t *ret)
{
	fromtext_skip(t);
	const char *p = t->at;
	uint64_t value = 0;
	unsigned digit;
	if (base == 16 && fromtext_left(t) > 2 && p[0] == '0' && p[1] == 'x')
		p += 2;
	const char *first = p;
	for (; p < t->end && (digit = digit_of(*p)) < base; p++)
		if (__builtin_mul_overflow(value, base, &value) ||
		    __builtin_add_overflow(value, digit, &value))
			return false;
	if (p == first)
		return false;
	t->at = p;
	*ret = value;
	return true;
}
