#ifndef CPROF_SYMBOLIZE_RUNTIME_RUNTIME_PAGES_H
#define CPROF_SYMBOLIZE_RUNTIME_RUNTIME_PAGES_H

/*
 * A program's memory in pages, for structures with many small parts that are near each other: each
 * page is read once, until pages are forgotten; at the latest when there are too many.  How much is
 * read at most is fixed, so that a program with hostile pointers cannot make its reader busy.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hashindex.h"
#include "base/vec.h"

struct runtime_memory;

#define RUNTIME_PAGE_BYTES 4096u

/* Parts of pages as they were at one moment, instead of the program's present memory; and a part of
 * the thread's stack. */
#define RUNTIME_PART_BYTES 1024u
#define RUNTIME_COPY_PARTS 16u
struct runtime_copy {
	uint32_t n;
	uint64_t at[RUNTIME_COPY_PARTS];
	const uint8_t *bytes[RUNTIME_COPY_PARTS];   /* RUNTIME_PART_BYTES each */
	uint64_t stack_at, n_stack_bytes;
	const uint8_t *stack;
	/* Another moment has taken its place when this is not `time_ns` any more. */
	const uint64_t *stamp;
	uint64_t time_ns;
};

static inline bool runtime_copy_is_intact(const struct runtime_copy *c)
{
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return __atomic_load_n(c->stamp, __ATOMIC_RELAXED) == c->time_ns;
}

struct runtime_pages {
	const struct runtime_memory *memory;    /* borrowed */
	uint64_t n_left;                /* pages that may still be read; the caller's */
	/* Private: of each page the part that could be read, and how often it was read again
	 * without having been used. */
	VEC(struct runtime_page {
		uint64_t at;
		uint8_t *bytes;
		uint8_t *second;        /* of the second reading; NULL: there was none */
		bool is_read;
		uint8_t n_unused;
		uint8_t used;           /* since it was read: a bit per part */
	}) pages;
	VEC(uint8_t *) spare;           /* buffers of pages that were forgotten */
	bool uses_second;
	const struct runtime_copy *copy;
	struct hashindex by_address;
};

void runtime_pages_init(struct runtime_pages *p, const struct runtime_memory *m, uint64_t n_left);
void runtime_pages_done(struct runtime_pages *p);

/* Forgets all pages, but not how many may be read. */
void runtime_pages_forget(struct runtime_pages *p);

/*
 * Reads the pages that were used lately again, with one system call, and forgets all others: for
 * readers that follow the same pointers again and again, mostly to the same pages.  Each page is
 * read twice, all of them once before the second time, so that a reader can compare.
 */
void runtime_pages_again(struct runtime_pages *p);

/* Until then, the second of these readings is used, and nothing else can be read. */
void runtime_pages_use_second(struct runtime_pages *p);

/* Until then, or until it is NULL, nothing but the copy can be read, which is borrowed. */
void runtime_pages_use_copy(struct runtime_pages *p, const struct runtime_copy *copy);

/* The addresses of parts that were used since they were read last, at most n.  Returns how many. */
size_t runtime_pages_used(const struct runtime_pages *p, uint64_t *ret_at, size_t n);

/* False: not all of it can be read, or no more may be. */
bool runtime_pages_read(struct runtime_pages *p, uint64_t at, void *buf, size_t n_bytes);

/* Reads the pages of n addresses with one system call, as far as they are not read yet; only the
 * first RUNTIME_PAGES_FETCH.  Those after one that cannot be read may still be read alone. */
#define RUNTIME_PAGES_FETCH 16u
void runtime_pages_fetch(struct runtime_pages *p, const uint64_t *at, size_t n);

/* Likewise the page of `at` and those before it, n_pages in all. */
void runtime_pages_before(struct runtime_pages *p, uint64_t at, size_t n_pages);

/* A text with its NUL.  False: it is longer than n_bytes, or as above. */
bool runtime_pages_text(struct runtime_pages *p, uint64_t at, char *buf, size_t n_bytes);

#endif
