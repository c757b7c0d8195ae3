/*
 * Terms in slashes.  Those of every event (period, freq, name, call-graph, stack-size) come first;
 * all others are for events of a PMU: config words, the fields in the PMU's format folder, the
 * names in its events folder, which stand for terms themselves, and rHEX.
 *
 * If a name means several PMUs, those that know all the terms remain: on a hybrid machine
 * 'cpu/topdown-retiring/' is an event of the kind of core that has it.
 */
#include "event/evterm.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "base/units.h"
#include "event/evcursor.h"
#include "event/evusdt.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define NAME_TERM_MAX 63         /* leaves room for modifiers in EVSPEC_NAME_MAX */
#define NUMBER_BYTES_MAX 32
#define STACK_BYTES_MAX 65528u   /* perf_event_open(2): a record's size is a 16-bit number */

static const char advice_terms[] =
	"terms are period=N, freq=HZ, freq=max, name=WORD, call-graph=dwarf|fp|no, stack-size=N; "
	"page faults have unit=bytes, USDT probes value=argN, label=argN and unit=; "
	"other fields of a PMU event are written cpu/FIELD=N/, or go into a raw code rHEX";

/* ---- terms of every event --------------------------------------------------------------- */

/* A period of waits is a time; a clock among them has the same. */
static const char *quantum_problem(const char *text, struct evspec *s)
{
	const char *problem = evspec_time_problem(text, &s->quantum_ns);
	if (!problem && s->is_clock) {
		s->rate_kind = EVSPEC_RATE_PERIOD;
		s->rate = s->quantum_ns;
	}
	return problem;
}

static int rate_term(const struct evcursor *p, struct evcursor_span value, bool is_freq,
		     struct evspec *s)
{
	char text[NUMBER_BYTES_MAX], shown[EVCURSOR_SHOWN_MAX + 1];
	size_t n = value.to - value.from;
	evcursor_shown(p, value, shown);
	const char *what = is_freq ? "frequency" : "period", *problem = NULL;
	if (s->waiting && is_freq)
		return evcursor_complain(p, EINVAL, value.from, "write 'period=1ms' for quanta",
					"'%s' takes no rate: it measures every wait", s->name);
	if (s->waiting ? s->quantum_ns != 0 : s->rate_kind != EVSPEC_RATE_DEFAULT)
		return evcursor_complain(p, EINVAL, value.from,
					"give one of period= and freq=, once", "second rate '%s'",
					shown);
	if (n >= sizeof(text)) {
		problem = "too long for a number";
	} else {
		memcpy(text, p->text + value.from, n);
		text[n] = '\0';
		problem = s->waiting ? quantum_problem(text, s)
				     : evspec_rate_problem(text, is_freq, &s->rate_kind, &s->rate);
	}
	return problem ? evcursor_complain(p, EINVAL, value.from, "", "bad %s '%s': %s", what,
					   shown,
					  problem) : 0;
}

static int name_term(struct evcursor *p, struct evcursor_span value, struct evspec *s)
{
	const char *name = p->text + value.from;
	size_t n = value.to - value.from;
	if (p->named)
		return evcursor_complain(p, EINVAL, value.from, "", "second name for one event");
	if (n == 0)
		return evcursor_complain(p, EINVAL, value.from, "", "name missing after 'name='");
	if (n > NAME_TERM_MAX)
		return evcursor_complain(p, EINVAL, value.from, "",
					"name is longer than %d characters", NAME_TERM_MAX);
	for (size_t i = 0; i < n; i++)
		if (!isascii((unsigned char)name[i]) ||
		    (!isalnum((unsigned char)name[i]) && !strchr("_.-", name[i])))
			return evcursor_complain(p, EINVAL, value.from + i,
						"names are made of A-Z a-z 0-9 _ . -",
						"bad character in name");
	/* The name becomes the sample type next to "samples", which every profile has. */
	if (n == 7 && strncasecmp(name, "samples", n) == 0)
		return evcursor_complain(p, EINVAL, value.from, "",
					"the name 'samples' is taken in every profile");
	snprintf(s->name, sizeof(s->name), "%.*s", (int)n, name);
	return 0;
}

static int callgraph_term(const struct evcursor *p, struct evcursor_span value, struct evspec *s)
{
	static const struct { const char *word; enum evspec_callgraph kind; } words[] = {
		{ "no", EVSPEC_CALLGRAPH_NONE }, { "none", EVSPEC_CALLGRAPH_NONE },
		{ "fp", EVSPEC_CALLGRAPH_FP }, { "dwarf", EVSPEC_CALLGRAPH_DWARF },
	};
	char shown[EVCURSOR_SHOWN_MAX + 1];
	evcursor_shown(p, value, shown);
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
		if (strcmp(words[i].word, shown) != 0)
			continue;
		s->callgraph = words[i].kind;
		return 0;
	}
	return evcursor_complain(p, EINVAL, value.from, "it is one of dwarf, fp, no",
				"bad call-graph '%s'", shown);
}

