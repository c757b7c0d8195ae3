// Blocks of operator new, in use at the end: 1 MiB by each function.
#include <cstddef>
#include <new>

static constexpr std::size_t mib = 1 << 20;

struct record {
	char bytes[mib];
};

struct alignas(256) aligned_record {
	char bytes[mib];
};

static void *volatile held[3];

__attribute__((noinline)) void by_new() { held[0] = new record; }
__attribute__((noinline)) void by_new_array() { held[1] = new char[mib]; }
__attribute__((noinline)) void by_new_aligned() { held[2] = new aligned_record; }

int main()
{
	for (int i = 0; i < 10; i++) {
		delete new record;
		delete[] new char[mib];
	}
	by_new();
	by_new_array();
	by_new_aligned();
}
