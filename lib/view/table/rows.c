/*
 * A row's key is two numbers, since the model interns strings and their ids identify them.
 * Composed names ("[libfoo.so]", "f f.c:12") are in a string table of their own.
 */

#include "view/table/rows.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/hashindex.h"
#include "base/path.h"
#include "base/strtab.h"
#include "base/vec.h"
#include "view/model/waiting.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KNOWN_LABELS_MAX 64   /* named in a hint */
#define THREAD_LABEL "thread_name"

struct key { uint64_t a, b; };

struct rows_private {
	struct strtab names;
	VEC(struct row) row;
	VEC(struct key) key;
	struct hashindex by_key;
};

/* Kinds of keys, in bits above all string ids. */
enum { KEY_MODULE = 1, KEY_UNKNOWN, KEY_LABEL, KEY_NUMBER, KEY_FILE, KEY_POOL };
#define KIND(k) ((uint64_t)(k) << 60)

static const struct rows_kind kinds[] = {
	{ "function", "functions", ROWS_FUNCTION, NULL },
	{ "line", "lines", ROWS_LINE, NULL },
	{ "file", "files", ROWS_FILE, NULL },
	{ "module", "modules", ROWS_MODULE, NULL },
	{ "thread", "values", ROWS_LABEL, THREAD_LABEL },
	{ "pool", "pools", ROWS_LABEL, ROWS_POOL_LABEL },
};
#define N_KINDS (sizeof(kinds) / sizeof(*kinds))

const char *rows_kind_name(size_t i)
{
	return i < N_KINDS ? kinds[i].name : NULL;
}

struct rows_kind rows_kind_find(const char *name)
{
	for (size_t i = 0; i < N_KINDS; i++)
		if (strcmp(kinds[i].name, name) == 0)
			return kinds[i];
	return (struct rows_kind){ name, "values", ROWS_LABEL, name };
}

void rows_free(struct rows *r)
{
	if (!r)
		return;
	if (r->priv) {
		strtab_done(&r->priv->names);
		VEC_FREE(&r->priv->row);
		VEC_FREE(&r->priv->key);
		hashindex_done(&r->priv->by_key);
	}
	free(r->priv);
	free(r->of);
	free(r->first);
	free(r->of_labels);
	free(r->waits);
	free(r->n_calls);
	free(r);
}

/* Composes a name in the table; NULL if out of memory. */
static const char *__attribute__((format(printf, 2, 3)))
compose_name(struct rows_private *x, const char *fmt, ...)
{
	va_list ap;
	char *text = NULL;
	va_start(ap, fmt);
	int n = vasprintf(&text, fmt, ap);
	va_end(ap);
	if (n < 0)
		return NULL;
	uint32_t id = strtab_add(&x->names, text, (size_t)n);
	free(text);
	return id ? strtab_get(&x->names, id) : NULL;
}

/* The row with a key, or MODEL_NONE. */
static uint32_t find_row(const struct rows_private *x, struct key key)
{
	return HASHINDEX_FIND(&x->by_key, hash_pair(key.a, key.b), i,
			      x->key.v[i].a == key.a && x->key.v[i].b == key.b);
}

/* MODEL_NONE if out of memory, which name is NULL for, too. */
static uint32_t new_row(struct rows_private *x, struct key key, const char *name)
{
	uint32_t i = (uint32_t)x->row.n;
	if (!name || !VEC_RESERVE(&x->row, 1) || !VEC_RESERVE(&x->key, 1) ||
	    !hashindex_add(&x->by_key, hash_pair(key.a, key.b), i))
		return MODEL_NONE;
	x->row.v[x->row.n++] = (struct row){ .name = name, .file = "", .module = "" };
	x->key.v[x->key.n++] = key;
	return i;
}

/* Turns "a/../b//./c" into "b/c", since compilers record paths as given.  Symbolic links are
 * ignored.  Returns the result's id in the table, 0 if out of memory. */