static int stack_term(const struct evcursor *p, struct evcursor_span value, struct evspec *s)
{
	char text[NUMBER_BYTES_MAX], shown[EVCURSOR_SHOWN_MAX + 1];
	uint64_t n = 0;
	snprintf(text, sizeof(text), "%.*s", (int)(value.to - value.from), p->text + value.from);
	if (value.to - value.from >= sizeof(text) || units_parse_size(text, &n) < 0 || n == 0 ||
	    n % 8 || n > STACK_BYTES_MAX)
		return evcursor_complain(p, EINVAL, value.from, "", "bad stack-size '%s': it must "
					"be a multiple of 8, at most %u",
					evcursor_shown(p, value, shown), STACK_BYTES_MAX);
	s->stack_bytes = (uint32_t)n;
	return 0;
}

static int unit_term(const struct evcursor *p, struct evcursor_span value, struct evspec *s)
{
	char shown[EVCURSOR_SHOWN_MAX + 1];
	evcursor_shown(p, value, shown);
	if (strcmp(shown, "bytes") != 0)
		return evcursor_complain(p, EINVAL, value.from, "it is bytes", "bad unit '%s'",
					shown);
	if (!evspec_use_bytes(s))
		return evcursor_complain(p, EINVAL, value.from, "page-faults can: see --growth",
					"'%s' cannot be counted in bytes", s->name);
	return 0;
}

struct term {
	const char *text;            /* what key and value are offsets into: the user's text, or
				      * sysfs' */
	struct evcursor_span key, value;
	bool has_value;
	size_t at;                   /* where the user wrote it */
};

static bool key_is(const struct term *t, const char *word)
{
	size_t n = t->key.to - t->key.from;
	return n == strlen(word) && memcmp(t->text + t->key.from, word, n) == 0;
}

/* 1 if it was one of these, 0 if not, or -errno. */
static int common_term(struct evcursor *p, const struct term *t, struct evspec *s)
{
	int r = 0;
	if (!t->has_value)
		return 0;
	if (s->usdt)
		r = evusdt_term(p, t->key, t->value, s);
	if (r)
		return r;
	if (key_is(t, "period"))
		r = rate_term(p, t->value, false, s);
	else if (key_is(t, "freq"))
		r = rate_term(p, t->value, true, s);
	else if (key_is(t, "name"))
		r = name_term(p, t->value, s);
	else if (key_is(t, "call-graph"))
		r = callgraph_term(p, t->value, s);
	else if (key_is(t, "stack-size"))
		r = stack_term(p, t->value, s);
	else if (key_is(t, "unit") && !p->is_pmu)
		r = unit_term(p, t->value, s);
	else
		return 0;
	return r < 0 ? r : 1;
}

/* ---- terms of a PMU ---------------------------------------------------------------------- */

static bool read_number(const struct term *t, uint64_t *ret)
{
	char text[NUMBER_BYTES_MAX];
	size_t n = t->value.to - t->value.from;
	if (!t->has_value) {
		*ret = 1;
		return true;
	}
	if (n >= sizeof(text))
		return false;
	memcpy(text, t->text + t->value.from, n);
	text[n] = '\0';
	return units_parse_u64(text, ret) == 0;
}

static void put_config(struct evspec *s, const uint64_t config[4])
{
	s->config = config[0];
	s->config1 = config[1];
	s->config2 = config[2];
	s->config3 = config[3];
}

static int bad_number(const struct evcursor *p, const struct term *t)
{
	return evcursor_complain(p, EINVAL, t->at, "numbers are decimal, or hexadecimal with 0x",
				"'%.*s' is not a number",
				t->value.to - t->value.from > 60
					? 60 : (int)(t->value.to - t->value.from),
				t->text + t->value.from);
}

