#include "proc/refused.h"

#include "base/err.h"
#include "base/units.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Of one reason; further processes are not counted. */
#define PIDS_MAX 4096u

void refused_done(struct refused *r)
{
	for (size_t i = 0; i <= REFUSED_REASONS; i++)
		VEC_FREE(&r->reason[i].pid);
}

/* Its index; the number of all: it has none. */
static size_t find_pid(const struct refused_reason *x, uint32_t pid)
{
	size_t i = 0;
	while (i < x->pid.n && x->pid.v[i] != pid)
		i++;
	return i;
}

/* That reason, a free place for it, or the one for all others. */
static struct refused_reason *find(struct refused *r, const char *reason)
{
	struct refused_reason *x = r->reason;
	for (; x < r->reason + REFUSED_REASONS && *x->text; x++)
		if (strncmp(x->text, reason, sizeof(x->text) - 1) == 0)
			break;
	return x;
}

static size_t print_reason(const struct refused_reason *x, bool is_first, char *to,
			   size_t n_bytes)
{
	char others[40] = "";
	size_t n = x->pid.n;
	if (n > 1)
		snprintf(others, sizeof(others), " and %zu other%s", n - 1, units_s(n - 1));
	int k = snprintf(to, n_bytes, "%sprocess %u%s: %s", is_first ? "" : "; ", x->pid.v[0],
			 others, *x->text ? x->text : "other reasons");
	return (size_t)k < n_bytes ? (size_t)k : n_bytes - 1;
}

static void print_line(struct refused *r)
{
	size_t at = 0;
	*r->line = '\0';
	r->n_changes++;
	for (size_t i = 0; i <= REFUSED_REASONS; i++)
		if (r->reason[i].pid.n)
			at += print_reason(&r->reason[i], at == 0, r->line + at,
					   sizeof(r->line) - at);
}

void refused_add(struct refused *r, uint32_t pid, const char *reason)
{
	struct refused_reason *x = find(r, reason);
	if (find_pid(x, pid) < x->pid.n || x->pid.n == PIDS_MAX || !VEC_PUSH(&x->pid, pid))
		return;
	if (x < r->reason + REFUSED_REASONS)
		snprintf(x->text, sizeof(x->text), "%s", reason);
	print_line(r);
}

void refused_add_err(struct refused *r, uint32_t pid, const struct err *e)
{
	char reason[sizeof(r->reason->text)];
	bool has_hint = *e->hint;
	snprintf(reason, sizeof(reason), "%.120s%s%.160s", e->what, has_hint ? ": " : "",
		 has_hint ? e->hint : "");
	refused_add(r, pid, reason);
}

void refused_remove(struct refused *r, uint32_t pid)
{
	for (size_t i = 0; i <= REFUSED_REASONS && *r->line; i++) {
		struct refused_reason *x = &r->reason[i];
		size_t at = find_pid(x, pid);
		if (at == x->pid.n)
			continue;
		x->pid.v[at] = x->pid.v[--x->pid.n];
		print_line(r);
	}
}

void refused_join(struct refused *r, const struct refused *from)
{
	for (size_t i = 0; i <= REFUSED_REASONS; i++)
		for (size_t k = 0; k < from->reason[i].pid.n; k++)
			refused_add(r, from->reason[i].pid.v[k], from->reason[i].text);
}

size_t refused_n(const struct refused *r)
{
	size_t n = 0;
	for (size_t i = 0; i <= REFUSED_REASONS; i++)
		n += r->reason[i].pid.n;
	return n;
}
