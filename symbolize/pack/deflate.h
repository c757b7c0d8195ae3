#ifndef CPROF_SYMBOLIZE_PACK_DEFLATE_H
#define CPROF_SYMBOLIZE_PACK_DEFLATE_H

/*
 * Decodes a deflate stream (RFC 1951) a part at a time: it stops when enough has come out, when it
 * needs more input, and between blocks, where it can be taken up again later.
 */

#include "symbolize/pack/deflate-code.h"

#define DEFLATE_WINDOW_BYTES 32768u
#define DEFLATE_SLACK_BYTES 320u /* room behind what was asked for */
#define DEFLATE_INPUT_BYTES 600u /* less input than that may not be enough for a step */

enum deflate_state { DEFLATE_HEAD, DEFLATE_STORED, DEFLATE_CODED, DEFLATE_END };

struct deflate_input {
	const uint8_t *p, *end;  /* set by the caller */
	uint64_t bits;           /* taken out of it, not yet used: the lower n_bits */
	unsigned n_bits;
};

struct deflate {
	struct deflate_input in;
	bool is_last_input;      /* nothing follows it */
	enum deflate_state state;
	bool is_last_block, has_bmi2;
	uint32_t n_stored;       /* bytes left of a block that is stored as it is */
	struct deflate_code length, distance;
};

enum deflate_outcome {
	DEFLATE_ENOUGH,          /* n_out reached the goal */
	DEFLATE_HUNGRY,          /* fewer than DEFLATE_INPUT_BYTES are left: bring more behind p */
	DEFLATE_BETWEEN,         /* in front of a block */
	DEFLATE_DONE,            /* the stream has ended */
	DEFLATE_BAD,             /* it is damaged */
};

/* In front of the block whose first bit is bit `skip` (0 to 7) of the input's first byte; the
 * caller sets the input. */
void deflate_start(struct deflate *d);
void deflate_skip_bits(struct deflate *d, unsigned skip);

/*
 * Decodes behind out[*n_out], which has what came before (at least DEFLATE_WINDOW_BYTES, if there
 * were so many), until *n_out is at or, by less than the slack, beyond goal.  out has room for goal
 * and DEFLATE_SLACK_BYTES.
 */
enum deflate_outcome deflate_run(struct deflate *d, uint8_t *out, size_t *n_out, size_t goal);

#endif
