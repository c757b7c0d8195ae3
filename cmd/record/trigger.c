/*
 * Splits a condition at its < or > and at the word "for", and removes the blanks of each part.
 */
#include "cmd/record/trigger.h"

#include "base/units.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define TEXT_MAX 128

static const char *const metrics[] = {
	[TRIGGER_CPU] = "cpu", [TRIGGER_RSS] = "rss", [TRIGGER_THREADS] = "threads",
};

/* Parses a plain decimal number; false if there is anything else. */
static bool parse_number(const char *text, double *ret)
{
	double value = 0, place = 1;
	bool point = false, digit = false;
	for (; *text; text++) {
		if (*text == '.' && !point) {
			point = true;
			continue;
		}
		if (!isdigit((unsigned char)*text))
			return false;
		digit = true;
		value = value * 10 + (*text - '0');
		place *= point ? 10 : 1;
	}
	*ret = value / place;
	return digit && value < 1e15;
}

static bool parse_limit(enum trigger_metric metric, char *text, double *ret)
{
	uint64_t n_bytes;
	size_t n = strlen(text);
	if (metric == TRIGGER_RSS) {
		if (units_parse_size(text, &n_bytes) < 0)
			return false;
		*ret = (double)n_bytes;
		return true;
	}
	if (metric == TRIGGER_CPU && n && text[n - 1] == '%')
		text[n - 1] = '\0';
	return parse_number(text, ret);
}

/* Copies the text without its blanks; false if it is longer than n - 1. */
static bool copy_without_blanks(const char *text, size_t n_text, char *ret, size_t n)
{
	size_t k = 0;
	for (size_t i = 0; i < n_text; i++) {
		if (text[i] == ' ')
			continue;
		if (k + 1 >= n)
			return false;
		ret[k++] = text[i];
	}
	ret[k] = '\0';
	return true;
}

int trigger_parse(const char *text, struct trigger *ret)
{
	char name[TEXT_MAX], limit[TEXT_MAX], time[TEXT_MAX] = "";
	struct trigger t = { .text = text };
	size_t n = strcspn(text, "<>"), metric = 0;
	if (!text[n] || !copy_without_blanks(text, n, name, sizeof(name)))
		return -EINVAL;
	const char *after = text + n + 1, *time_at = strstr(after, "for");
	size_t n_limit = time_at ? (size_t)(time_at - after) : strlen(after);
	if (!copy_without_blanks(after, n_limit, limit, sizeof(limit)) ||
	    (time_at &&
	     !copy_without_blanks(time_at + 3, strlen(time_at + 3), time, sizeof(time))))
		return -EINVAL;
	while (metric < sizeof(metrics) / sizeof(*metrics) && strcmp(name, metrics[metric]) != 0)
		metric++;
	if (metric == sizeof(metrics) / sizeof(*metrics))
		return -EINVAL;
	t.metric = (enum trigger_metric)metric;
	t.above = text[n] == '>';
	if (!parse_limit(t.metric, limit, &t.limit) ||
	    (time_at && units_parse_duration(time, &t.for_ns) < 0))
		return -EINVAL;
	*ret = t;
	return 0;
}

bool trigger_feed(struct trigger *t, double value, uint64_t now_ns)
{
	bool holds = t->above ? value > t->limit : value < t->limit;
	if (!holds) {
		t->holds = t->fired = false;
		return false;
	}
	if (!t->holds)
		t->since_ns = now_ns;
	t->holds = true;
	if (t->fired || now_ns - t->since_ns < t->for_ns)
		return false;
	t->fired = true;
	return true;
}

const char *trigger_value_text(const struct trigger *t, double value, char *buf, size_t n)
{
	char size[UNITS_TEXT_MAX];
	if (t->metric == TRIGGER_CPU)
		snprintf(buf, n, "%.0f %%", value);
	else if (t->metric == TRIGGER_RSS)
		snprintf(buf, n, "%s", units_size_text((uint64_t)value, size));
	else
		snprintf(buf, n, "%.0f threads", value);
	return buf;
}
