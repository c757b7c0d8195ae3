/*
 * Most samples have the labels of their thread's previous sample.  The memo detects that by
 * comparing the values that the labels were built from.
 */

#include "labels/samplelabels.h"

#include "base/cleanup.h"
#include "base/host.h"
#include "agg/labels.h"
#include "base/budget.h"
#include "base/strtab.h"
#include "labels/applabels.h"
#include "labels/golabels.h"
#include "labels/processtitle.h"
#include "proc/cgroup.h"
#include "proc/procs.h"
#include "source/record.h"
#include "symbolize/elf/dso.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ANCESTORS_MAX 16

static const struct { enum samplelabel bit; const char *key; } label_keys[] = {
	{ SAMPLELABEL_PID, "pid" },
	{ SAMPLELABEL_TID, "tid" },
	{ SAMPLELABEL_THREAD_NAME, "thread_name" },
	{ SAMPLELABEL_PROCESS_NAME, "process_name" },
	{ SAMPLELABEL_CPU, "cpu" },
	{ SAMPLELABEL_CGROUP, "cgroup" },
	{ SAMPLELABEL_STACK, STACK_MARKS_KEY },
	{ SAMPLELABEL_EXE, "exe" },
	{ SAMPLELABEL_PROCESS_TITLE, "process_title" },
};
#define N_LABEL_KEYS (sizeof(label_keys) / sizeof(*label_keys))

/* Beyond this share of the memory budget, samples keep only the labels pid and tid. */
#define FEW_LABELS_NUM 3
#define FEW_LABELS_DEN 4

#define NO_BUCKET UINT64_MAX

const char *samplelabels_key(unsigned bit)
{
	for (size_t i = 0; i < N_LABEL_KEYS; i++)
		if (label_keys[i].bit == bit)
			return label_keys[i].key;
	return NULL;
}

int samplelabels_init(struct samplelabels *l, const struct samplelabels_options *o)
{
	*l = (struct samplelabels){ .options = *o };
	l->pmu = calloc(o->n_events ? o->n_events : 1, sizeof(*l->pmu));
	l->fixed = calloc(o->n_fixed ? o->n_fixed : 1, sizeof(*l->fixed));
	if (!l->pmu || !l->fixed)
		return -ENOMEM;
	for (size_t i = 0; o->pmu && i < o->n_events; i++)
		if (o->pmu[i])
			l->pmu[i] = strtab_add_cstr(o->strings, o->pmu[i]);
	for (size_t i = 0; i < o->n_fixed; i++) {
		const char *eq = strchr(o->fixed[i], '=');
		l->fixed[i].key = strtab_add(o->strings, o->fixed[i], (size_t)(eq - o->fixed[i]));
		l->fixed[i].value = strtab_add_cstr(o->strings, eq + 1);
		/* The user's own label replaces the built-in one. */
		if (strncmp(o->fixed[i], STACK_MARKS_KEY "=", sizeof(STACK_MARKS_KEY)) == 0)
			l->options.wanted &= ~(unsigned)SAMPLELABEL_STACK;
	}
	return 0;
}

void samplelabels_done(struct samplelabels *l)
{
	free(l->fixed);
	free(l->pmu);
	*l = (struct samplelabels){ .fixed = NULL };
}

void samplelabels_forget_ids(struct samplelabels *l)
{
	memset(l->joined, 0, sizeof(l->joined));
	memset(&l->marks, 0, sizeof(l->marks));
}

static bool has_times(const struct samplelabels *l)
{
	return l->options.timeline && l->options.timeline->bucket_ns;
}

bool samplelabels_is_key(void *ctx, const char *text)
{
	const struct samplelabels *l = ctx;
	for (size_t i = 0; i < N_LABEL_KEYS; i++)
		if (strcmp(label_keys[i].key, text) == 0)
			return true;
	if (has_times(l) && strcmp(text, TIMELABEL_KEY) == 0)
		return true;
	for (size_t i = 0; i < l->options.n_fixed; i++)
		if (strcmp(strtab_get(l->options.strings, l->fixed[i].key), text) == 0)
			return true;
	return false;
}

static uint32_t number(struct samplelabels *l, uint64_t value)
{
	char text[24];
	int n = snprintf(text, sizeof(text), "%llu", (unsigned long long)value);
	return strtab_add(l->options.strings, text, (size_t)n);
}

