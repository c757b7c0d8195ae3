#include "view/model/waiting.h"

#include "base/cleanup.h"
#include "symbolize/runtime/waitframes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool is_one_of(const char *text, const char *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(text, list[i]) == 0)
			return true;
	return false;
}

static unsigned char bits_of(const struct model *m, const struct model_label *l)
{
	static const char *const idle[] = { "event-loop", "pool" };
	const char *key = model_string(m, l->key), *value = model_string(m, l->str);
	if (!l->str)
		return 0;
	if (strcmp(key, "idle") == 0 && is_one_of(value, idle, 2))
		return WAITING_IDLE;
	if (strcmp(key, "state") == 0 && strcmp(value, "running") != 0)
		return WAITING_IN_CALL;
	return strcmp(key, "waiter") == 0 ? WAITING_IN_CALL : 0;
}

int waiting_sets(const struct model *m, unsigned char **ret)
{
	CLEANUP_FREE unsigned char *set = calloc((size_t)m->n_label_sets + 1, 1);
	bool any = false;
	if (!set)
		return -ENOMEM;
	for (uint32_t i = 0; i < m->n_label_sets; i++) {
		for (uint32_t k = 0; k < m->labels[i].n; k++)
			set[i] |= bits_of(m, &m->label[m->labels[i].first + k]);
		any |= set[i] != 0;
	}
	*ret = any ? TAKE_PTR(set) : NULL;
	return 0;
}

bool waiting_is_call(const struct model *m, const struct model_location *l)
{
	struct waitframes_frame f = { "", "" };
	if (l->mapping != MODEL_NONE)
		f.module = model_string(m, m->mapping[l->mapping].filename);
	/* Functions inlined into one that waits do so, too. */
	if (l->n_lines > 0 && m->line[l->first_line + l->n_lines - 1].function != MODEL_NONE)
		f.name = model_string(m, m->function[m->line[l->first_line + l->n_lines - 1]
							     .function].name);
	return waitframes_is_call(&f);
}

uint32_t *waiting_calls(const struct model *m)
{
	CLEANUP_FREE bool *call = calloc((size_t)m->n_locations + 1, sizeof(*call));
	uint32_t *n_calls = calloc((size_t)m->n_stacks + 1, sizeof(*n_calls));
	if (!call || !n_calls) {
		free(n_calls);
		return NULL;
	}
	for (uint32_t i = 0; i < m->n_locations; i++)
		call[i] = waiting_is_call(m, &m->location[i]);
	for (uint32_t i = 0; i < m->n_stacks; i++) {
		const struct model_stack *s = &m->stack[i];
		uint32_t n = 0;
		while (n < s->n && call[m->stack_location[s->first + n]])
			n++;
		n_calls[i] = n < s->n ? n : 0;
	}
	return n_calls;
}

bool waiting_is_thread_time(const struct model *m, uint32_t type)
{
	static const char *const name[] = { "off_cpu", "off-cpu", "wall", "wallclock", "delay" };
	return is_one_of(model_string(m, m->type[type].type), name,
			 sizeof(name) / sizeof(*name));
}
