#ifndef CPROF_RECORDER_KINDS_ALLOCPROGRAM_H
#define CPROF_RECORDER_KINDS_ALLOCPROGRAM_H

/* Why a program does not load libcprof-alloc.so, although LD_PRELOAD names it. */

struct foreign_want;

/* From the program's file: "it is static" ...; NULL: it should, or the file cannot be read.
 * Static. */
const char *allocprogram_why_not(const struct foreign_want *want);

#endif
