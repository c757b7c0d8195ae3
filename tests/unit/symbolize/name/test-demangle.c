#include "tap.h"

#include "symbolize/name/demangle.h"

#include <stdlib.h>

/* Built twice: with the demangler that meson chose, and (DEMANGLE_CXX_ONLY) with the C++
 * runtime's. */

struct pair {
	const char *linkage, *name;
};

static const struct pair cxx[] = {
	{ "_ZN2ns3VecIiE4pushEOi", "ns::Vec<int>::push" },
	{ "_ZNSt6vectorIiSaIiEE9push_backEOi",
	  "std::vector<int, std::allocator<int> >::push_back" },
	{ "_Z3foov", "foo" },
	{ "_Z3foov.isra.0", "foo" },
	{ "_Z3foov.cold", "foo" },
	{ "_Z3barIiET_S0_", "bar<int>" },
	{ "_ZN3FooC1Ei", "Foo::Foo" },
	{ "_ZN3FooD0Ev", "Foo::~Foo" },
	{ "_ZN12_GLOBAL__N_13fooEv", "(anonymous namespace)::foo" },
	{ "_Znwm", "operator new" },
	{ "_ZNK3FooclEi", "Foo::operator()" },
	{ "_ZTv0_n24_N3FooD0Ev", "virtual thunk to Foo::~Foo" },
	{ "_ZThn8_NK3Foo3getEi", "non-virtual thunk to Foo::get" },
	{ "main", NULL },
	{ "", NULL },
	{ "_", NULL },
	{ "_Z", NULL },
	{ "_Zzzz", NULL },
	{ "_start", NULL },
};

static const struct pair others[] = {
	{ "_ZZN2ns3fooEiENKUlvE_clEv", "ns::foo(int)::{lambda()#1}::operator()" },
	{ "_ZN4core3fmt9Formatter3pad17h0123456789abcdefE", "core::fmt::Formatter::pad" },
	{ "_ZN60_$LT$alloc..string..String$u20$as$u20$core..fmt..Display$GT$"
	  "3fmt17h0123456789abcdefE",
	  "<alloc::string::String as core::fmt::Display>::fmt" },
	{ "_RNvCs1234_7mycrate3foo", "mycrate::foo" },
	{ "_RNvCs1234_7mycrate3foo.llvm.123", "mycrate::foo" },
	{ "_RINvNtC3std3mem8align_ofdE", "std::mem::align_of::<f64>" },
	{ "_D8demangle4testFaZv", "demangle.test" },
	{ "_D3foo__T3barTiZ3bazFiZv", "foo.bar!(int).baz" },
	{ "_Dmain", "D main" },
};

/* As c++filt prints them. */
static const struct pair full[] = {
	{ "_ZN2ns3VecIiE4pushEOi", "ns::Vec<int>::push(int&&)" },
	{ "_Z3barIiET_S0_", "int bar<int>(int)" },
	{ "_ZNK3FooclEi", "Foo::operator()(int) const" },
	{ "main", NULL },
};

/* Names that need no other demangler. */
static const struct pair words[] = {
	{ "camlStdlib__List__map_1234", "Stdlib.List.map_1234" },
	{ "camlDune__exe__Main__$2b$2b_12", "Dune.exe.Main.++_12" },
	{ "camlStdlib__List.map_1234", "Stdlib.List.map_1234" },
	{ "caml_alloc", NULL },
	{ "camlibrary", NULL },
	{ "base_GHCziBase_zpzp_info", "base_GHC.Base_++_info" },
	{ "ghczmprim_GHCziTypes_Izh_con_info", "ghc-prim_GHC.Types_I#_con_info" },
	{ "Main_fib_info", "Main_fib_info" },
	{ "base_GHCziTuple_Z2T_info", NULL },
	{ "get_zinc_info", NULL },
	{ "Azi_x", NULL },
	{ "$s4main3fooyyF", NULL },
};

static void check_as(const struct pair *p, size_t n, enum demangle_mode mode)
{
	for (size_t i = 0; i < n; i++) {
		char *name = demangle_as(p[i].linkage, mode);
		tap_str(name, mode == DEMANGLE_NONE ? NULL : p[i].name, p[i].linkage);
		free(name);
	}
}

static void check(const struct pair *p, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		char *name = demangle_name(p[i].linkage);
		tap_str(name, p[i].name, p[i].linkage);
		free(name);
	}
}

/* Names of a few hundred bytes that stand for gigabytes. */
static void test_bombs(void)
{
	char text[4096] = "_Z1fSt4pairI";
	for (int i = 0; i < 40; i++)
		strcat(text, "St4pairI");
	strcat(text, "ii");
	for (int i = 0; i < 40; i++)
		strcat(text, "ES_");
	free(demangle_name(text));
	strcpy(text, "_ZN1a");
	for (int i = 0; i < 1000; i++)
		strcat(text, "I");
	free(demangle_name(text));
	/* each level names the one before twice */
	strcpy(text, "_Z1fI1aI");
	char *p = text + strlen(text);
	for (int i = 0; i < 30; i++)
		p += sprintf(p, "1bIS%c_S%c_E", '0' + i % 10, '0' + i % 10);
	strcpy(p, "EEvv");
	free(demangle_name(text));
	tap_ok(true, "hostile names come back");

	char *name = malloc(2 * DEMANGLE_BYTES_MAX);
	memset(name, 'a', 2 * DEMANGLE_BYTES_MAX);
	memcpy(name, "_ZN70000", 8);
	strcpy(name + 2 * DEMANGLE_BYTES_MAX - 3, "Ev");
	tap_ok(!demangle_name(name), "longer than the limit: refused");
	free(name);
}

/* A D function with n parameters; each is a pair, and after the first one a pair of two references
 * to the one before. */
static void test_d_bomb(int n)
{
	char text[1024], *p = text;
	p += sprintf(p, "_D1fFB2ii");
	size_t last = (size_t)(p - text) - 4;
	for (int i = 0; i < n; i++) {
		size_t at = (size_t)(p - text);
		p += sprintf(p, "B2");
		for (int k = 0; k < 2; k++) {
			size_t here = (size_t)(p - text);
			p += sprintf(p, "Q%c", (char)('a' + (here - last)));
		}
		last = at;
	}
	strcpy(p, "Zv");
	char *name = demangle_full(text);
	tap_ok(!name || strlen(name) < DEMANGLE_BYTES_MAX, "%d references in a D name: %zu bytes",
	       2 * n, name ? strlen(name) : 0);
	free(name);
	name = demangle_name(text);
	tap_ok(!name || strcmp(name, "f") == 0, "the same in the short form");
	free(name);
}

int main(void)
{
	check(cxx, sizeof(cxx) / sizeof(*cxx));
#ifndef DEMANGLE_CXX_ONLY
	check(others, sizeof(others) / sizeof(*others));
#else
	(void)others;
#endif
	for (enum demangle_mode mode = DEMANGLE_SIMPLE; mode <= DEMANGLE_FULL; mode++)
		check_as(words, sizeof(words) / sizeof(*words), mode);
	check_as(cxx, sizeof(cxx) / sizeof(*cxx), DEMANGLE_SIMPLE);
	check_as(cxx, sizeof(cxx) / sizeof(*cxx), DEMANGLE_NONE);
	check_as(full, sizeof(full) / sizeof(*full), DEMANGLE_FULL);
	test_bombs();
	for (int n = 1; n < 17; n += 3)
		test_d_bomb(n);
	return tap_done();
}
