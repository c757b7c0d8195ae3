/*
 * Most samples have the labels of the thread's last one, which the memo tells by comparing what
 * they were made of.
 */

#include "labels/samplelabels.h"

#include "base/cleanup.h"
#include "base/host.h"
#include "engine/engine.h"
#include "source/record.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const struct { enum engine_label bit; const char *key; } label_keys[] = {
	{ ENGINE_LABEL_PID, "pid" },
	{ ENGINE_LABEL_TID, "tid" },
	{ ENGINE_LABEL_THREAD_NAME, "thread_name" },
	{ ENGINE_LABEL_PROCESS_NAME, "process_name" },
	{ ENGINE_LABEL_CPU, "cpu" },
	{ ENGINE_LABEL_CGROUP, "cgroup" },
	{ ENGINE_LABEL_STACK, STACK_MARKS_KEY },
};
#define N_LABEL_KEYS (sizeof(label_keys) / sizeof(*label_keys))

/* Beyond this share of the memory budget only pid and tid are kept of the labels. */
#define FEW_LABELS_NUM 3
#define FEW_LABELS_DEN 4

const char *samplelabels_key(unsigned bit)
{
	for (size_t i = 0; i < N_LABEL_KEYS; i++)
		if (label_keys[i].bit == bit)
			return label_keys[i].key;
	return NULL;
}

int samplelabels_init(struct engine *g)
{
	const struct engine_options *o = &g->options;
	g->own_labels.pmu = calloc(o->n_events ? o->n_events : 1, sizeof(*g->own_labels.pmu));
	if (!g->own_labels.pmu)
		return -ENOMEM;
	for (size_t i = 0; o->pmu && i < o->n_events; i++)
		if (o->pmu[i])
			g->own_labels.pmu[i] = strtab_add_cstr(&g->strings, o->pmu[i]);
	g->own_labels.fixed = calloc(o->n_labels ? o->n_labels : 1, sizeof(*g->own_labels.fixed));
	if (!g->own_labels.fixed)
		return -ENOMEM;
	for (size_t i = 0; i < o->n_labels; i++) {
		const char *eq = strchr(o->label[i], '=');
		g->own_labels.fixed[i].key =
			strtab_add(&g->strings, o->label[i], (size_t)(eq - o->label[i]));
		g->own_labels.fixed[i].value = strtab_add_cstr(&g->strings, eq + 1);
		/* what the user gives stands instead */
		if (strncmp(o->label[i], STACK_MARKS_KEY "=", sizeof(STACK_MARKS_KEY)) == 0)
			g->options.labels &= ~(unsigned)ENGINE_LABEL_STACK;
	}
	return 0;
}

void samplelabels_done(struct samplelabels *l)
{
	free(l->fixed);
	free(l->pmu);
	*l = (struct samplelabels){ .fixed = NULL };
}

bool samplelabels_is_key(void *ctx, const char *text)
{
	const struct engine *g = ctx;
	for (size_t i = 0; i < N_LABEL_KEYS; i++)
		if (strcmp(label_keys[i].key, text) == 0)
			return true;
	for (size_t i = 0; i < g->options.n_labels; i++)
		if (strcmp(strtab_get(&g->strings, g->own_labels.fixed[i].key), text) == 0)
			return true;
	return false;
}

static uint32_t number(struct engine *g, uint64_t value)
{
	char text[24];
	int n = snprintf(text, sizeof(text), "%llu", (unsigned long long)value);
	return strtab_add(&g->strings, text, (size_t)n);
}

/* The path behind "0::" (cgroup v2), or else the last line's path, of /proc/PID/cgroup. */
static uint32_t read_cgroup(struct engine *g, uint32_t pid)
{
	CLEANUP_FREE char *text = NULL;
	if (!g->options.host ||
	    host_read_file(g->options.host, HOST_PROC, &text, NULL, "%u/cgroup", pid) < 0)
		return 0;
	char *line = strstr(text, "0::");
	if (!line || (line != text && line[-1] != '\n'))
		line = text;
	line[strcspn(line, "\n")] = '\0';
	char *path = strchr(line, '/');
	return path ? strtab_add_cstr(&g->strings, path) : 0;
}

static void add_builtin(struct engine *g, enum engine_label bit, unsigned wanted, uint32_t value,
			struct label *label, size_t *n)
{
	if (!(wanted & bit) || !value)
		return;
	label[(*n)++] = (struct label){
		.key = strtab_add_cstr(&g->strings, samplelabels_key(bit)), .value = value,
	};
}

