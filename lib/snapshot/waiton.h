#ifndef CPROF_SNAPSHOT_WAITON_H
#define CPROF_SNAPSHOT_WAITON_H

/* What a thread waits on, in words, by the arguments of its system call. */

#include <stddef.h>

struct host;
struct targetmem;
struct threadread_call;

/*
 * "fd 7 socket:[1234]", "futex 0x7f00", "fd 3 pipe:[5], fd 4 (deleted)", "process 12", or "".  pid:
 * whose descriptors they are.  The path of a descriptor may be any text.
 */
#define WAITON_TEXT_MAX 512
const char *waiton_text(const struct host *h, unsigned pid, struct targetmem *memory,
			const struct threadread_call *call, char buf[WAITON_TEXT_MAX]);

#endif
