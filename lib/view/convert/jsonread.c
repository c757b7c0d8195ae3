/* A position in the text is the only state: containers are entered and left by the caller, so depth
 * costs nothing here.  A skipped value is checked for its end only. */

#include "view/convert/jsonread.h"

#include "view/convert/fromtext.h"

#include <string.h>

static void skip_spaces(struct jsonread *j)
{
	while (j->at < j->end && (*j->at == ' ' || *j->at == '\t' || *j->at == '\n' ||
				  *j->at == '\r'))
		j->at++;
}

static bool fail(struct jsonread *j)
{
	j->bad = true;
	j->at = j->end;
	return false;
}

/* The next character that is no space, or 0. */
static char peek(struct jsonread *j)
{
	skip_spaces(j);
	return j->at < j->end ? *j->at : 0;
}

bool jsonread_begin(struct jsonread *j, char open)
{
	if (j->bad || peek(j) != open)
		return fail(j);
	j->at++;
	j->is_first = true;
	return true;
}

bool jsonread_more(struct jsonread *j, char close)
{
	if (j->bad)
		return false;
	char c = peek(j);
	if (c == close && c) {
		j->at++;
		j->is_first = false;
		return false;
	}
	if (!j->is_first) {
		if (c != ',')
			return fail(j);
		j->at++;
	}
	j->is_first = false;
	return peek(j) || fail(j);
}

/* ---- strings ------------------------------------------------------------------------------- */

static bool push_utf8(struct jsonread_text *to, uint32_t c)
{
	char b[4];
	size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : 3;
	if (n == 1)
		b[0] = (char)c;
	for (size_t i = n; n > 1 && i-- > 0; c >>= 6)
		b[i] = (char)(i ? 0x80 | (c & 0x3f) : (n == 2 ? 0xc0 : 0xe0) | c);
	for (size_t i = 0; i < n; i++)
		if (!VEC_PUSH(&to->bytes, b[i]))
			return false;
	return true;
}

/* After a backslash.  Halves of surrogate pairs become '?': file names hardly have them. */
static bool push_escape(struct jsonread *j, struct jsonread_text *to)
{
	static const char from[] = "\"\\/bfnrt", into[] = "\"\\/\b\f\n\r\t";
	if (j->at == j->end)
		return false;
	char c = *j->at++;
	const char *known = c ? strchr(from, c) : NULL;
	if (known)
		return VEC_PUSH(&to->bytes, into[known - from]);
	struct fromtext digits = { j->at, j->at + 4 };
	uint64_t code;
	if (c != 'u' || j->end - j->at < 4 || *j->at == ' ' || *j->at == '\t' ||
	    !fromtext_number(&digits, 16, &code) || digits.at != digits.end)
		return false;
	j->at += 4;
	return push_utf8(to, !code || (code >= 0xd800 && code < 0xe000) ? '?' : (uint32_t)code);
}

bool jsonread_string(struct jsonread *j, struct jsonread_text *ret)
{
	ret->bytes.n = 0;
	if (j->bad || peek(j) != '"')
		return fail(j);
	j->at++;
	while (j->at < j->end && *j->at != '"') {
		char c = *j->at++;
		if (c == '\\' ? !push_escape(j, ret) : !c || !VEC_PUSH(&ret->bytes, c))
			return fail(j);
	}
	if (j->at++ >= j->end || !VEC_PUSH(&ret->bytes, '\0'))
		return fail(j);
	return true;
}

bool jsonread_key(struct jsonread *j, struct jsonread_text *ret)
{
	if (!jsonread_string(j, ret) || peek(j) != ':')
		return fail(j);
	j->at++;
	return true;
}

/* ---- values -------------------------------------------------------------------------------- */

bool jsonread_number(struct jsonread *j, uint64_t *ret)
{
	skip_spaces(j);
	struct fromtext t = { j->at, j->end };
	if (j->bad || !fromtext_number(&t, 10, ret))
		return fail(j);
	j->at = t.at;
	return true;
}

static void skip_string(struct jsonread *j)
{
	for (j->at++; j->at < j->end && *j->at != '"'; j->at++)
		j->at += *j->at == '\\' && j->end - j->at > 1;
	if (j->at < j->end)
		j->at++;
	else
		fail(j);
}

/* Brackets are counted only: what is in them does not matter. */
bool jsonread_skip(struct jsonread *j)
{
	size_t depth = 0;
	const char *begin = j->at;
	while (!j->bad) {
		char c = peek(j);
		if (!c || (!depth && (c == ',' || c == '}' || c == ']')))
			break;
		if (c == '"') {
			skip_string(j);
		} else {
			depth += c == '{' || c == '[';
			depth -= c == '}' || c == ']';
			j->at++;
		}
		if (!depth && (c == '"' || c == '}' || c == ']'))
			break;
	}
	return !j->bad && !depth && j->at > begin ? true : fail(j);
}
