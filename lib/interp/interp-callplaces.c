/*
 * Some places keep what an earlier call has left in them.  They do not agree with the hints, but if
 * readings are late, these seldom agree with the right place either: with eight functions that take
 * turns, in one of eight cases.  But the right one has functions that are remembered to have had
 * their frame where it is now.
 */

#include "interp/interp-callplaces.h"

#include "base/hash.h"
#include "interp/interp-chains.h"
#include "interp/interp-ops.h"

#include <stdlib.h>

#define CALLS INTERP_CALLPLACES_MAX
#define CALL_STEPS 8u
#define N_MIN 3u                /* samples before the place of a call is used, */
#define FITS_MIN 2u             /* with a frame that fits, before it says anything */
#define N_MAX 64u               /* and before it is learned more seldom: */
#define SELDOM 8u
#define RARE_MAX 1024u          /* and then still more seldom */
#define RARE 64u
#define MOST 32u                /* as often as the best one, except in one of so many */
#define KNOWN_N 8u              /* before later recordings may use it */
#define SURE_FITS 8u            /* then some of its functions may be unknown ones */
#define LIKELY 4u               /* one of so many samples had an instruction in a likely place */
#define NEAR 96u                /* bytes of code in which a slot is mostly used for the same */

/* A call from the loop where the instruction is elsewhere. */
struct interp_callplaces_one {
	uint64_t pc;
	uint32_t n, place;              /* n: halved now and then */
	uint32_t n_hints, n_frames;     /* of n: those with a hint, and with a known frame */
	uint32_t n_seen;
	struct { uint64_t values; uint8_t n_code, n_agree, n_fits; } of[ACTIVATION_PLACES];
};

void interp_callplaces_clear(struct interp_callplaces *l)
{
	for (uint32_t i = 0; l->call && i < CALLS; i++) {
		free(l->call[i]);
		l->call[i] = NULL;
	}
}

void interp_callplaces_done(struct interp_callplaces *l)
{
	interp_callplaces_clear(l);
	free(l->call);
	l->call = NULL;
}

void interp_callplaces_forget_frames(struct interp_callplaces *l)
{
	for (uint32_t i = 0; l->call && i < CALLS; i++) {
		if (!l->call[i])
			continue;
		l->call[i]->n_frames = 0;
		for (uint32_t k = 0; k < ACTIVATION_PLACES; k++)
			l->call[i]->of[k].n_fits = 0;
	}
}

/* Where a call is, or would be put; CALLS: there is no room. */
static uint32_t slot_of(const struct interp_callplaces *l, uint64_t pc)
{
	uint32_t slot = (uint32_t)hash_u64(pc) & (CALLS - 1);
	for (uint32_t i = 0; i < CALL_STEPS; i++, slot = (slot + 1) & (CALLS - 1))
		if (!l->call[slot] || l->call[slot]->pc == pc)
			return slot;
	return CALLS;
}

static const struct interp_callplaces_one *find_call(const struct interp_callplaces *l, uint64_t pc)
{
	uint32_t slot = l->call ? slot_of(l, pc) : CALLS;
	return slot < CALLS ? l->call[slot] : NULL;
}

static struct interp_callplaces_one *call_at(struct interp_callplaces *l, uint64_t pc)
{
	if (!l->call && !(l->call = calloc(CALLS, sizeof(*l->call))))
		return NULL;
	uint32_t slot = slot_of(l, pc);
	if (slot == CALLS)
		return NULL;
	if (!l->call[slot] && (l->call[slot] = calloc(1, sizeof(**l->call)))) {
		l->call[slot]->pc = pc;
		l->call[slot]->place = ACTIVATION_NO_PLACE;
	}
	return l->call[slot];
}

size_t interp_callplaces_list(const struct interp_callplaces *l,
			      struct interp_callplaces_known *ret)
{
	size_t n = 0;
	for (uint32_t i = 0; l->call && i < CALLS; i++) {
		const struct interp_callplaces_one *c = l->call[i];
		if (c && c->place != ACTIVATION_NO_PLACE && c->n_seen >= KNOWN_N)
			ret[n++] = (struct interp_callplaces_known){ c->pc, c->place, 0 };
	}
	return n;
}

void interp_callplaces_put(struct interp_callplaces *l, const struct interp_callplaces_known *k)
{
	struct interp_callplaces_one *c = call_at(l, k->pc);
	if (!c)
		return;
	c->place = k->place;
	c->n_seen = KNOWN_N;
}

/* Nearly all of its functions have had their frame there. */
static bool fits(const struct interp_callplaces_one *c, uint32_t place)
{
	return c->n_frames >= N_MIN && c->of[place].n_fits * 10u >= c->n_frames * 9u;
}

/* How often a place has an instruction there; 0: too seldom.  Where functions are short, no place
 * agrees, and few frames are remembered: then the right one has most of them. */
static uint32_t code_share(const struct interp_callplaces_one *c, uint32_t place,
			   uint32_t most_fits)
{
	uint32_t n = c->of[place].n_code, n_fits = c->of[place].n_fits;
	uint32_t n_agree = c->of[place].n_agree;
	bool is_right = n_fits >= FITS_MIN ? n_fits * 20u >= most_fits * 19u :
						  n_agree && n_agree * 8u >= c->n_hints;
	bool is_sure = n_fits >= SURE_FITS && n_fits >= most_fits;
	bool is_often = is_sure ? n * 3u >= c->n * 2u : n * 10u >= c->n * 9u;
	return (is_right || fits(c, place)) && is_often ? n : 0;
}

