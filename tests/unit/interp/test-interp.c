/* Functions in native stacks: which frames stay, and what does not fit. */

#include "interp/interp.h"

#include "agg/frames.h"
#include "agg/stacks.h"
#include "tap.h"

#include <stdlib.h>
#include <string.h>

/* A frame is a letter: in the interpreter's file a loop (L), glue (g) and other functions (o);
 * others are elsewhere.  Functions are upper case letters from A on. */
#define OWN 1u
#define ELSEWHERE 2u
#define FUNCTIONS 3u

static struct frames frames;
static struct stacks stacks;

static bool is_loop(void *ctx, uint64_t vaddr)
{
	(void)ctx;
	return vaddr == 'L';
}

static bool is_glue(void *ctx, uint64_t vaddr)
{
	(void)ctx;
	return vaddr == 'g';
}

static const struct interp_code code = { .dso = OWN, .is_loop = is_loop, .is_glue = is_glue };

static uint32_t native(const char *outermost_first)
{
	uint32_t node = STACKS_EMPTY;
	for (const char *p = outermost_first; *p; p++)
		node = stacks_add(&stacks, node,
				  frames_add(&frames, strchr("Lgo", *p) ? OWN : ELSEWHERE,
					     (uint64_t)*p, true), true);
	return node;
}

/* "CB/A": innermost first, an activation ends with each '/'. */
static struct interp_frames functions(const char *text)
{
	struct interp_frames f = { .is_whole = true };
	for (const char *p = text; *p; p++) {
		if (*p == '/')
			(void)VEC_PUSH(&f.ends, (uint32_t)f.frames.n);
		else
			(void)VEC_PUSH(&f.frames, frames_add(&frames, FUNCTIONS, (uint64_t)*p,
							     true));
	}
	return f;
}

static void places(enum interp_mode mode, const char *stack, const char *text, bool is_whole,
		   const char *want, const char *what)
{
	const struct interp_tables t = { .frames = &frames, .stacks = &stacks };
	uint32_t before = native(stack), node = before;
	struct interp_frames f = functions(text);
	char got[64] = "-", *p = got + sizeof(got) - 1;
	if (interp_place(&t, &code, mode, &f, is_whole, &node) == INTERP_PLACED) {
		for (*p = '\0'; node != STACKS_EMPTY; node = stacks.v[node].parent)
			*--p = (char)frames.v[stacks.v[node].frame].vaddr;
	} else {
		strcpy(got, node == before ? "-" : "changed");
		p = got;
	}
	tap_str(p, want, what);
	interp_frames_done(&f);
}

int main(void)
{
	struct interp_frames none = { .is_whole = true }, cut = { .is_whole = false };
	const struct interp_tables t = { .frames = &frames, .stacks = &stacks };
	frames_init(&frames, NULL);
	stacks_init(&stacks, NULL);
	places(INTERP_AUTO, "moLx", "BA/", true, "moABx", "functions instead of the loop");
	places(INTERP_AUTO, "mgLgox", "A/", true, "mgAgox", "all that is not between activations");
	places(INTERP_AUTO, "mLgosgLx", "B/A/", true, "mAosBx", "between them no glue");
	places(INTERP_AUTO, "mLgLgLo", "D/CB/A/", true, "mABCDo", "three activations");
	places(INTERP_MIXED, "mLgosgLx", "CB/A/", true, "mLAgosgLBCx", "mixed: all");
	places(INTERP_ONLY, "mLgosgLxy", "CB/A/", true, "ABCy", "only: and the innermost frame");
	places(INTERP_ONLY, "mLgL", "B/A/", true, "AB", "unless that is the loop");
	places(INTERP_AUTO, "mLx", "/", true, "mx", "an activation that has just begun");
	places(INTERP_AUTO, "mLx", "B/A/", true, "-", "more activations than loops");
	places(INTERP_AUTO, "mLgLx", "A/", true, "-", "fewer");
	places(INTERP_AUTO, "mLx", "A", true, "-", "a function without an activation");
	places(INTERP_AUTO, "tLx", "B/A/", false, "tABx", "a cut stack: others are outside");
	places(INTERP_AUTO, "tx", "B/A/", false, "tABx", "without any loop");
	places(INTERP_AUTO, "tLgLx", "A/", false, "-", "but not fewer");
	uint32_t node = native("mx"), before = node;
	tap_ok(interp_place(&t, &code, INTERP_AUTO, &none, true, &node) == INTERP_NO_LOOP &&
	       interp_place(&t, &code, INTERP_AUTO, &cut, true, &node) == INTERP_NO_LOOP &&
	       node == before, "no interpreter");
	node = before = native("mLx");
	tap_ok(interp_place(&t, &code, INTERP_AUTO, &cut, true, &node) == INTERP_UNKNOWN &&
	       node == before, "unknown functions drop nothing");
	stacks_done(&stacks);
	frames_done(&frames);
	return tap_done();
}
