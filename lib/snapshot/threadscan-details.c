/*
 * Names, states and other details of threads, which are read after their stacks, and the programs
 * that processes execute.
 *
 * The mappings of a process are read before its threads.  If it executes another program in
 * between, both belong to different programs, and what is at an address in one of them has nothing
 * to do with the other.  The kernel gives each program another place for its stack, which is in the
 * same text as the state of a thread.
 */

#include "snapshot/threadscan.h"

#include "base/clock.h"
#include "base/host.h"
#include "snapshot/keepoff.h"
#include "snapshot/waiton.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define STAT_BYTES_MAX 1024
#define TEXT_BYTES_MAX 4096

/* ---- details -------------------------------------------------------------------------------- */

/* 0 or -errno. */
static int read_stat(const struct threadscan *s, const struct threadscan_thread *t,
		     struct threadtext_stat *ret)
{
	char text[STAT_BYTES_MAX];
	long n = threadscan_text(s, t, "stat", text, sizeof(text));
	return n < 0 ? (int)n : n > 0 && threadtext_stat(text, ret) ? 0 : -ESRCH;
}

void threadscan_read_details(struct threadscan *s, struct threadscan_thread *t)
{
	char text[TEXT_BYTES_MAX];
	if (read_stat(s, t, &t->stat) < 0) {
		if (threadscan_text(s, t, "comm", text, sizeof(text)) > 0)
			snprintf(t->stat.name, sizeof(t->stat.name), "%.*s",
				 (int)strcspn(text, "\n"), text);
		return;
	}
	if (t->look == THREADSCAN_DENIED)
		return;
	bool waits = t->look == THREADSCAN_STILL || t->look == THREADSCAN_MOVED;
	if (waits && threadscan_text(s, t, "wchan", text, sizeof(text)) > 0)
		snprintf(t->wchan, sizeof(t->wchan), "%s", threadtext_wchan(text));
	if (waits && threadscan_text(s, t, "sched", text, sizeof(text)) > 0)
		t->has_exec_start = threadtext_sched(text, &t->exec_start_ns);
	t->has_details = waits && threadscan_is_still(s, t);
}

static void details_part(void *ctx, size_t first, size_t end)
{
	struct threadscan *s = ctx;
	char text[WAITON_TEXT_MAX];
	for (size_t i = first; i < end && clock_monotonic_ns() < s->end_ns; i++) {
		struct threadscan_thread *t = &s->threads.v[i];
		struct threadscan_process *p = &s->processes.v[t->process];
		if (t->look != THREADSCAN_ENDED)
			threadscan_read_details(s, t);
		if (t->look == THREADSCAN_STILL && t->call.syscall >= 0 && !t->wait_on)
			t->wait_on = strdup(waiton_text(s->host, p->pid, &p->memory, &t->call,
							text));
	}
}

void threadscan_details(struct threadscan *s)
{
	threadscan_each(s, details_part);
}

/* Reading where they run costs more than what is gained, of more threads. */
#define RUNNING_MAX 64u

void threadscan_leave_cpus(struct threadscan *s)
{
	struct threadtext_stat stat;
	unsigned n = 0;
	if (!s->keepoff)
		return;
	for (size_t i = 0; i < s->threads.n && n < RUNNING_MAX; i++)
		if (s->threads.v[i].look == THREADSCAN_RUNNING && ++n &&
		    read_stat(s, &s->threads.v[i], &stat) == 0 && stat.state == 'R') {
			const struct threadscan_process *p =
				&s->processes.v[s->threads.v[i].process];
			keepoff_add(s->keepoff, stat.cpu);
			if (p->is_direct)
				keepoff_watch(s->keepoff, p->pid, s->threads.v[i].tid);
		}
	keepoff_apply(s->keepoff);
}

/* ---- programs that are replaced ------------------------------------------------------------- */

static bool is_other_program(const struct threadscan_process *p, const struct threadtext_stat *stat)
{
	/* none yet: it was added while the kernel was about to execute a program */
	return stat->stack_start && stat->stack_start != p->stack_start;
}

void threadscan_note_program(const struct threadscan *s, struct threadscan_process *p)
{
	struct threadtext_stat stat;
	int r = -ESRCH;
	for (size_t i = p->first; i < p->first + p->n && (r == -ESRCH || r == -ENOENT); i++)
		r = read_stat(s, &s->threads.v[i], &stat);
	p->stack_start = r == 0 ? stat.stack_start : 0;
}

bool threadscan_has_same_program(const struct threadscan *s, const struct threadscan_process *p)
{
	struct threadscan_process now = *p;
	threadscan_note_program(s, &now);
	return now.stack_start == p->stack_start;
}

bool threadscan_has_executed(const struct threadscan *s, const struct threadscan_process *p)
{
	for (size_t i = p->first; i < p->first + p->n; i++)
		if (s->threads.v[i].look != THREADSCAN_ENDED &&
		    is_other_program(p, &s->threads.v[i].stat))
			return true;
	return false;
}

void threadscan_renew(struct threadscan *s, struct threadscan_process *p)
{
	for (size_t i = p->first; i < p->first + p->n; i++)
		if (is_other_program(p, &s->threads.v[i].stat)) {
			p->stack_start = s->threads.v[i].stat.stack_start;
			break;
		}
	/* its file of pages belongs to the memory of the other program */
	targetmem_close(&p->memory);
	targetmem_open(&p->memory, s->host, p->pid, host_live_thread(s->host, p->pid));
}

void threadscan_process_again(struct threadscan *s, const struct threadscan_process *p)
{
	for (size_t i = p->first; i < p->first + p->n && clock_monotonic_ns() < s->end_ns; i++)
		if (s->threads.v[i].look != THREADSCAN_ENDED)
			threadscan_again(s, i);
}

void threadscan_give_up(struct threadscan *s, const struct threadscan_process *p)
{
	for (size_t i = p->first; i < p->first + p->n; i++)
		s->threads.v[i].look = THREADSCAN_ENDED;
}

bool threadscan_is_same_program(const struct threadscan *s, const struct threadscan_thread *t)
{
	struct threadtext_stat stat;
	return read_stat(s, t, &stat) < 0 ||
	       !is_other_program(&s->processes.v[t->process], &stat);
}
