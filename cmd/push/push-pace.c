#include "cmd/push/push-pace.h"

void push_pace_failed(struct push_pace *p, const struct push_answer *a, enum push_verdict v,
		      uint64_t now_ns, uint64_t random)
{
	p->wait_ns = !p->wait_ns ? PUSH_PACE_FIRST_NS
		: p->wait_ns * 2 < PUSH_PACE_LAST_NS ? p->wait_ns * 2 : PUSH_PACE_LAST_NS;
	uint64_t wait = p->wait_ns / 2 + random % (p->wait_ns / 2 + 1);
	if (wait < a->retry_after_ns)
		wait = a->retry_after_ns + random % PUSH_PACE_FIRST_NS;
	p->next_ns = now_ns + wait;
	p->n_failures++;
	p->n_broken = v == PUSH_BROKEN ? p->n_broken + 1 : 0;
}

uint32_t push_pace_settled(struct push_pace *p)
{
	uint32_t n = p->n_failures;
	*p = (struct push_pace){ .wait_ns = 0 };
	return n;
}

bool push_pace_tells(struct push_pace *p, enum push_verdict v, uint64_t now_ns)
{
	if (p->told_ns && p->told == v && now_ns - p->told_ns < PUSH_PACE_TELL_NS)
		return false;
	p->told_ns = now_ns ? now_ns : 1;
	p->told = v;
	return true;
}

bool push_pace_gives_up(const struct push_pace *p)
{
	return p->n_broken >= PUSH_PACE_BROKEN_TRIES;
}
