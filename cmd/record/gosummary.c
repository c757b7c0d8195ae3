#include "cmd/record/gosummary.h"

#include "base/units.h"
#include "cmd/printable.h"
#include "cmd/summaryparts.h"
#include "cprof.h"

#include <inttypes.h>

static void print_late(const struct cprof_stats *st, FILE *to)
{
	fprintf(to, "  labels of goroutines were read late in %" PRIu64 " sample%s (label "
		"go::labels); at most %.1f %% of these are wrong", st->n_go_late,
		units_s(st->n_go_late),
		100 * st->go_late_wrong_max);
	if (*st->go_not_exact) {
		fputs("\n  they are not exact: ", to);
		printable_text(to, st->go_not_exact);
	}
	fputc('\n', to);
}

static bool has_labels(const struct cprof_stats *st)
{
	return st->n_go_exact || st->n_go_late || st->n_go_unknown;
}

void gosummary_print(const struct cprof_stats *st, bool verbose, FILE *to)
{
	char text[UNITS_TEXT_MAX];
	if (st->n_go_unsupported) {
		fputs("  no labels of goroutines: the layout of ", to);
		printable_text(to, st->go_unsupported);
		fputs(" is unknown\n", to);
	}
	if (has_labels(st) && st->n_go_late)
		print_late(st, to);
	else if (has_labels(st) && *st->go_not_exact && st->n_go_unknown) {
		fputs("  no labels of goroutines, which cannot be exact: ", to);
		printable_text(to, st->go_not_exact);
		fputc('\n', to);
	}
	if (!verbose || !has_labels(st))
		return;
	fprintf(to, "  labels of goroutines: %" PRIu64 " sample%s exact, %" PRIu64 " late, %"
		PRIu64 " unknown", st->n_go_exact, units_s(st->n_go_exact), st->n_go_late,
		st->n_go_unknown);
	if (st->n_go_changes)
		fprintf(to, "; %" PRIu64 " change%s reported, which took about %s",
			st->n_go_changes, units_s(st->n_go_changes),
			units_duration_text(st->go_changes_ns, text));
	fputc('\n', to);
}

void gosummary_print_json(const struct cprof_stats *st, FILE *to)
{
	fprintf(to, ", \"go_exact\": %" PRIu64 ", \"go_late\": %" PRIu64 ", \"go_unknown\": %"
		PRIu64 ", \"go_late_wrong_max\": %.6f, \"go_changes\": %" PRIu64
		", \"go_changes_ns\": %" PRIu64 ", ", st->n_go_exact, st->n_go_late,
		st->n_go_unknown, st->go_late_wrong_max, st->n_go_changes, st->go_changes_ns);
	summaryparts_json_string(to, "go_not_exact", *st->go_not_exact ? st->go_not_exact : NULL);
	fputs(", ", to);
	summaryparts_json_string(to, "go_unsupported",
				 *st->go_unsupported ? st->go_unsupported : NULL);
}
