#include "symbolize/pack/deflate.h"

#include <string.h>
#ifdef __x86_64__
#include <cpuid.h>
#endif

/*
 * zlib's inflate, built as Debian builds it, takes 1.4 s for libjvm's debug information, more than
 * everything else together.  This one takes less than half (libdeflate, which wants all of the
 * section in memory at once, is a tenth faster): 64 bits of input at a time, tables that hold the
 * value, its extra bits and the length of the code in one word, copies of 8 bytes into a flat
 * buffer with room behind the end.  And it can stop anywhere and start again at any block, which
 * zlib can only with tricks.
 */

#define RARELY(x) __builtin_expect(x, 0)

#define FAST_BYTES 24            /* of input, for the fast loop */

#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define LITTLE_ENDIAN_U64(x) __builtin_bswap64(x)
#else
#define LITTLE_ENDIAN_U64(x) (x)
#endif

/* ---- bits ---------------------------------------------------------------- */

/* At least 56 bits; 8 bytes of input are there.  Bits above n_bits may be set already, to what
 * comes there anyway. */
static inline void refill_fast(struct deflate_input *d)
{
	uint64_t x;
	memcpy(&x, d->p, sizeof(x));
	d->bits |= LITTLE_ENDIAN_U64(x) << d->n_bits;
	d->p += (63 - d->n_bits) >> 3;
	d->n_bits |= 56;
}

/* The same, or fewer at the end of the input. */
static inline void refill(struct deflate_input *d)
{
	if (d->end - d->p >= 8) {
		refill_fast(d);
		return;
	}
	d->bits &= (1ull << d->n_bits) - 1;
	while (d->n_bits < 56 && d->p < d->end) {
		d->bits |= (uint64_t)*d->p++ << d->n_bits;
		d->n_bits += 8;
	}
}

/* Drops as many bits as the entry is long, or n.  No length needs more than these six bits, by
 * which processors shift anyway. */
static inline void drop(struct deflate_input *d, uint32_t e)
{
	d->bits >>= e & 63;
	d->n_bits -= e & 63;
}

/* Takes n <= 16 bits; false at the end of the input. */
static bool take(struct deflate_input *d, unsigned n, uint32_t *ret)
{
	if (d->n_bits < n)
		refill(d);
	if (d->n_bits < n)
		return false;
	*ret = (uint32_t)(d->bits & ((1u << n) - 1));
	drop(d, n);
	return true;
}

/* ---- heads of blocks ----------------------------------------------------- */

static bool build_both(struct deflate *d, const uint8_t *length, unsigned n_lengths,
		       const uint8_t *distance, unsigned n_distances)
{
	return deflate_code_lengths(&d->length, length, n_lengths) &&
	       deflate_code_distances(&d->distance, distance, n_distances);
}

static bool fixed_codes(struct deflate *d)
{
	uint8_t length[DEFLATE_N_LENGTHS], distance[DEFLATE_N_DISTANCES];
	for (unsigned i = 0; i < DEFLATE_N_LENGTHS; i++)
		length[i] = i < 144 ? 8 : i < 256 ? 9 : i < 280 ? 7 : 8;
	memset(distance, 5, sizeof(distance));
	return build_both(d, length, DEFLATE_N_LENGTHS, distance, DEFLATE_N_DISTANCES);
}

/* The lengths of the codes are coded themselves (section 3.2.7). */
static bool read_codes(struct deflate *d)
{
	static const uint8_t order[19] = {
		16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15,
	};
	uint8_t length[DEFLATE_N_LENGTHS + DEFLATE_N_DISTANCES] = {0}, own[19] = {0};
	uint32_t meaning[19], n_lengths, n_distances, n_own, x;
	if (!take(&d->in, 5, &n_lengths) || !take(&d->in, 5, &n_distances) ||
	    !take(&d->in, 4, &n_own))
		return false;
	n_lengths += 257;
	n_distances += 1;
	for (unsigned i = 0; i < n_own + 4; i++) {
		if (!take(&d->in, 3, &x))
			return false;
		own[order[i]] = (uint8_t)x;
	}
	for (unsigned i = 0; i < 19; i++)
		meaning[i] = i << 16;
	if (n_lengths > DEFLATE_N_LENGTHS || !deflate_code_build(&d->length, 7, own, meaning, 19))
		return false;
	for (unsigned i = 0; i < n_lengths + n_distances;) {
		refill(&d->in);
		uint32_t e = deflate_code_look_up(&d->length, d->in.bits);
		uint32_t times = 1, what = e >> 16;
		if (!(e & 0xff) || (e & 0xff) > d->in.n_bits)
			return false;
		drop(&d->in, e);
		if (what >= 16) {
			if (!take(&d->in, what == 16 ? 2 : what == 17 ? 3 : 7, &times) ||
			    (what == 16 && !i))
				return false;
			times += what == 18 ? 11 : 3;
			what = what == 16 ? length[i - 1] : 0;
		}
		if (times > n_lengths + n_distances - i)
			return false;
		memset(length + i, (int)what, times);
		i += times;
	}
	return build_both(d, length, n_lengths, length + n_lengths, n_distances);
}

