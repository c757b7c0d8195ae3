#include "base/vec.h"

#include "tap.h"

#include <stdint.h>

int main(void)
{
	VEC(int) a = { 0 };
	int n_wrong = 0;
	for (int i = 0; i < 1000; i++)
		n_wrong += !VEC_PUSH(&a, i);
	for (int i = 0; i < 1000; i++)
		n_wrong += a.v[i] != i;
	tap_ok(n_wrong == 0 && a.n == 1000, "1000 elements pushed, all in order");
	size_t cap = a.cap;
	tap_ok(VEC_RESERVE(&a, 5000) && a.cap >= 6000 && a.n == 1000 && a.v[999] == 999,
	       "reserving makes room and keeps the elements");
	int *v = a.v;
	tap_ok(a.cap > cap && VEC_RESERVE(&a, 5000) && a.v == v, "enough room: nothing moves");
	cap = a.cap;
	tap_ok(!VEC_RESERVE(&a, SIZE_MAX - 10) && a.n == 1000 && a.cap == cap && a.v[7] == 7,
	       "a size that overflows is refused, and nothing changes");
	VEC_FREE(&a);
	tap_ok(!a.v && !a.n && !a.cap && VEC_PUSH(&a, 3) && a.v[0] == 3,
	       "freed: empty, and usable again");
	tap_ok(VEC_PUSH(&a, 4) && VEC_EXTEND(&a, 100) && a.n == 100 && a.v[0] == 3 && a.v[1] == 4,
	       "extended: the elements stay");
	n_wrong = 0;
	for (int i = 2; i < 100; i++)
		n_wrong += a.v[i] != 0;
	tap_int(n_wrong, 0, "and the new ones are zero");
	a.n = 1;
	tap_ok(VEC_EXTEND(&a, 3) && a.n == 3 && a.v[0] == 3 && !a.v[1] && !a.v[2],
	       "so are those where others were before");
	v = a.v;
	cap = a.cap;
	tap_ok(VEC_EXTEND(&a, 2) && a.n == 3 && a.v == v, "a longer array is left as it is");
	tap_ok(!VEC_EXTEND(&a, SIZE_MAX - 10) && a.n == 3 && a.cap == cap && a.v == v,
	       "a size that overflows is refused");
	VEC_FREE(&a);
	return tap_done();
}
