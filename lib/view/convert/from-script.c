/*
 * The text is read twice, since the sample types must be known before the first sample: the first
 * pass collects the events.  The line that begins a sample is recognised by its time,
 * "SECONDS.FRACTION:", after a thread id.  A command's name may contain spaces and digits, so the
 * time is searched for from the left and what precedes it is parsed from the right.
 */

#include "view/convert/from-script.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "base/vec.h"
#include "proto/pprof.h"
#include "view/convert/format.h"
#include "view/convert/from.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EVENTS_MAX 64
#define KERNEL_MIN (UINT64_C(1) << 63)  /* user addresses are below on all architectures */

struct text { const char *s; size_t n; };

struct header {
	struct text comm, event, rest;
	int64_t pid, tid;       /* pid: -1 if unknown */
	int64_t time_ns;
	int64_t period;         /* 0: unknown */
};

struct script {
	struct from from;
	VEC(uint32_t) events;          /* names, in from.names */
	VEC(uint64_t) ids;             /* of the current sample, leaf first */
	VEC(uint32_t) inlined;         /* names whose function follows */
	struct header sample;          /* the current one */
	bool in_sample;
	int64_t first_ns, last_ns;
	int64_t period;                /* the largest of the first event */
	uint64_t n_samples;
	struct err *e;
};

/* ---- words ---------------------------------------------------------------- */

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

static struct text trim(struct text t)
{
	while (t.n > 0 && is_blank(t.s[0])) {
		t.s++;
		t.n--;
	}
	while (t.n > 0 && is_blank(t.s[t.n - 1]))
		t.n--;
	return t;
}

/* Removes and returns the first word. */
static struct text next_word(struct text *t)
{
	*t = trim(*t);
	struct text word = { t->s, 0 };
	while (word.n < t->n && !is_blank(t->s[word.n]))
		word.n++;
	t->s += word.n;
	t->n -= word.n;
	return word;
}

/* Removes and returns the last word. */
static struct text last_word(struct text *t)
{
	*t = trim(*t);
	size_t n = 0;
	while (n < t->n && !is_blank(t->s[t->n - 1 - n]))
		n++;
	t->n -= n;
	return (struct text){ t->s + t->n, n };
}

static bool parse_number(struct text t, unsigned base, uint64_t *ret)
{
	uint64_t v = 0;
	for (size_t i = 0; i < t.n; i++) {
		int c = tolower((unsigned char)t.s[i]);
		unsigned digit = isdigit(c) ? (unsigned)(c - '0')
					    : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10 : 99;
		if (digit >= base || __builtin_mul_overflow(v, base, &v) ||
		    __builtin_add_overflow(v, digit, &v))
			return false;
	}
	*ret = v;
	return t.n > 0;
}

static bool parse_positive(struct text t, int64_t *ret)
{
	uint64_t v;
	if (!parse_number(t, 10, &v) || v > INT64_MAX)
		return false;
	*ret = (int64_t)v;
	return true;
}

/* "1234.567890:" */
static bool parse_time(struct text t, int64_t *ret_ns)
{
	const char *dot = memchr(t.s, '.', t.n);
	uint64_t seconds, fraction;
	if (!dot || t.n < 4 || t.s[t.n - 1] != ':')
		return false;
	struct text whole = { t.s, (size_t)(dot - t.s) };
	struct text part = { dot + 1, t.n - 2 - whole.n };
	if (part.n > 9 || !parse_number(whole, 10, &seconds) || !parse_number(part, 10, &fraction))
		return false;
	for (size_t i = part.n; i < 9; i++)
		fraction *= 10;
	if (seconds > INT64_MAX / 1000000000 - 1)
		return false;
	*ret_ns = (int64_t)(seconds * 1000000000 + fraction);
	return true;
}

/* ---- the first line of a sample ------------------------------------------- */

/* "COMM TID [CPU]" */
static bool parse_thread(struct text t, struct header *h)
{
	struct text word = last_word(&t);
	if (word.n > 2 && word.s[0] == '[' && word.s[word.n - 1] == ']')
		word = last_word(&t);
	const char *slash = memchr(word.s, '/', word.n);
	h->pid = -1;
	if (slash) {
		struct text pid = { word.s, (size_t)(slash - word.s) };
		if (!parse_positive(pid, &h->pid))
			return false;
		word = (struct text){ slash + 1, word.n - pid.n - 1 };
	}
	h->comm = trim(t);
	return parse_positive(word, &h->tid);
}

