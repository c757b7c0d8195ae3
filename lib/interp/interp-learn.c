/*
 * Two things speak for a place.  What it has is what memory says soon afterwards; and it is a
 * function that was ever seen with its frame at an address that is in the sample, too.  The second
 * one needs no prompt reading, and it is all there is where functions take a few microseconds: then
 * memory has another function even when it is read at once.
 *
 * Two traps.  The address of a function's first instruction is in a slot as well, and in a known
 * function in all samples: the right place has changing values.  And the frame that the loop was
 * called with is in a slot, and never changes while the activation lasts.
 */

#include "interp/interp-learn.h"

#include "base/hash.h"
#include "interp/interp-chains.h"
#include "interp/interp-ops.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_N 16u             /* activations before the first choice, */
#define LAST_N 1024u            /* and before the last one */
#define LATE_N 256u             /* before samples that were read late are learned from */
#define LATE_SELDOM 4u          /* more seldom */
#define KNOWN_N 24u             /* before later recordings may begin with the places, */
#define BEGUN_N 256u            /* and before these choose their own ones */
#define CODES_MIN 8u            /* samples with their function, before frames must fit it */
#define FITS_MIN 4u             /* samples with a frame that fits, before these say anything */
#define FITS_SHARE 40u          /* and one of so many has to fit */
#define REGISTER_WEIGHT 4u      /* against slots */

void interp_learn_init(struct interp_learn *l, const struct interp_runtime *r)
{
	*l = (struct interp_learn){
		.instruction = r->instruction_place, .frame = r->frame_place, .n_next = FIRST_N,
	};
}

void interp_learn_done(struct interp_learn *l)
{
	free(l->place);
	free(l->pairs);
	interp_callplaces_done(&l->calls);
}

bool interp_learn_has_places(const struct interp_learn *l)
{
	return l->instruction != ACTIVATION_NO_PLACE && l->frame != ACTIVATION_NO_PLACE;
}

bool interp_learn_is_known(const struct interp_learn *l)
{
	return l->n >= KNOWN_N && interp_learn_has_places(l);
}

void interp_learn_begin(struct interp_learn *l, uint32_t instruction, uint32_t frame)
{
	l->instruction = instruction;
	l->frame = frame;
	l->n_next = BEGUN_N;
}

bool interp_learn_is_done(const struct interp_learn *l)
{
	return l->n >= LAST_N;
}

