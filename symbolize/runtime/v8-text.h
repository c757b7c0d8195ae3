#ifndef CPROF_SYMBOLIZE_RUNTIME_V8_TEXT_H
#define CPROF_SYMBOLIZE_RUNTIME_V8_TEXT_H

/* Objects of V8's heap, and its strings.  An object is a pointer whose lowest two bits are 01. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct runtime_pages;
struct v8_layout;

/* Of arrays: of objects, bytes and bytecode. */
#define V8_LENGTH_OFF 8
#define V8_FIRST_OFF 16

/* Reads of one memory: the pages are the question's. */
struct v8_heap {
	const struct v8_layout *layout;
	struct runtime_pages *pages;
};

static inline bool v8_is_object(uint64_t word)
{
	return (word & 3) == 1;
}

/* A small integer is in the upper half of its word. */
static inline bool v8_is_integer(uint64_t word)
{
	return !(uint32_t)word;
}

/* The word at an offset of an object; 0: it cannot be read. */
uint64_t v8_word(const struct v8_heap *h, uint64_t object, int32_t off);
uint32_t v8_int(const struct v8_heap *h, uint64_t object, int32_t off);

/* Element i of an array; 0: it has fewer, or cannot be read. */
uint64_t v8_element(const struct v8_heap *h, uint64_t array, uint32_t i);

/* The type of an object; -1: the word is not an object, or cannot be read. */
int32_t v8_type(const struct v8_heap *h, uint64_t object);

/* The characters of a string as UTF-8, at most n_buf - 1 bytes.  False: it is no string, or
 * cannot be read. */
bool v8_text(const struct v8_heap *h, uint64_t string, char *buf, size_t n_buf);

/* Where the characters of a string are that is in one piece. */
struct v8_chars {
	uint64_t at;
	uint32_t n;
	bool is_wide;                   /* UTF-16, else Latin-1 */
};

/* False: it is not in one piece, or as above. */
bool v8_chars_find(const struct v8_heap *h, uint64_t string, struct v8_chars *ret);

#endif
