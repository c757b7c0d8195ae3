/* The families of units, and their names, are those of pprof. */

#include "view/model/scale.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

struct unit {
	const char *suffix;
	double size;  /* in the first unit of the family */
};

struct unit_name {
	const char *name;
	double size;
};

struct unit_family {
	struct unit unit[7];       /* ascending; ends with a NULL suffix */
	struct unit_name name[13]; /* as in profiles, without a plural s */
};

static const struct unit_family families[] = {
	{
		{ { "ns", 1 }, { "us", 1e3 }, { "ms", 1e6 }, { "s", 1e9 }, { "hrs", 3600e9 } },
		{ { "nanosecond", 1 }, { "ns", 1 }, { "microsecond", 1e3 }, { "us", 1e3 },
		  { "millisecond", 1e6 }, { "ms", 1e6 }, { "second", 1e9 }, { "sec", 1e9 },
		  { "s", 1e9 }, { "hour", 3600e9 }, { "hr", 3600e9 } },
	},
	{
		{ { "B", 1 }, { "kB", 1024 }, { "MB", 0x1p20 }, { "GB", 0x1p30 },
		  { "TB", 0x1p40 }, { "PB", 0x1p50 } },
		{ { "byte", 1 }, { "b", 1 }, { "kilobyte", 1024 }, { "kb", 1024 },
		  { "megabyte", 0x1p20 }, { "mb", 0x1p20 }, { "gigabyte", 0x1p30 },
		  { "gb", 0x1p30 }, { "terabyte", 0x1p40 }, { "tb", 0x1p40 },
		  { "petabyte", 0x1p50 }, { "pb", 0x1p50 } },
	},
};

#define N_FAMILIES (sizeof(families) / sizeof(*families))

static const struct unit_family *find_family(const char *unit, double *ret_size)
{
	size_t n = strlen(unit);
	for (size_t i = 0; i < N_FAMILIES; i++) {
		for (const struct unit_name *u = families[i].name; u->name; u++) {
			size_t len = strlen(u->name);
			bool plural = n == len + 1 && (unit[len] == 's' || unit[len] == 'S');
			if (strncasecmp(unit, u->name, len) == 0 && (n == len || plural)) {
				*ret_size = u->size;
				return &families[i];
			}
		}
	}
	return NULL;
}

/* The largest unit in which value is at least 1, or the smallest. */
static const struct unit *natural_unit(const struct unit_family *f, double value)
{
	const struct unit *best = &f->unit[0];
	for (const struct unit *u = f->unit; u->suffix; u++)
		if (value >= u->size)
			best = u;
	return best;
}

struct scale scale_choose(int64_t min, int64_t max, const char *unit)
{
	double size;
	const struct unit_family *f = find_family(unit, &size);
	if (!f)
		return (struct scale){ 1, "" };
	double low = fabs((double)min) * size, high = fabs((double)max) * size;
	if (low == 0)
		low = high;
	const struct unit *u = natural_unit(f, low);
	if (u != natural_unit(f, high) && low * 100 < high)
		u = natural_unit(f, low * 100);
	return (struct scale){ size / u->size, u->suffix };
}

double scale_ratio(const char *from, const char *to)
{
	double a, b;
	const struct unit_family *f = find_family(from, &a);
	return f && find_family(to, &b) == f ? a / b : 0;
}

bool scale_fixed(const char *from, const char *to, struct scale *ret)
{
	double size, to_size;
	const struct unit_family *f = find_family(from, &size);
	if (!f || find_family(to, &to_size) != f)
		return false;
	for (const struct unit *u = f->unit; u->suffix; u++)
		if (u->size == to_size)
			*ret = (struct scale){ size / to_size, u->suffix };
	return true;
}

const char *scale_unit_name(size_t i)
{
	for (size_t k = 0; k < N_FAMILIES; k++)
		for (const struct unit *u = families[k].unit; u->suffix; u++)
			if (i-- == 0)
				return u->suffix;
	return NULL;
}

const char *scale_text(struct scale s, int64_t value, char buf[SCALE_TEXT_MAX])
{
	double v = (double)value * s.factor;
	if (value == 0)
		snprintf(buf, SCALE_TEXT_MAX, "0");
	else if (s.suffix[0] == '\0')
		snprintf(buf, SCALE_TEXT_MAX, "%lld", (long long)value);
	else
		snprintf(buf, SCALE_TEXT_MAX, v == floor(v) ? "%.0f%s" : "%.2f%s", v, s.suffix);
	return buf;
}

const char *scale_percent(int64_t value, int64_t total, char buf[SCALE_TEXT_MAX])
{
	double ratio = total ? fabs((double)value / (double)total) * 100 : 0;
	const char *format = ratio >= 99.95 && ratio <= 100.05 ? "%.0f%%" :
			     ratio >= 1 ? "%.2f%%" : "%.2g%%";
	snprintf(buf, SCALE_TEXT_MAX, format, ratio);
	return buf;
}
