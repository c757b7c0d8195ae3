#ifndef CPROF_EVENT_EVNOTE_H
#define CPROF_EVENT_EVNOTE_H

/*
 * The section .note.stapsdt of a 64-bit ELF file: one note for each location of a USDT probe
 * (sourceware.org/systemtap/wiki/UserSpaceProbeImplementation).
 */

#include "base/bytes.h"

struct evnote {
	uint64_t pc;            /* of the probe, */
	uint64_t base;          /* and of .stapsdt.base, before the file was prelinked */
	uint64_t semaphore;     /* likewise; 0: none */
	const char *provider, *name, *args;     /* borrow the notes; args may be "" */
};

/* Reads the next note of version 3, and skips others.  False: there is none, or the rest is
 * damaged. */
bool evnote_next(struct bytes *notes, struct evnote *ret);

#endif
