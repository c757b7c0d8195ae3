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
		return drop_parameters(dlang_demangle(linkage, DMGL_NO_OPTS));
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
		return dlang_demangle(linkage, DMGL_PARAMS);
	struct output o = {0};
	int flags = DMGL_PARAMS | DMGL_ANSI | DMGL_VERBOSE;
	if ((may_be_rust(linkage) && run_library(rust_demangle_callback, linkage, flags, &o)) ||
	    run_library(cplus_demangle_v3_callback, linkage, flags, &o))
		return o.text.v;
	VEC_FREE(&o.text);
	return NULL;
}