static bool read_head(struct deflate *d)
{
	uint32_t last, type, n, not;
	if (!take(&d->in, 1, &last) || !take(&d->in, 2, &type))
		return false;
	d->is_last_block = last;
	d->state = type ? DEFLATE_CODED : DEFLATE_STORED;
	if (type == 1)
		return fixed_codes(d);
	if (type == 2)
		return read_codes(d);
	if (type != 0)
		return false;
	drop(&d->in, d->in.n_bits & 7);
	if (!take(&d->in, 16, &n) || !take(&d->in, 16, &not) || n != (~not & 0xffff))
		return false;
	d->n_stored = n;
	/* whole bytes go back: the rest is copied */
	d->in.p -= d->in.n_bits / 8;
	d->in.bits = d->in.n_bits = 0;
	return true;
}

/* ---- contents of blocks -------------------------------------------------- */

/* Copies n bytes from `back` bytes before; may write up to 16 more. */
static inline void copy_match(uint8_t *to, size_t back, size_t n)
{
	const uint8_t *from = to - back, *end = to + n;
	if (back >= 8) {
		/* most are shorter than 16, and a branch that guesses wrong costs more */
		memcpy(to, from, 8);
		memcpy(to + 8, from + 8, 8);
		for (to += 16, from += 16; to < end; to += 8, from += 8)
			memcpy(to, from, 8);
	} else if (back == 1) {
		memset(to, *from, n);
	} else {
		while (to < end)
			*to++ = *from++;
	}
}

/* What follows it. */
static inline uint32_t put_literal(struct deflate_input *k, uint8_t **o,
				   const struct deflate_code *length, uint32_t e)
{
	drop(k, e);
	*(*o)++ = (uint8_t)(e >> 16);
	return deflate_code_first(length, k->bits, DEFLATE_LENGTH_BITS);
}

/*
 * With enough input that no step can run out of it.  `e` is always what the next bits mean, looked
 * up before what the last entry said is done, and before more bits are taken in behind them.
 */
static inline __attribute__((always_inline)) enum deflate_outcome
run_fast(struct deflate *d, uint8_t *out, size_t *n_out, size_t goal)
{
	struct deflate_input k = d->in;
	const struct deflate_code *length = &d->length, *distance = &d->distance;
	const uint8_t *k_goal = k.end - FAST_BYTES;
	enum deflate_outcome outcome = DEFLATE_ENOUGH;
	uint8_t *o = out + *n_out, *o_goal = out + goal;
	refill_fast(&k);
	uint32_t e = deflate_code_first(length, k.bits, DEFLATE_LENGTH_BITS);
	while (o < o_goal && k.p <= k_goal) {
		refill_fast(&k);
		if (e & DEFLATE_CODE_LITERAL) {
			e = put_literal(&k, &o, length, e);
			if (e & DEFLATE_CODE_LITERAL) {
				e = put_literal(&k, &o, length, e);
				if (e & DEFLATE_CODE_LITERAL) {
					e = put_literal(&k, &o, length, e);
					continue;
				}
			}
		}
		if (RARELY(e & (DEFLATE_CODE_SECOND | DEFLATE_CODE_END) || !e)) {
			e = deflate_code_look_up(length, k.bits);
			if (e & DEFLATE_CODE_END || !e) {
				drop(&k, e);
				outcome = e ? DEFLATE_BETWEEN : DEFLATE_BAD;
				break;
			}
			if (e & DEFLATE_CODE_LITERAL) {
				e = put_literal(&k, &o, length, e);
				continue;
			}
		}
		/* 34 bits are left at least; a length has 20 at most, a distance 28 */
		size_t n = deflate_code_value(e, k.bits);
		drop(&k, e);
		refill_fast(&k);
		e = deflate_code_first(distance, k.bits, DEFLATE_DISTANCE_BITS);
		if (RARELY(e & DEFLATE_CODE_SECOND))
			e = deflate_code_look_up(distance, k.bits);
		size_t back = deflate_code_value(e, k.bits);
		drop(&k, e);
		if (RARELY(!e || back > (size_t)(o - out))) {
			outcome = DEFLATE_BAD;
			break;
		}
		e = deflate_code_first(length, k.bits, DEFLATE_LENGTH_BITS);
		copy_match(o, back, n);
		o += n;
	}
	d->in = k;
	*n_out = (size_t)(o - out);
	return outcome;
}

