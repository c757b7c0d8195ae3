/*
 * libiberty passes its output in pieces to a callback, so its length is limited while it is
 * produced: at the limit, the callback leaves by longjmp.  The C++ demangler keeps all its state on
 * the stack; the Rust one can leak a small buffer, once per hostile name.
 *
 * Rust comes first: its legacy mangling is valid C++, and the C++ demangler would keep the hash.
 */

#include "symbolize/name/demangle.h"

#include "base/vec.h"

#if __has_include(<libiberty/demangle.h>)
#include <libiberty/demangle.h>
#else
#include <demangle.h>
#endif
#include <setjmp.h>
#include <string.h>

struct output {
	VEC(char) text;
	sigjmp_buf too_long;
};

static void append(const char *piece, size_t n, void *ctx)
{
	struct output *o = ctx;
	if (n >= DEMANGLE_BYTES_MAX - o->text.n || !VEC_RESERVE(&o->text, n + 1))
		siglongjmp(o->too_long, 1);
	memcpy(o->text.v + o->text.n, piece, n);
	o->text.n += n;
	o->text.v[o->text.n] = '\0';
}

typedef int demangler(const char *, int, demangle_callbackref, void *);

/* o belongs to the caller, because the jump would lose locals of this function. */
static bool run_library(demangler *f, const char *linkage, int flags, struct output *o)
{
	if (sigsetjmp(o->too_long, 0) == 0 && f(linkage, flags, append, o) && o->text.n)
		return true;
	o->text.n = 0;
	return false;
}

/*
 * libiberty builds a D name in memory before anybody can limit it, and each back reference repeats
 * what it refers to, with the references in that: 40 in 131 bytes made 54 MB.  Names with more than
 * 16 stay as they are: 11 of the 16,571 in D's libraries of GCC 12, whose longest has 558 bytes.
 * With these limits, a result has at most a few megabytes.
 */
#define D_BYTES_MAX 4096u
#define D_REFERENCES_MAX 16u

/* Is there a back reference at p ("Q" and a distance to base 26, whose last digit is lower case) to
 * something that may have references itself: not just an identifier? */
static bool d_is_reference(const char *start, const char *p)
{
	const char *q = p;
	size_t n = 0;
	if (*q != 'Q')
		return false;
	while (*++q >= 'A' && *q <= 'Z' && n < D_BYTES_MAX)
		n = n * 26 + (size_t)(*q - 'A');
	if (*q < 'a' || *q > 'z')
		return false;
	n = n * 26 + (size_t)(*q - 'a');
	if (n > (size_t)(p - start))
		return false;
	size_t n_digits = strspn(p - n, "0123456789");
	return n_digits == 0 || strncmp(p - n + n_digits, "__", 2) == 0;
}

static bool d_is_bounded(const char *linkage)
{
	unsigned int n = 0;
	for (const char *p = linkage; *p; p++)
		n += d_is_reference(linkage, p);
	return n <= D_REFERENCES_MAX && strlen(linkage) <= D_BYTES_MAX;
}

/* Takes ownership of name. */
static char *refuse_long(char *name)
{
	if (!name || strlen(name) < DEMANGLE_BYTES_MAX)
		return name;
	free(name);
	return NULL;
}

static char *d_demangle(const char *linkage, int flags)
{
	return d_is_bounded(linkage) ? refuse_long(dlang_demangle(linkage, flags)) : NULL;
}

/* Cuts off the parameters, which are the last (...) group: "foo.bar!(int).baz(int)", "Foo::f(int)
 * const". */
static char *drop_parameters(char *name)
{
	size_t n = name ? strlen(name) : 0;
	if (n > 6 && strcmp(name + n - 6, " const") == 0)
		name[n -= 6] = '\0';
	if (!n || name[n - 1] != ')')
		return name;
	size_t depth = 0, i = n;
	do {
		i--;
		if (name[i] == ')')
			depth++;
		else if (name[i] == '(')
			depth--;
	} while (i && depth);
	if (depth == 0 && i > 0 && name[i - 1] != '!')
		name[i] = '\0';
	return name;
}

/* Can it be Rust: the new mangling, or the hash at the end of the legacy one? */
static bool may_be_rust(const char *linkage)
{
	return strncmp(linkage, "_ZN", 3) != 0 || strstr(linkage, "17h");
}

/* Thunks (Itanium C++ ABI 5.1.4.2): libiberty prints the target's parameters in spite of the
 * options. */
static bool is_thunk(const char *linkage)
{
	return strncmp(linkage, "_ZT", 3) == 0 && linkage[3] && strchr("hvc", linkage[3]);
}

char *demangle_name(const char *linkage)
{
	if (!demangle_is_mangled(linkage) || strlen(linkage) >= DEMANGLE_BYTES_MAX)
		return NULL;
	if (linkage[1] == 'D')
		return drop_parameters(d_demangle(linkage, DMGL_NO_OPTS));
	struct output o = {0};
	if (may_be_rust(linkage) && run_library(rust_demangle_callback, linkage, DMGL_NO_OPTS, &o))
		return o.text.v;
	if (run_library(cplus_demangle_v3_callback, linkage, DMGL_NO_OPTS, &o))
		return is_thunk(linkage) ? drop_parameters(o.text.v) : o.text.v;
	VEC_FREE(&o.text);
	return NULL;
}

char *demangle_full(const char *linkage)
{
	if (!demangle_is_mangled(linkage) || strlen(linkage) >= DEMANGLE_BYTES_MAX)
		return NULL;
	if (linkage[1] == 'D')
		return d_demangle(linkage, DMGL_PARAMS);
	struct output o = {0};
	int flags = DMGL_PARAMS | DMGL_ANSI | DMGL_VERBOSE;
	if ((may_be_rust(linkage) && run_library(rust_demangle_callback, linkage, flags, &o)) ||
	    run_library(cplus_demangle_v3_callback, linkage, flags, &o))
		return o.text.v;
	VEC_FREE(&o.text);
	return NULL;
}
