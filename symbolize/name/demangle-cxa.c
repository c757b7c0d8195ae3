/*
 * The C++ runtime's demangler (Itanium C++ ABI, __cxa_demangle), for systems without libiberty. It
 * always prints parameters and return types, which are cut off.  It supports neither D nor Rust v0;
 * a legacy Rust name loses its hash, and keeps escapes such as "$LT$".
 */

#include "symbolize/name/demangle.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

char *__cxa_demangle(const char *mangled, char *buf, size_t *n_bytes, int *ret_status);

/* Cuts suffix off name; false if name does not end with it. */
static bool drop_suffix(char *name, const char *suffix)
{
	size_t n = strlen(name), n_suffix = strlen(suffix);
	if (n < n_suffix || strcmp(name + n - n_suffix, suffix) != 0)
		return false;
	name[n - n_suffix] = '\0';
	return true;
}

/* Cuts off the last (...) group. */
static void drop_parameters(char *name)
{
	size_t i = strlen(name), depth = 0;
	if (!i || name[i - 1] != ')')
		return;
	do {
		i--;
		if (name[i] == ')')
			depth++;
		else if (name[i] == '(')
			depth--;
	} while (i && depth);
	if (i && !depth)
		name[i] = '\0';
}

/* "int f<int>" to "f<int>": only template functions have their return type in the name. */
static void drop_return_type(char *name)
{
	size_t n = strlen(name), depth = 0, start = 0;
	if (!n || name[n - 1] != '>' || strstr(name, "operator"))
		return;
	for (size_t i = 0; i < n; i++) {
		if (strchr("<({", name[i]))
			depth++;
		else if (strchr(">)}", name[i]) && depth)
			depth--;
		else if (name[i] == ' ' && !depth)
			start = i + 1;
	}
	memmove(name, name + start, n - start + 1);
}

/* "core::fmt::pad::h0123456789abcdef" without the hash. */
static void drop_rust_hash(char *name)
{
	size_t n = strlen(name);
	if (n > 19 && strncmp(name + n - 19, "::h", 3) == 0 &&
	    strspn(name + n - 16, "0123456789abcdef") == 16)
		name[n - 19] = '\0';
}

char *demangle_full(const char *linkage)
{
	if (!demangle_is_mangled(linkage) || linkage[1] == 'D' || linkage[1] == 'R' ||
	    strlen(linkage) >= DEMANGLE_BYTES_MAX)
		return NULL;
	int status;
	char *name = __cxa_demangle(linkage, NULL, NULL, &status);
	if (!name || strlen(name) >= DEMANGLE_BYTES_MAX) {
		free(name);
		return NULL;
	}
	return name;
}

char *demangle_name(const char *linkage)
{
	char *name = demangle_full(linkage);
	if (!name)
		return NULL;
	char *clone = strstr(name, " [clone ");
	if (clone)
		*clone = '\0';
	while (drop_suffix(name, " const") || drop_suffix(name, " volatile") ||
	       drop_suffix(name, " &&") || drop_suffix(name, " &"))
		;
	drop_parameters(name);
	drop_return_type(name);
	drop_rust_hash(name);
	return name;
}