static uint32_t clean_path(struct rows_private *x, const char *path)
{
	CLEANUP_FREE char *out = malloc(strlen(path) + 2);
	size_t n = 0, floor = 0;  /* ".." removes nothing before floor */
	if (!out)
		return 0;
	if (*path == '/')
		out[n++] = '/';
	floor = n;
	for (const char *p = path; *p;) {
		size_t len = strcspn(p, "/");
		if (len == 2 && p[0] == '.' && p[1] == '.' && n > floor) {
			while (n > floor && out[n - 1] != '/')
				n--;
			n -= n > floor;
		} else if (len == 2 && p[0] == '.' && p[1] == '.' && out[0] != '/') {
			n += (size_t)sprintf(out + n, "%s..", n > 0 ? "/" : "");
			floor = n;
		} else if (len > 2 || (len == 2 && memcmp(p, "..", 2) != 0) ||
			   (len == 1 && *p != '.')) {
			if (n > 0 && out[n - 1] != '/')
				out[n++] = '/';
			memcpy(out + n, p, len);
			n += len;
		}
		p += len;
		p += strspn(p, "/");
	}
	return n > 0 ? strtab_add(&x->names, out, n) : strtab_add(&x->names, ".", 1);
}

static uint32_t row_of_module(const struct model *m, struct rows_private *x, uint32_t mapping)
{
	uint32_t file = mapping == MODEL_NONE ? 0 : m->mapping[mapping].filename;
	struct key key = { file ? KIND(KEY_MODULE) | file : KIND(KEY_UNKNOWN), 0 };
	uint32_t i = find_row(x, key);
	if (i != MODEL_NONE)
		return i;
	if (!file)
		return new_row(x, key, "<unknown>");
	const char *path = model_string(m, file), *base = path_base_name(path);
	base = *base ? base : path;
	/* "[kernel.kallsyms]" and "[vdso]" already have brackets. */
	return new_row(x, key, base[0] == '[' ? base : compose_name(x, "[%s]", base));
}

static uint32_t row_of_line(const struct model *m, struct rows_private *x, enum rows_by by,
			    const struct model_location *l, const struct model_line *line)
{
	const struct model_function *fn =
		line && line->function != MODEL_NONE ? &m->function[line->function] : NULL;
	if (by == ROWS_MODULE || !fn || (by == ROWS_FILE ? !fn->filename : !fn->name))
		return row_of_module(m, x, l->mapping);
	struct key key = { fn->name, 0 };
	uint32_t file = 0;
	if (by != ROWS_FUNCTION && fn->filename) {
		file = clean_path(x, model_string(m, fn->filename));
		if (!file)
			return MODEL_NONE;
	}
	if (by == ROWS_FILE)
		key.a = KIND(KEY_FILE) | file;
	if (by == ROWS_LINE)
		key = (struct key){ fn->name | (uint64_t)(file & 0x0fffffff) << 32,
				    (uint64_t)line->line };
	uint32_t i = find_row(x, key);
	if (i != MODEL_NONE)
		return i;
	const char *name = model_string(m, fn->name), *path = strtab_get(&x->names, file);
	if (by == ROWS_FILE)
		name = path;
	else if (by == ROWS_LINE && line->line)
		name = compose_name(x, "%s %s:%" PRId64, name, path, line->line);
	else if (by == ROWS_LINE && file)
		name = compose_name(x, "%s %s", name, path);
	return new_row(x, key, name);
}

static void set_origin(const struct model *m, struct row *row, const struct model_location *l,
		     const struct model_line *line)
{
	if (!row->module[0] && l->mapping != MODEL_NONE)
		row->module = model_string(m, m->mapping[l->mapping].filename);
	if (!line || line->function == MODEL_NONE || row->file[0])
		return;
	row->file = model_string(m, m->function[line->function].filename);
	row->line = line->line;
}

static int rows_of_location(const struct model *m, const struct filter *f, struct rows *r,
			    uint32_t l, size_t *n)
{
	const struct model_location *loc = &m->location[l];
	struct rows_private *x = r->priv;
	bool by_lines = r->by != ROWS_MODULE && loc->n_lines > 0;
	if (f && f->location_out[l])
		return 0;
	for (uint32_t i = 0; i == 0 || (by_lines && i < loc->n_lines); i++) {
		const struct model_line *line =
			loc->n_lines > 0 ? &m->line[loc->first_line + i] : NULL;
		if (line && by_lines && f && f->line_out[loc->first_line + i])
			continue;
		uint32_t row = row_of_line(m, x, r->by, loc, line);
		if (row == MODEL_NONE)
			return -ENOMEM;
		set_origin(m, &x->row.v[row], loc, line);
		if (by_lines && i < loc->n_lines - 1)
			x->row.v[row].is_inlined = true;
		else
			x->row.v[row].is_called = true;
		r->of[(*n)++] = row;
	}
	return 0;
}

