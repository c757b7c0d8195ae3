#ifndef CPROF_PROC_LIVEPIECES_H
#define CPROF_PROC_LIVEPIECES_H

/*
 * The pieces of JIT code that are known in a process, by address.  Each is proven by a few bytes of
 * the process's memory, its witnesses, which are the same as long as the code is.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "symbolize/runtime/runtime-code.h"

struct budget;
struct runtime_memory;

struct livepiece {
	uint64_t start, end;
	uint32_t layer;                 /* of jitcalls.h */
	uint32_t code;                  /* LIVEPIECE_NO_CODE: nobody knows what is there now */
	uint64_t gone_ns;               /* without code: when that was noticed; 0: it went before
					 * any sample that is still to come */
};
#define LIVEPIECE_NO_CODE UINT32_MAX
/* Of code that is compiled.  Layer 0 is also that of addresses of which nobody knows what they were
 * at the time of a sample, so that it has only names of what is always there, such as stubs. */
#define LIVEPIECE_FIRST_LAYER 1u

struct livepiece_code {
	struct runtime_code c;
	uint64_t checked_tick;          /* the caller's number of the last proof */
	uint64_t proven_tick;           /* that of the last one that succeeded */
	uint64_t from_ns;               /* the caller's: it is not known to be older */
	uint8_t *bytes;                 /* private: the code itself; NULL: not copied yet */
};

struct livepieces {
	struct budget *budget;          /* borrowed */
	const struct runtime_code_ops *ops;
	/* The caller's tick in which the memory of code may last have been used for other code.
	 * What was not proven since then was gone at that time. */
	uint64_t epoch_tick;
	bool keeps_unreadable;          /* the caller's: code stays if no memory can be read */
	VEC(struct livepiece) piece;    /* sorted, not overlapping */
	VEC(struct livepiece_code) code;
	VEC(uint32_t) free_code;        /* private: unused elements of code */
	uint32_t n_renewals;            /* pieces whose code has changed */
	uint32_t n_replaced;            /* pieces that took another one's place */
};

void livepieces_done(struct livepieces *s);

/* The piece that contains pc, or NULL.  Borrowed until the next livepieces_add. */
struct livepiece *livepieces_at(struct livepieces *s, uint64_t pc);

/* Takes *c over, in place of older code there; its from_ns is then when that code was gone.
 * NULL: no memory; then *c is still the caller's. */
struct livepiece *livepieces_add(struct livepieces *s, const struct livepiece_code *c);

/* What is known of its code; NULL: nothing. */
struct livepiece_code *livepieces_code(struct livepieces *s, const struct livepiece *at);

/* The code of the piece, which has some, is not what it was. */
void livepieces_drop(struct livepieces *s, struct livepiece *at);

/* Reads the witnesses of n pieces with code at once, and sets code that has changed to
 * LIVEPIECE_NO_CODE. */
#define LIVEPIECES_PROVE_MAX 32u
void livepieces_prove(struct livepieces *s, const struct runtime_memory *memory,
		      struct livepiece *const *at, size_t n, uint64_t tick);

/* Copies up to n_bytes of the code at pc, which is in a piece with code; at first all of it is
 * copied from the process.  Returns how many; 0: it is too long, or it cannot be read. */
size_t livepieces_read(struct livepieces *s, const struct runtime_memory *memory,
		       const struct livepiece *at, uint64_t pc, void *buf, size_t n_bytes);

#endif
