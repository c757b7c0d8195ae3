/*
 * People write regular expressions for pprof in Go's dialect.  We translate its extensions that are
 * useful for names: \d, \D, (?: and a leading (?i).  Matching does not depend on the locale, since
 * names are bytes.
 */

#include "view/model/pattern.h"

#include "base/cleanup.h"
#include "base/err.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FOREIGN_MAX 4000       /* characters */
#define FOREIGN_DEPTH_MAX 6    /* nested groups */

/* The longest replacement, "[^0-9]", is three times what it replaces. */
static char *to_posix(const char *text, bool *ret_ignore_case)
{
	char *out = malloc(3 * strlen(text) + 1), *w = out;
	if (!out)
		return NULL;
	*ret_ignore_case = strncmp(text, "(?i)", 4) == 0;
	if (*ret_ignore_case)
		text += 4;
	bool in_set = false;
	for (const char *p = text; *p; p++) {
		if (in_set || *p != '\\' || !p[1]) {
			if (*p == '[' && !in_set) {
				in_set = true;
				/* A ']' at the beginning of a set is a member. */
				*w++ = *p;
				if (p[1] == '^')
					*w++ = *++p;
				if (p[1] == ']')
					*w++ = *++p;
				continue;
			}
			in_set = in_set && *p != ']';
			*w++ = *p;
			if (!in_set && *p == '(' && p[1] == '?' && p[2] == ':')
				p += 2;
			continue;
		}
		p++;
		if (*p == 'd' || *p == 'D') {
			w = stpcpy(w, *p == 'd' ? "[0-9]" : "[^0-9]");
		} else {
			*w++ = '\\';
			*w++ = *p;
		}
	}
	*w = '\0';
	return out;
}

int pattern_compile(struct pattern *p, const char *option, const char *text, struct err *e)
{
	bool ignore_case;
	CLEANUP_FREE char *posix = to_posix(text, &ignore_case);
	if (!posix)
		return err_errno(e, ENOMEM, "cannot read the expression for %s", option);
	int flags = REG_EXTENDED | REG_NOSUB | (ignore_case ? REG_ICASE : 0);
	int r = regcomp(&p->re, posix, flags);
	if (r != 0) {
		char why[200];
		regerror(r, &p->re, why, sizeof(why));
		return err_usage(e, "%s '%s' is not a regular expression: %s", option, text, why);
	}
	p->is_set = true;
	return 0;
}

bool pattern_compile_foreign(struct pattern *p, const char *text)
{
	int depth = 0;
	if (strlen(text) > FOREIGN_MAX || strchr(text, '{'))
		return false;
	for (const char *c = text; *c; c++) {
		/* glibc copies the operand of '+', so nested ones grow exponentially.  Sequences
		 * and nests of the others take polynomial time of a high degree. */
		if (strchr("+*?", *c) && c > text && strchr(*c == '+' ? ")+*?" : "+*?", c[-1]))
			return false;
		depth += (*c == '(') - (*c == ')');
		if (depth > FOREIGN_DEPTH_MAX)
			return false;
		if (*c != '\\')
			continue;
		if (isdigit((unsigned char)c[1]) || !c[1])
			return false;
		c++;
	}
	CLEANUP_FREE char *anchored = NULL;
	if (asprintf(&anchored, "^(%s)$", text) < 0) {
		anchored = NULL;
		return false;
	}
	return pattern_compile(p, "drop_frames", anchored, NULL) == 0;
}

bool pattern_matches(const struct pattern *p, const char *text)
{
	return regexec(&p->re, text, 0, NULL, 0) == 0;
}

void pattern_done(struct pattern *p)
{
	if (p->is_set)
		regfree(&p->re);
	p->is_set = false;
}
