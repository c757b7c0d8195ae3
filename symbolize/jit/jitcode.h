#ifndef CPROF_SYMBOLIZE_JIT_JITCODE_H
#define CPROF_SYMBOLIZE_JIT_JITCODE_H

/*
 * The JIT code of one process: which function was at which address, and since when.  Code may move,
 * and other code may take its place.  Entries are only added, so that each sample gets the name of
 * the code at its time.
 */

#include "base/vec.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena_block;
struct budget;
struct jitcalls;

struct jitcode_line {                  /* the source line of the code from off on */
	uint32_t off;                  /* relative to the code's start */
	uint32_t line;
	const char *file;              /* NULL: unknown */
};

struct jitcode_unwind {                /* .eh_frame, followed by .eh_frame_hdr */
	const uint8_t *bytes;
	uint32_t n_bytes, n_hdr_bytes;
};

struct jitcode_entry {
	uint64_t start, n_bytes;       /* addresses in the process */
	uint64_t from_ns;              /* CLOCK_MONOTONIC; 0: since the start */
	uint64_t index;                /* jitdump's code_index; 0 in maps */
	const char *name;
	const struct jitcode_line *line;  /* sorted by off */
	uint32_t n_lines;
	struct jitcode_unwind unwind;  /* bytes NULL: none */
};

struct jitcode_region {                /* executable memory without a file */
	uint64_t start, end;
};

struct jitcode {
	struct budget *budget;         /* may be NULL */
	struct arena_block *arena;     /* memory that entries point to */
	size_t n_charged_bytes;
	struct jitcode_entry *entry;   /* in order of arrival */
	uint32_t n, cap;
	uint32_t *order;               /* private: the first n_ordered entries by start */
	uint64_t *reach;               /* private: highest end so far, in that order */
	uint32_t n_ordered, cap_order;
	VEC(struct jitcode_region) regions;  /* sorted, not overlapping */
	bool is_full;                  /* the memory budget is used up */
};

/* A process's code as it was at one time. */
struct jitcode_view {
	const struct jitcode *code;
	uint64_t at_ns;
	const struct jitcalls *calls;  /* what code does not have; NULL: nothing */
	uint32_t layer;                /* of calls */
};
#define JITCODE_VIEWS_MAX 4            /* of one process: its own, its ancestors' */

#define JITCODE_NAME_BYTES_MAX 4096u   /* longer names are truncated */
#define JITCODE_CODE_BYTES_MAX (1u << 30)

void jitcode_init(struct jitcode *j, struct budget *budget);
void jitcode_done(struct jitcode *j);

/* A copy of n_bytes that lives as long as j; NULL: out of memory or budget. */
void *jitcode_keep(struct jitcode *j, const void *bytes, size_t n_bytes);
/* The same for a name, with a NUL.  Control characters become '?'. */
const char *jitcode_keep_name(struct jitcode *j, const char *name, size_t n_bytes);

/* Adds e.  False: out of memory or budget (is_full is set), or an invalid range.  Duplicates are
 * ignored, and return true. */
bool jitcode_add(struct jitcode *j, const struct jitcode_entry *e);

/*
 * To be called after additions and before look-ups.  *ret_replaced are the times at which code
 * replaced other code, sorted; the caller frees them.  Returns their number or -ENOMEM.
 */
long jitcode_settle(struct jitcode *j, uint64_t **ret_replaced);

/* The code at pc at that time: the newest entry that is not later than at_ns, or else the oldest
 * one.  NULL: there was never code at pc.  Borrowed until the next jitcode_add. */
const struct jitcode_entry *jitcode_find(const struct jitcode *j, uint64_t pc, uint64_t at_ns);

/* The source line of pc, which is inside e; NULL: unknown. */
const struct jitcode_line *jitcode_find_line(const struct jitcode_entry *e, uint64_t pc);

/* Records a region of executable memory; -ENOMEM. */
int jitcode_add_region(struct jitcode *j, uint64_t start, uint64_t end);
/* The region that holds pc, or NULL. */
const struct jitcode_region *jitcode_find_region(const struct jitcode *j, uint64_t pc);

#endif
