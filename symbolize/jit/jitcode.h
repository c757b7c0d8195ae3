#ifndef CPROF_SYMBOLIZE_JIT_JITCODE_H
#define CPROF_SYMBOLIZE_JIT_JITCODE_H

/*
 * The code that one process made while it ran: what lay where, and from when on.  Code may be
 * moved, and its place taken by other code; nothing is forgotten, so that each sample gets the
 * name of what ran at its time.  Append-only.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena_block;
struct budget;

struct jitcode_line {                  /* the source of the code from off on */
	uint32_t off;                  /* from the code's start */
	uint32_t line;
	const char *file;              /* NULL: unknown */
};

struct jitcode_unwind {                /* .eh_frame and .eh_frame_hdr behind one another */
	const uint8_t *bytes;
	uint32_t n_bytes, n_hdr_bytes;
};

struct jitcode_entry {
	uint64_t start, n_bytes;       /* addresses in the process */
	uint64_t from_ns;              /* CLOCK_MONOTONIC; 0: from the beginning */
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
	struct arena_block *arena;     /* what entries point to */
	size_t n_charged_bytes;
	struct jitcode_entry *entry;   /* as they came */
	uint32_t n, cap;
	uint32_t *order;               /* private: the first n_ordered entries by start */
	uint64_t *reach;               /* private: highest end up to there */
	uint32_t n_ordered, cap_order;
	struct jitcode_region *region; /* sorted, not overlapping */
	uint32_t n_regions, cap_regions;
	bool is_full;                  /* the budget refused something */
};

/* A process's code as it was at one time. */
struct jitcode_view {
	const struct jitcode *code;
	uint64_t at_ns;
};
#define JITCODE_VIEWS_MAX 4            /* of one process: its own, its ancestors' */

#define JITCODE_NAME_BYTES_MAX 4096u   /* of longer names the rest is left out */
#define JITCODE_CODE_BYTES_MAX (1u << 30)

void jitcode_init(struct jitcode *j, struct budget *budget);
void jitcode_done(struct jitcode *j);

/* Memory for n bytes that lives as long as j; NULL when memory or the budget is out. */
void *jitcode_keep(struct jitcode *j, const void *bytes, size_t n_bytes);
/* The same for a name, cut at JITCODE_NAME_BYTES_MAX, with a NUL; control characters become '?'. */
const char *jitcode_keep_name(struct jitcode *j, const char *name, size_t n_bytes);

/* Adds e; false when memory or the budget is out (is_full is set), or when its range is none.
 * What says again what is known is left out, which is no failure. */
bool jitcode_add(struct jitcode *j, const struct jitcode_entry *e);

/*
 * To be called after adding, before finding.  Gives the times from which code lies where there was
 * other code before: *ret_replaced is sorted, to be freed by the caller.  Their number, or -ENOMEM.
 */
long jitcode_settle(struct jitcode *j, uint64_t **ret_replaced);

/* What lay at pc at that time: of all that came before it the newest, else the oldest that came
 * after.  NULL: nothing ever.  Borrowed until the next jitcode_add. */
const struct jitcode_entry *jitcode_find(const struct jitcode *j, uint64_t pc, uint64_t at_ns);

/* The source of the code at pc, which lies in e; NULL: unknown. */
const struct jitcode_line *jitcode_find_line(const struct jitcode_entry *e, uint64_t pc);

/* Notes executable memory; -ENOMEM. */
int jitcode_add_region(struct jitcode *j, uint64_t start, uint64_t end);
/* The region that holds pc, or NULL. */
const struct jitcode_region *jitcode_find_region(const struct jitcode *j, uint64_t pc);

#endif
