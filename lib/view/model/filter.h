#ifndef CPROF_VIEW_MODEL_FILTER_H
#define CPROF_VIEW_MODEL_FILTER_H

/*
 * Selects samples and frames.  A filter does not change the model; it marks what is left out.  The
 * rules are those of pprof's -focus, -ignore, -hide, -show and -tagfocus, and of the profile's own
 * drop_frames and keep_frames.
 *
 * A REGEX is POSIX extended with GNU's \w \s \b, and also \d, (?:...) and a leading (?i).  It may
 * match anywhere in a function's name, in its file name or in the file name of the mapping.
 */

#include "base/cleanup.h"
#include "view/model/model.h"

#include <stdbool.h>

struct err;

enum filter_rule {
	FILTER_FOCUS,    /* only samples with a matching frame */
	FILTER_IGNORE,   /* no samples with a matching frame */
	FILTER_HIDE,     /* leave out matching frames; their cost goes to the caller */
	FILTER_SHOW,     /* leave out all other frames */
	FILTER_N_REGEX,
	FILTER_TAG = FILTER_N_REGEX,
	FILTER_N_RULES,
};

/* "focus": the option without its dashes. */
const char *filter_rule_name(enum filter_rule rule);

struct filter_spec {
	const char *regex[FILTER_N_REGEX];  /* by rule; NULL: no such rule */
	/* Each "KEY=VALUE[,VALUE...]": only samples with this label; all must hold.  A VALUE of
	 * digits must equal a string label, or is one number.  "A:B", "A:" and ":B" (with units:
	 * "64kb:") are ranges of numbers.  Anything else is a REGEX for strings. */
	const char *const *tag;
	size_t n_tags;
	bool keep_dropped;   /* do not apply the profile's drop_frames */
	bool keep_idle;      /* do not leave out threads that have nothing to do */
};

struct filter {
	const struct model *m;
	unsigned char *sample_out, *location_out, *line_out;  /* by index; not 0 if left out */
	unsigned char *sample_idle; /* by index: idle, not even in totals; NULL: none is */
	uint32_t *stack_skip;       /* by stack: number of leaf locations left out */
	bool missed[FILTER_N_RULES];  /* the rule was given and matched nothing */
	bool drop_refused;          /* drop_frames is not a regular expression we can use */
};

/* m must outlive the result.  -EINVAL (is_usage): a bad regex or tag, named in e; -ENOMEM. */
int filter_new(const struct model *m, const struct filter_spec *spec, struct filter **ret,
	       struct err *e);
void filter_free(struct filter *f);
CLEANUP_DEFINE(struct filter, filter_free)

#endif
