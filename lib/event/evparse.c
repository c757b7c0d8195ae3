/*
 * The grammar of -e, as cprof-events(7) gives it:
 *
 *	list      = item { "," item }
 *	item      = event | "{" event { "," event } "}" [ ":" modifiers ]
 *	event     = what [ ":" modifiers ]
 *	          | what "/" [ term { "," term } ] "/" [ [ ":" ] modifiers ]
 *
 * `what` is in evkind.c, terms are in evterm.c; modifiers and groups are here.  The text is walked
 * once, left to right, with an offset into it, so that each error can point at the character that
 * it is about.  Each event is built where it will stay, at the end of the list; on failure
 * the list is cut back to where it was.
 */
#include "event/evparse.h"

#include "base/err.h"
#include "event/evcursor.h"
#include "event/evkind.h"
#include "event/evterm.h"
#include "event/evusdt.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- rates ------------------------------------------------------------------ */

bool evparse_is_time(const char *text)
{
	size_t n = strlen(text);
	return n && text[n - 1] == 's';
}

int evparse_rate(const char *text, bool is_freq, enum evspec_rate *ret_kind, uint64_t *ret_rate,
		 struct err *e)
{
	bool is_time = !is_freq && evparse_is_time(text);
	const char *problem = is_time ? evspec_time_problem(text, ret_rate)
				      : evspec_rate_problem(text, is_freq, ret_kind, ret_rate);
	if (is_time && !problem)
		*ret_kind = EVSPEC_RATE_PERIOD;
	if (!problem)
		return 0;
	char shown[EVCURSOR_SHOWN_MAX + 1];
	evcursor_printable(text, strlen(text), shown);
	return err_set(e, EINVAL, "bad %s '%s': %s", is_freq ? "frequency" : "period", shown,
		       problem);
}

/* ---- modifiers ----------------------------------------------------------------------- */

static const char advice_modifiers[] =
	"modifiers are u (user code), k (kernel code), h (hypervisor), I (not while idle), G "
	"(guests), H (host), p (precise, up to ppp), P (as precise as can be), D (always on the "
	"PMU), W (weak group), S (the group's leader samples)";

enum {
	SIDE_USER = 1, SIDE_KERNEL = 2, SIDE_HV = 4, MOD_IDLE = 8, MOD_GUEST = 16,
	MOD_HOST = 32, MOD_MAX = 64, MOD_PINNED = 128, MOD_WEAK = 256, MOD_SAMPLE = 512,
};

struct modifiers {
	unsigned bits, precise;
	size_t at;             /* their position, for errors */
};

static int read_modifiers(const struct evcursor *p, struct evcursor_span at, struct modifiers *m)
{
	static const char letters[] = "ukhIGHPDWS";
	m->at = at.from;
	if (at.from == at.to)
		return evcursor_complain(p, EINVAL, at.from, advice_modifiers,
					"modifier missing after ':'");
	for (size_t i = at.from; i < at.to; i++) {
		char c = p->text[i];
		const char *letter = c ? strchr(letters, c) : NULL;
		unsigned bit = letter ? 1u << (letter - letters) : 0;
		if (m->bits & bit)
			return evcursor_complain(p, EINVAL, i, advice_modifiers,
						"modifier '%c' is given twice", c);
		if (c == 'p' && m->precise == 3)
			return evcursor_complain(p, EINVAL, i, advice_modifiers,
						"more than three 'p'");
		if (c == 'p')
			m->precise++;
		else if (bit)
			m->bits |= bit;
		else if (c == '/')
			return evcursor_complain(p, EINVAL, i, "write 'cycles/period=100003/u'",
						"terms in slashes come before the modifiers");
		else if (c >= ' ' && c <= '~')
			return evcursor_complain(p, EINVAL, i, advice_modifiers,
						"unknown modifier '%c'", c);
		else
			return evcursor_complain(p, EINVAL, i, advice_modifiers,
						"unknown modifier 0x%02x", (unsigned char)c);
	}
	if (m->precise && m->bits & MOD_MAX)
		return evcursor_complain(p, EINVAL, at.from, advice_modifiers,
					"'p' and 'P' exclude each other");
	if (m->bits & MOD_WEAK && m->bits & MOD_SAMPLE)
		return evcursor_complain(p, EINVAL, at.from, advice_modifiers,
					"'W' and 'S' exclude each other: a group that samples as "
					"one cannot be broken up");
	return 0;
}