/* The path after "0::" (cgroup v2), otherwise the last line's path, of /proc/PID/cgroup; 0: the
 * process has ended. */
static uint32_t read_cgroup(struct samplelabels *l, uint32_t pid)
{
	CLEANUP_FREE char *text = NULL;
	if (!l->options.host ||
	    host_read_file(l->options.host, HOST_PROC, &text, NULL, "%u/cgroup", pid) < 0)
		return 0;
	char *line = strstr(text, "0::");
	if (!line || (line != text && line[-1] != '\n'))
		line = text;
	line[strcspn(line, "\n")] = '\0';
	char *path = strchr(line, '/');
	return path ? strtab_add(l->options.strings, path, cgroup_path_bytes(path)) : 0;
}

/* A process that has ended was probably in the group of its parent.  That may have ended, too, and
 * never have been sampled, as a shell between a compiler and make. */
static uint32_t find_cgroup(struct samplelabels *l, const struct procs_process *p)
{
	uint32_t group = read_cgroup(l, p->pid);
	for (int i = 0; !group && p && i < ANCESTORS_MAX; i++) {
		group = p->parent_cgroup;
		if (!group && p->ppid)
			group = read_cgroup(l, p->ppid);
		p = l->options.procs ? procs_find(l->options.procs, p->ppid) : NULL;
		if (!group && p)
			group = p->cgroup;
	}
	return group;
}

static void add_builtin(struct samplelabels *l, enum samplelabel bit, unsigned wanted,
			uint32_t value, struct label *label, size_t *n)
{
	if (!(wanted & bit) || !value)
		return;
	label[(*n)++] = (struct label){
		.key = strtab_add_cstr(l->options.strings, samplelabels_key(bit)), .value = value,
	};
}

static void add_exe(struct samplelabels *l, const struct procs_process *p, unsigned wanted,
		    struct label *label, size_t *n)
{
	char id[DSO_BUILD_ID_TEXT_MAX];
	struct strtab *strings = l->options.strings;
	if (!(wanted & SAMPLELABEL_EXE) || p->exe == UINT32_MAX || !l->options.dsos)
		return;
	const struct dso *d = dso_get(l->options.dsos, p->exe);
	add_builtin(l, SAMPLELABEL_EXE, wanted, strtab_add_cstr(strings, d->path), label, n);
	if (d->n_build_id)
		label[(*n)++] = (struct label){
			.key = strtab_add_cstr(strings, SAMPLELABEL_EXE_BUILD_ID),
			.value = strtab_add_cstr(strings, dso_build_id_text(d, id)),
		};
}

static uint32_t make_labels(struct samplelabels *l, const struct procs_thread *t, uint32_t cpu,
			    uint32_t pmu, uint64_t bucket, unsigned wanted, bool fixed)
{
	struct label label[LABELS_PER_SET_MAX];
	size_t n = 0;
	struct procs_process *p = t->process;
	add_builtin(l, SAMPLELABEL_PID, wanted, number(l, p->pid), label, &n);
	add_builtin(l, SAMPLELABEL_TID, wanted, number(l, t->tid), label, &n);
	add_builtin(l, SAMPLELABEL_THREAD_NAME, wanted, t->name, label, &n);
	add_builtin(l, SAMPLELABEL_PROCESS_NAME, wanted, p->name, label, &n);
	add_builtin(l, SAMPLELABEL_PROCESS_TITLE, wanted, p->title, label, &n);
	if (wanted & SAMPLELABEL_CPU)
		add_builtin(l, SAMPLELABEL_CPU, wanted, number(l, cpu), label, &n);
	if (wanted & SAMPLELABEL_CGROUP) {
		if (!p->cgroup)
			p->cgroup = find_cgroup(l, p);
		add_builtin(l, SAMPLELABEL_CGROUP, wanted, p->cgroup, label, &n);
	}
	add_exe(l, p, wanted, label, &n);
	if (pmu)
		label[n++] = (struct label){
			.key = strtab_add_cstr(l->options.strings, SAMPLELABEL_PMU), .value = pmu,
		};
	if (bucket != NO_BUCKET)
		label[n++] = (struct label){
			.key = strtab_add_cstr(l->options.strings, TIMELABEL_KEY),
			.value = number(l, bucket),
		};
	for (size_t i = 0; fixed && i < l->options.n_fixed && n < LABELS_PER_SET_MAX; i++)
		label[n++] = l->fixed[i];
	return labels_add(l->options.labels, label, n, false);
}

