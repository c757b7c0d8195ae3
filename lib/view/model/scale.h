#ifndef CPROF_VIEW_MODEL_SCALE_H
#define CPROF_VIEW_MODEL_SCALE_H

/* Values as people read them: one unit for a whole column, so that its numbers compare. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct scale {
	double factor;       /* to multiply values by */
	const char *suffix;  /* "ms", "kB"; "" for counts and unknown units */
};

/* The unit for absolute values between min (the smallest that is not 0) and max.  It is at most a
 * hundred times min, which then still shows as 0.01.  unit: as in the profile, "nanoseconds",
 * "bytes", "count" ... */
struct scale scale_choose(int64_t min, int64_t max, const char *unit);

/* The scale from the unit `from` to the unit `to`; false if they are of different families. */
bool scale_fixed(const char *from, const char *to, struct scale *ret);

/* How many `to` one `from` is: 1000 from "ms" to "us"; 0 if they are of different families. */
double scale_ratio(const char *from, const char *to);

/* The i-th unit that scale_fixed knows, for completions; NULL after the last. */
const char *scale_unit_name(size_t i);

/* "1.20s", "17" into buf, which is returned. */
#define SCALE_TEXT_MAX 40
const char *scale_text(struct scale s, int64_t value, char buf[SCALE_TEXT_MAX]);

/* "12.34%", "0.057%", "100%"; "0%" if total is 0. */
const char *scale_percent(int64_t value, int64_t total, char buf[SCALE_TEXT_MAX]);

#endif
