/*
 * The grammar of -e, as cprof-events(7) gives it:
 *
 *	list      = event { "," event }
 *	event     = name [ ":" modifiers ] | name "/" term { "," term } "/" [ [":"] modifiers ]
 *	name      = known name | alias | "r" hex-digit {hex-digit}   (evnames.c; up to 16 digits)
 *	term      = "period=" number | "freq=" ( number | "max" ) | "name=" word
 *	modifiers = { "u" | "k" | "p" }
 *
 * The text is walked once, left to right, with offsets into it, so that each error
 * can point at the character that it is about.
 */
#include "event/evspec.h"

#include "base/err.h"
#include "base/units.h"
#include "event/evnames.h"

#include <ctype.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define RAW_DIGITS_MAX 16
#define NAME_TERM_MAX 63  /* leaves room for modifiers in EVSPEC_NAME_MAX */
#define SHOWN_MAX 160     /* characters of the user's text in a message */

struct parser {
	const char *text;
	struct err *e;
};

/* A stretch of the text: [from, to). */
struct span {
	size_t from, to;
};

/* Copies at most SHOWN_MAX bytes as printable ASCII; what else there is becomes '?'. */
static void printable(const char *s, size_t n, char ret[SHOWN_MAX + 1])
{
	if (n > SHOWN_MAX)
		n = SHOWN_MAX;
	for (size_t i = 0; i < n; i++)
		ret[i] = s[i] >= ' ' && s[i] <= '~' ? s[i] : '?';
	ret[n] = '\0';
}

/* -EINVAL, saying what is wrong at offset `at` and what would be right (advice, may be ""). */
static int __attribute__((format(printf, 4, 5)))
complain(const struct parser *p, size_t at, const char *advice, const char *fmt, ...)
{
	char what[512], text[SHOWN_MAX + 1];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	size_t n = strlen(p->text);
	printable(p->text, n, text);
	int code = at ? err_set(p->e, EINVAL, "%s, at character %zu of '%s'", what, at + 1, text)
		      : err_set(p->e, EINVAL, "%s", what);
	if (n <= SHOWN_MAX)
		err_hint(p->e, "%s\n%*s^%s%s", text, (int)at, "", *advice ? "\n" : "", advice);
	else
		err_hint(p->e, "%s", advice);
	return code;
}

/* ---- rates ------------------------------------------------------------------ */

/* NULL, or what is wrong with text as a frequency or period. */
static const char *rate_problem(const char *text, bool is_freq, enum evspec_rate *ret_kind,
				uint64_t *ret_rate)
{
	if (is_freq && strcmp(text, "max") == 0) {
		*ret_kind = EVSPEC_RATE_FREQ_MAX;
		*ret_rate = 0;
		return NULL;
	}
	uint64_t rate;
	int r = units_parse_u64(text, &rate);
	if (r == -EINVAL)
		return is_freq ? "not a whole number of hertz, nor 'max'" : "not a whole number";
	/* The kernel refuses periods with bit 63 set, and frequencies far below that. */
	if (r < 0 || rate >> 63)
		return "too large (the kernel takes less than 2^63)";
	if (rate == 0)
		return "must be at least 1";
	*ret_kind = is_freq ? EVSPEC_RATE_FREQ : EVSPEC_RATE_PERIOD;
	*ret_rate = rate;
	return NULL;
}

int evspec_parse_rate(const char *text, bool is_freq, enum evspec_rate *ret_kind,
		      uint64_t *ret_rate, struct err *e)
{
	const char *problem = rate_problem(text, is_freq, ret_kind, ret_rate);
	if (!problem)
		return 0;
	char shown[SHOWN_MAX + 1];
	printable(text, strlen(text), shown);
	return err_set(e, EINVAL, "bad %s '%s': %s", is_freq ? "frequency" : "period", shown,
		       problem);
}

/* ---- one event ---------------------------------------------------------------- */

