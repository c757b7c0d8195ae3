#ifndef CPROF_VIEW_CONVERT_FROMHEAP_H
#define CPROF_VIEW_CONVERT_FROMHEAP_H

/* What the readers of heap profiles share: types of values, the correction of sampled values, and
 * stacks of addresses with the mappings of the process. */

#include "view/convert/from.h"
#include "view/convert/fromtext.h"

/* Blocks and their bytes. */
struct fromheap_pair { uint64_t n, n_bytes; };

/* Three pairs of sample types, named as in profiles of Go and of cprof record --heap. */
enum fromheap_types { FROMHEAP_ALLOC = 1, FROMHEAP_INUSE = 2, FROMHEAP_PEAK = 4 };

struct fromheap_map {
	uint64_t start, end, file_off;
	const char *name;
	uint64_t id;                    /* in the profile; 0: not yet */
};

struct fromheap {
	struct from from;
	unsigned types;                 /* enum fromheap_types */
	VEC(struct fromheap_map) map;   /* code only, by address */
	char *maps_text;
	VEC(uint64_t) address;          /* by location id - 1 */
	struct hashindex by_address;
	VEC(uint64_t) ids;              /* of one stack, innermost first */
	size_t n_stacks;
};

/* types must contain FROMHEAP_INUSE.  period: bytes between two samples, 1: all are in the file. */
int fromheap_begin(struct fromheap *x, unsigned types, uint64_t period, struct err *e);
void fromheap_done(struct fromheap *x);

/* Reads the mappings after the line "MAPPED_LIBRARIES:", and returns the text before it. */
int fromheap_maps(struct fromheap *x, struct fromtext all, struct fromtext *ret_rest,
		  struct err *e);

/* Replaces the stack by these return addresses: "0x12 0x34 ...", innermost first, without those in
 * an allocator's library at its beginning.  -EINVAL: it is
 * something else; -ENOMEM. */
int fromheap_addresses(struct fromheap *x, struct fromtext list);

/* What blocks sampled on average once in period bytes stand for.  jemalloc and tcmalloc sample
 * bytes: a block of n bytes is sampled with the probability 1 - exp(-n / period), and those of a
 * stack are taken to be of equal size, as pprof does. */
struct fromheap_pair fromheap_unbias(struct fromheap_pair p, uint64_t period);

/* Adds a sample of the present stack.  pair: by type, in the order of their bits.  each: the size
 * of the blocks, for the label bytes; 0: it differs.  Without any value nothing is added. */
void fromheap_sample(struct fromheap *x, const struct fromheap_pair pair[3], uint64_t each);

/* -EINVAL if there were no stacks. */
int fromheap_finish(struct fromheap *x, struct model **ret, struct err *e);

#endif
