#ifndef CPROF_RECORDER_KINDS_ALLOCPROGRAM_H
#define CPROF_RECORDER_KINDS_ALLOCPROGRAM_H

/* Why a program does not load libcprof-alloc.so, although LD_PRELOAD names it. */

/* From the program's file: "it is static" ...; NULL: it should.  Static. */
const char *allocprogram_why_not(const char *path);

#endif
