#include "labels/pollpids.h"

#include "base/clock.h"

void pollpids_done(struct pollpids *p)
{
	VEC_FREE(&p->pid);
	p->next_ns = 0;
}

void pollpids_remove(struct pollpids *p, uint32_t pid)
{
	for (size_t i = 0; i < p->pid.n; i++)
		if (p->pid.v[i] == pid)
			p->pid.v[i--] = p->pid.v[--p->pid.n];
}

bool pollpids_is_due(struct pollpids *p, uint64_t now_ns, uint64_t max_ns)
{
	if (!p->pid.n || now_ns < p->next_ns)
		return false;
	p->next_ns = now_ns + max_ns;
	return true;
}

void pollpids_wants(struct pollpids *p, uint64_t now_ns, uint64_t at_ns)
{
	if (at_ns < p->next_ns || p->next_ns <= now_ns)
		p->next_ns = at_ns;
}

int pollpids_timeout_ms(const struct pollpids *p)
{
	if (!p->pid.n)
		return -1;
	uint64_t now = clock_monotonic_ns();
	return p->next_ns <= now ? 0 : (int)((p->next_ns - now) / 1000000u) + 1;
}
