#ifndef CPROF_VIEW_MODEL_FILTER_H
#define CPROF_VIEW_MODEL_FILTER_H

/*
 * Which samples and which of their frames are looked at.  The model stays as it is: a filter
 * holds marks beside it.  The rules are those of pprof's -focus, -ignore, -hide, -show and
 * -tagfocus, and of the profile's own drop_frames and keep_frames.
 *
 * A REGEX is POSIX extended with GNU's \w \s \b, and also \d, (?:...) and a leading (?i).  It is
 * found anywhere in the name of a function, its file name, or the file name of the mapping.
 */

#include "view/model/model.h"

#include <stdbool.h>

struct err;

struct filter_spec {
	const char *focus;   /* only samples with a matching frame; NULL: no such rule, as below */
	const char *ignore;  /* no samples with a matching frame */
	const char *hide;    /* leave matching frames out; their cost goes to the caller */
	const char *show;    /* leave all other frames out */
	/* "KEY=VALUE[,VALUE...]": only samples with this label; all of several must hold.  A VALUE
	 * of digits is the whole text of a string label; it, "A:B", "A:", ":B" (with units, as
	 * "64kb:") are ranges for numbers; else it is a REGEX for strings. */
	const char *const *tag;
	size_t n_tags;
	bool keep_dropped;   /* do not apply the profile's drop_frames */
};

struct filter {
	const struct model *m;
	unsigned char *sample_out, *location_out, *line_out;  /* by index; not 0: left out */
	uint32_t *stack_skip;       /* by stack: so many leaf locations are left out */
	/* A rule was given and matched nothing. */
	bool focus_missed, ignore_missed, hide_missed, show_missed, tag_missed;
	bool drop_refused;          /* drop_frames is no regular expression that is safe to use */
};

/* m must outlive the result.  -EINVAL (is_usage): a bad regex or tag, named in e; -ENOMEM. */
int filter_new(const struct model *m, const struct filter_spec *spec, struct filter **ret,
	       struct err *e);
void filter_free(struct filter *f);

#endif
