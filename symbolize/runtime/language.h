#ifndef CPROF_SYMBOLIZE_RUNTIME_LANGUAGE_H
#define CPROF_SYMBOLIZE_RUNTIME_LANGUAGE_H

/* The language whose functions are missing in a stack, judged by the names of its frames. */

#include <stdint.h>

enum language {
	LANGUAGE_JAVA, LANGUAGE_NODE, LANGUAGE_DOTNET, LANGUAGE_OTHER_JIT,
	LANGUAGE_PYTHON, LANGUAGE_RUBY, LANGUAGE_PHP, LANGUAGE_PERL, LANGUAGE_LUA,
	LANGUAGE_N,
};

/* What a frame shows: a bit for each language whose runtime it is, and these.  The bits of a stack
 * are those of all its frames. */
enum {
	LANGUAGE_BIT_JIT = 1 << LANGUAGE_N,         /* JIT code without a name: by the caller */
	LANGUAGE_BIT_NAMED = 1 << (LANGUAGE_N + 1), /* an interpreted function */
};

struct language_text {
	const char *what;       /* "in Java code without names" */
	const char *remedy;     /* how to get names */
	/* The same, or NULL for no other one: */
	const char *for_waits;  /* for a profile of waits */
	const char *switched_off; /* if they were not to be read */
	const char *for_rest;   /* if most stacks have functions */
};

uint32_t language_of_file(const char *path);
uint32_t language_of_function(const char *name);

/* The language without functions in a stack with these bits; LANGUAGE_N: none is missing. */
enum language language_missing(uint32_t bits);

/* l below LANGUAGE_N. */
const struct language_text *language_text(enum language l);

#endif
