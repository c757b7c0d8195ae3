/*
 * Two traps.  The address of a function's first instruction is in a slot as well, and in a known
 * function in all samples: the right place has changing values.  And the frame that the loop was
 * called with is in a slot, and never changes while the activation lasts.
 *
 * Around some calls the compiler keeps the instruction elsewhere.  The place is then learned for
 * each such call.
 */

#include "interp/interp-learn.h"

#include "base/hash.h"
#include "interp/interp-chains.h"
#include "interp/interp-ops.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_N 16u             /* activations before the first choice, */
#define LAST_N 2048u            /* and before the last one */
#define KNOWN_N 24u             /* before others may take the places over, */
#define ADOPTED_N 256u          /* and before these choose their own ones */
#define CODES_MIN 8u            /* samples with their function, before frames must fit it */
#define REGISTER_WEIGHT 4u      /* against slots */
#define CALLS 1024u             /* a power of two: loops have some hundreds */
#define CALL_STEPS 8u
#define CALL_N_MIN 3u            /* samples before its place is used, */
#define CALL_N_MAX 64u           /* and before it is learned more seldom: */
#define CALL_SELDOM 8u
#define CALL_MOST 32u            /* as often as the best one, except in one of so many */
#define CALL_NEAR 96u            /* bytes of code in which a slot is mostly used for the same */

void interp_learn_init(struct interp_learn *l, const struct interp_runtime *r)
{
	*l = (struct interp_learn){
		.instruction = r->instruction_place, .frame = r->frame_place, .n_next = FIRST_N,
	};
}

static void forget_calls(struct interp_learn *l)
{
	for (uint32_t i = 0; l->call && i < CALLS; i++) {
		free(l->call[i]);
		l->call[i] = NULL;
	}
}

void interp_learn_done(struct interp_learn *l)
{
	free(l->place);
	forget_calls(l);
	free(l->call);
}

bool interp_learn_is_known(const struct interp_learn *l)
{
	return l->n >= KNOWN_N && l->instruction != ACTIVATION_NO_PLACE &&
	       l->frame != ACTIVATION_NO_PLACE;
}

void interp_learn_adopt(struct interp_learn *l, const struct interp_learn *from)
{
	if (from->instruction == ACTIVATION_NO_PLACE || from->frame == ACTIVATION_NO_PLACE)
		return;
	l->instruction = from->instruction;
	l->frame = from->frame;
	l->n_next = ADOPTED_N;
	forget_calls(l);
	if (!from->call || (!l->call && !(l->call = calloc(CALLS, sizeof(*l->call)))))
		return;
	for (uint32_t i = 0; i < CALLS; i++)
		if (from->call[i] && (l->call[i] = malloc(sizeof(*l->call[i]))))
			*l->call[i] = *from->call[i];
}

bool interp_learn_goes_on(const struct interp_learn *l)
{
	return l->n < LAST_N;
}

/* ---- places ----------------------------------------------------------------------------- */

static void note_value(uint64_t values[4], uint64_t value)
{
	uint64_t hash = hash_u64(value);
	values[hash >> 6 & 3] |= UINT64_C(1) << (hash & 63);
}

static uint64_t n_values(const uint64_t values[4])
{
	uint64_t n = 0;
	for (int i = 0; i < 4; i++)
		n += (uint64_t)__builtin_popcountll(values[i]);
	return n;
}

/* May it be an address of memory that programs allocate? */
static bool is_address(uint64_t value)
{
	return value >= 65536 && value >> 47 == 0;
}

/* Around calls, compilers put a register's value into a slot, which keeps it afterwards: it is an
 * instruction in all samples, but an earlier one. */
static uint64_t instruction_score(const struct interp_learn *l, uint32_t place)
{
	const struct interp_learn_place *p = &l->place[place];
	bool is_known = p->n_agree * 40 > l->n && p->n_code * 2 > l->n;
	uint64_t score = (uint64_t)p->n_code * p->n_code * n_values(p->code_values);
	return is_known ? score * (place < ARCH_REGS_MAX ? REGISTER_WEIGHT : 1) : 0;
}

static uint64_t frame_score(const struct interp_learn *l, const struct interp_learn_place *p)
{
	return p->n_frame * 40 > l->n ? (uint64_t)p->n_frame * n_values(p->frame_values) : 0;
}

/* What is read of the thread is in many stale places as well: where functions are short, nearly as
 * often as in the right one.  But the right one has a frame that the function of the sample itself
 * is remembered to have had. */
static uint64_t fitting_score(const struct interp_learn *l, const struct interp_learn_place *p)
{
	return l->n_codes >= CODES_MIN && p->n_fits * 2 > l->n_codes ?
		(uint64_t)p->n_fits * p->n_fits * n_values(p->fitting_values) : 0;
}