/* Half of the steps take a number of the lowest bits, for which some processors have an
 * instruction (BMI2).  On libjvm's debug information it saves a tenth of the time. */
#ifdef __x86_64__
__attribute__((target("bmi2"))) static enum deflate_outcome
run_fast_bmi2(struct deflate *d, uint8_t *out, size_t *n_out, size_t goal)
{
	return run_fast(d, out, n_out, goal);
}

/* __builtin_cpu_supports() would bring writable data into the library. */
static bool find_bmi2(void)
{
	unsigned a, b, c, d;
	return __get_cpuid_count(7, 0, &a, &b, &c, &d) && b & bit_BMI2;
}
#else
static enum deflate_outcome run_fast_bmi2(struct deflate *d, uint8_t *out, size_t *n_out,
					  size_t goal)
{
	return run_fast(d, out, n_out, goal);
}

static bool find_bmi2(void)
{
	return false;
}
#endif

static enum deflate_outcome run_many(struct deflate *d, uint8_t *out, size_t *n_out, size_t goal)
{
	return d->has_bmi2 ? run_fast_bmi2(d, out, n_out, goal) : run_fast(d, out, n_out, goal);
}

/* A code and its extra bits, checked against the end of the input. */
static bool take_code(struct deflate *d, const struct deflate_code *c, uint32_t *ret_entry,
		      size_t *ret_value)
{
	refill(&d->in);
	uint32_t e = deflate_code_look_up(c, d->in.bits);
	if (!e || (e & 0xff) > d->in.n_bits)
		return false;
	*ret_value = deflate_code_value(e, d->in.bits);
	drop(&d->in, e);
	*ret_entry = e;
	return true;
}

/* One literal or match, at the end of the input. */
static enum deflate_outcome run_slow(struct deflate *d, uint8_t *out, size_t *n_out)
{
	uint32_t e;
	size_t n, back;
	if (!take_code(d, &d->length, &e, &n))
		return DEFLATE_BAD;
	if (e & DEFLATE_CODE_END)
		return DEFLATE_BETWEEN;
	if (e & DEFLATE_CODE_LITERAL) {
		out[(*n_out)++] = (uint8_t)n;
		return DEFLATE_ENOUGH;
	}
	if (!take_code(d, &d->distance, &e, &back) || back > *n_out)
		return DEFLATE_BAD;
	copy_match(out + *n_out, back, n);
	*n_out += n;
	return DEFLATE_ENOUGH;
}

static enum deflate_outcome run_stored(struct deflate *d, uint8_t *out, size_t *n_out, size_t goal)
{
	size_t n = d->n_stored, room = goal - *n_out, there = (size_t)(d->in.end - d->in.p);
	if (!n)
		return DEFLATE_BETWEEN;
	if (n > room)
		n = room;
	if (n > there)
		n = there;
	if (!n)
		return d->is_last_input ? DEFLATE_BAD : DEFLATE_HUNGRY;
	memcpy(out + *n_out, d->in.p, n);
	d->in.p += n;
	d->n_stored -= (uint32_t)n;
	*n_out += n;
	return DEFLATE_ENOUGH;
}

static bool is_hungry(const struct deflate *d)
{
	return !d->is_last_input && d->in.end - d->in.p < DEFLATE_INPUT_BYTES;
}

void deflate_start(struct deflate *d)
{
	d->in.bits = d->in.n_bits = 0;
	d->state = DEFLATE_HEAD;
	d->is_last_block = false;
	d->has_bmi2 = find_bmi2();
}

void deflate_skip_bits(struct deflate *d, unsigned skip)
{
	uint32_t ignored;
	take(&d->in, skip, &ignored);
}

enum deflate_outcome deflate_run(struct deflate *d, uint8_t *out, size_t *n_out, size_t goal)
{
	while (*n_out < goal) {
		enum deflate_outcome outcome;
		if (d->state == DEFLATE_END)
			return DEFLATE_DONE;
		if (is_hungry(d))
			return DEFLATE_HUNGRY;
		if (d->state == DEFLATE_HEAD)
			outcome = read_head(d) ? DEFLATE_ENOUGH : DEFLATE_BAD;
		else if (d->state == DEFLATE_STORED)
			outcome = run_stored(d, out, n_out, goal);
		else if (d->in.end - d->in.p >= FAST_BYTES)
			outcome = run_many(d, out, n_out, goal);
		else
			outcome = run_slow(d, out, n_out);
		if (outcome == DEFLATE_BETWEEN)
			d->state = d->is_last_block ? DEFLATE_END : DEFLATE_HEAD;
		if (outcome != DEFLATE_ENOUGH)
			return outcome;
	}
	return DEFLATE_ENOUGH;
}
