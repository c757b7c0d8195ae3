#ifndef CPROF_SYMBOLIZE_JIT_JITDUMP_H
#define CPROF_SYMBOLIZE_JIT_JITDUMP_H

/*
 * jit-PID.dump: what a JIT compiler tells of its code in binary form, with times, moves, source
 * lines and call frame information (tools/perf/Documentation/jitdump-specification.txt of Linux).
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct jitcode;
struct jitdump_line;

struct jitdump {
	bool has_header;
	bool is_closed;                /* the compiler said that nothing more comes */
	bool is_foreign_time;          /* times are of the CPU's counter: not to be compared */
	bool is_v8;                    /* see jitdump.c */
	uint64_t n_bad;                /* records that contradict themselves */
	uint64_t last_ns;              /* time of the last record; 0: none yet */
	/* private: told before the code that it belongs to */
	struct jitdump_line *line;
	uint32_t n_lines;
	uint64_t line_start;
	const uint8_t *unwind;
	uint32_t n_unwind_bytes, n_unwind_hdr_bytes;
};

#define JITDUMP_RECORD_BYTES_MAX (64u << 20)

void jitdump_init(struct jitdump *d);
void jitdump_done(struct jitdump *d);

/*
 * Takes what n bytes hold of whole records into j; returns how many bytes that were, 0 when the
 * next record is not complete, or -EBADMSG when this is no jitdump of this machine's byte order (or
 * no more).  *ret_want is how many bytes the next record needs at least, from the first that was
 * not taken.  now_ns is taken where a record's time means nothing.
 */
long jitdump_take(struct jitdump *d, struct jitcode *j, const void *bytes, size_t n,
		  uint64_t now_ns, size_t *ret_want);

#endif
