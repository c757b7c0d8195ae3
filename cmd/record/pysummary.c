#include "cmd/record/pysummary.h"

#include "base/units.h"
#include "cmd/printable.h"
#include "cmd/summaryparts.h"
#include "cprof.h"

#include <inttypes.h>

static uint64_t n_all(const struct cprof_stats *st)
{
	return st->n_functions_exact + st->n_functions_remembered + st->n_functions_innermost +
	       st->n_functions_unknown;
}

static void print_share(FILE *to, uint64_t n, const struct cprof_stats *st, const char *what)
{
	fprintf(to, "%.1f %% %s", 100.0 * (double)n / (double)n_all(st), what);
}

static void print_cost(const struct cprof_stats *st, FILE *to)
{
	char lag[UNITS_TEXT_MAX], step[UNITS_TEXT_MAX], cost[UNITS_TEXT_MAX];
	fprintf(to, "  functions were read %s after the sample on average, at steps of %s or "
		"more, which took %s\n", units_duration_text(st->functions_lag_ns, lag),
		units_duration_text(st->functions_step_ns, step),
		units_duration_text(st->functions_ns, cost));
}

void pysummary_print(const struct cprof_stats *st, bool verbose, FILE *to)
{
	if (*st->functions_refused) {
		fprintf(to, "  functions of an interpreter are unknown in %" PRIu64 " samples: ",
			st->n_functions_refused);
		printable_text(to, st->functions_refused);
		fputc('\n', to);
	}
	if (!n_all(st))
		return;
	fputs("  functions of ", to);
	printable_text(to, st->functions_of);
	fputs(": ", to);
	print_share(to, st->n_functions_exact, st, "exact, ");
	print_share(to, st->n_functions_remembered, st, "with remembered callers, ");
	print_share(to, st->n_functions_innermost, st, "with unknown callers, ");
	print_share(to, st->n_functions_unknown, st, "unknown\n");
	if (verbose)
		print_cost(st, to);
}

void pysummary_print_json(const struct cprof_stats *st, FILE *to)
{
	fprintf(to, ", \"functions_exact\": %" PRIu64 ", \"functions_remembered\": %" PRIu64
		", \"functions_innermost\": %" PRIu64 ", \"functions_unknown\": %" PRIu64
		", \"functions_lag_ns\": %" PRIu64 ", \"functions_ns\": %" PRIu64
		", \"functions_step_ns\": %" PRIu64 ", ", st->n_functions_exact,
		st->n_functions_remembered, st->n_functions_innermost, st->n_functions_unknown,
		st->functions_lag_ns, st->functions_ns, st->functions_step_ns);
	summaryparts_json_string(to, "functions_of", *st->functions_of ? st->functions_of : NULL);
	fputs(", ", to);
	summaryparts_json_string(to, "functions_refused",
				 *st->functions_refused ? st->functions_refused : NULL);
	fprintf(to, ", \"functions_refused_samples\": %" PRIu64, st->n_functions_refused);
}