static uint32_t best_frame(const struct interp_learn *l,
			   uint64_t (*score_of)(const struct interp_learn *,
						const struct interp_learn_place *))
{
	uint64_t best = 0;
	uint32_t place = ACTIVATION_NO_PLACE;
	for (uint32_t i = 0; i < ACTIVATION_PLACES; i++) {
		uint64_t score = score_of(l, &l->place[i]);
		if (score <= best)
			continue;
		best = score;
		place = i;
	}
	return place;
}

/* What fitted the functions that another place said says nothing. */
static void forget_fitting(struct interp_learn *l)
{
	l->n_codes = 0;
	for (uint32_t i = 0; i < ACTIVATION_PLACES; i++) {
		l->place[i].n_fits = 0;
		memset(l->place[i].fitting_values, 0, sizeof(l->place[i].fitting_values));
	}
}

static void choose(struct interp_learn *l)
{
	uint64_t best = 0;
	uint32_t before = l->instruction, frame_before = l->frame;
	l->instruction = ACTIVATION_NO_PLACE;
	for (uint32_t i = 0; i < ACTIVATION_PLACES; i++) {
		uint64_t score = instruction_score(l, i);
		if (score <= best)
			continue;
		best = score;
		l->instruction = i;
	}
	if (l->instruction == ACTIVATION_NO_PLACE)
		l->instruction = before;
	if (l->instruction != before) {
		forget_fitting(l);
		forget_calls(l);
	}
	l->frame = best_frame(l, fitting_score);
	if (l->frame == ACTIVATION_NO_PLACE)
		l->frame = best_frame(l, frame_score);
	if (l->frame == ACTIVATION_NO_PLACE)
		l->frame = frame_before;
}

/* What is in that place. */
static uint32_t code_in(const struct interp_learn_sample *s, const struct activation *one,
			uint32_t place, uint32_t *ret_off)
{
	uint64_t value;
	if (place == ACTIVATION_NO_PLACE || !activations_value(s->a, one, place, &value) ||
	    !is_address(value))
		return INTERP_NO_CODE;
	return s->r->code_of(s->r->ctx, value, true, ret_off);
}

void interp_learn_add(struct interp_learn *l, const struct interp_learn_sample *s,
		      const struct activation *one, uint64_t frame, uint32_t code)
{
	const struct interp_runtime *r = s->r;
	uint64_t value;
	uint32_t own_off, own = code_in(s, one, l->instruction, &own_off);
	if (!l->place && !(l->place = calloc(ACTIVATION_PLACES, sizeof(*l->place))))
		return;
	for (uint32_t i = 0; i < ACTIVATION_PLACES; i++) {
		struct interp_learn_place *p = &l->place[i];
		uint32_t off, found;
		if (!activations_value(s->a, one, i, &value) || !is_address(value))
			continue;
		if (value == frame) {
			p->n_frame++;
			note_value(p->frame_values, value);
		}
		if (own != INTERP_NO_CODE && interp_chains_has(s->chains, own, value)) {
			p->n_fits++;
			note_value(p->fitting_values, value);
		}
		/* registers are few: in a large program most functions were not met before */
		found = r->code_of(r->ctx, value, i < ARCH_REGS_MAX, &off);
		if (found == INTERP_NO_CODE)
			continue;
		p->n_code++;
		/* not counted: the first instruction's address */
		if (off)
			note_value(p->code_values, value);
		p->n_agree += r->is_shared(r->ctx, found, code);
	}
	l->n_codes += own != INTERP_NO_CODE;
	if (++l->n < l->n_next)
		return;
	l->n_next += l->n_next / 2;
	choose(l);
}

/* ---- calls ------------------------------------------------------------------------------ */

/* Where a call is, or would be put; CALLS: there is no room. */
static uint32_t slot_of(const struct interp_learn *l, uint64_t pc)
{
	uint32_t slot = (uint32_t)hash_u64(pc) & (CALLS - 1);
	for (uint32_t i = 0; i < CALL_STEPS; i++, slot = (slot + 1) & (CALLS - 1))
		if (!l->call[slot] || l->call[slot]->pc == pc)
			return slot;
	return CALLS;
}

static const struct interp_learn_call *find_call(const struct interp_learn *l, uint64_t pc)
{
	uint32_t slot = l->call ? slot_of(l, pc) : CALLS;
	return slot < CALLS ? l->call[slot] : NULL;
}

static struct interp_learn_call *call_at(struct interp_learn *l, uint64_t pc)
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

/* Some places keep what an earlier call has left in them.  That does not agree with the hints, but
 * if readings are late, these seldom agree with the right place either: with eight functions that
 * take turns, in one of eight cases.  But the right one has functions that are remembered to have
 * had their frame where it is now. */
static bool fits(const struct interp_learn_call *c, uint32_t place)
{
	return c->n_frames >= CALL_N_MIN && c->of[place].n_fits * 10u >= c->n_frames * 9u;
}