/* "r" and hex digits: the PMU's own code of an event, taken as it is. */
static bool is_raw(const char *s, size_t n)
{
	if (n < 2 || (s[0] | 32) != 'r')
		return false;
	for (size_t i = 1; i < n; i++)
		if (!isxdigit((unsigned char)s[i]))
			return false;
	return true;
}

static int parse_name(const struct parser *p, struct span at, struct evspec *s)
{
	const char *name = p->text + at.from;
	size_t n = at.to - at.from;
	char shown[SHOWN_MAX + 1];
	if (n == 0)
		return complain(p, at.from, "", "event name missing");
	printable(name, n, shown);

	const struct evnames_entry *known = evnames_find(name, n);
	if (known) {
		s->type = known->type;
		s->config = known->config;
		s->is_clock = s->type == PERF_TYPE_SOFTWARE &&
			      (s->config == PERF_COUNT_SW_CPU_CLOCK ||
			       s->config == PERF_COUNT_SW_TASK_CLOCK);
		snprintf(s->name, sizeof(s->name), "%s", known->known.name);
		return 0;
	}
	if (is_raw(name, n)) {
		if (n > 1 + RAW_DIGITS_MAX)
			return complain(p, at.from + 1 + RAW_DIGITS_MAX, "",
					"raw event '%s' has more than 16 hex digits", shown);
		for (size_t i = 0; i < n; i++)
			s->name[i] = (char)tolower((unsigned char)name[i]);
		s->name[n] = '\0';
		s->type = PERF_TYPE_RAW;
		s->config = strtoull(s->name + 1, NULL, 16);
		return 0;
	}
	struct evnames_near near;
	char advice[256];
	evnames_nearest(name, n, &near);
	snprintf(advice, sizeof(advice),
		 "nearest names: %s, %s, %s; 'cprof list' shows all; a raw event is 'r' and 1 to "
		 "16 hex digits",
		 near.name[0], near.name[1], near.name[2]);
	return complain(p, at.from, advice, "unknown event '%s'", shown);
}

static int parse_rate_term(const struct parser *p, struct span value, bool is_freq,
			   struct evspec *s)
{
	char text[32], shown[SHOWN_MAX + 1];
	size_t n = value.to - value.from;
	printable(p->text + value.from, n, shown);
	const char *what = is_freq ? "frequency" : "period", *problem = NULL;
	if (s->rate_kind != EVSPEC_RATE_DEFAULT)
		return complain(p, value.from, "give one of period= and freq=, once",
				"second rate '%s'", shown);
	if (n >= sizeof(text)) {
		problem = "too long for a number";
	} else {
		memcpy(text, p->text + value.from, n);
		text[n] = '\0';
		problem = rate_problem(text, is_freq, &s->rate_kind, &s->rate);
	}
	return problem ? complain(p, value.from, "", "bad %s '%s': %s", what, shown, problem) : 0;
}

static int parse_name_term(const struct parser *p, struct span value, struct evspec *s,
			   bool *named)
{
	const char *name = p->text + value.from;
	size_t n = value.to - value.from;
	if (*named)
		return complain(p, value.from, "", "second name for one event");
	if (n == 0)
		return complain(p, value.from, "", "name missing behind 'name='");
	if (n > NAME_TERM_MAX)
		return complain(p, value.from, "", "name is longer than %d characters",
				NAME_TERM_MAX);
	for (size_t i = 0; i < n; i++)
		if (!isascii((unsigned char)name[i]) ||
		    (!isalnum((unsigned char)name[i]) && !strchr("_.-", name[i])))
			return complain(p, value.from + i, "names are made of A-Z a-z 0-9 _ . -",
					"bad character in name");
	/* The name becomes the sample type beside the one that every profile has. */
	if (n == 7 && strncasecmp(name, "samples", n) == 0)
		return complain(p, value.from, "", "the name 'samples' is taken in every profile");
	memcpy(s->name, name, n);
	s->name[n] = '\0';
	*named = true;
	return 0;
}

