#ifndef CPROF_SYMBOLIZE_JIT_PERFMAP_H
#define CPROF_SYMBOLIZE_JIT_PERFMAP_H

/*
 * The text that JIT compilers write into /tmp/perf-PID.map: "START SIZE NAME" on each line, both
 * numbers hexadecimal, with or without 0x, the name up to the end of the line
 * (tools/perf/Documentation/jit-interface.txt of Linux).
 */

#include <stddef.h>
#include <stdint.h>

struct jitcode;

/*
 * Takes the lines of n bytes of text into j, as code that is there from from_ns on; returns how
 * many bytes that were: all up to the last newline, since what follows may still be written.  A
 * line that fills all of PERFMAP_LINE_BYTES_MAX bytes is passed over.  *bad is increased for each
 * line that is none.
 */
#define PERFMAP_LINE_BYTES_MAX 65536u
size_t perfmap_take(struct jitcode *j, const char *text, size_t n, uint64_t from_ns,
		    uint64_t *bad);

#endif