/* "config".."config3" and fields of the format folder; -ENOENT without a message for others. */
static int number_term(const struct evcursor *p, const struct term *t, const struct evpmu *pmu,
		       struct evspec *s)
{
	static const char *const words[] = { "config", "config1", "config2", "config3" };
	struct evpmu_bits bits = { 0, 0 };
	uint64_t config[4] = { s->config, s->config1, s->config2, s->config3 }, value;
	size_t n = t->key.to - t->key.from;
	int r = evpmu_format(p->host, pmu, t->text + t->key.from, n, &bits);
	for (unsigned i = 0; r < 0 && t->has_value && i < 4; i++) {
		if (!key_is(t, words[i]))
			continue;
		bits = (struct evpmu_bits){ i, ~UINT64_C(0) };
		r = 0;
	}
	if (r == -EINVAL)
		return evcursor_complain(p, EINVAL, t->at, "", "the kernel's format of '%.*s' is "
					"not understood", (int)n, t->text + t->key.from);
	if (r < 0)
		return r;
	if (!read_number(t, &value))
		return bad_number(p, t);
	if (!evpmu_spread(&bits, value, config))
		return evcursor_complain(p, EINVAL, t->at, "", "%llu is too large: '%.*s' of PMU "
					"'%s' has %d bits", (unsigned long long)value, (int)n,
					t->text + t->key.from, pmu->name,
					__builtin_popcountll(bits.mask));
	put_config(s, config);
	return 0;
}

/* "r1a8": the PMU's config in hexadecimal. */
static bool raw_term(const struct term *t, struct evspec *s)
{
	size_t n = t->key.to - t->key.from;
	char text[20];
	if (t->has_value || n < 2 || n > 17 || t->text[t->key.from] != 'r')
		return false;
	snprintf(text, sizeof(text), "%.*s", (int)(n - 1), t->text + t->key.from + 1);
	if (strspn(text, "0123456789abcdefABCDEF") != n - 1)
		return false;
	s->config = strtoull(text, NULL, 16);
	return true;
}

static size_t take_term(const char *text, size_t i, size_t end, struct term *t);

int evterm_apply_event(struct evcursor *p, size_t variant, const struct evpmu_event *ev, size_t at)
{
	struct evspec *s = &p->l->v[variant];
	const struct evpmu *pmu = p->pmu_of.v[variant - p->first];
	size_t n = strlen(ev->terms);
	for (size_t i = 0; i < n;) {
		struct term t;
		i = take_term(ev->terms, i, n, &t);
		t.at = at;
		/* "?" must be given by the user, in a term after the event's
		 * name. */
		if (t.has_value && ev->terms[t.value.from] == '?')
			continue;
		int r = number_term(p, &t, pmu, s);
		if (r == -ENOENT)
			r = evcursor_complain(p, EINVAL, at, "", "the kernel's description '%s' is "
					     "not understood", ev->terms);
		if (r < 0)
			return r;
	}
	s->scale = ev->scale;
	memcpy(s->unit, ev->unit, sizeof(s->unit));
	return 0;
}

/* Applies a term to one variant; -ENOENT without a message if its PMU does not know it. */
static int pmu_term(struct evcursor *p, const struct term *t, size_t variant)
{
	const struct evpmu *pmu = p->pmu_of.v[variant - p->first];
	if (!pmu)
		return -ENOENT;
	int r = number_term(p, t, pmu, &p->l->v[variant]);
	if (r != -ENOENT || t->has_value)
		return r;
	struct evpmu_event ev;
	if (evpmu_event(p->host, pmu, t->text + t->key.from, t->key.to - t->key.from, &ev) == 0) {
		r = evterm_apply_event(p, variant, &ev, t->at);
		free(ev.terms);
		return r;
	}
	return raw_term(t, &p->l->v[variant]) ? 0 : -ENOENT;
}

static void drop_variant(struct evcursor *p, size_t variant)
{
	struct evspec_list *l = p->l;
	size_t i = variant - p->first;
	evspec_done(&l->v[variant]);
	memmove(&l->v[variant], &l->v[variant + 1], (l->n - variant - 1) * sizeof(*l->v));
	memmove(&p->pmu_of.v[i], &p->pmu_of.v[i + 1],
		(p->pmu_of.n - i - 1) * sizeof(*p->pmu_of.v));
	l->n--;
	p->pmu_of.n--;
}

static int unknown_term(const struct evcursor *p, const struct term *t, struct evcursor_span whole)
{
	char shown[EVCURSOR_SHOWN_MAX + 1], advice[400];
	const struct evpmu *pmu = p->is_pmu ? p->pmu_of.v[0] : NULL;
	evcursor_shown(p, whole, shown);
	if (!pmu)
		return evcursor_complain(p, EINVAL, t->at, advice_terms, "unknown term '%s'",
					 shown);
	CLEANUP_FREE char *fields = evpmu_names(p->host, pmu, "format");
	for (char *c = fields; c && *c; c++)
		if (*c == '\n')
			*c = ' ';
	snprintf(advice, sizeof(advice), "its fields are: %.300s; 'cprof list --pmu=%.40s' shows "
		 "its events", fields && *fields ? fields : "config config1 config2 config3",
		 pmu->name);
	return evcursor_complain(p, ENOENT, t->at, advice, "PMU '%s' has no event or field '%s'",
				pmu->name, shown);
}

