#include "cmd/push/push-labels.h"

#include "base/arena.h"
#include "base/utf8.h"

#include <ctype.h>
#include <string.h>

#define PREFIX "label."
#define UNKNOWN_SERVICE "unknown_service"

/* cprof's names, and those of OpenTelemetry's conventions for resources. */
static const struct { const char *name, *attribute; } convention[] = {
	{ "service_name", "service.name" },
	{ "host", "host.name" },
	{ "container_id", "container.id" },
	{ "container", "k8s.container.name" },
	{ "pod_uid", "k8s.pod.uid" },
	{ "pod", "k8s.pod.name" },
	{ "namespace", "k8s.namespace.name" },
	{ "comm", "process.executable.name" },
	{ "exe", "process.executable.path" },
	{ "exe_build_id", "process.executable.build_id.gnu" },
	{ "cgroup", "process.linux.cgroup" },
};

static const char *attribute_name(const char *name)
{
	for (size_t i = 0; i < sizeof(convention) / sizeof(*convention); i++)
		if (strcmp(name, convention[i].name) == 0)
			return convention[i].attribute;
	return name;
}

/* A name as Prometheus has them; names that begin with two '_' are the server's own. */
static void plain_name(char *name)
{
	if (isdigit((unsigned char)*name))
		*name = '_';
	for (char *p = name; *p; p++)
		if (!isascii((unsigned char)*p) || !isalnum((unsigned char)*p))
			*p = '_';
	if (name[0] == '_' && name[1] == '_')
		name[0] = 'x';
}

/* Valid UTF-8 of at most PUSH_LABEL_VALUE_MAX bytes, without control characters; empty if out of
 * memory. */
static const char *clean_value(struct arena_block **arena, const char *value)
{
	size_t n = strnlen(value, PUSH_LABEL_VALUE_MAX);
	char *text = ARENA_NEW(arena, char, UTF8_CLEAN_MAX(n) + 1);
	if (!text)
		return "";
	n = utf8_clean(text, value, n);
	if (n > PUSH_LABEL_VALUE_MAX)
		n = utf8_valid_prefix(text, PUSH_LABEL_VALUE_MAX);
	text[n] = '\0';
	for (char *p = text; *p; p++)
		if (iscntrl((unsigned char)*p) && isascii((unsigned char)*p))
			*p = '?';
	return text;
}

static bool has_label(const struct push_labels *l, const char *name)
{
	for (size_t i = 0; i < l->label.n; i++)
		if (strcmp(l->label.v[i].key, name) == 0)
			return true;
	return false;
}

/* Empty values are labels that are absent. */
static bool add(struct push_labels *l, const char *name, const char *value, enum push_format format)
{
	size_t n = strnlen(name, PUSH_LABEL_NAME_MAX);
	char *own = ARENA_NEW(&l->arena, char, n + 1);
	if (!own)
		return false;
	memcpy(own, name, n);
	if (format != PUSH_OTLP && strcmp(own, "__name__") != 0)
		plain_name(own);
	if (!n || !*value || l->label.n == PUSH_LABELS_MAX || has_label(l, own))
		return true;
	value = clean_value(&l->arena, value);
	return *value && VEC_PUSH(&l->label, ((struct otlp_attribute){ own, value }));
}

static bool add_named(struct push_labels *l, const char *name, const char *value,
		      enum push_format format)
{
	if (format == PUSH_OTLP)
		name = attribute_name(name);
	else if (strcmp(name, "host") == 0)
		name = "hostname";
	return add(l, name, value, format);
}

/* As Pyroscope's own agents call the kinds of profiles. */
static const char *kind_of_profile(const struct keyvalues *meta)
{
	const char *type = keyvalues_get(meta, "sample_type");
	if (!type || !*type || strstr(type, "cpu"))
		return "process_cpu";
	return strstr(type, "wall") ? "wall" : type;
}

static bool add_kind(struct push_labels *l, const struct keyvalues *meta)
{
	const char *kind = kind_of_profile(meta);
	char name[PUSH_LABEL_NAME_MAX];
	size_t n = strnlen(kind, sizeof(name) - 1);
	memcpy(name, kind, n);
	name[n] = '\0';
	plain_name(name);
	return add(l, "__name__", name, PUSH_PYROSCOPE);
}

bool push_labels_make(const struct keyvalues *meta, const struct keyvalue *extra, size_t n_extra,
		      enum push_format format, struct push_labels *ret)
{
	struct push_labels l = { .arena = NULL };
	const char *service = keyvalues_get(meta, PREFIX "service_name");
	bool ok = format == PUSH_OTLP || add_kind(&l, meta);
	for (size_t i = 0; i < n_extra && ok; i++)
		ok = add_named(&l, extra[i].key, extra[i].value, format);
	ok = ok && add_named(&l, "service_name", service && *service ? service : UNKNOWN_SERVICE,
			     format);
	for (size_t i = 0; i < meta->pair.n && ok; i++) {
		const struct keyvalue *p = &meta->pair.v[i];
		if (strncmp(p->key, PREFIX, sizeof(PREFIX) - 1) == 0)
			ok = add_named(&l, p->key + sizeof(PREFIX) - 1, p->value, format);
	}
	if (ok)
		*ret = l;
	else
		push_labels_done(&l);
	return ok;
}

void push_labels_done(struct push_labels *l)
{
	VEC_FREE(&l->label);
	arena_free(l->arena);
	l->arena = NULL;
}