static uint32_t make_labels(struct engine *g, const struct procs_thread *t, uint32_t cpu,
			    uint32_t pmu, unsigned wanted, bool fixed)
{
	struct label label[LABELS_PER_SET_MAX];
	size_t n = 0;
	struct procs_process *p = t->process;
	add_builtin(g, ENGINE_LABEL_PID, wanted, number(g, p->pid), label, &n);
	add_builtin(g, ENGINE_LABEL_TID, wanted, number(g, t->tid), label, &n);
	add_builtin(g, ENGINE_LABEL_THREAD_NAME, wanted, t->name, label, &n);
	add_builtin(g, ENGINE_LABEL_PROCESS_NAME, wanted, p->name, label, &n);
	if (wanted & ENGINE_LABEL_CPU)
		add_builtin(g, ENGINE_LABEL_CPU, wanted, number(g, cpu), label, &n);
	if (wanted & ENGINE_LABEL_CGROUP) {
		if (!p->cgroup)
			p->cgroup = read_cgroup(g, p->pid);
		add_builtin(g, ENGINE_LABEL_CGROUP, wanted, p->cgroup, label, &n);
	}
	if (pmu)
		label[n++] = (struct label){
			.key = strtab_add_cstr(&g->strings, ENGINE_LABEL_PMU), .value = pmu,
		};
	for (size_t i = 0; fixed && i < g->options.n_labels && n < LABELS_PER_SET_MAX; i++)
		label[n++] = g->own_labels.fixed[i];
	return labels_add(&g->labels, label, n, false);
}

static bool has_few(const struct engine *g)
{
	const struct budget *b = &g->budget;
	return b->limit_bytes && b->used_bytes > b->limit_bytes / FEW_LABELS_DEN * FEW_LABELS_NUM;
}

uint32_t samplelabels_own(struct engine *g, const struct procs_thread *t,
			  struct samplelabels_memo *memo, const struct record *r)
{
	unsigned wanted = g->options.labels;
	uint32_t cpu = r->cpu, pmu = g->own_labels.pmu[r->event];
	if (!(wanted & ENGINE_LABEL_CPU))
		cpu = 0;
	if (memo && memo->is_made && memo->thread_name == t->name &&
	    memo->process_name == t->process->name && memo->cpu == cpu && memo->pmu == pmu)
		return memo->set;
	uint32_t set = LABELS_NONE;
	unsigned kept = wanted & (ENGINE_LABEL_PID | ENGINE_LABEL_TID);
	if (!has_few(g) || (kept == wanted && !g->options.n_labels))
		set = make_labels(g, t, cpu, pmu, wanted, true);
	if (set == LABELS_NONE) {
		g->n_labels_dropped++;
		set = make_labels(g, t, cpu, pmu, kept, false);
		return set == LABELS_NONE ? 0 : set;
	}
	if (memo)
		*memo = (struct samplelabels_memo){
			.set = set, .thread_name = t->name, .process_name = t->process->name,
			.cpu = cpu, .pmu = pmu, .is_made = true,
		};
	return set;
}

static uint32_t join(struct engine *g, uint32_t own, uint32_t app)
{
	struct samplelabels *l = &g->own_labels;
	if (!app)
		return own;
	size_t at = (own * 31 + app) % (sizeof(l->joined) / sizeof(l->joined[0]));
	if (l->joined[at].own != own || l->joined[at].app != app) {
		l->joined[at].both = labels_join(&g->labels, own, app);
		l->joined[at].own = own;
		l->joined[at].app = app;
	}
	return l->joined[at].both;
}

/* What the program says of what it was doing then, together with what the kernel says. */
uint32_t samplelabels_of(struct engine *g, const struct procs_thread *t,
			 struct samplelabels_memo *memo, const struct record *r)
{
	uint32_t own = samplelabels_own(g, t, memo, r);
	return join(g, own, g->options.host ?
		    applabels_at(&g->app, t->process, t->tid, r->time_ns) : 0);
}

uint32_t samplelabels_with(struct engine *g, uint32_t set, const char *key, const char *value)
{
	if (has_few(g))
		return set;
	struct label label = {
		.key = strtab_add_cstr(&g->strings, key),
		.value = strtab_add_cstr(&g->strings, value),
	};
	uint32_t added = labels_add(&g->labels, &label, 1, false);
	return added == LABELS_NONE ? set : join(g, set, added);
}

uint32_t samplelabels_marked(void *ctx, uint32_t plain, const struct stack_marks *mark)
{
	struct engine *g = ctx;
	if (stack_marks_is_empty(mark) || !(g->options.labels & ENGINE_LABEL_STACK) || has_few(g))
		return plain;
	return join(g, plain,
		    stack_marks_set(&g->own_labels.marks, &g->strings, &g->labels, mark));
}
