#ifndef CPROF_TESTS_UNIT_SYMBOLIZE_DWBUILD_H
#define CPROF_TESTS_UNIT_SYMBOLIZE_DWBUILD_H

/* Debug information built by hand: bytes that grow, and a dwfile over ten sections. */

#include "symbolize/dwarf/dwfile.h"

#include <stdlib.h>

struct dwbuild {
	uint8_t v[4096];
	size_t n;
};

static inline void dwbuild_put(struct dwbuild *b, uint64_t x, size_t n_bytes)
{
	if (b->n + n_bytes > sizeof(b->v))
		abort();
	for (size_t i = 0; i < n_bytes; i++, x >>= 8)
		b->v[b->n++] = (uint8_t)x;
}

static inline void dwbuild_u8(struct dwbuild *b, uint64_t x)
{
	dwbuild_put(b, x, 1);
}

static inline void dwbuild_u16(struct dwbuild *b, uint64_t x)
{
	dwbuild_put(b, x, 2);
}

static inline void dwbuild_u32(struct dwbuild *b, uint64_t x)
{
	dwbuild_put(b, x, 4);
}

static inline void dwbuild_u64(struct dwbuild *b, uint64_t x)
{
	dwbuild_put(b, x, 8);
}

static inline void dwbuild_text(struct dwbuild *b, const char *text)
{
	do
		dwbuild_u8(b, (uint8_t)*text);
	while (*text++);
}

/* Sets the 4 bytes at `at` to the number of bytes after them. */
static inline void dwbuild_close(struct dwbuild *b, size_t at)
{
	size_t n = b->n;
	b->n = at;
	dwbuild_u32(b, n - at - 4);
	b->n = n;
}

/* One abbreviation: code, tag, children, then pairs of name and form up to 0, 0. */
static inline void dwbuild_abbrev(struct dwbuild *b, const uint8_t *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		dwbuild_u8(b, v[i]);
	dwbuild_u16(b, 0);
}
#define DWBUILD_ABBREV(b, ...) do { \
	const uint8_t bytes_[] = { __VA_ARGS__ }; \
	dwbuild_abbrev(b, bytes_, sizeof(bytes_)); \
} while (0)

/* Gives the bytes to file as one of its sections; of the exact size, for the sanitizer. */
static inline void dwbuild_lend(struct dwfile *file, enum dwsection_id id,
				const struct dwbuild *b)
{
	uint8_t *copy = malloc(b->n ? b->n : 1);
	if (!copy)
		abort();
	memcpy(copy, b->v, b->n);
	file->sections.v[id] = (struct dwsection){ .base = copy, .n_bytes = b->n, .tried = true };
}

static inline void dwbuild_done(struct dwfile *file)
{
	for (unsigned i = 0; i < DWSECTION_N; i++)
		free((void *)file->sections.v[i].base);
	dwfile_done(file);
}

#endif