/* From p->at up to the end of the event. */
static struct evcursor_span modifiers_here(const struct evcursor *p)
{
	struct evcursor_span at = { p->at, p->at + strcspn(p->text + p->at, ",{}") };
	return at;
}

static bool is_pmu_event(const struct evspec *s)
{
	return s->kind == EVSPEC_COUNTER && s->type != PERF_TYPE_SOFTWARE;
}

static int check_user(const struct evcursor *p, size_t at, const char *remedy,
		      const struct evspec *s)
{
	if (!s->only_user || !evspec_in_kernel(s))
		return 0;
	return evcursor_complain(p, EINVAL, at, remedy, "'%s' happens inside the kernel: with 'u' "
				 "there is never a sample", s->name);
}

static int set_modifiers(const struct evcursor *p, const struct modifiers *m, struct evspec *s)
{
	unsigned b = m->bits;
	bool precise = m->precise || b & MOD_MAX;
	if (precise && !is_pmu_event(s))
		return evcursor_complain(p, EINVAL, m->at, "", "modifier '%c' has no meaning for "
					"'%s': only a PMU can be precise",
					m->precise ? 'p' : 'P', s->name);
	if (b & (SIDE_USER | SIDE_KERNEL | SIDE_HV)) {
		s->only_user = !(b & SIDE_KERNEL);
		s->only_kernel = !(b & SIDE_USER);
		s->with_hv = b & SIDE_HV;
	}
	if (precise) {
		s->precise_max = b & MOD_MAX;
		s->precise_ip = s->precise_max ? 3 : (uint8_t)m->precise;
	}
	s->no_idle |= (b & MOD_IDLE) != 0;
	if (b & MOD_GUEST) {
		s->with_guests = true;
		s->no_host = !(b & MOD_HOST);
	}
	s->pinned |= (b & MOD_PINNED) != 0;
	return check_user(p, m->at, "leave out ':u'", s);
}

/* The name ends with the modifiers in effect, in the order of the manual. */
static void append_modifiers(struct evspec *s)
{
	char text[16];
	size_t n = strlen(s->name), k = 0;
	s->n_plain = (uint16_t)n;
	if (s->only_user || s->only_kernel || s->with_hv) {
		if (!s->only_kernel)
			text[k++] = 'u';
		if (!s->only_user)
			text[k++] = 'k';
		if (s->with_hv)
			text[k++] = 'h';
	}
	if (s->no_idle)
		text[k++] = 'I';
	if (s->with_guests) {
		text[k++] = 'G';
		if (!s->no_host)
			text[k++] = 'H';
	}
	if (s->precise_max)
		text[k++] = 'P';
	for (unsigned i = 0; !s->precise_max && i < s->precise_ip; i++)
		text[k++] = 'p';
	if (s->pinned)
		text[k++] = 'D';
	if (!k)
		return;
	if (n > sizeof(s->name) - 2 - k)
		s->n_plain = (uint16_t)(n = sizeof(s->name) - 2 - k);
	snprintf(s->name + n, sizeof(s->name) - n, ":%.*s", (int)k, text);
}

/* ---- one event ------------------------------------------------------------------------- */

static bool is_end(char c)
{
	return c == '\0' || c == ',' || c == '}';
}

/* With a single variant the name of its PMU distinguishes nothing. */
static void forget_lone_pmu(struct evcursor *p)
{
	if (p->l->n == p->first + 1)
		p->l->v[p->first].pmu[0] = '\0';
}