/* That of a place which changes most is the highest, after those that fit. */
static uint32_t call_score(const struct interp_callplaces_one *c, uint32_t place)
{
	uint32_t n_values = (uint32_t)__builtin_popcountll(c->of[place].values);
	uint32_t score = n_values * (N_MAX + 1) + c->of[place].n_agree;
	return fits(c, place) ? score + (1u << 16) : score;
}

/* Among those that have an instruction most often. */
static void choose_for_call(struct interp_callplaces_one *c)
{
	uint32_t best_score = 0, most = 0, most_fits = 0;
	if (c->n < N_MIN)
		return;
	c->place = ACTIVATION_NO_PLACE;
	for (uint32_t i = 0; i < ACTIVATION_PLACES; i++)
		most_fits = c->of[i].n_fits > most_fits ? c->of[i].n_fits : most_fits;
	for (uint32_t i = 0; i < ACTIVATION_PLACES; i++)
		most = code_share(c, i, most_fits) > most ? code_share(c, i, most_fits) : most;
	for (uint32_t i = 0; i < ACTIVATION_PLACES && most; i++) {
		uint32_t score = call_score(c, i), share = code_share(c, i, most_fits);
		if (share * MOST < most * (MOST - 1) || score <= best_score)
			continue;
		best_score = score;
		c->place = i;
	}
}

/* What was learned before functions were met is outweighed by what comes later. */
static void halve(struct interp_callplaces_one *c)
{
	c->n /= 2;
	c->n_hints /= 2;
	c->n_frames /= 2;
	for (uint32_t i = 0; i < ACTIVATION_PLACES; i++) {
		c->of[i].n_code /= 2;
		c->of[i].n_agree /= 2;
		c->of[i].n_fits /= 2;
	}
}

void interp_callplaces_learn(struct interp_callplaces *l, const struct interp_place_sample *s,
			     const struct activation *one, uint64_t frame, uint32_t hint)
{
	const struct interp_runtime *r = s->r;
	struct interp_callplaces_one *c = call_at(l, one->pc);
	uint64_t value;
	uint32_t off;
	if (!c || (c->n_seen++ > N_MAX && c->n_seen % (c->n_seen > RARE_MAX ? RARE : SELDOM)))
		return;
	if (c->n == N_MAX)
		halve(c);
	c->n++;
	c->n_hints += hint != INTERP_NO_CODE;
	c->n_frames += frame != 0;
	for (uint32_t i = 0; i < ACTIVATION_PLACES; i++) {
		if (!activations_value(s->a, one, i, &value) || !interp_place_is_address(value))
			continue;
		/* most functions of a large program are new: only likely places are looked up */
		bool is_likely = c->of[i].n_code * LIKELY >= c->n;
		uint32_t code = r->code_of(r->ctx, value, is_likely ?
					   INTERP_SEARCH_NEW : INTERP_SEARCH_KNOWN, &off);
		if (code == INTERP_NO_CODE || !off)
			continue;
		c->of[i].n_code++;
		c->of[i].n_agree += hint != INTERP_NO_CODE && r->is_shared(r->ctx, code, hint);
		c->of[i].n_fits += frame && interp_chains_has(s->chains, code, frame);
		c->of[i].values |= UINT64_C(1) << (hash_u64(value) & 63);
	}
	choose_for_call(c);
}

bool interp_callplaces_has(const struct interp_callplaces *l, uint64_t pc)
{
	const struct interp_callplaces_one *c = find_call(l, pc);
	return c && c->place != ACTIVATION_NO_PLACE;
}

/* The nearest call with a place, if it is near enough. */
static const struct interp_callplaces_one *find_near(const struct interp_callplaces *l, uint64_t pc)
{
	const struct interp_callplaces_one *best = NULL;
	uint64_t best_distance = NEAR;
	for (uint32_t i = 0; l->call && i < CALLS; i++) {
		const struct interp_callplaces_one *c = l->call[i];
		if (!c || c->place == ACTIVATION_NO_PLACE)
			continue;
		uint64_t distance = c->pc < pc ? pc - c->pc : c->pc - pc;
		if (distance >= best_distance)
			continue;
		best = c;
		best_distance = distance;
	}
	return best;
}

uint32_t interp_callplaces_code(const struct interp_callplaces *l,
				const struct interp_place_sample *s, const struct activation *one,
				uint64_t frame, uint32_t *ret_off)
{
	const struct interp_callplaces_one *c = find_call(l, one->pc);
	if (c && c->place != ACTIVATION_NO_PLACE)
		return interp_place_code(s, one, c->place, ret_off);
	c = frame ? find_near(l, one->pc) : NULL;
	uint32_t code = c ? interp_place_code(s, one, c->place, ret_off) : INTERP_NO_CODE;
	return code != INTERP_NO_CODE && interp_chains_has(s->chains, code, frame) ?
		code : INTERP_NO_CODE;
}