static int parse_terms(const struct parser *p, struct span at, struct evspec *s)
{
	static const char advice[] = "terms are period=N, freq=HZ, freq=max, name=WORD; other "
				     "fields of a PMU event go into a raw code rHEX";
	bool named = false;
	for (size_t i = at.from; i <= at.to;) {
		const char *term = p->text + i;
		size_t n = 0;
		while (i + n < at.to && term[n] != ',')
			n++;
		const char *equals = memchr(term, '=', n);
		size_t n_key = equals ? (size_t)(equals - term) : n;
		struct span value = { i + n_key + (equals ? 1 : 0), i + n };
		int r;
		if (equals && n_key == 6 && memcmp(term, "period", 6) == 0) {
			r = parse_rate_term(p, value, false, s);
		} else if (equals && n_key == 4 && memcmp(term, "freq", 4) == 0) {
			r = parse_rate_term(p, value, true, s);
		} else if (equals && n_key == 4 && memcmp(term, "name", 4) == 0) {
			r = parse_name_term(p, value, s, &named);
		} else {
			char shown[SHOWN_MAX + 1];
			printable(term, n, shown);
			r = n ? complain(p, i, advice, "unknown term '%s'", shown)
			      : complain(p, i, advice, "empty term");
		}
		if (r < 0)
			return r;
		i += n + 1;
	}
	return 0;
}

static int parse_modifiers(const struct parser *p, struct span at, struct evspec *s)
{
	static const char advice[] = "modifiers are u (user code), k (kernel code), p (precise, "
				     "up to ppp)";
	bool user = false, kernel = false;
	if (at.from == at.to)
		return complain(p, at.from, advice, "modifier missing behind ':'");
	for (size_t i = at.from; i < at.to; i++) {
		char c = p->text[i];
		if ((c == 'u' && user) || (c == 'k' && kernel))
			return complain(p, i, advice, "modifier '%c' is given twice", c);
		if (c == 'p' && s->type == PERF_TYPE_SOFTWARE)
			return complain(p, i, "", "modifier 'p' has no meaning for '%s': only a "
					"PMU can be precise", s->name);
		if (c == 'p' && s->precise_ip == 3)
			return complain(p, i, advice, "more than three 'p'");
		if (c == 'u')
			user = true;
		else if (c == 'k')
			kernel = true;
		else if (c == 'p')
			s->precise_ip++;
		else if (c >= ' ' && c <= '~')
			return complain(p, i, advice, "unknown modifier '%c'", c);
		else
			return complain(p, i, advice, "unknown modifier 0x%02x", (unsigned char)c);
	}
	s->only_user = user && !kernel;
	s->only_kernel = kernel && !user;
	if (s->only_user && evspec_in_kernel(s))
		return complain(p, at.from, "leave out ':u'",
				"'%s' happens inside the kernel: with 'u' there is never a sample",
				s->name);
	return 0;
}

static void append_modifiers(struct evspec *s)
{
	if (!s->only_user && !s->only_kernel && !s->precise_ip)
		return;
	size_t n = strlen(s->name);
	snprintf(s->name + n, sizeof(s->name) - n, ":%s%.*s",
		 s->only_user ? "u" : s->only_kernel ? "k" : "", s->precise_ip, "ppp");
}

static int parse_event(const struct parser *p, struct span at, struct evspec *ret)
{
	const char *t = p->text;
	struct evspec s = { .rate_kind = EVSPEC_RATE_DEFAULT };
	if (at.to - at.from >= sizeof(s.text))
		return complain(p, at.from, "", "event is longer than %d characters",
				EVSPEC_NAME_MAX - 1);
	memcpy(s.text, t + at.from, at.to - at.from);

	struct span name = { at.from, at.from + strcspn(s.text, "/:") };
	int r = parse_name(p, name, &s);
	if (r < 0)
		return r;
	size_t i = name.to;
	if (i < at.to && t[i] == '/') {
		size_t end = i + 1;
		while (end < at.to && t[end] != '/')
			end++;
		if (end == at.to)
			return complain(p, i, "", "'/' is never closed");
		r = parse_terms(p, (struct span){ i + 1, end }, &s);
		if (r < 0)
			return r;
		i = end + 1;
		if (i < at.to && t[i] != ':')
			i--; /* 'cycles/period=1/u': the slash stands for the colon */
	}
	if (i < at.to) {
		const char *slash = memchr(t + i + 1, '/', at.to - i - 1);
		if (slash)
			return complain(p, (size_t)(slash - t), "write 'cycles/period=100003/u'",
					"terms in slashes come before the modifiers");
		r = parse_modifiers(p, (struct span){ i + 1, at.to }, &s);
		if (r < 0)
			return r;
	}
	append_modifiers(&s);
	*ret = s;
	return 0;
}

