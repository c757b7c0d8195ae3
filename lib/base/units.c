#include "base/units.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Parses a non-negative decimal number with an optional fraction, but not the signs, hexadecimal
 * digits, "inf" and "nan" that strtod accepts. */
static int number(const char *text, double *ret_value, const char **ret_rest)
{
	const char *p = text;
	while (isdigit((unsigned char)*p))
		p++;
	if (*p == '.')
		p++;
	while (isdigit((unsigned char)*p))
		p++;
	if (p == text || (p == text + 1 && *text == '.'))
		return -EINVAL;
	char buf[64];
	size_t n = (size_t)(p - text);
	if (n >= sizeof(buf))
		return -ERANGE;
	memcpy(buf, text, n);
	buf[n] = '\0';
	*ret_value = strtod(buf, NULL);
	*ret_rest = p;
	return 0;
}

static int scaled(double value, double factor, uint64_t *ret)
{
	double x = value * factor;
	if (!(x < 9.2e18))
		return -ERANGE;
	*ret = (uint64_t)llround(x);
	return 0;
}

int units_parse_duration(const char *text, uint64_t *ret_ns)
{
	static const struct { const char *unit; double ns; } units[] = {
		{ "", 1e9 }, { "s", 1e9 }, { "ms", 1e6 }, { "us", 1e3 }, { "ns", 1 },
		{ "m", 60e9 }, { "min", 60e9 }, { "h", 3600e9 },
	};
	double value;
	const char *rest;
	int r = number(text, &value, &rest);
	if (r < 0)
		return r;
	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++)
		if (strcmp(rest, units[i].unit) == 0)
			return scaled(value, units[i].ns, ret_ns);
	return -EINVAL;
}

int units_parse_size(const char *text, uint64_t *ret_bytes)
{
	double value;
	const char *rest;
	int r = number(text, &value, &rest);
	if (r < 0)
		return r;
	double factor = 1;
	static const char letters[] = "KMGT";
	const char *at = *rest ? strchr(letters, toupper((unsigned char)*rest)) : NULL;
	if (at) {
		factor = ldexp(1, 10 * (int)(at - letters + 1));
		rest++;
		if (strcasecmp(rest, "iB") == 0 || strcasecmp(rest, "B") == 0)
			rest = "";
	} else if (strcasecmp(rest, "B") == 0) {
		rest = "";
	}
	return *rest ? -EINVAL : scaled(value, factor, ret_bytes);
}

int units_parse_u64(const char *text, uint64_t *ret_value)
{
	if (!isdigit((unsigned char)*text))
		return -EINVAL;
	int base = text[0] == '0' && (text[1] | 32) == 'x' ? 16 : 10;
	char *end;
	errno = 0;
	unsigned long long value = strtoull(text, &end, base);
	if (errno)
		return -ERANGE;
	if (*end)
		return -EINVAL;
	*ret_value = value;
	return 0;
}

const char *units_size_text(uint64_t n_bytes, char buf[UNITS_TEXT_MAX])
{
	static const char *const unit[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
	double x = (double)n_bytes;
	size_t i = 0;
	for (; x >= 1023.95 && i < 6; i++)
		x /= 1024;
	snprintf(buf, UNITS_TEXT_MAX, i ? "%.1f %s" : "%.0f %s", x, unit[i]);
	return buf;
}

const char *units_estimate_text(uint64_t ns, char buf[UNITS_TEXT_MAX])
{
	static const struct { uint64_t ns; const char *name; } unit[] = {
		{ 3600000000000u, "hours" }, { 60000000000u, "minutes" }, { 1000000000u, "s" },
		{ 1000000u, "ms" }, { 1000u, "us" }, { 1u, "ns" },
	};
	size_t i = 0;
	/* "90 minutes", but "2.0 hours" */
	while (i + 1 < sizeof(unit) / sizeof(*unit) &&
	       ns < unit[i].ns * (unit[i].ns > 1000000000u ? 2 : 1))
		i++;
	double n = (double)ns / (double)unit[i].ns;
	uint64_t whole = (uint64_t)(n + 0.5), step = 1;
	while (whole / step >= 100)
		step *= 10;
	if (n < 9.95)
		snprintf(buf, UNITS_TEXT_MAX, "%.1f %s", n, unit[i].name);
	else
		snprintf(buf, UNITS_TEXT_MAX, "%llu %s",
			 (unsigned long long)((whole + step / 2) / step * step), unit[i].name);
	return buf;
}

const char *units_duration_text(uint64_t ns, char buf[UNITS_TEXT_MAX])
{
	if (ns >= 1000000000u)
		snprintf(buf, UNITS_TEXT_MAX, "%.2f s", (double)ns / 1e9);
	else if (ns >= 1000000u)
		snprintf(buf, UNITS_TEXT_MAX, "%.1f ms", (double)ns / 1e6);
	else
		snprintf(buf, UNITS_TEXT_MAX, "%.1f us", (double)ns / 1e3);
	return buf;
}

int units_first_word(uint64_t n, const char *words)
{
	size_t n_word = strcspn(words, " ");
	if (n != 1 || n_word == 0 || words[n_word - 1] != 's')
		return (int)n_word;
	return (int)n_word - (n_word > 4 && strncmp(words + n_word - 4, "sses", 4) == 0 ? 2 : 1);
}
