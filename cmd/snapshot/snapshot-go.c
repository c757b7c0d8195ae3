/*
 * Like Go itself (src/runtime/traceback.go, showfuncinfo; src/runtime/pprof/pprof.go,
 * printCountProfile), both texts leave out functions of the runtime and wrappers that the compiler
 * makes.  Arguments of functions are unknown: "(...)", as Go writes for inlined functions.
 */

#include "cmd/snapshot/snapshot-go.h"

#include "base/vec.h"
#include "cmd/printable.h"
#include "cprof-snapshot.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define MINUTE_NS 60000000000u
#define FUNCTION_BYTES_MAX 512u

static bool begins(const char *s, const char *with)
{
	return strncmp(s, with, strlen(with)) == 0;
}

/* ---- labels ---------------------------------------------------------------------------------- */

/* The text of an entry's label; NULL: it has none. */
static const char *label_of(const struct cprof_recorder *r, size_t entry, const char *key)
{
	struct cprof_snapshot_entry e;
	struct cprof_snapshot_label l;
	cprof_snapshot_entry(r, entry, &e);
	for (size_t k = 0; k < e.n_labels; k++) {
		cprof_snapshot_label(r, entry, k, &l);
		if (strcmp(l.key, key) == 0)
			return l.text;
	}
	return NULL;
}

/* Labels that the program has not set itself. */
static bool is_ours(const char *key)
{
	return begins(key, "go::") || strcmp(key, "pid") == 0 || strcmp(key, "snapshot") == 0 ||
	       strcmp(key, "process_name") == 0;
}

/* ---- functions ------------------------------------------------------------------------------- */

static bool is_upper(char c)
{
	return c >= 'A' && c <= 'Z';
}

/* An exported function, or an exported method of an exported type, after "runtime.". */
static bool is_exported(const char *name)
{
	if (!begins(name, "(*"))
		return is_upper(*name);
	const char *method = strstr(name, ").");
	return is_upper(name[2]) && method && is_upper(method[2]);
}

static bool is_shown(const struct cprof_snapshot_frame *f, bool is_first)
{
	const char *name = f->function;
	if (f->is_wrapper || !strchr(name, '.'))
		return false;
	if (!begins(name, "runtime."))
		return true;
	return is_exported(name + strlen("runtime.")) ||
	       strcmp(name, "runtime.runFinalizers") == 0 ||
	       strcmp(name, "runtime.runCleanups") == 0 ||
	       (strcmp(name, "runtime.gopanic") == 0 && !is_first);
}

/* ---- debug=2 --------------------------------------------------------------------------------- */

struct stack_text {
	FILE *to;
	bool has_frames;
};

static bool write_frame(void *ctx, const struct cprof_snapshot_frame *f)
{
	struct stack_text *t = ctx;
	if (!is_shown(f, !t->has_frames))
		return true;
	t->has_frames = true;
	const char *name = strcmp(f->function, "runtime.gopanic") == 0 ? "panic" : f->function;
	printable_text(t->to, name);
	fputs("(...)\n\t", t->to);
	printable_text(t->to, f->file);
	fprintf(t->to, ":%u", f->line);
	if (!f->is_inlined && f->offset)
		fprintf(t->to, " +0x%" PRIx64, f->offset + 1);
	fputc('\n', t->to);
	return true;
}

static void write_creator(const struct cprof_recorder *r, size_t entry, FILE *to)
{
	const char *creator = label_of(r, entry, "go::created_by");
	const char *parent = label_of(r, entry, "go::parent");
	if (!creator)
		return;
	/* "main.main /src/main.go:12" */
	const char *place = strchr(creator, ' ');
	char function[FUNCTION_BYTES_MAX];
	snprintf(function, sizeof(function), "%.*s",
		 (int)(place ? place - creator : (ptrdiff_t)strlen(creator)), creator);
	fputs("created by ", to);
	printable_text(to, function);
	if (parent) {
		fputs(" in goroutine ", to);
		printable_text(to, parent);
	}
	fputs("\n\t", to);
	printable_text(to, place ? place + 1 : "?");
	fputc('\n', to);
}

void snapshot_go_stacks(const struct cprof_recorder *r, FILE *to)
{
	bool is_first = true;
	for (size_t i = 0; i < cprof_snapshot_n_entries(r); i++) {
		struct cprof_snapshot_entry e;
		struct stack_text t = { .to = to };
		cprof_snapshot_entry(r, i, &e);
		if (!e.is_task)
			continue;
		const char *state = label_of(r, i, "go::state");
		const char *bubble = label_of(r, i, "go::bubble");
		bool is_leaked = state && strcmp(state, "leaked") == 0;
		fprintf(to, "%sgoroutine %" PRIu64 " [", is_first ? "" : "\n", e.id);
		is_first = false;
		printable_text(to, e.state);
		fputs(is_leaked ? " (leaked)" : "", to);
		if (e.has_wait && e.wait_ns >= MINUTE_NS)
			fprintf(to, ", %" PRIu64 " minutes", e.wait_ns / MINUTE_NS);
		if (label_of(r, i, "go::locked"))
			fputs(", locked to thread", to);
		if (bubble)
			fprintf(to, ", synctest bubble %s", bubble);
		fputs("]:\n", to);
		cprof_snapshot_frames(r, e.stack, write_frame, &t);
		if (!t.has_frames && strcmp(e.quality, "unknown") == 0)
			fputs("\tgoroutine running on other thread; stack unavailable\n", to);
		write_creator(r, i, to);
	}
}

/* ---- debug=1 --------------------------------------------------------------------------------- */

