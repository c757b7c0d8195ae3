#ifndef CPROF_SYMBOLIZE_JIT_JITDUMP_H
#define CPROF_SYMBOLIZE_JIT_JITDUMP_H

/*
 * jit-PID.dump: the binary format in which JIT compilers describe their code, with times, moves,
 * source lines and CFI (tools/perf/Documentation/jitdump-specification.txt of Linux).
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct jitcode;
struct jitdump_line;

struct jitdump {
	bool has_header;
	bool is_closed;                /* it has a record that ends the file */
	bool is_foreign_time;          /* times are the CPU's counter: not comparable */
	bool is_v8;                    /* see jitdump.c */
	uint64_t n_bad;                /* inconsistent records */
	uint64_t last_ns;              /* time of the last record; 0: none yet */
	/* private: precedes the code that it belongs to */
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
 * Reads the complete records in n bytes into j.  Returns the number of bytes read; 0: the next
 * record is incomplete; -EBADMSG: not (or no longer) a jitdump in this machine's byte order.
 * *ret_want is the minimum number of unread bytes that the next record needs. now_ns replaces
 * record times that are not comparable.
 */
long jitdump_take(struct jitdump *d, struct jitcode *j, const void *bytes, size_t n,
		  uint64_t now_ns, size_t *ret_want);

#endif
