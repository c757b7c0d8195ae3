/*
 * A regular expression is matched once per function and mapping, not per frame.  Lines removed by
 * drop_frames do not exist for the other rules.  As in pprof, focus and ignore then see all
 * remaining frames, including hidden ones.
 */

#include "view/model/filter.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "view/model/filter-tag.h"
#include "view/model/pattern.h"
#include "view/model/waiting.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Whether an expression matches, by function and by mapping. */
struct matches { unsigned char *function, *mapping; };

void filter_free(struct filter *f)
{
	if (!f)
		return;
	free(f->sample_out);
	free(f->sample_idle);
	free(f->location_out);
	free(f->line_out);
	free(f->stack_skip);
	free(f);
}

static int match_names(const struct model *m, const struct pattern *p, struct matches *ret)
{
	ret->function = calloc(m->n_functions + 1, 1);
	ret->mapping = calloc(m->n_mappings + 1, 1);
	if (!ret->function || !ret->mapping)
		return -ENOMEM;
	for (uint32_t i = 0; i < m->n_functions; i++)
		ret->function[i] =
			pattern_matches(p, model_string(m, m->function[i].name)) ||
			pattern_matches(p, model_string(m, m->function[i].filename));
	for (uint32_t i = 0; i < m->n_mappings; i++)
		ret->mapping[i] = pattern_matches(p, model_string(m, m->mapping[i].filename));
	return 0;
}

static void free_matches(struct matches *x)
{
	free(x->function);
	free(x->mapping);
	*x = (struct matches){ 0 };
}

static bool line_matches(const struct filter *f, const struct matches *x, uint32_t line)
{
	uint32_t fn = f->m->line[line].function;
	return !f->line_out[line] && fn != MODEL_NONE && x->function[fn];
}

static bool mapping_matches(const struct filter *f, const struct matches *x, uint32_t l)
{
	uint32_t mapping = f->m->location[l].mapping;
	return mapping != MODEL_NONE && x->mapping[mapping];
}

static bool location_matches(const struct filter *f, const struct matches *x, uint32_t l)
{
	const struct model_location *loc = &f->m->location[l];
	for (uint32_t i = 0; i < loc->n_lines; i++)
		if (line_matches(f, x, loc->first_line + i))
			return true;
	return mapping_matches(f, x, l);
}

/* ---- drop_frames ---------------------------------------------------------- */

/* The name without its argument list, which drop_frames does not expect. */
static const char *simple_name(const char *name, char *buf)
{
	static const char *const kept[] = { "(anonymous namespace)", "operator()" };
	name += *name == '.';
	strcpy(buf, name);
	for (char *p = buf; *p; p++) {
		bool is_kept = false;
		for (size_t i = 0; i < 2 && !is_kept; i++) {
			size_t n = strlen(kept[i]);
			is_kept = strncmp(p, kept[i], n) == 0;
			if (is_kept)
				p += n - 1;
		}
		if (!is_kept && *p == '(') {
			*p = '\0';
			break;
		}
	}
	return buf;
}

static int match_dropped(const struct model *m, const struct pattern *drop,
			 const struct pattern *keep, unsigned char *dropped)
{
	size_t longest = 0;
	for (uint32_t i = 0; i < m->n_functions; i++) {
		size_t n = strlen(model_string(m, m->function[i].name));
		longest = n > longest ? n : longest;
	}
	CLEANUP_FREE char *buf = malloc(longest + 1);
	if (!buf)
		return -ENOMEM;
	for (uint32_t i = 0; i < m->n_functions; i++) {
		const char *name = model_string(m, m->function[i].name);
		if (!name[0])
			continue;
		name = simple_name(name, buf);
		dropped[i] = pattern_matches(drop, name) &&
			     !(keep->is_set && pattern_matches(keep, name));
	}
	return 0;
}

enum { CUT_NONE, CUT_BENEATH, CUT_ALL };

