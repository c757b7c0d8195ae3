#include "cmd/report/report.h"

#include "base/err.h"
#include "cmd/optsets.h"

#include <errno.h>
#include <string.h>

void report_view_close(struct report_view *v)
{
	rows_free(v->rows);
	filter_free(v->f);
	model_free(v->m);
	*v = (struct report_view){ 0 };
}

int report_view_open(struct report_view *v, const struct report_options *o,
		     const char *const *path, size_t n_paths, struct err *e)
{
	int r = model_read_files(path, n_paths, &v->m, e);
	if (r < 0)
		return r;
	r = model_find_type(v->m, o->sample_type, &v->type, e);
	if (r == -ENOENT && n_paths == 1)
		err_prefix(e, "'%s'", path[0]);
	if (r < 0)
		return r;
	r = filter_new(v->m, &o->filter, &v->f, e);
	return r < 0 ? r : rows_new(v->m, v->f, o->kind.by, o->kind.label, &v->rows, e);
}

int report_view_scale(const struct report_view *v, const struct report_options *o, int64_t min,
		      int64_t max, struct scale *ret, struct err *e)
{
	const char *unit = model_string(v->m, v->m->type[v->type].unit);
	char units[OPTWORDS_TEXT_MAX];
	if (!o->unit) {
		*ret = scale_choose(min, max, unit);
		return 0;
	}
	if (scale_fixed(unit, o->unit, ret) || strcmp(unit, o->unit) == 0)
		return 0;
	int r = err_usage(e, "values in '%s' cannot be shown in '%s'", unit, o->unit);
	err_hint(e, "UNIT is %s", optwords_text(&optsets_unit, false, units));
	return r;
}

void report_view_warn(const struct filter *f)
{
	for (int i = 0; i < FILTER_N_RULES; i++)
		if (f->missed[i])
			fprintf(stderr, "cprof report: --%s matches nothing\n",
				filter_rule_name(i));
	if (f->drop_refused)
		fprintf(stderr, "cprof report: the profile's drop_frames is ignored: it is not a "
				"simple regular expression\n");
}
