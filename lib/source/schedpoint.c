/*
 * The numbers of the states have changed over time, and the bit of preemption with them: it is one
 * more than all bits of states.  So both are taken from the print format:
 *
 *	... REC->prev_state & (MASK) ? __print_flags(REC->prev_state & (MASK), "|",
 *	{ 0x01, "S" }, { 0x02, "D" }, ...) : "R", REC->prev_state & BIT ? "+" : "", ...
 *
 * A thread without any of these bits was ready to run, too: it gave its CPU to others.
 */

#include "source/schedpoint.h"

#include <string.h>

#define STATE_AND "REC->prev_state & "

/* The flags that a table of __print_flags names, from the first "{" on. */
static void read_states(struct schedpoint *p, const char *at)
{
	while (*at == '{') {
		uint64_t bits;
		at++;
		if (!tracepoint_constant(&at, &bits))
			return;
		at += strspn(at, " ,");
		if (at[0] != '"' || !at[1] || at[2] != '"')
			return;
		p->states |= bits;
		if (at[1] == 'D')
			p->disk |= bits;
		else if (at[1] == 'X' || at[1] == 'x' || at[1] == 'Z')
			p->dead |= bits;
		at += 3;
		at += strspn(at, " },");
	}
}

static void read_print_format(struct schedpoint *p, const char *text)
{
	const char *flags = strstr(text, "__print_flags(REC->prev_state");
	const char *table = flags ? strchr(flags, '{') : NULL;
	if (table)
		read_states(p, table);
	for (const char *at = text; (at = strstr(at, STATE_AND)) != NULL;) {
		uint64_t bit;
		at += strlen(STATE_AND);
		const char *end = at;
		if (tracepoint_constant(&end, &bit) && strncmp(end, " ? \"+\"", 6) == 0)
			p->preempted = bit;
	}
}

static enum schedpoint_kind kind_of(const char *text)
{
	return tracepoint_is(text, "sched_switch") ? SCHEDPOINT_SWITCH
	       : tracepoint_is(text, "sched_waking") ? SCHEDPOINT_WAKING
	       : tracepoint_is(text, "sched_wakeup") ? SCHEDPOINT_WAKEUP : SCHEDPOINT_OTHER;
}

bool schedpoint_init(struct schedpoint *p, const char *text)
{
	*p = (struct schedpoint){ 0 };
	enum schedpoint_kind kind = kind_of(text);
	bool is_switch = kind == SCHEDPOINT_SWITCH;
	if (kind == SCHEDPOINT_OTHER || !tracepoint_field(text, "common_flags", &p->flags) ||
	    !tracepoint_field(text, is_switch ? "prev_pid" : "pid", &p->tid))
		return false;
	if (is_switch && (!tracepoint_field(text, "next_pid", &p->next_tid) ||
			  !tracepoint_field(text, "prev_state", &p->state)))
		return false;
	if (is_switch)
		read_print_format(p, text);
	p->kind = kind;
	return true;
}

bool schedpoint_read(const struct schedpoint *p, const void *raw, size_t n_bytes, bool is_swapped,
		     struct schedpoint_seen *ret)
{
	uint64_t flags, tid, next_tid = 0, state = 0;
	bool is_switch = p->kind == SCHEDPOINT_SWITCH;
	if (!tracepoint_value(&p->flags, raw, n_bytes, is_swapped, &flags) ||
	    !tracepoint_value(&p->tid, raw, n_bytes, is_swapped, &tid) ||
	    (is_switch &&
	     (!tracepoint_value(&p->next_tid, raw, n_bytes, is_swapped, &next_tid) ||
	      !tracepoint_value(&p->state, raw, n_bytes, is_swapped, &state))))
		return false;
	*ret = (struct schedpoint_seen){
		.is_interrupt = flags & SCHEDPOINT_INTERRUPT,
		.tid = (uint32_t)tid, .next_tid = (uint32_t)next_tid,
		.is_preempted = is_switch && (state & p->preempted || !(state & p->states)),
		.is_disk = state & p->disk, .is_dead = state & p->dead,
	};
	/* Without a table of states only 0 is known, in all versions: ready to run. */
	if (is_switch && !p->states)
		ret->is_preempted = !state;
	return true;
}
