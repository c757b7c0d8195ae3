/* The text of a probe in the grammar of events: usdt:[FILE:]PROVIDER:NAME, and its terms. */
#include "event/evusdt.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "event/evcursor.h"
#include "event/evprobe.h"
#include "event/evsdt.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME_BYTES_MAX 100u

static const char advice_text[] = "write 'usdt:/usr/bin/program:provider:name', or "
				  "'usdt:provider:name' with -p";
static const char advice_args[] = "write 'value=arg2', 'label=arg1' or 'label=size:arg1'";

/* ---- the event ----------------------------------------------------------------------- */

/* The next part of the text, which ends at one of these characters. */
static struct evcursor_span part(const struct evcursor *p, size_t at, const char *ends)
{
	return (struct evcursor_span){ at, at + strcspn(p->text + at, ends) };
}

static int check_part(const struct evcursor *p, struct evcursor_span at, const char *what)
{
	size_t n = at.to - at.from;
	if (n == 0)
		return evcursor_complain(p, EINVAL, at.from, advice_text, "%s missing", what);
	if (n > NAME_BYTES_MAX)
		return evcursor_complain(p, EINVAL, at.from, advice_text, "%s longer than %u "
					 "characters", what, NAME_BYTES_MAX);
	return 0;
}

/* Adds the event, without a location. */
static struct evspec *add_pending(struct evcursor *p, struct evcursor_span provider,
				  struct evcursor_span name, long type)
{
	char shown[EVCURSOR_SHOWN_MAX + 1];
	struct evspec *s = evcursor_add(p, NULL, name);
	struct evusdt *u = s ? calloc(1, sizeof(*u)) : NULL;
	if (!s)
		return NULL;
	s->kind = EVSPEC_UPROBE;
	s->type = (uint32_t)type;
	s->usdt = u;
	if (u) {
		u->fd = -1;
		u->provider = strndup(p->text + provider.from, provider.to - provider.from);
		u->name = strndup(p->text + name.from, name.to - name.from);
	}
	if (!u || !u->provider || !u->name) {
		err_errno(p->e, ENOMEM, "cannot store an event");
		return NULL;
	}
	struct evcursor_span both = { provider.from, name.to };
	snprintf(s->name, sizeof(s->name), "usdt:%.110s", evcursor_shown(p, both, shown));
	return s;
}

static int no_probe(const struct evcursor *p, struct evcursor_span at, const char *path,
		    const struct evsdt *file, const struct evusdt *u)
{
	char near[200], advice[300];
	if (!file->locations.n)
		return evcursor_complain(p, ENOENT, at.from, "'cprof list --probes=PID' shows "
					 "those of all files of a process",
					 "'%.200s' has no USDT probes", path);
	evsdt_nearest(file, u->provider, u->name, near, sizeof(near));
	snprintf(advice, sizeof(advice), "nearest names: %s; 'cprof list --probes=FILE' shows all",
		 near);
	return evcursor_complain(p, ENOENT, at.from, advice, "'%.200s' has no probe '%s:%s'", path,
				 u->provider, u->name);
}

/* Turns the pending event at the end of the list into one for each location in the file. */
static int locate_in(struct evcursor *p, struct evcursor_span provider, const char *path,
		     const struct evsdt *file)
{
	const size_t pending = p->l->n - 1;
	struct evusdt *u = p->l->v[pending].usdt;
	size_t first = 0, n = evsdt_find(file, u->provider, u->name, &first);
	if (!n)
		return no_probe(p, provider, path, file, u);
	if (n > EVUSDT_LOCATIONS_MAX)
		return evcursor_complain(p, E2BIG, provider.from, "", "probe '%s:%s' has %zu "
					 "locations: at most %u are possible", u->provider,
					 u->name, n, EVUSDT_LOCATIONS_MAX);
	for (size_t i = 1; i < n; i++) {
		struct evspec copy;
		if (!evusdt_copy(&p->l->v[pending], &copy))
			return err_errno(p->e, ENOMEM, "cannot store an event");
		struct evspec *s = evcursor_add(p, NULL, provider);
		if (!s) {
			evspec_done(&copy);
			return -ENOMEM;
		}
		*s = copy;
	}
	for (size_t i = 0; i < n; i++) {
		int r = evusdt_locate(&p->l->v[pending + i], p->host, file,
				      &file->locations.v[first + i], path, -1, p->e);
		if (r < 0)
			return r;
	}
	return 0;
}

static int add_of_file(struct evcursor *p, struct evcursor_span path_at,
		       struct evcursor_span provider)
{
	CLEANUP(evsdt_done) struct evsdt file = { 0 };
	struct err why = { 0 };
	CLEANUP_FREE char *path = strndup(p->text + path_at.from, path_at.to - path_at.from);
	if (!path)
		return err_errno(p->e, ENOMEM, "cannot store an event");
	int r = evsdt_read_path(path, &file, &why);
	return r < 0 ? evcursor_complain(p, -r, path_at.from, why.hint, "%s", why.what)
		     : locate_in(p, provider, path, &file);
}

