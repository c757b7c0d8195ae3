/* A table has the keys, their kinds and their places in struct agent_config. */
#include "cmd/agent/agent-config.h"

#include "base/err.h"
#include "base/units.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SECOND_NS UINT64_C(1000000000)
#define WINDOW_MIN_NS SECOND_NS
#define WINDOW_MAX_NS (3600 * SECOND_NS)
#define RATE_MAX 10000u
#define MEMORY_MIN (8u << 20)
#define SPOOL_BYTES_MIN (1u << 20)
#define SPOOL_FILES_MAX 1000000u
#define SERVICES_MAX 1000u
#define WINDOW_BYTES_MIN (8u << 10)
#define WINDOW_BYTES_MAX (1u << 30)

enum kind { KIND_TEXT, KIND_TIME, KIND_SIZE, KIND_COUNT, KIND_PERCENT, KIND_YES_NO, KIND_PATH,
	    KIND_RATE, KIND_LABEL };

struct key {
	const char *name;
	enum kind kind;
	size_t offset;
	uint64_t min, max;
};

#define AT(field) offsetof(struct agent_config, field)
static const struct key keys[] = {
	{ "event", KIND_TEXT, AT(event), 0, 0 },
	{ "rate", KIND_RATE, AT(rate), 1, RATE_MAX },
	{ "window", KIND_TIME, AT(window_ns), WINDOW_MIN_NS, WINDOW_MAX_NS },
	{ "window-size", KIND_SIZE, AT(window_bytes), WINDOW_BYTES_MIN, WINDOW_BYTES_MAX },
	{ "max-memory", KIND_SIZE, AT(max_memory_bytes), MEMORY_MIN, UINT64_C(1) << 40 },
	{ "no-symbols", KIND_YES_NO, AT(no_symbols), 0, 0 },
	{ "lines", KIND_YES_NO, AT(has_lines), 0, 0 },
	{ "smallest", KIND_PERCENT, AT(smallest_percent), 0, 0 },
	{ "services", KIND_COUNT, AT(services_max), 1, SERVICES_MAX },
	{ "host", KIND_TEXT, AT(host), 0, 0 },
	{ "label", KIND_LABEL, 0, 0, 0 },
	{ "spool", KIND_PATH, AT(spool), 0, 0 },
	{ "spool-group", KIND_TEXT, AT(spool_group), 0, 0 },
	{ "spool-size", KIND_SIZE, AT(spool_bytes), SPOOL_BYTES_MIN, UINT64_C(1) << 50 },
	{ "spool-files", KIND_COUNT, AT(spool_files), 10, SPOOL_FILES_MAX },
	{ "cache", KIND_PATH, AT(cache), 0, 0 },
	{ "push", KIND_TEXT, AT(push), 0, 0 },
	{ "push-user", KIND_TEXT, AT(push_user), 0, 0 },
};

void agent_config_init(struct agent_config *c)
{
	*c = (struct agent_config){
		.rate = "19", .window_ns = 10 * SECOND_NS, .max_memory_bytes = 24u << 20,
		.smallest_percent = 1, .services_max = 30, .spool = "/var/spool/cprof",
		.spool_bytes = 64u << 20, .spool_files = 20000,
	};
}

void agent_config_done(struct agent_config *c)
{
	for (size_t i = 0; i < c->text.n; i++)
		free(c->text.v[i]);
	VEC_FREE(&c->text);
}

/* ---- values -------------------------------------------------------------------------- */

static bool is_label(const char *text)
{
	const char *eq = strchr(text, '=');
	if (!eq || eq == text || !eq[1])
		return false;
	for (; text < eq; text++)
		if (!isascii((unsigned char)*text) ||
		    (!isalnum((unsigned char)*text) && *text != '_'))
			return false;
	return true;
}

static bool parse_percent(const char *text, double *ret)
{
	char *end;
	*ret = strtod(text, &end);
	if (*end == '%')
		end++;
	return end != text && !*end && *ret >= 0 && *ret <= 100;
}

static int wrong(const struct key *k, const char *value, const char *what, struct err *e)
{
	return err_usage(e, "%s: '%s' is not %s", k->name, value, what);
}

