#ifndef CPROF_VIEW_MODEL_FILTER_TAG_H
#define CPROF_VIEW_MODEL_FILTER_TAG_H

/* Part of filter: the rule "KEY=VALUE[,VALUE...]" for labels. */

struct err;
struct filter;

/* Marks the samples without such a label as left out.  -EINVAL (is_usage), -ENOMEM. */
int filter_tag_apply(struct filter *f, const char *rule, struct err *e);

#endif
