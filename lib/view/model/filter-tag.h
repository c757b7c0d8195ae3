#ifndef CPROF_VIEW_MODEL_FILTER_TAG_H
#define CPROF_VIEW_MODEL_FILTER_TAG_H

/* The filter's rule for labels: "KEY=VALUE[,VALUE...]". */

struct err;
struct filter;

/* Marks samples without a matching label as left out.  -EINVAL (is_usage), -ENOMEM. */
int filter_tag_apply(struct filter *f, const char *rule, struct err *e);

#endif
