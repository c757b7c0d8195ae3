/* See evcursor.h. */
#include "event/evcursor.h"

#include "base/err.h"
#include "base/units.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NUMBER_BYTES_MAX 32

void evcursor_printable(const char *s, size_t n, char ret[EVCURSOR_SHOWN_MAX + 1])
{
	if (n > EVCURSOR_SHOWN_MAX)
		n = EVCURSOR_SHOWN_MAX;
	for (size_t i = 0; i < n; i++)
		ret[i] = s[i] >= ' ' && s[i] <= '~' ? s[i] : '?';
	ret[n] = '\0';
}

const char *evcursor_shown(const struct evcursor *p, struct evcursor_span at,
			  char buf[EVCURSOR_SHOWN_MAX + 1])
{
	evcursor_printable(p->text + at.from, at.to - at.from, buf);
	return buf;
}

int evcursor_complain(const struct evcursor *p, int errnum, size_t at, const char *advice,
		     const char *fmt, ...)
{
	char what[512], text[EVCURSOR_SHOWN_MAX + 1];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	size_t n = strlen(p->text);
	evcursor_printable(p->text, n, text);
	int r = at ? err_set(p->e, errnum, "%s, at character %zu of '%s'", what, at + 1, text)
		      : err_set(p->e, errnum, "%s", what);
	if (n && n <= EVCURSOR_SHOWN_MAX)
		err_hint(p->e, "%s\n%*s^%s%s", text, (int)at, "", *advice ? "\n" : "", advice);
	else
		err_hint(p->e, "%s", advice);
	return r;
}

bool evcursor_number(struct evcursor *p, const char *ends, uint64_t *ret)
{
	char text[NUMBER_BYTES_MAX];
	size_t n = strcspn(p->text + p->at, ends);
	if (n == 0 || n >= sizeof(text))
		return false;
	memcpy(text, p->text + p->at, n);
	text[n] = '\0';
	if (units_parse_u64(text, ret) < 0)
		return false;
	p->at += n;
	return true;
}

bool evcursor_is_modifiers(const char *text)
{
	size_t n = strcspn(text, ",{}");
	return n <= 4 && strspn(text, "ukhIGHpPDWS") == n;
}

struct evspec *evcursor_append(struct evspec_list *l)
{
	return VEC_PUSH(l, ((struct evspec){ .output = l->n_outputs })) ? &l->v[l->n - 1] : NULL;
}

struct evspec *evcursor_add(struct evcursor *p, const struct evpmu *pmu, struct evcursor_span name)
{
	struct evspec *s = evcursor_append(p->l);
	if (!s || !VEC_PUSH(&p->pmu_of, pmu)) {
		if (s)
			p->l->n--;
		err_errno(p->e, ENOMEM, "cannot store an event");
		return NULL;
	}
	snprintf(s->name, sizeof(s->name), "%.*s", (int)(name.to - name.from),
		 p->text + name.from);
	if (!pmu)
		return s;
	s->type = pmu->type;
	snprintf(s->pmu, sizeof(s->pmu), "%s", pmu->name);
	s->cpus = pmu->cpus ? strdup(pmu->cpus) : NULL;
	return s;
}

int evcursor_need_pmus(struct evcursor *p)
{
	int r = p->has_pmus || !p->host ? 0 : evpmu_list(p->host, &p->pmus);
	if (r < 0)
		return err_errno(p->e, -r, "cannot list PMUs");
	p->has_pmus = true;
	return 0;
}