static int rows_of_locations(const struct model *m, const struct filter *f, struct rows *rows)
{
	size_t n = 0;
	rows->of = calloc((size_t)m->n_lines + m->n_locations + 1, sizeof(*rows->of));
	rows->first = calloc((size_t)m->n_locations + 1, sizeof(*rows->first));
	if (!rows->of || !rows->first)
		return -ENOMEM;
	for (uint32_t l = 0; l < m->n_locations; l++) {
		rows->first[l] = n;
		int r = rows_of_location(m, f, rows, l, &n);
		if (r < 0)
			return r;
	}
	rows->first[m->n_locations] = n;
	return 0;
}

/* "worker-12" is "worker-#".  Returns the name's id in the table, 0 if out of memory. */
static uint32_t pool_name(struct rows_private *x, const char *thread)
{
	CLEANUP_FREE char *out = malloc(strlen(thread) + 1);
	size_t n = 0;
	for (const char *p = thread; out && *p; p++) {
		bool is_digit = isdigit((unsigned char)*p);
		if (!is_digit || n == 0 || out[n - 1] != '#')
			out[n++] = is_digit ? '#' : *p;
	}
	return out ? strtab_add(&x->names, out, n) : 0;
}

static uint32_t row_of_pool(struct rows_private *x, const char *thread)
{
	uint32_t name = pool_name(x, thread);
	struct key key = { KIND(KEY_POOL) | name, 0 };
	uint32_t row = find_row(x, key);
	return row != MODEL_NONE ? row
				 : new_row(x, key, name ? strtab_get(&x->names, name) : NULL);
}

/* absent: the name of the row of sets without the label. */
static uint32_t row_of_labels(const struct model *m, struct rows_private *x,
			      const struct model_labels *set, const char *key_name,
			      const char *absent, bool is_pool, bool *known)
{
	for (uint32_t i = 0; i < set->n; i++) {
		const struct model_label *l = &m->label[set->first + i];
		if (strcmp(model_string(m, l->key), key_name) != 0)
			continue;
		*known = true;
		if (is_pool && l->str)
			return row_of_pool(x, model_string(m, l->str));
		struct key key = { KIND(KEY_LABEL) | l->str, 0 };
		if (!l->str)
			key = (struct key){ KIND(KEY_NUMBER) | l->num_unit, (uint64_t)l->num };
		uint32_t row = find_row(x, key);
		if (row != MODEL_NONE)
			return row;
		return new_row(x, key, l->str ? model_string(m, l->str)
					      : compose_name(x, "%" PRId64 "%s", l->num,
							  model_string(m, l->num_unit)));
	}
	struct key none = { KIND(KEY_UNKNOWN), 0 };
	uint32_t row = find_row(x, none);
	return row != MODEL_NONE ? row : new_row(x, none, absent);
}

static int no_such_label(const struct model *m, const char *label, struct err *e)
{
	char known[ERR_TEXT_MAX] = "";
	uint32_t listed[KNOWN_LABELS_MAX];
	size_t n = 0, n_listed = 0;
	for (uint32_t i = 0; i < m->n_label_items && n_listed < KNOWN_LABELS_MAX; i++) {
		size_t k = 0;
		while (k < n_listed && listed[k] != m->label[i].key)
			k++;
		const char *key = model_string(m, m->label[i].key);
		if (k < n_listed || strlen(key) + 2 >= sizeof(known) - n)
			continue;
		listed[n_listed++] = m->label[i].key;
		n += (size_t)snprintf(known + n, sizeof(known) - n, "%s%s", n > 0 ? ", " : "", key);
	}
	int r = err_set(e, ENOENT, "no sample has the label '%s'", label);
	if (n > 0)
		err_hint(e, "the labels are: %s", known);
	else
		err_hint(e, "no sample has any label");
	return r;
}

