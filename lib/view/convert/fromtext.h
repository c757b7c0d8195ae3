#ifndef CPROF_VIEW_CONVERT_FROMTEXT_H
#define CPROF_VIEW_CONVERT_FROMTEXT_H

/* A bounded reader of lines and their fields, for text of other tools. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fromtext { const char *at, *end; };

static inline struct fromtext fromtext_of(const char *text, size_t n_bytes)
{
	return (struct fromtext){ text, text + n_bytes };
}

/* The next line, without its newline; false at the end. */
bool fromtext_line(struct fromtext *t, struct fromtext *ret);

/* Skips spaces.  Then: does the text begin with this word?  If so it is skipped. */
void fromtext_skip(struct fromtext *t);
bool fromtext_take(struct fromtext *t, const char *word);

/* Skips spaces and reads a number without a sign (base 10 or 16; 16: with or without "0x").  False:
 * there is none, or it is too large; nothing is skipped then but spaces. */
bool fromtext_number(struct fromtext *t, unsigned base, uint64_t *ret);

static inline size_t fromtext_left(const struct fromtext *t)
{
	return (size_t)(t->end - t->at);
}

#endif
