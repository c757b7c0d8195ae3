#ifndef CPROF_SYMBOLIZE_JIT_PERFMAP_H
#define CPROF_SYMBOLIZE_JIT_PERFMAP_H

/*
 * /tmp/perf-PID.map, in which JIT compilers list their code: lines of "START SIZE NAME".  Both
 * numbers are hexadecimal, with or without 0x.  The name extends to the end of the line
 * (tools/perf/Documentation/jit-interface.txt of Linux).
 */

#include <stddef.h>
#include <stdint.h>

struct jitcode;

/*
 * Reads the lines in n bytes of text into j, as code that exists since from_ns.  Returns the number
 * of bytes read, up to the last newline: the compiler may still be writing the rest.  A line of
 * PERFMAP_LINE_BYTES_MAX bytes is skipped.  *bad counts malformed lines.
 */
#define PERFMAP_LINE_BYTES_MAX 65536u
size_t perfmap_take(struct jitcode *j, const char *text, size_t n, uint64_t from_ns,
		    uint64_t *bad);

#endif
