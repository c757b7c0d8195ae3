#ifndef CPROF_VIEW_MODEL_SCALE_H
#define CPROF_VIEW_MODEL_SCALE_H

/* Values of a profile as people read them: one unit for a whole column, so that numbers compare. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct scale {
	double factor;       /* a value is multiplied with it */
	const char *suffix;  /* "ms", "kB"; "" for counts and units that are not known */
};

/* The unit for values whose absolutes lie between min (the smallest that is not 0) and max.  It is
 * at most a hundred times larger than min, so that min still shows as 0.01.
 * unit: as in the profile, "nanoseconds", "bytes", "count" ... */
struct scale scale_choose(int64_t min, int64_t max, const char *unit);

/* The unit `to` for values in the unit `from`; false when they are not of one family. */
bool scale_fixed(const char *from, const char *to, struct scale *ret);

/* How many of the unit `to` one `from` is: 1000 from "ms" to "us"; 0 when they are not of one
 * family. */
double scale_ratio(const char *from, const char *to);

/* "1.20s", "17" into buf, which is returned. */
#define SCALE_TEXT_MAX 40
const char *scale_text(struct scale s, int64_t value, char buf[SCALE_TEXT_MAX]);

/* "12.34%", "0.057%", "100%"; "0%" when total is 0. */
const char *scale_percent(int64_t value, int64_t total, char buf[SCALE_TEXT_MAX]);

#endif