/* Goroutines with equal stacks and labels. */
struct group {
	size_t entry, n;                /* one of them; how many */
	uint32_t stack;
	char *labels;                   /* {"key":"value"}; NULL: none */
};

/* As Go's %q for what labels usually contain; other bytes stay as they are. */
static void write_quoted(const char *s, FILE *to)
{
	fputc('"', to);
	for (; *s; s++) {
		if (*s == '"' || *s == '\\')
			fprintf(to, "\\%c", *s);
		else if (*s == '\n')
			fputs("\\n", to);
		else if (*s == '\t')
			fputs("\\t", to);
		else if ((unsigned char)*s < ' ' || *s == 0x7f)
			fprintf(to, "\\x%02x", (unsigned char)*s);
		else
			fputc(*s, to);
	}
	fputc('"', to);
}

/* The labels that the program has set; *ret NULL: none.  -ENOMEM. */
static int labels_text(const struct cprof_recorder *r, size_t entry, char **ret)
{
	struct cprof_snapshot_entry e;
	struct cprof_snapshot_label l;
	size_t n_bytes, n = 0;
	*ret = NULL;
	FILE *to = open_memstream(ret, &n_bytes);
	if (!to)
		return -ENOMEM;
	cprof_snapshot_entry(r, entry, &e);
	for (size_t k = 0; k < e.n_labels; k++) {
		cprof_snapshot_label(r, entry, k, &l);
		if (is_ours(l.key))
			continue;
		fputs(n++ ? ", " : "{", to);
		write_quoted(l.key, to);
		fputc(':', to);
		write_quoted(l.text, to);
	}
	if (n)
		fputc('}', to);
	if (fclose(to) != 0)
		return -ENOMEM;
	if (!n) {
		free(*ret);
		*ret = NULL;
	}
	return 0;
}

static int compare_labels(const char *a, const char *b)
{
	return !a || !b ? (a != NULL) - (b != NULL) : strcmp(a, b);
}

static int by_stack(const void *a, const void *b)
{
	const struct group *x = a, *y = b;
	if (x->stack != y->stack)
		return x->stack < y->stack ? -1 : 1;
	int order = compare_labels(x->labels, y->labels);
	return order ? order : x->entry < y->entry ? -1 : x->entry > y->entry;
}

static int by_count(const void *a, const void *b)
{
	const struct group *x = a, *y = b;
	return x->n != y->n ? (x->n > y->n ? -1 : 1) : x->entry < y->entry ? -1 : 1;
}

struct count_text {
	FILE *to;
	bool is_shown, all;
};

/* Inlined functions share an address. */
static bool write_address(void *ctx, const struct cprof_snapshot_frame *f)
{
	struct count_text *t = ctx;
	if (!f->is_inlined)
		fprintf(t->to, " 0x%" PRIx64, f->address + 1);
	return true;
}

/* Functions of the runtime are shown only if they have been called by others. */
static bool write_function(void *ctx, const struct cprof_snapshot_frame *f)
{
	struct count_text *t = ctx;
	const char *name = f->function;
	bool is_runtime = begins(name, "runtime.") || begins(name, "internal/runtime/");
	if (strcmp(name, "runtime.goexit") == 0 || (is_runtime && !t->is_shown && !t->all))
		return true;
	t->is_shown = true;
	fprintf(t->to, "#\t0x%" PRIx64 "\t", f->address + 1);
	printable_text(t->to, name);
	fprintf(t->to, "+0x%" PRIx64 "\t", f->offset + 1);
	printable_text(t->to, f->file);
	fprintf(t->to, ":%u\n", f->line);
	return true;
}

static void write_group(const struct cprof_recorder *r, const struct group *g, FILE *to)
{
	struct count_text t = { .to = to };
	fprintf(to, "%zu @", g->n);
	cprof_snapshot_frames(r, g->stack, write_address, &t);
	fputc('\n', to);
	if (g->labels) {
		fputs("# labels: ", to);
		printable_text(to, g->labels);
		fputc('\n', to);
	}
	cprof_snapshot_frames(r, g->stack, write_function, &t);
	if (!t.is_shown) {
		t.all = true;
		cprof_snapshot_frames(r, g->stack, write_function, &t);
	}
	fputc('\n', to);
}

int snapshot_go_counts(const struct cprof_recorder *r, FILE *to)
{
	VEC(struct group) all = { 0 };
	size_t n = 0;
	int code = 0;
	for (size_t i = 0; code == 0 && i < cprof_snapshot_n_entries(r); i++) {
		struct cprof_snapshot_entry e;
		cprof_snapshot_entry(r, i, &e);
		struct group g = { .entry = i, .n = 1, .stack = e.stack };
		if (!e.is_task)
			continue;
		code = labels_text(r, i, &g.labels);
		if (code == 0 && !VEC_PUSH(&all, g)) {
			free(g.labels);
			code = -ENOMEM;
		}
	}
	size_t n_all = all.n;
	if (n_all)
		qsort(all.v, n_all, sizeof(*all.v), by_stack);
	for (size_t i = 0; i < n_all; i++) {
		struct group *last = n ? &all.v[n - 1] : NULL;
		if (last && last->stack == all.v[i].stack &&
		    compare_labels(last->labels, all.v[i].labels) == 0) {
			last->n++;
			free(all.v[i].labels);
		} else {
			all.v[n++] = all.v[i];
		}
	}
	if (n)
		qsort(all.v, n, sizeof(*all.v), by_count);
	if (code == 0)
		fprintf(to, "goroutine profile: total %zu\n", n_all);
	for (size_t i = 0; i < n; i++) {
		if (code == 0)
			write_group(r, &all.v[i], to);
		free(all.v[i].labels);
	}
	VEC_FREE(&all);
	return code;
}