bool interp_learn_goes_on(struct interp_learn *l, bool is_prompt)
{
	return !interp_learn_is_done(l) &&
	       (is_prompt || l->n < LATE_N || l->n_late++ % LATE_SELDOM == 0);
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

/* Around calls, compilers put a register's value into a slot, which keeps it afterwards: it is an
 * instruction in all samples, but an earlier one. */
static uint64_t instruction_score(const struct interp_learn *l, uint32_t place)
{
	const struct interp_learn_place *p = &l->place[place];
	uint64_t score = (uint64_t)p->n_code * p->n_code * n_values(p->code_values);
	return score * (place < ARCH_REGS_MAX ? REGISTER_WEIGHT : 1);
}

static struct interp_learn_pairs *find_pairs(const struct interp_learn *l, uint32_t place)
{
	for (uint32_t i = 0; i < INTERP_LEARN_PAIRS; i++)
		if (l->pairs && l->pairs[i].place == place)
			return &l->pairs[i];
	return NULL;
}

static bool has_fits(const struct interp_learn_pairs *pairs)
{
	uint32_t most = 0;
	for (uint32_t i = 0; pairs && i < ACTIVATION_PLACES; i++)
		most = pairs->n_fits[i] > most ? pairs->n_fits[i] : most;
	return most >= FITS_MIN && most * FITS_SHARE > pairs->n_codes;
}

static bool is_instruction(const struct interp_learn *l, uint32_t place)
{
	const struct interp_learn_place *p = &l->place[place];
	return p->n_code * 2 > l->n &&
	       (p->n_agree * 40 > l->n_prompt || has_fits(find_pairs(l, place)));
}

static uint64_t frame_score(const struct interp_learn *l, const struct interp_learn_place *p)
{
	return p->n_frame * 40 > l->n_prompt ? (uint64_t)p->n_frame * n_values(p->frame_values) :
					       0;
}

/* What is read of the thread is in many stale places as well: where functions are short, nearly as
 * often as in the right one.  But the right one has a frame that the function of the sample itself
 * is remembered to have had. */
static uint64_t fitting_score(const struct interp_learn *l, const struct interp_learn_place *p)
{
	return l->n_codes >= CODES_MIN && p->n_fits >= FITS_MIN &&
	       p->n_fits * FITS_SHARE > l->n_codes ?
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

static bool is_candidate(const struct interp_learn *l, uint32_t place)
{
	uint64_t score = instruction_score(l, place);
	uint32_t n_better = 0;
	for (uint32_t i = 0; i < ACTIVATION_PLACES && score; i++)
		n_better += instruction_score(l, i) > score;
	return score && n_better < INTERP_LEARN_PAIRS;
}

/* The places that may be the instruction's, with the frames that fit them from now on. */
static void list_candidates(struct interp_learn *l)
{
	if (!l->pairs && !(l->pairs = calloc(INTERP_LEARN_PAIRS, sizeof(*l->pairs))))
		return;
	for (uint32_t i = 0; i < INTERP_LEARN_PAIRS; i++)
		if (!l->pairs[i].n_codes || !is_candidate(l, l->pairs[i].place))
			l->pairs[i] = (struct interp_learn_pairs){ .place = ACTIVATION_NO_PLACE };
	for (uint32_t i = 0; i < ACTIVATION_PLACES; i++) {
		struct interp_learn_pairs *unused = find_pairs(l, ACTIVATION_NO_PLACE);
		if (unused && is_candidate(l, i) && !find_pairs(l, i))
			unused->place = i;
	}
}

static void choose(struct interp_learn *l)
{
	uint64_t best = 0;
	uint32_t before = l->instruction, frame_before = l->frame;
	l->instruction = ACTIVATION_NO_PLACE;
	for (uint32_t i = 0; i < ACTIVATION_PLACES; i++) {
		uint64_t score = instruction_score(l, i);
		if (score <= best || !is_instruction(l, i))
			continue;
		best = score;
		l->instruction = i;
	}
	if (l->instruction == ACTIVATION_NO_PLACE)
		l->instruction = before;
	if (l->instruction != before) {
		forget_fitting(l);
		interp_callplaces_clear(&l->calls);
	}
	l->frame = best_frame(l, fitting_score);
	if (l->frame == ACTIVATION_NO_PLACE)
		l->frame = best_frame(l, frame_score);
	if (l->frame == ACTIVATION_NO_PLACE)
		l->frame = frame_before;
	if (l->frame != frame_before)
		interp_callplaces_forget_frames(&l->calls);
}

/* Counts the places with an address of memory where that function has had its frame. */
static void add_pairs(struct interp_learn_pairs *pairs, const struct interp_place_sample *s,
		      const struct activation *one, uint32_t code)
{
	uint64_t value;
	if (pairs->n_codes == UINT16_MAX)
		return;
	pairs->n_codes++;
	for (uint32_t i = 0; i < ACTIVATION_PLACES; i++)
		if (activations_value(s->a, one, i, &value) && interp_place_is_address(value))
			pairs->n_fits[i] += interp_chains_has(s->chains, code, value);
}

static void add_place(struct interp_learn *l, const struct interp_place_sample *s,
		      const struct activation *one, uint32_t place, uint64_t value,
		      uint32_t prompt_code)
{
	const struct interp_runtime *r = s->r;
	struct interp_learn_place *p = &l->place[place];
	struct interp_learn_pairs *pairs = find_pairs(l, place);
	uint32_t off;
	/* registers are few: in a large program most functions were not met before */
	uint32_t found = r->code_of(r->ctx, value, place < ARCH_REGS_MAX ?
				    INTERP_SEARCH_NEW : INTERP_SEARCH_KNOWN, &off);
	if (found == INTERP_NO_CODE)
		return;
	p->n_code++;
	p->n_agree += prompt_code != INTERP_NO_CODE && r->is_shared(r->ctx, found, prompt_code);
	/* not counted: the first instruction's address */
	if (!off)
		return;
	note_value(p->code_values, value);
	if (pairs)
		add_pairs(pairs, s, one, found);
}

/* What was counted is needed no more. */
static void end(struct interp_learn *l)
{
	free(l->place);
	free(l->pairs);
	l->place = NULL;
	l->pairs = NULL;
}

void interp_learn_add(struct interp_learn *l, const struct interp_place_sample *s,
		      const struct activation *one, uint64_t frame, uint32_t code)
{
	uint64_t value;
	uint32_t own_off, own = interp_place_code(s, one, l->instruction, &own_off);
	if (!l->place && !(l->place = calloc(ACTIVATION_PLACES, sizeof(*l->place))))
		return;
	for (uint32_t i = 0; i < ACTIVATION_PLACES; i++) {
		struct interp_learn_place *p = &l->place[i];
		if (!activations_value(s->a, one, i, &value) || !interp_place_is_address(value))
			continue;
		if (frame && value == frame) {
			p->n_frame++;
			note_value(p->frame_values, value);
		}
		if (own != INTERP_NO_CODE && interp_chains_has(s->chains, own, value)) {
			p->n_fits++;
			note_value(p->fitting_values, value);
		}
		add_place(l, s, one, i, value, code);
	}
	l->n_codes += own != INTERP_NO_CODE;
	l->n_prompt += code != INTERP_NO_CODE;
	if (++l->n < l->n_next)
		return;
	l->n_next += l->n_next / 2;
	choose(l);
	list_candidates(l);
	if (l->n >= LAST_N)
		end(l);
}

/* ---- answers ---------------------------------------------------------------------------- */

uint32_t interp_learn_known(const struct interp_learn *l, const struct interp_place_sample *s,
			    const struct activation *one, uint64_t frame, uint32_t *ret_off)
{
	uint32_t code = interp_place_code(s, one, l->instruction, ret_off);
	if (code != INTERP_NO_CODE || l->instruction == ACTIVATION_NO_PLACE)
		return code;
	return interp_callplaces_code(&l->calls, s, one, frame, ret_off);
}

uint32_t interp_learn_code(struct interp_learn *l, const struct interp_place_sample *s,
			   const struct activation *one, uint64_t frame, uint32_t hint,
			   uint32_t *ret_off)
{
	uint32_t code = INTERP_NO_CODE;
	/* its value is mostly no instruction there, and searching for it costs most */
	if (!interp_callplaces_has(&l->calls, one->pc))
		code = interp_place_code(s, one, l->instruction, ret_off);
	if (code != INTERP_NO_CODE || l->instruction == ACTIVATION_NO_PLACE)
		return code;
	interp_callplaces_learn(&l->calls, s, one, frame, hint);
	code = interp_callplaces_code(&l->calls, s, one, frame, ret_off);
	return code != INTERP_NO_CODE ? code :
					interp_place_code(s, one, l->instruction, ret_off);
}
