#ifndef CPROF_RECORDER_KIND_H
#define CPROF_RECORDER_KIND_H

/*
 * What a kind of recorder does by itself.  Targets, windows, names, statistics and writing are the
 * same for all.  A kind is a file kind-NAME.c with one of these and a public function that returns
 * it (cprof.h, lib/abi/libcprof.map, libcprof.3).
 */

struct cprof_recorder;
struct err;
struct record;

struct cprof_kind {
	const char *name;
	/* Chooses events by r->config and opens them, disabled: r->source, r->events, r->output
	 * and what describes them.  -errno with e set; cprof_recorder_free cleans up. */
	int (*open)(struct cprof_recorder *r, struct err *e);
	/* Takes in one record, in time order. */
	void (*feed)(struct cprof_recorder *r, const struct record *record);
};

#endif
