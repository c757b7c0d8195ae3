/*
 * The marks are a label because pprof's locations have no field for them, and a frame at the joint
 * would separate stacks that are the same.  The numbers hardly split samples, because which frames
 * are heuristic depends on the stack alone.
 */

#include "stack/stack-marks.h"

#include "agg/labels.h"
#include "base/hash.h"
#include "base/strtab.h"
#include "symbolize/unwind/unwind.h"

#include <stdio.h>
#include <string.h>

void stack_marks_of(const struct unwind_result *r, struct stack_marks *ret)
{
	/* [truncated] counts as a frame */
	uint32_t first = r->is_whole ? 1 : 2;
	*ret = (struct stack_marks){ .n_joined = r->n_joined ? r->n_joined + first - 1 : 0 };
	for (uint32_t i = 0; i < r->n; i++) {
		uint32_t flags = r->frame[r->n - 1 - i].flags;
		if (!(flags & UNWIND_FRAME_HEURISTIC) || flags & UNWIND_FRAME_CHAINED)
			continue;
		if (ret->n_guessed < STACK_MARKS_GUESSED_MAX)
			ret->guessed[ret->n_guessed] = i + first;
		ret->n_guessed++;
	}
}

/* "guessed 3 5; joined 12" */
static void mark_text(const struct stack_marks *m, char *buf, size_t n_bytes)
{
	size_t at = 0;
	for (uint32_t i = 0; i < m->n_guessed && i < STACK_MARKS_GUESSED_MAX; i++)
		at += (size_t)snprintf(buf + at, n_bytes - at, "%s %u", i ? "" : "guessed",
				       m->guessed[i]);
	if (m->n_guessed > STACK_MARKS_GUESSED_MAX)
		at += (size_t)snprintf(buf + at, n_bytes - at, " ...");
	if (m->n_joined)
		snprintf(buf + at, n_bytes - at, "%sjoined %u", at ? "; " : "", m->n_joined);
}

uint32_t stack_marks_set(struct stack_marks_cache *c, struct strtab *strings, struct labels *labels,
			 const struct stack_marks *mark)
{
	struct stack_marks m = *mark;
	char text[128];
	if (m.n_guessed > STACK_MARKS_GUESSED_MAX)
		m.n_guessed = STACK_MARKS_GUESSED_MAX + 1;
	size_t at = hash_bytes(&m, sizeof(m)) % (sizeof(c->v) / sizeof(c->v[0]));
	if (c->v[at].set && memcmp(&c->v[at].mark, &m, sizeof(m)) == 0)
		return c->v[at].set;
	mark_text(&m, text, sizeof(text));
	struct label label = {
		.key = strtab_add_cstr(strings, STACK_MARKS_KEY),
		.value = strtab_add_cstr(strings, text),
	};
	uint32_t set = label.key && label.value ? labels_add(labels, &label, 1, false) : 0;
	if (set == LABELS_NONE)
		return 0;
	c->v[at].mark = m;
	c->v[at].set = set;
	return set;
}
