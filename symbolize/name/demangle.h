#ifndef CPROF_SYMBOLIZE_NAME_DEMANGLE_H
#define CPROF_SYMBOLIZE_NAME_DEMANGLE_H

/*
 * From linkage names to names as in the source.  The short form is that of `pprof
 * -symbolize=demangle=templates`: scopes and template arguments stay; parameters, return types,
 * Rust's hashes and the compiler's clone suffixes (".isra.0", ".cold", ".llvm.123") are left out:
 *
 *   _ZN2ns3VecIiE4pushEOi                      ns::Vec<int>::push
 *   _ZN4core3fmt9Formatter3pad17h0123...E      core::fmt::Formatter::pad
 *   _RNvCs1234_7mycrate3foo                    mycrate::foo
 *   _D3foo__T3barTiZ3bazFiZv                   foo.bar!(int).baz
 *
 * Parameters of an enclosing function stay, because they distinguish local classes and lambdas of
 * overloads: ns::f(int)::{lambda()#1}::operator().
 *
 * Itanium C++, Rust (legacy and v0) and D with libiberty (demangle-iberty.c); only Itanium C++ with
 * the C++ runtime (demangle-cxa.c).  meson chooses.
 */

#include <stdbool.h>

/* Longer results are refused: a name of a few bytes can stand for gigabytes. */
#define DEMANGLE_BYTES_MAX 65536

/* Does it look mangled ("_Z", "_R", "_D", "__Z")?  A cheap test before the others. */
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

/* An allocated string that the caller frees; NULL if linkage is not a mangled name (or out of
 * memory): then the name is used as it is. */
char *demangle_name(const char *linkage);
char *demangle_full(const char *linkage);

/* Either of the two; also names of OCaml and Haskell, which do not look mangled (demangle-words.c).
 * Swift's names are not demangled. */
char *demangle_as(const char *linkage, enum demangle_mode mode);

#endif
