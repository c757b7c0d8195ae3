/*
 * Names of languages whose encodings are simple enough to be decoded here.
 *
 * OCaml: "camlStdlib__List__map_1234" (before 5.0) or "camlStdlib__List.map_1234" is Stdlib.List's
 * map; "$2b" is a character by its code.
 *
 * Haskell (GHC's Z-encoding): "base_GHCziBase_zpzp_info" is base_GHC.Base_++_info.  A name is
 * treated as Haskell only if it has a module and one of GHC's suffixes, and can be decoded
 * completely.
 */

#include "symbolize/name/demangle.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static int hex_digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static char *ocaml(const char *linkage)
{
	if (strncmp(linkage, "caml", 4) != 0 || !isupper((unsigned char)linkage[4]))
		return NULL;
	char *text = malloc(strlen(linkage) + 1), *to = text;
	if (!text)
		return NULL;
	for (const char *p = linkage + 4; *p;) {
		int high = p[0] == '$' ? hex_digit(p[1]) : -1;
		int low = high >= 2 ? hex_digit(p[2]) : -1;
		if (low >= 0 && high < 8 && (high != 7 || low != 15)) {
			*to++ = (char)(high << 4 | low);
			p += 3;
		} else if (p[0] == '_' && p[1] == '_' && p[2]) {
			*to++ = '.';
			p += 2;
		} else {
			*to++ = *p++;
		}
	}
	*to = '\0';
	return text;
}

static bool has_ghc_suffix(const char *s)
{
	static const char *const suffix[] = { "_info", "_entry", "_closure", "_ret", "_slow",
					      "_fast" };
	size_t n = strlen(s);
	for (size_t i = 0; i < sizeof(suffix) / sizeof(*suffix); i++) {
		size_t k = strlen(suffix[i]);
		if (n > k && strcmp(s + n - k, suffix[i]) == 0)
			return true;
	}
	return false;
}

/* "_Main_" or "_GHCziBase_": a part that begins with a capital and is not the last one. */
static bool has_module(const char *s)
{
	for (const char *p = s; p; p = strchr(p, '_')) {
		p += *p == '_';
		const char *end = strchr(p, '_');
		if (end && isupper((unsigned char)*p) &&
		    (memmem(p, (size_t)(end - p), "zi", 2) || strncmp(p, "Main_", 5) == 0))
			return true;
		if (!*p)
			break;
	}
	return false;
}

static char *haskell(const char *linkage)
{
	static const char small[] = "abcdeghilmnpqrstuv", meaning[] = "&|^$=>#.<-!+'\\/*_%";
	static const char large[] = "LRMNC", brackets[] = "()[]:";
	if (!has_ghc_suffix(linkage) || !has_module(linkage))
		return NULL;
	char *text = malloc(strlen(linkage) + 1), *to = text;
	if (!text)
		return NULL;
	for (const char *p = linkage; *p;) {
		const char *at;
		if (*p == 'z' && p[1] == 'z') {
			*to++ = 'z';
		} else if (*p == 'z' && p[1] && (at = strchr(small, p[1]))) {
			*to++ = meaning[at - small];
		} else if (*p == 'Z' && p[1] == 'Z') {
			*to++ = 'Z';
		} else if (*p == 'Z' && p[1] && (at = strchr(large, p[1]))) {
			*to++ = brackets[at - large];
		} else if (*p == 'z' || *p == 'Z') {
			free(text);  /* tuples, Unicode: not decoded */
			return NULL;
		} else {
			*to++ = *p++;
			continue;
		}
		p += 2;
	}
	*to = '\0';
	return text;
}

char *demangle_as(const char *linkage, enum demangle_mode mode)
{
	if (mode == DEMANGLE_NONE)
		return NULL;
	if (demangle_is_mangled(linkage))
		return mode == DEMANGLE_FULL ? demangle_full(linkage) : demangle_name(linkage);
	char *name = ocaml(linkage);
	return name ? name : haskell(linkage);
}
