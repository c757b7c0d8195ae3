#ifndef CPROF_ENGINE_FUNCTIONS_H
#define CPROF_ENGINE_FUNCTIONS_H

/* The functions that interpreters execute, in samples of threads that run. */

#include <stdbool.h>
#include <stdint.h>

#include "engine/functions-kept.h"
#include "engine/functions-pace.h"
#include "interp/interp-cache.h"
#include "interp/interp-copies.h"
#include "interp/interp-samples.h"

struct labels;
struct procs;
struct procs_process;
struct record;
struct stack_walk;
struct strtab;

struct functions_stats {
	uint64_t n[INTERP_QUALITIES];   /* samples by quality, without those of no interpreter */
	uint64_t n_refused;             /* samples of processes whose interpreter cannot be read */
	uint64_t n_mapped;              /* samples with code for functions, named by a map */
	uint64_t n_copied;              /* samples whose memory was copied with them */
	uint64_t lag_ns;                /* from the others to their readings: the sum */
	uint64_t cost_ns;               /* time that reading has taken */
};

#define FUNCTIONS_SEEN 64u

/* What a thread has of the lock that it must hold to execute functions. */
enum functions_lock {
	FUNCTIONS_LOCK_UNKNOWN,
	FUNCTIONS_LOCK_HELD,            /* it is in the interpreter's loop itself */
	FUNCTIONS_LOCK_WAITED_FOR,
	FUNCTIONS_LOCKS
};

struct functions {
	enum interp_mode mode;          /* INTERP_NONE: nothing is read */
	struct interp_cache cache;
	struct functions_stats stats;   /* reset by engine_clear */
	struct functions_pace pace;
	struct functions_kept kept;
	struct interp_copies copies;
	bool may_copy;                  /* some process would have a use for them */
	char version[32];               /* of one of the interpreters: "python 3.11.2" */
	/* Private. */
	struct strtab *strings;
	struct labels *labels;
	struct stack_regs rules;
	struct interp_frames frames;
	VEC(bool) is_loop;
	uint64_t now_ns;                /* of this drain; 0: nothing is read */
	bool may_read;                  /* callers, in this drain */
	uint64_t trimmed_ns;            /* when ended processes were last looked for */
	uint64_t free_ns;               /* when what was spent on reading is paid off */
	struct functions_seen {
		uint32_t pid, n_changes;
		uint64_t time_ns;       /* the drain when it was looked at */
		bool has_program;
		struct interp_program program;
	} seen[FUNCTIONS_SEEN];
	struct {
		const char *key;
		uint32_t labels, locked[FUNCTIONS_LOCKS], set[FUNCTIONS_LOCKS][INTERP_QUALITIES];
	} last_labels;
};

/* The tables, strings and labels are borrowed.  saved_dir: the folder for interp-saved.h, which is
 * copied, or NULL. */
void functions_init(struct functions *f, const struct interp_tables *t, struct strtab *strings,
		    struct labels *labels, enum interp_mode mode, const char *saved_dir);
void functions_done(struct functions *f);

/* Records are about to be read. */
void functions_tick(struct functions *f, const struct procs *procs, uint64_t now_ns);

/* When they should be read again, by CLOCK_MONOTONIC; UINT64_MAX: at any time. */
uint64_t functions_due_ns(struct functions *f, uint64_t now_ns);

/* May a stack get functions?  Otherwise functions_place has nothing to do. */
static inline bool functions_are_on(const struct functions *f)
{
	return f->now_ns != 0;
}

/* The last stack of w, by CFI, is *stack, of the SAMPLE r with labels *labels: puts functions into
 * it.  False: it has none. */
bool functions_place(struct functions *f, struct stack_walk *w, struct procs_process *p,
		     const struct record *r, uint32_t *stack, uint32_t *labels);

/* "exact" and so on. */
const char *functions_quality_name(enum interp_quality q);

/* labels with one that says how sure functions are, under `key`; without memory the same as
 * before. */
uint32_t functions_label(struct strtab *strings, struct labels *l, uint32_t labels,
			 const char *key, const char *quality);

#endif
