#include "base/utf8.h"
#include "tap.h"

#define R "\xef\xbf\xbd"

static void valid(const char *s)
{
	size_t n = strlen(s);
	tap_ok(utf8_valid_prefix(s, n) == n, "'%s' is valid", s);
}

static void cleaned(const char *s, size_t n_valid, const char *want, const char *name)
{
	char buf[200];
	size_t n = strlen(s);
	tap_int((long long)utf8_valid_prefix(s, n), (long long)n_valid, name);
	buf[utf8_clean(buf, s, n)] = '\0';
	tap_str(buf, want, "  cleaned");
}

/* Each character of the range, and none beside it, is a control character. */
static void controls(uint32_t first, uint32_t last, const char *name)
{
	bool is_right = true;
	for (uint32_t c = first ? first - 1 : 1; c <= last + 1; c++) {
		char s[4] = { 0 };
		uint32_t got = 0;
		size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : 3;
		s[0] = (char)(n == 1 ? c : n == 2 ? 0xc0 | c >> 6 : 0xe0 | c >> 12);
		if (n > 1)
			s[n - 1] = (char)(0x80 | (c & 0x3f));
		if (n > 2)
			s[1] = (char)(0x80 | (c >> 6 & 0x3f));
		size_t want = c && c >= first && c <= last ? n : 0;
		is_right &= utf8_control(s, &got) == want && (!want || got == c);
	}
	tap_ok(is_right, "%s", name);
}

static void encoded(uint32_t c, const char *want, const char *name)
{
	char text[UTF8_BYTES_MAX + 1] = "";
	text[utf8_encode(text, c)] = '\0';
	tap_str(text, want, name);
}

int main(void)
{
	encoded('a', "a", "ASCII");
	encoded(0xe9, "\xc3\xa9", "two bytes");
	encoded(0x20ac, "\xe2\x82\xac", "three bytes");
	encoded(0x1f600, "\xf0\x9f\x98\x80", "four bytes");
	encoded('\n', "?", "a control character");
	encoded(0xd800, "?", "a surrogate");
	encoded(0x110000, "?", "beyond the last character");
	controls(0, 0x1f, "C0");
	controls(0x7f, 0x9f, "DEL and C1");
	controls(0x61c, 0x61c, "the Arabic letter mark");
	controls(0x200e, 0x200f, "the marks of direction");
	controls(0x202a, 0x202e, "embeddings and overrides");
	controls(0x2066, 0x2069, "isolates");
	valid("");
	valid("plain ASCII that is longer than eight bytes");
	valid("\xc2\x80 \xdf\xbf \xe0\xa0\x80 \xef\xbf\xbf \xf0\x90\x80\x80 \xf4\x8f\xbf\xbf");
	valid("\xed\x9f\xbf \xee\x80\x80");
	cleaned("a\xff", 1, "a" R, "a byte that is never valid");
	cleaned("12345678\x80", 8, "12345678" R, "a continuation byte alone");
	cleaned("\xc0\xaf", 0, R R, "an overlong slash");
	cleaned("\xe0\x9f\xbf", 0, R R R, "overlong in three bytes");
	cleaned("\xf0\x8f\xbf\xbf", 0, R R R R, "overlong in four bytes");
	cleaned("\xed\xa0\x80x", 0, R R R "x", "a surrogate");
	cleaned("\xf4\x90\x80\x80", 0, R R R R, "beyond U+10FFFF");
	cleaned("\xf5\x80\x80\x80", 0, R R R R, "lead byte f5");
	cleaned("ab\xe2\x82", 2, "ab" R R, "cut off at the end");
	cleaned("ab\xe2\x82z", 2, "ab" R R "z", "cut off in the middle");
	cleaned("\xc3\xc3\xa4", 0, R "\xc3\xa4", "the byte after a bad one starts a new character");
	cleaned("\xf0\x9f\x98", 0, R R R, "three of four bytes");
	return tap_done();
}