static int parse_event(struct evcursor *p, bool in_group)
{
	size_t begin = p->at;
	p->first = p->l->n;
	p->pmu_of.n = 0;
	p->is_pmu = p->named = false;
	int r = evkind_parse(p);
	if (r < 0)
		return r;
	bool has_terms = p->text[p->at] == '/';
	if (has_terms) {
		r = evterm_parse(p);
		if (r == 0)
			r = evusdt_check(p, &p->l->v[p->first]);
		if (r < 0)
			return r;
	}
	forget_lone_pmu(p);
	bool colon = p->text[p->at] == ':';
	if (colon)
		p->at++;
	if (colon || (has_terms && !is_end(p->text[p->at]))) {
		struct modifiers m = { 0 };
		struct evcursor_span at = modifiers_here(p);
		r = read_modifiers(p, at, &m);
		if (r < 0)
			return r;
		if (m.bits & (MOD_WEAK | MOD_SAMPLE))
			return evcursor_complain(p, EINVAL, at.from,
						 "write '{cycles,instructions}:S'",
						 "'W' and 'S' are modifiers of groups");
		for (size_t i = p->first; i < p->l->n; i++) {
			r = set_modifiers(p, &m, &p->l->v[i]);
			if (r < 0)
				return r;
		}
		p->at = at.to;
	}
	if (!is_end(p->text[p->at]) || (p->text[p->at] == '}' && !in_group)) {
		char shown = p->text[p->at];
		return evcursor_complain(p, EINVAL, p->at, "", "unexpected '%c' after '%.*s'",
					shown >= ' ' && shown <= '~' ? shown : '?',
					(int)(p->at - begin > 60 ? 60 : p->at - begin),
					p->text + begin);
	}
	/* Names of libpfm4 have modifiers of their own, as in "cs.u". */
	for (size_t i = p->first; i < p->l->n; i++) {
		r = check_user(p, begin, "leave out 'u'", &p->l->v[i]);
		if (r < 0)
			return r;
	}
	p->l->n_outputs++;
	return 0;
}

/* ---- groups ------------------------------------------------------------------------------ */

/* A copy that owns its strings; false: no memory. */
static bool copy_spec(const struct evspec *from, struct evspec *to)
{
	*to = *from;
	to->cpus = from->cpus ? strdup(from->cpus) : NULL;
	to->path = from->path ? strdup(from->path) : NULL;
	if ((!to->cpus && from->cpus) || (!to->path && from->path)) {
		evspec_done(to);
		return false;
	}
	return true;
}

/* Adds the member of output `output` that belongs into the group on one of several PMUs: the
 * variant of this PMU, or one without a PMU, which is then restricted to the CPUs of this PMU. */
static bool add_member(const struct evspec *v, size_t n, uint32_t output,
		       const struct evspec *like, struct evspec_list *to)
{
	for (size_t i = 0; i < n; i++) {
		if (v[i].output != output ||
		    (v[i].pmu[0] && strcmp(v[i].pmu, like->pmu) != 0))
			continue;
		struct evspec *s = evcursor_append(to);
		if (!s)
			return false;
		if (!copy_spec(&v[i], s)) {
			to->n--;
			return false;
		}
		if (!s->pmu[0]) {
			snprintf(s->pmu, sizeof(s->pmu), "%s", like->pmu);
			free(s->cpus);
			s->cpus = like->cpus ? strdup(like->cpus) : NULL;
		}
		s->group = like->group;
		return true;
	}
	return true;
}

/*
 * Events of several PMUs cannot be in one group: on a hybrid machine a group becomes one for each
 * kind of core, with its variants.
 */
static int split_group(struct evcursor *p, size_t begin, uint32_t first_output)
{
	struct evspec_list *l = p->l, split = { 0 };
	size_t n = l->n - begin;
	const struct evspec *v = l->v + begin;
	bool ok = true;
	for (size_t i = 0; ok && i < n; i++) {
		bool seen = !v[i].pmu[0];
		for (size_t k = 0; k < i; k++)
			seen |= strcmp(v[k].pmu, v[i].pmu) == 0;
		if (seen)
			continue;
		struct evspec like = v[i];
		like.group = ++l->n_groups;
		for (uint32_t output = first_output; ok && output < l->n_outputs; output++)
			ok = add_member(v, n, output, &like, &split);
	}
	if (!ok || !split.n) {
		evspec_list_done(&split);
		return ok ? 0 : err_errno(p->e, ENOMEM, "cannot store a group");
	}
	/* Each variant is in the group of its PMU, and one without a PMU in all groups, so split.n
	 * >= n as long as an event has one variant per PMU.  Otherwise the array keeps its size, as
	 * the loop below frees all n. */
	if (split.n > n && !VEC_RESERVE(l, split.n - n)) {
		evspec_list_done(&split);
		return err_errno(p->e, ENOMEM, "cannot store a group");
	}
	for (size_t i = 0; i < n; i++)
		evspec_done(&l->v[begin + i]);
	memcpy(l->v + begin, split.v, split.n * sizeof(*split.v));
	free(split.v);
	l->n = begin + split.n;
	return 0;
}

