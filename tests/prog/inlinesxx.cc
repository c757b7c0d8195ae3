// Templates, a namespace, a class and inlined calls with known names and
// lines: the code at AT:x is in function x.
//
// usage: inlinesxx [ROUNDS]
#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace shapes {

template <typename T, int N>
struct Mixer {
	[[gnu::always_inline]] inline T mix(T x) const
	{
		for (int i = 0; i < N; i++) {
			x = x * T(6364136223846793005u) + T(1442695040888963407u); // AT:mix
			__asm__ volatile("" : "+r"(x));
		}
		return x;
	}
};

template <typename T>
[[gnu::always_inline]] inline T apply(T x)
{
	return Mixer<T, 1000000>().mix(x); // AT:apply
}

class Circle {
public:
	[[gnu::noinline, gnu::noclone]] uint64_t area(uint64_t x) const; // START-DECL:area
};

uint64_t Circle::area(uint64_t x) const // START:area
{
	uint64_t y = apply<uint64_t>(x + 1); // AT:area
	__asm__ volatile("" ::"r"(__builtin_frame_address(0)) : "memory"); // a frame, leaf or not
	return y;
}

} // namespace shapes

int main(int argc, char **argv)
{
	uint64_t state = 1;
	shapes::Circle circle;
	for (long n = argc > 1 ? strtol(argv[1], nullptr, 0) : 500; n > 0; n--) {
		state = circle.area(state); // AT:main
	}
	printf("state %d\n", state != 0);
	return 0;
}
