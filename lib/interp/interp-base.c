#include "interp/interp-base.h"

/* Python's memory for frames comes in pieces of 16 KiB. */
#define DISTANCE_MAX 16384u

/* In a place by distance, instead of the address of the outer frame. */
#define BY_DISTANCE (UINT64_C(1) << 63)

static uint64_t find(const struct interp_runtime *r, const struct interp_base_head *outer, size_t n)
{
	for (size_t i = 0; i < n && r->frames_where; i++) {
		uint32_t n_bytes;
		if (!outer[i].frame || outer[i].code == INTERP_NO_CODE)
			return 0;
		enum interp_frames_where w = r->frames_where(r->ctx, outer[i].code, &n_bytes);
		if (w == INTERP_FRAMES_STACKED)
			return outer[i].frame + n_bytes;
		if (w != INTERP_FRAMES_FIRST)
			return 0;
	}
	return 0;
}

uint64_t interp_base_root(const struct interp_runtime *r, const struct interp_chain *chain)
{
	uint32_t n_bytes;
	if (!chain->link.n || !chain->is_whole || !r->frames_where)
		return 0;
	const struct interp_link *first = &chain->link.v[chain->link.n - 1];
	return r->frames_where(r->ctx, first->code, &n_bytes) == INTERP_FRAMES_STACKED ? first->at
										       : 0;
}

struct interp_base interp_base_find(const struct interp_runtime *r,
				    const struct interp_base_head *outer, size_t n, uint64_t root)
{
	struct interp_base ret = { .at = n ? find(r, outer, n) : root };
	if (!n && root)
		ret.outer_code = INTERP_BASE_ROOT;
	if (!n)
		return ret;
	ret.outer_code = outer->code;
	ret.outer = outer->frame;
	if (ret.at)
		ret.line = r->line(r->ctx, outer->code, outer->off);
	return ret;
}

bool interp_base_is_alone(const struct interp_runtime *r, const struct interp_base *base,
			  enum interp_entry entry, uint32_t code, uint64_t frame)
{
	uint32_t n_bytes;
	if (!base->at)
		return false;
	/* a generator that has not begun yet is called like a function */
	if (interp_base_has(base, frame))
		return frame == base->at && entry == INTERP_ENTRY_FUNCTION;
	return r->frames_where(r->ctx, code, &n_bytes) == INTERP_FRAMES_FIRST;
}

bool interp_base_has(const struct interp_base *base, uint64_t frame)
{
	return base->at && frame - base->at < DISTANCE_MAX;
}

struct interp_chains_place interp_base_place(const struct interp_base *base, uint32_t code,
					     uint64_t frame)
{
	if (!interp_base_has(base, frame))
		return (struct interp_chains_place){ code, base->outer_code, frame, base->outer };
	return (struct interp_chains_place){
		code, base->outer_code, frame - base->at, BY_DISTANCE | base->line,
	};
}