static int set_group(struct evcursor *p, size_t begin, uint32_t first_output,
		     const struct modifiers *m)
{
	struct evspec_list *l = p->l;
	bool several = false;
	for (size_t i = begin; i < l->n; i++) {
		struct evspec *s = &l->v[i];
		struct modifiers own = *m;
		if (s->waiting || s->usdt)
			return evcursor_complain(p, EINVAL, m->at, "write it outside of the braces",
						"'%s' cannot be in a group", s->name);
		/* A group is pinned as a whole, by its leader. */
		if (s->output != first_output)
			own.bits &= ~(unsigned)MOD_PINNED;
		s->weak = m->bits & MOD_WEAK;
		s->group_sample = m->bits & MOD_SAMPLE;
		several |= s->pmu[0] != '\0';
		if (!is_pmu_event(s)) {
			own.precise = 0;
			own.bits &= ~(unsigned)MOD_MAX;
		}
		int r = own.bits || own.precise ? set_modifiers(p, &own, s) : 0;
		if (r < 0)
			return r;
		if (s->group_sample && s->output != first_output &&
		    s->rate_kind != EVSPEC_RATE_DEFAULT)
			return evcursor_complain(p, EINVAL, m->at, "give the rate to the first",
						 "'%s' has a rate of its own, but only the first "
						 "of a group with 'S' samples", s->name);
	}
	if (several)
		return split_group(p, begin, first_output);
	l->n_groups++;
	for (size_t i = begin; i < l->n; i++)
		l->v[i].group = l->n_groups;
	return 0;
}

static int parse_group(struct evcursor *p)
{
	size_t open = p->at++, begin = p->l->n;
	uint32_t first_output = p->l->n_outputs;
	struct modifiers m = { 0 };
	for (;;) {
		if (p->text[p->at] == '{')
			return evcursor_complain(p, EINVAL, p->at, "", "a group within a group");
		int r = parse_event(p, true);
		if (r < 0)
			return r;
		char c = p->text[p->at];
		if (c == '\0')
			return evcursor_complain(p, EINVAL, open, "", "'{' is never closed");
		p->at++;
		if (c == '}')
			break;
	}
	m.at = p->at;
	if (p->text[p->at] == ':') {
		p->at++;
		struct evcursor_span at = modifiers_here(p);
		int r = read_modifiers(p, at, &m);
		if (r < 0)
			return r;
		p->at = at.to;
	}
	if (p->text[p->at] && p->text[p->at] != ',')
		return evcursor_complain(p, EINVAL, p->at, "write '{cycles,instructions}:u'",
					"a group is followed by ':' and modifiers, or by ','");
	return set_group(p, begin, first_output, &m);
}

/* ---- the list ------------------------------------------------------------------- */

/* Two events whose files would have the same name are the same event to the user. */
static bool is_twice(const struct evspec_list *l, size_t at)
{
	char part[EVSPEC_NAME_MAX], other[EVSPEC_NAME_MAX];
	evspec_file_part(&l->v[at], part);
	for (size_t i = 0; i < at; i++) {
		evspec_file_part(&l->v[i], other);
		if (l->v[i].output != l->v[at].output && strcmp(part, other) == 0)
			return true;
	}
	return false;
}

static int finish_item(struct evcursor *p, size_t begin, size_t at)
{
	for (size_t i = begin; i < p->l->n; i++)
		append_modifiers(&p->l->v[i]);
	for (size_t i = begin; i < p->l->n; i++)
		if (is_twice(p->l, i))
			return evcursor_complain(p, EINVAL, at,
						"give one of them a name of its own: "
						"'cycles/name=other,period=100003/'",
						"event '%s' is given twice", p->l->v[i].name);
	return 0;
}

static void cut_back(struct evspec_list *l, const struct evspec_list *before)
{
	while (l->n > before->n)
		evspec_done(&l->v[--l->n]);
	l->n_outputs = before->n_outputs;
	l->n_groups = before->n_groups;
}

int evparse_list(struct evspec_list *l, const struct host *h, const char *text, struct err *e)
{
	struct evcursor p = { .text = text, .host = h, .l = l, .e = e };
	const struct evspec_list before = *l;
	int r;
	for (;;) {
		size_t at = p.at, begin = l->n;
		r = text[at] == '{' ? parse_group(&p) : parse_event(&p, false);
		if (r < 0)
			break;
		r = finish_item(&p, begin, at);
		if (r < 0 || !text[p.at])
			break;
		p.at++;
	}
	if (r < 0)
		cut_back(l, &before);
	evpmu_list_done(&p.pmus);
	VEC_FREE(&p.pmu_of);
	return r;
}
