#ifndef CPROF_VIEW_MODEL_PATTERN_H
#define CPROF_VIEW_MODEL_PATTERN_H

/* Regular expressions in the dialect of filter.h. */

#include <regex.h>
#include <stdbool.h>

struct err;

struct pattern { regex_t re; bool is_set; };

/* option: for the message.  -EINVAL (is_usage) with e set; -ENOMEM. */
int pattern_compile(struct pattern *p, const char *option, const char *text, struct err *e);

/* Compiles an expression from a file, implicitly anchored at both ends.  Refuses expensive forms:
 * counts in braces, back references, two repetitions in a row, and '+' after a group.  False:
 * refused or malformed. */
bool pattern_compile_foreign(struct pattern *p, const char *text);

bool pattern_matches(const struct pattern *p, const char *text);
void pattern_done(struct pattern *p);

#endif
