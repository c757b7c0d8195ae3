#ifndef CPROF_LABELS_LOCKLABELS_H
#define CPROF_LABELS_LOCKLABELS_H

/*
 * The labels of waits for locks: lock, which lock it is, and holder, the thread that has it.  The
 * first APPVALUES_PER_KEY values of each are kept; all others are "[other]".
 *
 * A lock in a program's or library's own data has an address in that file, which is its value until
 * its variable's name is known (profile/locknames.h): "libfoo.so+0x4068".  All others have their
 * address in memory: "0x5581e0c442a0".
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "labels/appvalues.h"

struct dso_table;
struct labels;
struct procs_space;
struct strtab;

#define LOCKLABELS_LOCK "lock"
#define LOCKLABELS_HOLDER "holder"

/* A lock with an address in a file. */
struct locklabels_variable {
	uint32_t dso, dso_serial;  /* a DSO with another serial is another file */
	uint32_t text;             /* strtab id of its value */
	uint64_t vaddr;
};

#define LOCKLABELS_KNOWN 512u

struct locklabels {
	struct strtab *strings;    /* borrowed, like the following */
	struct labels *labels;
	const struct dso_table *dsos;
	struct appvalues values;
	VEC(struct locklabels_variable) variable;
	struct {
		uint64_t address;
		uint32_t serial, set;
	} known[LOCKLABELS_KNOWN]; /* a cache; serial 0: empty */
};

void locklabels_init(struct locklabels *l, struct strtab *strings, struct labels *labels,
		     const struct dso_table *dsos);
void locklabels_done(struct locklabels *l);

/* The set with the label lock of what is at that address of the process; 0 if memory is short. */
uint32_t locklabels_of(struct locklabels *l, const struct procs_space *space, uint64_t address);

/* The set with the label holder, too: "NAME/TID". */
uint32_t locklabels_with_holder(struct locklabels *l, uint32_t set, const char *name,
				uint32_t tid);

/* Another profile begins: makes room for other values. */
void locklabels_clear(struct locklabels *l);

/* As in appvalues.h, for all strings kept here. */
void locklabels_renew(struct locklabels *l, bool (*renew)(void *ctx, uint32_t *string), void *ctx);

/* Sets used[] for the files of variables. */
void locklabels_mark(const struct locklabels *l, bool *used);

#endif
