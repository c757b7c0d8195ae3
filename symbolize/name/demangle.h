#ifndef CPROF_SYMBOLIZE_NAME_DEMANGLE_H
#define CPROF_SYMBOLIZE_NAME_DEMANGLE_H

/*
 * Linkage names to what a reader of the source calls the function.  The short form, as
 * `pprof -symbolize=demangle=templates` shows it: scopes and template arguments are
 * kept; parameters, return types, Rust's hashes and the compiler's clone suffixes
 * (".isra.0", ".cold", ".llvm.123") are left out:
 *
 *   _ZN2ns3VecIiE4pushEOi                      ns::Vec<int>::push
 *   _ZN4core3fmt9Formatter3pad17h0123...E      core::fmt::Formatter::pad
 *   _RNvCs1234_7mycrate3foo                    mycrate::foo
 *   _D3foo__T3barTiZ3bazFiZv                   foo.bar!(int).baz
 *
 * Parameters of an enclosing function stay, since they tell local classes and lambdas
 * of overloads apart: ns::f(int)::{lambda()#1}::operator().
 *
 * Itanium C++, Rust (legacy and v0) and D with libiberty (demangle-iberty.c);
 * Itanium C++ only with the C++ runtime (demangle-cxa.c); meson chooses.
 */

#include <stdbool.h>

/* Longer results are refused: a name of a few bytes can stand for gigabytes. */
#define DEMANGLE_BYTES_MAX 65536

/* True for what looks mangled ("_Z", "_R", "_D", "__Z"): cheap, to ask before the rest. */
static inline bool demangle_is_mangled(const char *linkage)
{
	return linkage[0] == '_' &&
	       (linkage[1] == 'Z' || linkage[1] == 'R' || linkage[1] == 'D' ||
		(linkage[1] == '_' && linkage[2] == 'Z'));
}

enum demangle_mode {
	DEMANGLE_SIMPLE,       /* the short form */
	DEMANGLE_NONE,
	DEMANGLE_FULL,         /* with parameters, return types and hashes, as c++filt does */
};

/* A fresh string that the caller frees; NULL when linkage is no mangled name (or memory is
 * out): then the name is to be taken as it is. */
char *demangle_name(const char *linkage);
char *demangle_full(const char *linkage);

/* Either of the two; and names of OCaml and Haskell, which do not look mangled (demangle-words.c).
 * Swift's are left as they are. */
char *demangle_as(const char *linkage, enum demangle_mode mode);

#endif
