#ifndef CPROF_CMD_RECORD_ROTATE_H
#define CPROF_CMD_RECORD_ROTATE_H

/* When a recording continues in a new file (--switch-output), and how the files are named. */

#include <stdbool.h>
#include <stdint.h>

enum rotate_kind { ROTATE_NEVER, ROTATE_SIGNAL, ROTATE_SIZE, ROTATE_TIME };

struct rotate_spec {
	enum rotate_kind kind;
	uint64_t limit;                /* ROTATE_SIZE: bytes of records, ROTATE_TIME: ns */
};

/* "signal"; "10M", with B, K, M or G; "30s", with ms, s, m, h or d.  -EINVAL, -ERANGE. */
int rotate_parse(const char *text, struct rotate_spec *ret);

/* When the current file began. */
struct rotate_clock {
	uint64_t since_ns, since_bytes;
};

/* Is it time for the next file?  Always false for ROTATE_SIGNAL. */
bool rotate_is_due(const struct rotate_spec *s, const struct rotate_clock *c, uint64_t now_ns,
		   uint64_t now_bytes);

/* Milliseconds until it may be, at most max_ms. */
int rotate_wait_ms(const struct rotate_spec *s, const struct rotate_clock *c, uint64_t now_ns,
		   int max_ms);

/*
 * The part of a file name that says when its recording ended, in local time: YYYYMMDDhhmmss and
 * hundredths of a second.  It is later than the previous stamp *last, and becomes *last.
 */
#define ROTATE_STAMP_MAX 24
void rotate_stamp(int64_t realtime_ns, uint64_t *last, char ret[ROTATE_STAMP_MAX]);

#endif
