#ifndef CPROF_VIEW_MODEL_PATTERN_H
#define CPROF_VIEW_MODEL_PATTERN_H

/* Regular expressions as filter.h describes them. */

#include <regex.h>
#include <stdbool.h>

struct err;

struct pattern { regex_t re; bool is_set; };

/* what: the option, for the message.  -EINVAL (is_usage) with e set; -ENOMEM. */
int pattern_compile(struct pattern *p, const char *what, const char *text, struct err *e);

/* One that comes with a file, implicitly anchored at both ends: only harmless forms, no counts in
 * braces, references back, two repetitions in a row, or '+' behind a group.  false: refused or not
 * well formed. */
bool pattern_compile_foreign(struct pattern *p, const char *text);

bool pattern_matches(const struct pattern *p, const char *text);
void pattern_done(struct pattern *p);

#endif