/* Dropping a function drops its callees, but never the root of a stack. */
static void cut_stacks(struct filter *f, const unsigned char *cut)
{
	const struct model *m = f->m;
	for (uint32_t s = 0; s < m->n_stacks; s++) {
		const uint32_t *l = m->stack_location + m->stack[s].first;
		bool found_user = false;
		for (uint32_t i = m->stack[s].n; i-- > 0;) {
			if (cut[l[i]] == CUT_NONE) {
				found_user = true;
			} else if (found_user) {
				f->stack_skip[s] = cut[l[i]] == CUT_ALL ? i + 1 : i;
				break;
			}
		}
	}
}

static int drop_frames(struct filter *f)
{
	const struct model *m = f->m;
	CLEANUP(pattern_done) struct pattern drop = { 0 };
	CLEANUP(pattern_done) struct pattern keep = { 0 };
	if (!m->drop_frames)
		return 0;
	if (!pattern_compile_foreign(&drop, model_string(m, m->drop_frames)) ||
	    (m->keep_frames &&
	     !pattern_compile_foreign(&keep, model_string(m, m->keep_frames)))) {
		f->drop_refused = true;
		return 0;
	}
	CLEANUP_FREE unsigned char *dropped = calloc(m->n_functions + 1, 1);
	CLEANUP_FREE unsigned char *cut = calloc(m->n_locations + 1, 1);
	if (!dropped || !cut || match_dropped(m, &drop, &keep, dropped) < 0)
		return -ENOMEM;
	for (uint32_t l = 0; l < m->n_locations; l++) {
		const struct model_location *loc = &m->location[l];
		for (uint32_t i = loc->n_lines; i-- > 0;) {
			uint32_t fn = m->line[loc->first_line + i].function;
			if (fn == MODEL_NONE || !dropped[fn])
				continue;
			cut[l] = i == loc->n_lines - 1 ? CUT_ALL : CUT_BENEATH;
			if (cut[l] == CUT_BENEATH)
				memset(f->line_out + loc->first_line, 1, i + 1);
			break;
		}
	}
	cut_stacks(f, cut);
	return 0;
}

/* ---- focus and ignore ----------------------------------------------------- */

static void choose_samples(struct filter *f, const struct matches *focus,
			   const struct matches *ignore)
{
	const struct model *m = f->m;
	enum { NEITHER, FOCUSED, IGNORED };
	unsigned char *mark = f->location_out;  /* borrowed; zeroed again below */
	if (!focus->function && !ignore->function)
		return;
	for (uint32_t l = 0; l < m->n_locations; l++) {
		if (ignore->function && location_matches(f, ignore, l)) {
			mark[l] = IGNORED;
			f->missed[FILTER_IGNORE] = false;
		} else if (!focus->function || location_matches(f, focus, l)) {
			mark[l] = FOCUSED;
			f->missed[FILTER_FOCUS] = false;
		}
	}
	for (uint32_t i = 0; i < m->n_samples; i++) {
		const struct model_stack *s = &m->stack[m->sample[i].stack];
		bool focused = false, ignored = false;
		for (uint32_t k = f->stack_skip[m->sample[i].stack]; k < s->n; k++) {
			unsigned char x = mark[m->stack_location[s->first + k]];
			focused = focused || x == FOCUSED;
			ignored = ignored || x == IGNORED;
		}
		f->sample_out[i] |= !focused || ignored;
	}
	memset(mark, 0, m->n_locations);
}

/* ---- hide and show -------------------------------------------------------- */

static void hide_frames(struct filter *f, const struct matches *x, bool show)
{
	const struct model *m = f->m;
	for (uint32_t l = 0; l < m->n_locations; l++) {
		const struct model_location *loc = &m->location[l];
		bool file = mapping_matches(f, x, l), any = file;
		uint32_t n_left = 0;
		for (uint32_t i = 0; i < loc->n_lines; i++) {
			uint32_t line = loc->first_line + i;
			bool matches = file || line_matches(f, x, line);
			any = any || matches;
			if (f->line_out[line])
				continue;
			f->line_out[line] = matches != show;
			n_left += matches == show;
		}
		if (show)
			f->missed[FILTER_SHOW] &= n_left == 0;
		else
			f->missed[FILTER_HIDE] &= !any;
		f->location_out[l] |= n_left == 0 && (show || any);
	}
}

