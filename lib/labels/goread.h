#ifndef CPROF_LABELS_GOREAD_H
#define CPROF_LABELS_GOREAD_H

/*
 * Which goroutine a sample of a Go program belongs to, and which labels it had.
 *
 * Go code keeps the address of its goroutine's struct g in a register.  Code on other stacks does
 * not: the scheduler and signal handlers have a g of their thread's own there, and C code has
 * anything.  There the thread's m says which goroutine it runs (m.curg).
 *
 * The memory of all goroutines and threads that have had samples lately is read at once.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hashindex.h"
#include "base/vec.h"
#include "labels/gopieces.h"
#include "labels/gosets.h"
#include "labels/gotimes.h"
#include "symbolize/runtime/go-layout.h"

struct runtime_memory;

struct goread_place {                   /* a goroutine's g, or a thread */
	uint64_t key;                   /* address of g, or id of the thread */
	uint64_t at;                    /* of g, or of the thread's m */
	uint64_t lo, hi, labels, m;     /* of g, as last read */
	uint64_t used_ns;               /* time of its last sample */
	uint32_t piece;                 /* in the present reading */
	bool is_system;                 /* g: of a thread's own stacks */
	struct gotimes times;           /* of a thread: who is the address of its g */
};

struct goread_places {
	VEC(struct goread_place) v;
	struct hashindex by_key;
};

#define GOREAD_ENTERED 256u

/* Addresses of functions; 0: the program has not got it. */
struct goread_code {
	uint64_t do_at, do_end;         /* runtime/pprof.Do */
	uint64_t goexit;                /* runtime.goexit */
};

struct goread_birth { uint64_t time_ns, g, creator; };

struct goread {
	const struct runtime_memory *memory;    /* borrowed, like the following */
	struct gopieces *pieces;        /* may be shared by several programs */
	struct go_layout layout;
	struct gosets sets;
	/* Called in each reading: adds the changes that were reported (goread_change), and sets
	 * reported_ns. */
	void (*changes)(void *ctx, struct goread *r);
	void *ctx;
	uint64_t reported_ns;           /* see struct gotimes_reading; 0: they are not */
	uint64_t births_ns;             /* likewise */
	uint64_t newest_ns;             /* time of the newest sample */
	uint64_t read_ns;               /* of the last reading */
	uint64_t allgs;                 /* address of the list of all goroutines; 0: unknown */
	bool wants_allgs;               /* it would help */
	uint64_t listed_ns;             /* when it was last read */
	bool has_labels;                /* some goroutine has had labels */
	uint64_t n_missed;              /* labels that changed without a report */
	struct goread_code code;
	/* private */
	struct goread_places gs, threads;
	VEC(struct goread_birth) born;  /* not in gs yet */
	uint32_t n_entered;
	struct goread_entered { uint64_t g, slot; } entered[GOREAD_ENTERED];    /* the last ones */
};

/* sets is initialised by the caller. */
void goread_init(struct goread *r, const struct runtime_memory *memory, struct gopieces *pieces,
		 const struct go_layout *layout);
void goread_done(struct goread *r);

/* Reads everything that samples have needed lately.  False: the program's memory is gone. */
bool goread_all(struct goread *r);

/* The labels at that address are those of g from time_ns on. */
struct goread_changed {
	uint64_t g, time_ns, labels;
	uint64_t slot;                  /* see struct gotimes_event */
};
void goread_change(struct goread *r, const struct goread_changed *c);

/* A goroutine is created in g by that of creator, and inherits its labels.  False: no memory. */
bool goread_birth(struct goread *r, const struct goread_birth *b);
/* All changes and births up to that time were added: what was inherited is known now. */
void goread_inherit(struct goread *r, uint64_t until_ns);

struct goread_sample {
	uint64_t time_ns, g, sp;        /* registers; 0: unknown */
	uint32_t tid;
	const uint8_t *stack;           /* n_stack_bytes from sp on */
	size_t n_stack_bytes;
};

/* Reads what is missing. */
enum gotimes_how goread_at(struct goread *r, const struct goread_sample *s,
			   struct gotimes_answer *ret);

/* Forgets what had no sample since since_ns, and the texts of sets. */
void goread_trim(struct goread *r, uint64_t since_ns);
void goread_each_set(struct goread *r, void (*each)(void *ctx, uint32_t *set), void *ctx);
size_t goread_n_bytes(const struct goread *r);

#endif