/* Applies a term to all variants, and drops those that do not know it. */
static int apply_term(struct evcursor *p, const struct term *t, struct evcursor_span whole)
{
	size_t n_known = 0, i = p->first;
	for (; i < p->l->n; i++) {
		int r = common_term(p, t, &p->l->v[i]);
		if (r < 0)
			return r;
		if (r == 0)
			break;
	}
	if (i == p->l->n) {
		p->named |= key_is(t, "name");
		return 0;
	}
	if (!p->is_pmu)
		return unknown_term(p, t, whole);
	CLEANUP_FREE bool *knows = calloc(p->l->n - p->first, sizeof(*knows));
	if (!knows)
		return err_errno(p->e, ENOMEM, "cannot parse an event");
	for (i = p->first; i < p->l->n; i++) {
		int r = pmu_term(p, t, i);
		if (r < 0 && r != -ENOENT)
			return r;
		knows[i - p->first] = r == 0;
		n_known += r == 0;
	}
	if (!n_known)
		return unknown_term(p, t, whole);
	for (i = p->l->n; i-- > p->first;)
		if (!knows[i - p->first])
			drop_variant(p, i);
	return 0;
}

/* ---- all terms ------------------------------------------------------------------------------ */

/* Splits off the term at i; returns the position of the next one. */
static size_t take_term(const char *text, size_t i, size_t end, struct term *t)
{
	size_t to = i;
	while (to < end && text[to] != ',')
		to++;
	size_t eq = i;
	while (eq < to && text[eq] != '=')
		eq++;
	*t = (struct term){ .text = text, .key = { i, eq }, .at = i, .has_value = eq < to,
			    .value = { eq < to ? eq + 1 : to, to } };
	return to < end ? to + 1 : to;
}

/* The name keeps the terms that define the event, without those that only say how it is sampled. */
static void name_by_terms(struct evcursor *p, size_t open, size_t end)
{
	char name[EVSPEC_NAME_MAX];
	struct evspec *s = &p->l->v[p->first];
	int n = snprintf(name, sizeof(name), "%.*s/", (int)(sizeof(name) - 8), s->name);
	for (size_t i = open + 1; i < end;) {
		static const char *const others[] = { "period", "freq", "name", "call-graph",
						      "stack-size", "unit" };
		struct term t;
		bool passed = false;
		size_t next = take_term(p->text, i, end, &t);
		for (size_t k = 0; k < sizeof(others) / sizeof(*others); k++)
			passed |= t.has_value && key_is(&t, others[k]);
		if (!passed && n < (int)sizeof(name) - 4)
			n += snprintf(name + n, sizeof(name) - (size_t)n - 3, "%s%.*s",
				      name[n - 1] == '/' ? "" : ",", (int)(t.value.to - t.key.from),
				      p->text + t.key.from);
		if (n > (int)sizeof(name) - 4)
			n = (int)sizeof(name) - 4;
		i = next;
	}
	name[n++] = '/';
	name[n] = '\0';
	for (char *c = name; *c; c++)
		if (*c < ' ' || *c > '~')
			*c = '?';
	for (size_t i = p->first; i < p->l->n; i++)
		memcpy(p->l->v[i].name, name, sizeof(name));
}

int evterm_parse(struct evcursor *p)
{
	size_t open = p->at, end = open + 1;
	while (p->text[end] && p->text[end] != '/')
		end++;
	if (!p->text[end])
		return evcursor_complain(p, EINVAL, open, "", "'/' is never closed");
	bool is_empty = end == open + 1;
	for (size_t i = open + 1; !(is_empty && p->is_pmu) && i <= end;) {
		struct term t;
		size_t next = take_term(p->text, i, end, &t);
		struct evcursor_span whole = { i, t.value.to };
		if (whole.to == i)
			return evcursor_complain(p, EINVAL, i, advice_terms, "empty term");
		int r = apply_term(p, &t, whole);
		if (r < 0)
			return r;
		/* A comma at the end is followed by an empty term. */
		if (next == end && p->text[end - 1] != ',')
			break;
		i = next;
	}
	if (p->is_pmu && !p->named)
		name_by_terms(p, open, end);
	p->at = end + 1;
	return 0;
}