/* How often a place has an instruction there; 0: too seldom. */
static uint32_t code_share(const struct interp_learn_call *c, uint32_t place)
{
	uint32_t n = c->of[place].n_code;
	bool is_right = fits(c, place) || c->of[place].n_agree * 8u >= c->n_hints;
	return is_right && n * 10u >= c->n * 9u ? n : 0;
}

/* That of a place which changes most is the highest, after those that fit. */
static uint32_t call_score(const struct interp_learn_call *c, uint32_t place)
{
	uint32_t n_values = (uint32_t)__builtin_popcountll(c->of[place].values);
	uint32_t score = n_values * (CALL_N_MAX + 1) + c->of[place].n_agree;
	return fits(c, place) ? score + (1u << 16) : score;
}

/* Among those that have an instruction most often. */
static void choose_for_call(struct interp_learn_call *c)
{
	uint32_t best_score = 0, most = 0;
	c->place = ACTIVATION_NO_PLACE;
	for (uint32_t i = 0; i < ACTIVATION_PLACES && c->n >= CALL_N_MIN; i++)
		most = code_share(c, i) > most ? code_share(c, i) : most;
	for (uint32_t i = 0; i < ACTIVATION_PLACES && most; i++) {
		uint32_t score = call_score(c, i);
		if (code_share(c, i) * CALL_MOST < most * (CALL_MOST - 1) || score <= best_score)
			continue;
		best_score = score;
		c->place = i;
	}
}

/* What was learned before functions were met is outweighed by what comes later. */
static void halve(struct interp_learn_call *c)
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

static void learn_call(struct interp_learn_call *c, const struct interp_learn_sample *s,
		       const struct activation *one, uint64_t frame, uint32_t hint)
{
	const struct interp_runtime *r = s->r;
	uint64_t value;
	uint32_t off;
	if (c->n_seen++ > CALL_N_MAX && c->n_seen % CALL_SELDOM)
		return;
	if (c->n == CALL_N_MAX)
		halve(c);
	c->n++;
	c->n_hints += hint != INTERP_NO_CODE;
	c->n_frames += frame != 0;
	for (uint32_t i = 0; i < ACTIVATION_PLACES; i++) {
		if (!activations_value(s->a, one, i, &value) || !is_address(value))
			continue;
		uint32_t code = r->code_of(r->ctx, value, false, &off);
		if (code == INTERP_NO_CODE || !off)
			continue;
		c->of[i].n_code++;
		c->of[i].n_agree += hint != INTERP_NO_CODE && r->is_shared(r->ctx, code, hint);
		c->of[i].n_fits += frame && interp_chains_has(s->chains, code, frame);
		c->of[i].values |= UINT64_C(1) << (hash_u64(value) & 63);
	}
	choose_for_call(c);
}

/* ---- answers ---------------------------------------------------------------------------- */

/* The nearest call with a place, if it is near enough. */
static const struct interp_learn_call *find_near(const struct interp_learn *l, uint64_t pc)
{
	const struct interp_learn_call *best = NULL;
	uint64_t best_distance = CALL_NEAR;
	for (uint32_t i = 0; l->call && i < CALLS; i++) {
		const struct interp_learn_call *c = l->call[i];
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

/* What the place of a call says, and if that is not known, that of the nearest one, provided that
 * it fits the frame. */
static uint32_t code_at_call(const struct interp_learn *l, const struct interp_learn_sample *s,
			     const struct activation *one, const struct interp_learn_call *c,
			     uint64_t frame, uint32_t *ret_off)
{
	if (c && c->place != ACTIVATION_NO_PLACE)
		return code_in(s, one, c->place, ret_off);
	c = frame ? find_near(l, one->pc) : NULL;
	uint32_t code = c ? code_in(s, one, c->place, ret_off) : INTERP_NO_CODE;
	return code != INTERP_NO_CODE && interp_chains_has(s->chains, code, frame) ?
		code : INTERP_NO_CODE;
}

uint32_t interp_learn_known(const struct interp_learn *l, const struct interp_learn_sample *s,
			    const struct activation *one, uint64_t frame, uint32_t *ret_off)
{
	uint32_t code = code_in(s, one, l->instruction, ret_off);
	if (code != INTERP_NO_CODE || l->instruction == ACTIVATION_NO_PLACE)
		return code;
	return code_at_call(l, s, one, find_call(l, one->pc), frame, ret_off);
}

uint32_t interp_learn_code(struct interp_learn *l, const struct interp_learn_sample *s,
			   const struct activation *one, uint64_t frame, uint32_t hint,
			   uint32_t *ret_off)
{
	uint32_t code = code_in(s, one, l->instruction, ret_off);
	if (code != INTERP_NO_CODE || l->instruction == ACTIVATION_NO_PLACE)
		return code;
	struct interp_learn_call *c = call_at(l, one->pc);
	if (c)
		learn_call(c, s, one, frame, hint);
	return code_at_call(l, s, one, c, frame, ret_off);
}
