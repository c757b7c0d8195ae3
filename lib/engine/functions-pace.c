/*
 * Samples come periodically, so the next one is awaited, and read as soon as it is there: each one
 * at first, and while many callers are unknown.  Where only few are, on average one in
 * WAKEUP / EARNED is awaited.  Copies need not be awaited, but read before others take their place.
 */

#include "engine/functions-pace.h"

#define AFTER_NS 40000u                 /* from the sample to its reading */
#define PERIOD_NS_MIN 200000u           /* more samples are not awaited one by one */
#define PERIOD_NS_MAX 100000000u
#define AGAIN_NS 100000u                /* the first time that a sample does not come; */
#define MISSED_MAX 8u                   /* doubled so often: the thread waits */

#define UNSURE_MAX (65536u / 20)        /* of samples without callers: */
#define UNSURE_MANY (65536u / 8)
#define UNSURE_FEW (65536u / 40)
#define UNSURE_PART 64u                 /* a sample's weight in the share */

/* Wake-ups: each one costs WAKEUP, which samples earn. */
#define WAKEUP 16u
#define WAKEUP_FRUGAL (4u * WAKEUP)
#define EARNED 1u                       /* by a sample */
#define EARNED_MANY WAKEUP              /* while many callers are unknown */
#define START (256u * WAKEUP)           /* and at most */

/* So much of the slots for copies may be in use when they are read: others want some as well. */
#define SLOTS_PART 2u

/* Otherwise one reading for so many samples; for more if few callers are unknown: then readings
 * teach nothing. */
#define STEP_SAMPLES 32u
#define STEP_SAMPLES_FEW 128u
#define STEP_NS_MIN 5000000u

void functions_pace_init(struct functions_pace *p)
{
	*p = (struct functions_pace){ .unsure = 65536, .credit = START };
}

void functions_pace_use_copies(struct functions_pace *p, uint32_t n_slots)
{
	p->n_slots = n_slots;
}

/* Samples that were lost, and threads that had no CPU, make single intervals longer. */
static void note_period(struct functions_pace *p, uint32_t tid, uint64_t time_ns)
{
	uint64_t ns = time_ns - p->sampled_ns;
	if (tid == p->sampled_tid && ns >= PERIOD_NS_MIN / 2 && ns < PERIOD_NS_MAX) {
		if (!p->period_ns || ns < p->period_ns)
			p->period_ns = p->period_ns ? (3 * p->period_ns + ns) / 4 : ns;
		else
			p->period_ns += (ns < 2 * p->period_ns ? ns - p->period_ns :
								p->period_ns) / 16;
	}
	if (time_ns > p->sampled_ns) {
		p->sampled_ns = time_ns;
		p->sampled_tid = tid;
	}
}

void functions_pace_note(struct functions_pace *p, uint32_t tid, uint64_t time_ns, bool is_unsure)
{
	note_period(p, tid, time_ns);
	p->unsure += (is_unsure ? 65536 : 0) / UNSURE_PART - p->unsure / UNSURE_PART;
	p->credit += p->unsure > UNSURE_MANY && !p->is_frugal ? EARNED_MANY : EARNED;
	p->credit = p->credit < START ? p->credit : START;
}

/* When a sample is due that comes after `after_ns`. */
static uint64_t sample_after_ns(const struct functions_pace *p, uint64_t period_ns,
				uint64_t after_ns)
{
	uint64_t since_ns = after_ns - p->sampled_ns;
	return p->sampled_ns + (since_ns / period_ns + 1) * period_ns + AFTER_NS;
}

static uint64_t step_ns(const struct functions_pace *p)
{
	uint64_t period_ns = p->period_ns > PERIOD_NS_MIN ? p->period_ns : PERIOD_NS_MIN;
	uint64_t ns = (p->unsure <= UNSURE_FEW ? STEP_SAMPLES_FEW : STEP_SAMPLES) * period_ns;
	return ns > STEP_NS_MIN ? ns : STEP_NS_MIN;
}

/* How long samples may wait. */
static uint64_t wait_ns(const struct functions_pace *p)
{
	uint64_t slots_ns = p->n_slots / SLOTS_PART * p->period_ns, ns = step_ns(p);
	return slots_ns && slots_ns < ns ? slots_ns : ns;
}

bool functions_pace_reads(struct functions_pace *p, uint64_t now_ns)
{
	if (p->unsure <= UNSURE_MAX && now_ns - p->read_ns < step_ns(p) / 8 * 7)
		return false;
	p->read_ns = now_ns;
	return true;
}

uint64_t functions_pace_due_ns(struct functions_pace *p, uint64_t now_ns)
{
	uint64_t period_ns = p->period_ns > PERIOD_NS_MIN ? p->period_ns : PERIOD_NS_MIN, due_ns;
	if (!p->sampled_ns || now_ns < p->sampled_ns)
		return UINT64_MAX;
	if (p->seen_ns != p->sampled_ns)
		p->n_missed = 0;
	else if (p->n_missed++ == MISSED_MAX)
		p->n_missed--;
	p->seen_ns = p->sampled_ns;
	if (p->n_missed == MISSED_MAX)
		return UINT64_MAX;
	p->n_wakeups++;
	uint32_t wakeup = p->is_frugal ? WAKEUP_FRUGAL : WAKEUP;
	bool is_awaited = !p->is_frugal || !p->n_slots;
	if (p->unsure > UNSURE_MAX && p->credit >= wakeup && is_awaited) {
		p->credit -= wakeup;
		due_ns = p->n_missed ? now_ns + ((uint64_t)AGAIN_NS << (p->n_missed - 1)) :
				       sample_after_ns(p, period_ns, now_ns);
	} else {
		due_ns = sample_after_ns(p, period_ns, now_ns + (wait_ns(p) << p->n_missed));
	}
	if (!p->step_ns || due_ns - now_ns < p->step_ns)
		p->step_ns = due_ns - now_ns;
	return due_ns;
}