/* ---- the list ------------------------------------------------------------------- */

/* Two events whose files would have one name are the same event to the user. */
static bool is_twice(const struct evspec_list *l, const struct evspec *s)
{
	char part[EVSPEC_NAME_MAX], other[EVSPEC_NAME_MAX];
	evspec_file_part(s, part);
	for (size_t i = 0; i < l->n; i++) {
		evspec_file_part(&l->v[i], other);
		if (strcmp(part, other) == 0)
			return true;
	}
	return false;
}

static int append(struct evspec_list *l, const struct evspec *s, struct err *e)
{
	struct evspec *v = reallocarray(l->v, l->n + 1, sizeof(*v));
	if (!v)
		return err_errno(e, ENOMEM, "cannot store event '%s'", s->name);
	l->v = v;
	l->v[l->n++] = *s;
	return 0;
}

int evspec_parse(struct evspec_list *l, const char *text, struct err *e)
{
	const struct parser p = { text, e };
	size_t n_before = l->n;
	for (size_t i = 0;;) {
		struct span at = { i, i };
		bool in_slashes = false;
		while (text[at.to] && (in_slashes || text[at.to] != ','))
			in_slashes ^= text[at.to++] == '/';
		struct evspec s;
		int r = parse_event(&p, at, &s);
		if (r == 0 && is_twice(l, &s))
			r = complain(&p, at.from, "give one of them a name of its own: "
				     "'cycles/name=other,period=100003/'",
				     "event '%s' is given twice", s.name);
		if (r == 0)
			r = append(l, &s, e);
		if (r < 0) {
			l->n = n_before;
			return r;
		}
		if (!text[at.to])
			return 0;
		i = at.to + 1;
	}
}

void evspec_list_done(struct evspec_list *l)
{
	free(l->v);
	*l = (struct evspec_list){ NULL, 0 };
}

/* ---- what an event is called ------------------------------------------------------ */

bool evspec_in_kernel(const struct evspec *s)
{
	return s->type == PERF_TYPE_SOFTWARE && (s->config == PERF_COUNT_SW_CONTEXT_SWITCHES ||
						 s->config == PERF_COUNT_SW_CPU_MIGRATIONS);
}

const struct evspec_known *evspec_known(size_t i)
{
	const struct evnames_entry *entry = evnames_at(i);
	return entry ? &entry->known : NULL;
}

void evspec_sample_type(const struct evspec *s, char ret_type[EVSPEC_NAME_MAX],
			const char **ret_unit)
{
	if (s->is_clock) {
		snprintf(ret_type, EVSPEC_NAME_MAX, "cpu");
		*ret_unit = "nanoseconds";
		return;
	}
	size_t i = 0;
	for (; s->name[i] && s->name[i] != ':'; i++)
		ret_type[i] = isalnum((unsigned char)s->name[i])
			? (char)tolower((unsigned char)s->name[i]) : '_';
	ret_type[i] = '\0';
	*ret_unit = "count";
}

void evspec_file_part(const struct evspec *s, char ret_part[EVSPEC_NAME_MAX])
{
	size_t i = 0;
	for (; s->name[i]; i++)
		ret_part[i] = isalnum((unsigned char)s->name[i]) || strchr("_.-", s->name[i])
			? s->name[i] : '-';
	ret_part[i] = '\0';
}
