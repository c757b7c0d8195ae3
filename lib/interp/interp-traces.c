#include "interp/interp-traces.h"

#include "interp/interp-base.h"
#include "interp/interp-calls.h"
#include "interp/interp-ops.h"

#define ABOVE_MAX 8u

/* A frame in memory, perhaps of a function that has returned. */
struct trace {
	uint64_t at, caller;            /* caller: its frame; 0: native code */
	uint32_t code;
};

static bool find_trace(const struct interp_runtime *r, uint64_t at, struct trace *ret)
{
	ret->at = at;
	return r->trace(r->ctx, at, &ret->code, &ret->caller);
}

/* Where the frames of functions begin that this one calls. */
static bool find_end(const struct interp_runtime *r, const struct trace *t, uint64_t *ret)
{
	uint32_t n_bytes;
	if (r->frames_where(r->ctx, t->code, &n_bytes) != INTERP_FRAMES_STACKED)
		return false;
	*ret = t->at + n_bytes;
	return true;
}

/* Learns that outer has called inner, if it has. */
static bool learn_call(struct interp_calls *c, const struct interp_runtime *r,
		       const struct trace *outer, const struct trace *inner)
{
	uint64_t end;
	if (inner->caller != outer->at || !find_end(r, outer, &end) || end != inner->at)
		return false;
	if (interp_calls_has(c, outer->code, inner->code))
		return true;
	if (!r->may_call(r->ctx, outer->code, inner->code))
		return false;
	interp_calls_add(c, outer->code, inner->code);
	return true;
}

void interp_traces_above(struct interp_calls *c, const struct interp_runtime *r, uint32_t code,
			 uint64_t frame)
{
	struct trace outer = { .at = frame, .code = code }, inner;
	uint64_t end;
	for (unsigned int i = 0; i < ABOVE_MAX && r->trace; i++, outer = inner)
		if (!find_end(r, &outer, &end) || !find_trace(r, end, &inner) ||
		    !learn_call(c, r, &outer, &inner))
			return;
}

void interp_traces_below(struct interp_calls *c, const struct interp_runtime *r,
			 const struct interp_base *base, uint32_t code, uint64_t frame)
{
	struct trace inner, outer;
	if (!r->trace || !find_trace(r, frame, &inner) || inner.code != code)
		return;
	/* meanwhile native code may have called another function than the sample's */
	if (frame == base->at && !inner.caller)
		interp_calls_add_first(c, base, code);
	for (unsigned int i = 0; i < INTERP_CALLS_DEPTH && inner.caller; i++, inner = outer)
		if (!find_trace(r, inner.caller, &outer) || !learn_call(c, r, &outer, &inner))
			return;
}

bool interp_traces_has(const struct interp_runtime *r, uint32_t code, uint64_t frame,
		       uint64_t caller)
{
	struct trace t;
	return r->trace && find_trace(r, frame, &t) && t.code == code && t.caller == caller;
}
