// C++ names for test-symbolizer and tests/symbols: templates, inlined members, lambdas, functions
// that only this file sees.  MARK-x and the addresses printed are as in fixture-c.c.

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#define NOINLINE __attribute__((noinline))
#define INLINE inline __attribute__((always_inline))
#if defined(__aarch64__)
#define HERE() ({ void *h_; __asm__ volatile("adr %0, ." : "=r"(h_)); h_; })
#else
#define HERE() ({ void *h_; __asm__ volatile("1: lea 1b(%%rip), %0" : "=r"(h_)); h_; })
#endif

extern "C" {
void *marks[8];
volatile unsigned sink;
}

namespace shop {

template <typename T> class Basket {
public:
	INLINE void add(T x)
	{
		total += x;
		marks[0] = HERE();                      // MARK-add
		sink += (unsigned)total;
	}
	NOINLINE T fill(int n)
	{
		for (int i = 0; i < n; i++)
			add((T)i);                      // MARK-call-add
		return total;
	}
private:
	T total = 0;
};

template <typename T, int N> NOINLINE T scale(T x)
{
	marks[1] = HERE();                              // MARK-scale
	return x * N + (T)sink;
}

namespace {
NOINLINE int hidden(int x)
{
	marks[2] = HERE();                              // MARK-hidden
	return x + (int)sink;
}
}

static NOINLINE int only_here(int x)
{
	marks[3] = HERE();                              // MARK-only-here
	return x - (int)sink;
}

struct Base {
	virtual ~Base() {}
	virtual int cost() const = 0;
};

struct Apple : Base {
	explicit Apple(int p) : price(p) {}
	NOINLINE int cost() const override
	{
		marks[4] = HERE();                      // MARK-cost
		return price + (int)sink;
	}
	int price;
};

// Inline, so that clang, too, gives the lambda the name by the ABI.
NOINLINE inline int with_lambda(int x)
{
	auto f = [x](int y) __attribute__((noinline)) {
		marks[5] = HERE();                      // MARK-lambda
		return x + y + (int)sink;
	};
	struct Local {
		static NOINLINE int work(int z) { marks[6] = HERE(); return z * (int)sink; }
	};
	return f(3) + f(4) + Local::work(x);
}

NOINLINE std::size_t strings(int n)
{
	std::vector<std::string> v;
	for (int i = 0; i < n; i++)
		v.push_back(std::to_string(i));
	std::size_t sum = 0;
	for (auto &s : v)
		sum += s.size();
	return sum;
}

}  // namespace shop

int main(int argc, char **)
{
	shop::Basket<long> b;
	shop::Apple a(argc);
	const shop::Base &base = a;
	long n = b.fill(argc + 2) + shop::scale<int, 3>(argc) + shop::hidden(argc) +
		 shop::only_here(argc) + base.cost() + shop::with_lambda(argc) +
		 (long)shop::strings(argc);
	if (argc > 1)
		std::printf("add %p\nscale %p\nhidden %p\nonly-here %p\ncost %p\nlambda %p\n"
			    "local-class %p\n", marks[0], marks[1], marks[2], marks[3], marks[4],
			    marks[5], marks[6]);
	return n == -1;
}