/* "PERIOD EVENT: FRAME" */
static bool parse_event(struct text t, struct header *h)
{
	struct text word = next_word(&t);
	h->period = 0;
	if (parse_positive(word, &h->period))
		word = next_word(&t);
	if (word.n < 2 || word.s[word.n - 1] != ':' || memchr(word.s, '\0', word.n))
		return false;
	h->event = (struct text){ word.s, word.n - 1 };
	h->rest = trim(t);
	return h->event.n < 12 || memcmp(h->event.s, "PERF_RECORD_", 12) != 0;
}

static bool parse_header(struct text line, struct header *h)
{
	if (line.n == 0 || line.s[0] == '\t' || line.s[0] == '#')
		return false;
	for (struct text left = line;;) {
		struct text word = next_word(&left);
		if (word.n == 0)
			return false;
		struct text before = { line.s, (size_t)(word.s - line.s) };
		if (parse_time(word, &h->time_ns) && parse_thread(before, h))
			return parse_event(left, h);
	}
}

static bool next_line(struct text *text, struct text *ret)
{
	if (text->n == 0)
		return false;
	const char *stop = memchr(text->s, '\n', text->n);
	size_t n = stop ? (size_t)(stop - text->s) : text->n;
	*ret = (struct text){ text->s, n };
	text->s += n + (stop != NULL);
	text->n -= n + (stop != NULL);
	return true;
}

bool from_script_is(const char *text, size_t n_bytes)
{
	struct text left = { text, n_bytes }, line;
	struct header h;
	while (next_line(&left, &line))
		if (parse_header(line, &h))
			return true;
	return false;
}

/* ---- events --------------------------------------------------------------- */

/* Without modifiers: "cpu-clock:pppH" is "cpu-clock", while "sched:sched_switch" stays. */
static uint32_t event_name(struct script *x, struct text event)
{
	const char *colon = memrchr(event.s, ':', event.n);
	size_t n = colon ? (size_t)(colon - event.s) : event.n;
	for (size_t i = n + 1; i < event.n; i++)
		if (!strchr("ukhIGHpPSDWeb", event.s[i]))
			n = event.n;
	return strtab_add(&x->from.names, event.s, n > 0 ? n : event.n);
}

static uint32_t find_event(const struct script *x, uint32_t name)
{
	uint32_t i = 0;
	while (i < x->events.n && x->events.v[i] != name)
		i++;
	return i;
}

static int collect_events(struct script *x, struct text left)
{
	struct text line;
	struct header h;
	while (next_line(&left, &line)) {
		if (!parse_header(line, &h))
			continue;
		uint32_t name = event_name(x, h.event);
		if (x->n_samples == 0 || h.time_ns < x->first_ns)
			x->first_ns = h.time_ns;
		if (x->n_samples == 0 || h.time_ns > x->last_ns)
			x->last_ns = h.time_ns;
		x->n_samples++;
		uint32_t event = find_event(x, name);
		if (event == 0 && h.period > x->period)
			x->period = h.period;
		if (event < x->events.n)
			continue;
		if (x->events.n == EVENTS_MAX)
			return err_set(x->e, E2BIG, "more than %d events", EVENTS_MAX);
		if (!name || !VEC_PUSH(&x->events, name))
			return err_errno(x->e, ENOMEM, "cannot hold the profile");
	}
	if (x->n_samples == 0)
		return err_set(x->e, EINVAL, "the text has no samples");
	return 0;
}

static void write_types(struct script *x)
{
	pprof_sample_type(x->from.p, "samples", "count");
	for (size_t i = 0; i < x->events.n; i++) {
		const char *name = strtab_get(&x->from.names, x->events.v[i]);
		bool is_time = strcmp(name, "cpu-clock") == 0 || strcmp(name, "task-clock") == 0;
		bool alone = x->events.n == 1;
		const char *type = is_time && alone ? "cpu" : name;
		pprof_sample_type(x->from.p, type, is_time ? "nanoseconds" : "count");
		if (i > 0)
			continue;
		pprof_default_sample_type(x->from.p, type);
		pprof_period(x->from.p, type, is_time ? "nanoseconds" : "count",
			     x->period ? x->period : 1);
	}
	pprof_times(x->from.p, 0, x->last_ns - x->first_ns);
}

/* ---- frames --------------------------------------------------------------- */

/* Removes and returns "(FILE)" at the end; FILE may contain parentheses. */
static struct text take_file(struct text *t)
{
	*t = trim(*t);
	size_t depth = 0;
	if (t->n == 0 || t->s[t->n - 1] != ')')
		return (struct text){ t->s, 0 };
	for (size_t i = t->n; i-- > 0;) {
		depth += t->s[i] == ')';
		depth -= t->s[i] == '(';
		if (depth > 0)
			continue;
		struct text file = { t->s + i + 1, t->n - i - 2 };
		t->n = i;
		return file;
	}
	return (struct text){ t->s, 0 };
}