int evusdt_parse(struct evcursor *p)
{
	long type;
	struct evcursor_span path = { 0 }, provider = part(p, p->at + strlen("usdt:"), ":,{}");
	if (memchr(p->text + provider.from, '/', provider.to - provider.from)) {
		path = provider;
		if (p->text[path.to] != ':')
			return evcursor_complain(p, EINVAL, path.to, advice_text,
						 "provider of the probe missing");
		provider = part(p, path.to + 1, "/:,{}");
	}
	int r = check_part(p, provider, "provider of the probe");
	if (r < 0)
		return r;
	if (p->text[provider.to] != ':')
		return evcursor_complain(p, EINVAL, provider.to, advice_text,
					 "name of the probe missing");
	struct evcursor_span name = part(p, provider.to + 1, "/:,{}");
	r = check_part(p, name, "name of the probe");
	if (r < 0)
		return r;
	if (!path.to && p->text[name.to] == ':' && !evcursor_is_modifiers(p->text + name.to + 1))
		return evcursor_complain(p, EINVAL, provider.from, "write './program' for a file "
					 "in this directory", "a file needs a slash in its path");
	r = evprobe_type(p, &type);
	if (r < 0)
		return r;
	if (!add_pending(p, provider, name, type))
		return -ENOMEM;
	r = path.to ? add_of_file(p, path, provider) : 0;
	p->at = name.to;
	return r;
}

/* ---- terms --------------------------------------------------------------------------- */

/* "arg3".  0: it is not one. */
static unsigned arg_number(const char *text, size_t n)
{
	if (n < 4 || n > 5 || memcmp(text, "arg", 3) != 0 || text[3] == '0')
		return 0;
	unsigned number = 0;
	for (size_t i = 3; i < n; i++) {
		if (!isdigit((unsigned char)text[i]))
			return 0;
		number = number * 10 + (unsigned)(text[i] - '0');
	}
	return number <= EVARG_MAX ? number : 0;
}

static int bad_arg(const struct evcursor *p, struct evcursor_span at)
{
	char shown[EVCURSOR_SHOWN_MAX + 1];
	return evcursor_complain(p, EINVAL, at.from, advice_args, "'%s' is not an argument: they "
				 "are arg1 to arg%u", evcursor_shown(p, at, shown), EVARG_MAX);
}

static int value_term(const struct evcursor *p, struct evcursor_span value, struct evusdt *u)
{
	unsigned n = arg_number(p->text + value.from, value.to - value.from);
	if (!n)
		return bad_arg(p, value);
	if (u->value_arg)
		return evcursor_complain(p, EINVAL, value.from, "", "second value");
	u->value_arg = (uint8_t)n;
	return 0;
}

static bool is_key(const char *text, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!isascii((unsigned char)text[i]) ||
		    (!isalnum((unsigned char)text[i]) && !strchr("_.-", text[i])))
			return false;
	return n && n <= EVUSDT_KEY_MAX;
}

/* "arg1" or "KEY:arg1" */
static int label_term(const struct evcursor *p, struct evcursor_span value, struct evusdt *u)
{
	const char *text = p->text + value.from;
	size_t n_bytes = value.to - value.from;
	const char *colon = memchr(text, ':', n_bytes);
	size_t n_key = colon ? (size_t)(colon - text) : n_bytes;
	struct evcursor_span arg = { colon ? value.from + n_key + 1 : value.from, value.to };
	unsigned n = arg_number(p->text + arg.from, arg.to - arg.from);
	if (!n)
		return bad_arg(p, arg);
	if (!is_key(text, n_key))
		return evcursor_complain(p, EINVAL, value.from, "", "the key of a label is 1 to %d "
					 "characters of A-Z a-z 0-9 _ . -", EVUSDT_KEY_MAX);
	if (u->n_labels == EVUSDT_LABELS_MAX)
		return evcursor_complain(p, EINVAL, value.from, "", "more than %d labels",
					 EVUSDT_LABELS_MAX);
	for (unsigned i = 0; i < u->n_labels; i++)
		if (strlen(u->key[i]) == n_key && memcmp(u->key[i], text, n_key) == 0)
			return evcursor_complain(p, EINVAL, value.from, "", "second label '%s'",
						 u->key[i]);
	u->label_arg[u->n_labels] = (uint8_t)n;
	snprintf(u->key[u->n_labels++], sizeof(u->key[0]), "%.*s", (int)n_key, text);
	return 0;
}

static int unit_term(const struct evcursor *p, struct evcursor_span value, struct evusdt *u)
{
	static const char *const units[] = { "bytes", "nanoseconds", "count" };
	char shown[EVCURSOR_SHOWN_MAX + 1];
	evcursor_shown(p, value, shown);
	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++)
		if (strcmp(shown, units[i]) == 0)
			u->unit = units[i];
	return u->unit ? 0 : evcursor_complain(p, EINVAL, value.from,
					       "it is bytes, nanoseconds or count", "bad unit '%s'",
					       shown);
}

int evusdt_term(const struct evcursor *p, struct evcursor_span key, struct evcursor_span value,
		struct evspec *s)
{
	static const struct {
		const char *name;
		int (*apply)(const struct evcursor *p, struct evcursor_span value,
			     struct evusdt *u);
	} terms[] = {
		{ "value", value_term }, { "label", label_term }, { "unit", unit_term },
	};
	for (size_t i = 0; s->usdt && i < sizeof(terms) / sizeof(*terms); i++) {
		size_t n = strlen(terms[i].name);
		if (key.to - key.from != n || memcmp(p->text + key.from, terms[i].name, n) != 0)
			continue;
		int r = terms[i].apply(p, value, s->usdt);
		if (r == 0 && s->usdt->is_located) {
			struct err why = { 0 };
			r = evusdt_find_args(s->usdt, &why);
			if (r < 0)
				r = evcursor_complain(p, -r, value.from, why.hint, "%s", why.what);
		}
		return r < 0 ? r : 1;
	}
	return 0;
}

int evusdt_check(const struct evcursor *p, const struct evspec *s)
{
	if (!s->usdt || !s->usdt->unit || s->usdt->value_arg)
		return 0;
	return evcursor_complain(p, EINVAL, p->at, advice_args, "'unit' is that of a value, and "
				 "'%s' has none", s->name);
}
