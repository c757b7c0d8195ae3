/* Spans of instructions, and what takes their place. */

#include "interp/codespans.h"
#include "tap.h"

static void put(struct codespans *s, uint64_t start, uint64_t n_bytes, uint32_t id)
{
	codespans_put(s, &(struct codespan){ start, n_bytes, id });
}

int main(void)
{
	struct codespans s = { 0 };
	tap_ok(codespans_find(&s, 10) == CODESPANS_NONE, "none at first");
	put(&s, 100, 10, 1);
	put(&s, 200, 10, 2);
	put(&s, 150, 10, 3);
	put(&s, 300, 0, 4);
	tap_ok(codespans_find(&s, 99) == CODESPANS_NONE && codespans_find(&s, 100) == 1 &&
	       codespans_find(&s, 149) == 1 && codespans_find(&s, 155) == 3 &&
	       codespans_find(&s, 500) == 2, "the last one that begins before an address");
	put(&s, 110, 40, 5);
	tap_ok(s.v.n == 4 && codespans_find(&s, 109) == 1 && codespans_find(&s, 110) == 5 &&
	       codespans_find(&s, 150) == 3, "neighbours do not overlap");
	put(&s, 140, 61, 6);
	tap_ok(s.v.n == 2 && codespans_find(&s, 120) == 1 && codespans_find(&s, 140) == 6 &&
	       codespans_find(&s, 205) == 6, "those that overlap are gone");
	VEC_FREE(&s.v);
	return tap_done();
}