/* Waits without a stack of their own have no time. */
static uint64_t bucket_of(const struct samplelabels *l, const struct record *r)
{
	const struct timelabel *t = l->options.timeline;
	return has_times(l) && r->time_ns >= t->since_ns ? timelabel_bucket(t, r->time_ns)
							 : NO_BUCKET;
}

static bool has_few(const struct samplelabels *l)
{
	const struct budget *b = l->options.budget;
	return b->limit_bytes && b->used_bytes > b->limit_bytes / FEW_LABELS_DEN * FEW_LABELS_NUM;
}

uint32_t samplelabels_own(struct samplelabels *l, const struct procs_thread *t,
			  struct samplelabels_memo *memo, const struct record *r)
{
	unsigned wanted = l->options.wanted;
	uint32_t cpu = r->cpu, pmu = l->pmu[r->event];
	uint64_t bucket = bucket_of(l, r);
	if (!(wanted & SAMPLELABEL_CPU))
		cpu = 0;
	if (wanted & SAMPLELABEL_PROCESS_TITLE)
		processtitle_at(l->options.host, l->options.strings, t->process, r->time_ns);
	if (memo && memo->is_valid && memo->thread_name == t->name &&
	    memo->process_name == t->process->name && memo->title == t->process->title &&
	    memo->exe == t->process->exe && memo->cpu == cpu && memo->pmu == pmu &&
	    memo->bucket == bucket)
		return memo->set;
	uint32_t set = LABELS_NONE;
	unsigned kept = wanted & (SAMPLELABEL_PID | SAMPLELABEL_TID);
	if (!has_few(l) || (kept == wanted && !l->options.n_fixed && bucket == NO_BUCKET))
		set = make_labels(l, t, cpu, pmu, bucket, wanted, true);
	if (set == LABELS_NONE) {
		l->n_dropped++;
		set = make_labels(l, t, cpu, pmu, NO_BUCKET, kept, false);
		return set == LABELS_NONE ? 0 : set;
	}
	if (memo)
		*memo = (struct samplelabels_memo){
			.set = set, .thread_name = t->name, .process_name = t->process->name,
			.title = t->process->title, .exe = t->process->exe, .cpu = cpu, .pmu = pmu,
			.bucket = bucket, .is_valid = true,
		};
	return set;
}

static uint32_t join(struct samplelabels *l, uint32_t first, uint32_t second)
{
	if (!second)
		return first;
	size_t at = (first * 31 + second) % (sizeof(l->joined) / sizeof(l->joined[0]));
	if (l->joined[at].first != first || l->joined[at].second != second) {
		l->joined[at].both = labels_join(l->options.labels, first, second);
		l->joined[at].first = first;
		l->joined[at].second = second;
	}
	return l->joined[at].both;
}

/* The labels that the program had set at that time, joined with those of the kernel. */
uint32_t samplelabels_of(struct samplelabels *l, const struct procs_thread *t,
			 struct samplelabels_memo *memo, const struct record *r)
{
	uint32_t own = samplelabels_own(l, t, memo, r);
	if (l->options.app)
		own = join(l, own, applabels_at(l->options.app, t->process, t->tid, r->time_ns));
	if (l->options.go)
		own = join(l, own, golabels_at(l->options.go, t->process, r));
	return own;
}

uint32_t samplelabels_with(struct samplelabels *l, uint32_t set, const char *key, const char *value)
{
	if (has_few(l))
		return set;
	struct label label = {
		.key = strtab_add_cstr(l->options.strings, key),
		.value = strtab_add_cstr(l->options.strings, value),
	};
	uint32_t added = labels_add(l->options.labels, &label, 1, false);
	return added == LABELS_NONE ? set : join(l, set, added);
}

uint32_t samplelabels_marked(void *ctx, uint32_t plain, const struct stack_marks *mark)
{
	struct samplelabels *l = ctx;
	if (stack_marks_is_empty(mark) || !(l->options.wanted & SAMPLELABEL_STACK) || has_few(l))
		return plain;
	return join(l, plain,
		    stack_marks_set(&l->marks, l->options.strings, l->options.labels, mark));
}