static bool has_label(const struct model *m, const char *label)
{
	for (uint32_t i = 0; i < m->n_label_items; i++)
		if (strcmp(model_string(m, m->label[i].key), label) == 0)
			return true;
	return false;
}

/* The label by which a profile distinguishes threads; NULL: none, as in cprof's where all threads
 * have the same name.  The first is cprof's. */
static const char *label_of_threads(const struct model *m, bool only_names)
{
	static const char *const keys[] = {
		THREAD_LABEL, "thread", "thread name", "tid", "thread_id", "thread id",
	};
	size_t n = only_names ? 3 : sizeof(keys) / sizeof(*keys);
	for (size_t i = 0; i < n; i++)
		if (has_label(m, keys[i]))
			return keys[i];
	return NULL;
}

static int rows_of_labels(const struct model *m, struct rows *r, const char *label, struct err *e)
{
	bool known = false;
	const char *absent = "(none)";
	bool is_pool = strcmp(label, ROWS_POOL_LABEL) == 0;
	if (is_pool || strcmp(label, THREAD_LABEL) == 0) {
		const char *found = label_of_threads(m, is_pool);
		label = found ? found : label;
		absent = found ? absent : "(all threads)";
		known = true;
	}
	r->of_labels = calloc((size_t)m->n_label_sets + 1, sizeof(*r->of_labels));
	if (!r->of_labels)
		return -ENOMEM;
	for (uint32_t i = 0; i < m->n_label_sets; i++) {
		r->of_labels[i] = row_of_labels(m, r->priv, &m->labels[i], label, absent,
						is_pool, &known);
		if (r->of_labels[i] == MODEL_NONE)
			return -ENOMEM;
	}
	return known || m->n_samples == 0 ? 0 : no_such_label(m, label, e);
}

static int find_waits(const struct model *m, struct rows *r)
{
	if (waiting_sets(m, &r->waits) < 0)
		return -ENOMEM;
	if (r->waits)
		r->n_calls = waiting_calls(m);
	return r->waits && !r->n_calls ? -ENOMEM : 0;
}

int rows_new(const struct model *m, const struct filter *f, enum rows_by by, const char *label,
	     struct rows **ret, struct err *e)
{
	struct rows *rows = calloc(1, sizeof(*rows));
	int r = -ENOMEM;
	if (!rows)
		goto out;
	rows->by = by;
	if (by != ROWS_LABEL && find_waits(m, rows) < 0)
		goto out;
	rows->priv = calloc(1, sizeof(*rows->priv));
	if (rows->priv && strtab_init(&rows->priv->names, NULL) == 0)
		r = by == ROWS_LABEL ? rows_of_labels(m, rows, label, e)
				     : rows_of_locations(m, f, rows);
out:
	if (r < 0) {
		rows_free(rows);
		return r == -ENOMEM ? err_errno(e, ENOMEM, "cannot add up the profile") : r;
	}
	rows->row = rows->priv->row.v;
	rows->n_rows = (uint32_t)rows->priv->row.n;
	*ret = rows;
	return 0;
}

/* The first location from at on that has a row; NULL: none has. */
static const uint32_t *flat_location(const struct rows *r, const uint32_t *at, const uint32_t *end)
{
	while (at < end && r->first[*at] == r->first[*at + 1])
		at++;
	return at < end ? at : NULL;
}

struct rows_walk rows_begin(const struct rows *r, const struct model *m, const struct filter *f,
			    uint32_t sample)
{
	const struct model_sample *s = &m->sample[sample];
	struct rows_walk w = { .rows = r };
	if (f && f->sample_out[sample])
		return w;
	if (r->of_labels) {
		w.at = &r->of_labels[s->labels];
		w.end = w.at + 1;
		return w;
	}
	const struct model_stack *stack = &m->stack[s->stack];
	w.location = m->stack_location + stack->first + (f ? f->stack_skip[s->stack] : 0);
	w.location_end = m->stack_location + stack->first + stack->n;
	if (r->waits && r->waits[s->labels] & WAITING_IN_CALL)
		w.flat_from = flat_location(r, m->stack_location + stack->first +
						       r->n_calls[s->stack], w.location_end);
	return w;
}
