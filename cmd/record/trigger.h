#ifndef CPROF_CMD_RECORD_TRIGGER_H
#define CPROF_CMD_RECORD_TRIGGER_H

/*
 * Conditions of --trigger:
 *
 *     METRIC ( ">" | "<" ) NUMBER UNIT [ "for" TIME ]
 *
 * with blanks anywhere.  METRIC is "cpu" (UNIT "%" or nothing: 100 is one CPU), "rss" (a size:
 * "1G", "512M") or "threads" (no unit).  TIME is what units_parse_duration() accepts.
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
	bool holds, fired;             /* the condition holds now; it has fired since it does */
	uint64_t since_ns;
};

/* How often to measure the metric. */
#define TRIGGER_INTERVAL_NS 500000000u

/* -EINVAL, with *ret unchanged. */
int trigger_parse(const char *text, struct trigger *ret);

/* Passes a new value of the metric.  True once each time that the condition has started to hold and
 * has held for the required time. */
bool trigger_feed(struct trigger *t, double value, uint64_t now_ns);

/* "93 %", "1.2 GiB", "120 threads" */
const char *trigger_value_text(const struct trigger *t, double value, char *buf, size_t n);

#endif