static struct text without_offset(struct text symbol)
{
	symbol = trim(symbol);
	for (size_t i = symbol.n; i-- > 0;) {
		if (symbol.s[i] != '+')
			continue;
		struct text digits = { symbol.s + i + 3, symbol.n - i < 3 ? 0 : symbol.n - i - 3 };
		uint64_t v;
		if (i > 0 && digits.n > 0 && memcmp(symbol.s + i, "+0x", 3) == 0 &&
		    parse_number(digits, 16, &v))
			symbol.n = i;
		break;
	}
	return symbol;
}

static bool text_is(struct text t, const char *s)
{
	return t.n == strlen(s) && memcmp(t.s, s, t.n) == 0;
}

static uint32_t intern(struct script *x, struct text t)
{
	return t.n > 0 && !memchr(t.s, '\0', t.n) ? strtab_add(&x->from.names, t.s, t.n) : 0;
}

/* Ignores lines that are not frames.  False: out of memory. */
static bool add_frame(struct script *x, struct text line)
{
	uint64_t address;
	struct text t = line, file = take_file(&t), word = next_word(&t);
	if (file.n == 0 || !parse_number(word, 16, &address))
		return true;
	struct text symbol = without_offset(t);
	uint32_t name = text_is(symbol, "[unknown]") ? 0 : intern(x, symbol);
	if (text_is(file, "inlined"))
		return !name || VEC_PUSH(&x->inlined, name);
	/* Inlined calls whose function is unknown still make a location. */
	if (name && !VEC_PUSH(&x->inlined, name))
		return false;
	uint32_t module = text_is(file, "[unknown]") ? 0 : intern(x, file);
	/* The text does not say where the kernel was linked to. */
	if (address >= KERNEL_MIN)
		address = 0;
	uint64_t id = from_location(&x->from, module, address, x->inlined.v, x->inlined.n);
	x->inlined.n = 0;
	return id && VEC_PUSH(&x->ids, id);
}

static bool close_sample(struct script *x)
{
	struct header *h = &x->sample;
	if (!x->in_sample)
		return true;
	x->in_sample = false;
	if (x->inlined.n > 0) {
		uint64_t id = from_location(&x->from, 0, 0, x->inlined.v, x->inlined.n);
		x->inlined.n = 0;
		if (!id || !VEC_PUSH(&x->ids, id))
			return false;
	}
	int64_t value[1 + EVENTS_MAX] = { 1 };
	value[1 + find_event(x, event_name(x, h->event))] = h->period ? h->period : 1;
	char comm[256], pid[24], tid[24];
	snprintf(pid, sizeof(pid), "%" PRId64, h->pid);
	snprintf(tid, sizeof(tid), "%" PRId64, h->tid);
	snprintf(comm, sizeof(comm), "%.*s", (int)(h->comm.n < 255 ? h->comm.n : 255), h->comm.s);
	struct pprof_label label[3];
	size_t n = 0;
	if (h->pid >= 0)
		label[n++] = (struct pprof_label){ .key = "pid", .str = pid };
	label[n++] = (struct pprof_label){ .key = "tid", .str = tid };
	label[n++] = (struct pprof_label){ .key = "thread_name", .str = comm };
	pprof_sample(x->from.p, x->ids.v, x->ids.n, value, 1 + x->events.n, label, n);
	return true;
}

static int read_samples(struct script *x, struct text left)
{
	struct text line;
	struct header h;
	bool fits = true;
	while (fits && next_line(&left, &line)) {
		if (trim(line).n == 0) {
			fits = close_sample(x);
		} else if (parse_header(line, &h)) {
			fits = close_sample(x);
			x->sample = h;
			x->in_sample = true;
			x->ids.n = 0;
			fits = fits && add_frame(x, h.rest);
		} else if (x->in_sample) {
			fits = add_frame(x, line);
		}
	}
	return fits && close_sample(x) ? 0 : err_errno(x->e, ENOMEM, "cannot hold the profile");
}

static void script_done(struct script *x)
{
	from_done(&x->from);
	VEC_FREE(&x->events);
	VEC_FREE(&x->ids);
	VEC_FREE(&x->inlined);
}

int from_script_read(const char *text, size_t n_bytes, struct model **ret, struct err *e)
{
	CLEANUP(script_done) struct script x = { .e = e };
	int r = from_begin(&x.from, e);
	if (r < 0)
		return r;
	r = collect_events(&x, (struct text){ text, n_bytes });
	if (r < 0)
		return r;
	write_types(&x);
	r = read_samples(&x, (struct text){ text, n_bytes });
	return r < 0 ? r : from_finish(&x.from, ret, e);
}

const struct format from_script = {
	.name = "script",
	.contents = "the text of perf script",
	.read = from_script_read,
};