static int set_number(void *to, const struct key *k, const char *value, struct err *e)
{
	uint64_t n = 0;
	int r = k->kind == KIND_TIME ? units_parse_duration(value, &n)
	      : k->kind == KIND_SIZE ? units_parse_size(value, &n) : units_parse_u64(value, &n);
	if (r < 0)
		return wrong(k, value, k->kind == KIND_TIME ? "a time"
				      : k->kind == KIND_SIZE ? "a size" : "a number", e);
	if (n < k->min || n > k->max)
		return err_usage(e, "%s: '%s' is too %s", k->name, value,
				 n < k->min ? "small" : "large");
	if (k->kind == KIND_COUNT)
		*(unsigned *)to = (unsigned)n;
	else if (k->kind == KIND_RATE)
		*(const char **)to = value;
	else
		*(uint64_t *)to = n;
	return 0;
}

/* value stays valid as long as the configuration. */
static int set_value(struct agent_config *c, const struct key *k, const char *value, struct err *e)
{
	void *to = (char *)c + k->offset;
	switch (k->kind) {
	case KIND_TEXT:
		*(const char **)to = value;
		return *value ? 0 : err_usage(e, "%s has no value", k->name);
	case KIND_PATH:
		*(const char **)to = value;
		return *value == '/' ? 0 : wrong(k, value, "an absolute path", e);
	case KIND_YES_NO:
		*(bool *)to = strcmp(value, "yes") == 0;
		return *(bool *)to || strcmp(value, "no") == 0 ? 0
			: wrong(k, value, "yes or no", e);
	case KIND_PERCENT:
		return parse_percent(value, to) ? 0 : wrong(k, value, "a percentage", e);
	case KIND_LABEL:
		if (!is_label(value))
			return wrong(k, value, "NAME=VALUE", e);
		if (c->n_labels == AGENT_LABELS_MAX)
			return err_usage(e, "more than %u labels", AGENT_LABELS_MAX);
		c->label[c->n_labels++] = value;
		return 0;
	default:
		return set_number(to, k, value, e);
	}
}

/* ---- lines --------------------------------------------------------------------------- */

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

static char *trim(char *text)
{
	while (is_blank(*text))
		text++;
	size_t n = strlen(text);
	while (n > 0 && is_blank(text[n - 1]))
		text[--n] = '\0';
	return text;
}

/* Changes the line, which the configuration keeps. */
static int read_setting(struct agent_config *c, char *line, struct err *e)
{
	char *eq = strchr(line, '=');
	if (!eq)
		return err_usage(e, "'%s' is not 'KEY = VALUE'", line);
	*eq = '\0';
	const char *name = trim(line);
	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		if (strcmp(keys[i].name, name) == 0)
			return set_value(c, &keys[i], trim(eq + 1), e);
	return err_usage(e, "there is no key '%s'", name);
}

static char *keep(struct agent_config *c, const char *text, size_t n)
{
	char *copy = strndup(text, n);
	if (copy && VEC_PUSH(&c->text, copy))
		return copy;
	free(copy);
	return NULL;
}

int agent_config_parse(struct agent_config *c, const char *origin, const char *text,
		       size_t n_bytes, struct err *e)
{
	char *rest = memchr(text, '\0', n_bytes) ? NULL : keep(c, text, n_bytes);
	if (!rest)
		return err_usage(e, "%s: it is not text", origin);
	for (unsigned number = 1; rest; number++) {
		char *end = strchr(rest, '\n'), *line = trim(rest);
		struct err why = { 0 };
		if (end) {
			*end = '\0';
			line = trim(rest);
		}
		rest = end ? end + 1 : NULL;
		if (!*line || *line == '#')
			continue;
		if (read_setting(c, line, &why) < 0)
			return err_usage(e, "%s, line %u: %s", origin, number, why.what);
	}
	return 0;
}

int agent_config_set(struct agent_config *c, const char *setting, struct err *e)
{
	char *line = keep(c, setting, strlen(setting));
	return line ? read_setting(c, line, e) : err_errno(e, ENOMEM, "cannot read the settings");
}

int agent_config_check(const struct agent_config *c, struct err *e)
{
	if (c->push && !c->push_user)
		return err_usage(e, "push needs push-user: an unprivileged user, who sends the "
				    "profiles");
	if (c->push_user && !c->push)
		return err_usage(e, "push-user without push: there is nothing to start");
	if (c->spool_files <= c->services_max)
		return err_usage(e, "spool-files: there is not even room for one window");
	return 0;
}
