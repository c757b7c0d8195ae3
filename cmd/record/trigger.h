#ifndef CPROF_CMD_RECORD_TRIGGER_H
#define CPROF_CMD_RECORD_TRIGGER_H

/*
 * Conditions of --trigger:
 *
 *     METRIC ( ">" | "<" ) NUMBER UNIT [ "for" TIME ]
 *
 * with blanks anywhere between.  METRIC is "cpu" (UNIT "%" or nothing: 100 is one CPU), "rss" (a
 * size: "1G", "512M") or "threads" (no unit).  TIME as units_parse_duration has it.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum trigger_metric { TRIGGER_CPU, TRIGGER_RSS, TRIGGER_THREADS };

struct trigger {
	const char *text;              /* as given, borrowed; NULL: no trigger */
	enum trigger_metric metric;
	bool above;
	double limit;                  /* in percent, bytes, threads */
	uint64_t for_ns;
	bool holds, fired;             /* since the last time that it did not hold */
	uint64_t since_ns;
};

/* How often a metric is to be looked at. */
#define TRIGGER_INTERVAL_NS 500000000u

/* -EINVAL, with nothing changed. */
int trigger_parse(const char *text, struct trigger *ret);

/* Tells the metric's value now.  True once each time that the condition has begun to hold, and has
 * held for the time asked for. */
bool trigger_feed(struct trigger *t, double value, uint64_t now_ns);

/* "93 %", "1.2 GiB", "120 threads" */
const char *trigger_value_text(const struct trigger *t, double value, char *buf, size_t n);

#endif