/* ---- idle threads ----------------------------------------------------------- */

static int drop_idle(struct filter *f)
{
	const struct model *m = f->m;
	CLEANUP_FREE unsigned char *set = NULL;
	bool any = false;
	if (waiting_sets(m, &set) < 0)
		return -ENOMEM;
	for (uint32_t i = 0; set && i < m->n_label_sets; i++)
		any |= set[i] & WAITING_IDLE;
	if (!any)
		return 0;
	f->sample_idle = calloc((size_t)m->n_samples + 1, 1);
	if (!f->sample_idle)
		return -ENOMEM;
	for (uint32_t i = 0; i < m->n_samples; i++)
		f->sample_out[i] |= f->sample_idle[i] =
			(set[m->sample[i].labels] & WAITING_IDLE) != 0;
	return 0;
}

/* ---- all rules ------------------------------------------------------------ */

const char *filter_rule_name(enum filter_rule rule)
{
	static const char *const name[] = {
		[FILTER_FOCUS] = "focus", [FILTER_IGNORE] = "ignore", [FILTER_HIDE] = "hide",
		[FILTER_SHOW] = "show", [FILTER_TAG] = "tag",
	};
	return name[rule];
}

static int match_regex(const struct filter *f, enum filter_rule rule, const char *regex,
		       struct matches *ret, struct err *e)
{
	CLEANUP(pattern_done) struct pattern p = { 0 };
	char option[16];
	snprintf(option, sizeof(option), "--%s", filter_rule_name(rule));
	int r = pattern_compile(&p, option, regex, e);
	if (r < 0)
		return r;
	return match_names(f->m, &p, ret) < 0 ? err_errno(e, ENOMEM, "cannot filter the profile")
					      : 0;
}

static int apply_regexes(struct filter *f, const struct filter_spec *s, struct err *e)
{
	struct matches x[FILTER_N_REGEX] = { 0 };
	int r = 0;
	for (int i = 0; i < FILTER_N_REGEX; i++) {
		if (!s->regex[i])
			continue;
		f->missed[i] = true;
		r = match_regex(f, i, s->regex[i], &x[i], e);
		if (r < 0)
			goto out;
	}
	choose_samples(f, &x[FILTER_FOCUS], &x[FILTER_IGNORE]);
	if (s->regex[FILTER_HIDE])
		hide_frames(f, &x[FILTER_HIDE], false);
	if (s->regex[FILTER_SHOW])
		hide_frames(f, &x[FILTER_SHOW], true);
out:
	for (int i = 0; i < FILTER_N_REGEX; i++)
		free_matches(&x[i]);
	return r;
}

int filter_new(const struct model *m, const struct filter_spec *spec, struct filter **ret,
	       struct err *e)
{
	CLEANUP(filter_freep) struct filter *f = calloc(1, sizeof(*f));
	if (!f)
		return err_errno(e, ENOMEM, "cannot filter the profile");
	f->m = m;
	f->sample_out = calloc(m->n_samples + 1, 1);
	f->location_out = calloc(m->n_locations + 1, 1);
	f->line_out = calloc(m->n_lines + 1, 1);
	f->stack_skip = calloc((size_t)m->n_stacks + 1, sizeof(*f->stack_skip));
	if (!f->sample_out || !f->location_out || !f->line_out || !f->stack_skip ||
	    (!spec->keep_dropped && drop_frames(f) < 0) ||
	    (!spec->keep_idle && drop_idle(f) < 0))
		return err_errno(e, ENOMEM, "cannot filter the profile");
	int r = apply_regexes(f, spec, e);
	if (r < 0)
		return r;
	for (size_t i = 0; i < spec->n_tags; i++) {
		r = filter_tag_apply(f, spec->tag[i], e);
		if (r < 0)
			return r;
	}
	*ret = TAKE_PTR(f);
	return 0;
}
