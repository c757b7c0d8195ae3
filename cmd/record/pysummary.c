#include "cmd/record/pysummary.h"

#include "base/units.h"
#include "cmd/printable.h"
#include "cmd/summaryparts.h"
#include "cprof.h"

#include <inttypes.h>

static uint64_t n_all(const struct cprof_stats *st)
{
	return st->n_functions_exact + st->n_functions_remembered + st->n_functions_innermost +
	       st->n_functions_unknown + st->n_functions_mapped;
}

/* Shares of nothing are left out. */
static void print_shares(FILE *to, const struct cprof_stats *st)
{
	const struct {
		uint64_t n;
		const char *what;
	} share[] = {
		{ st->n_functions_mapped, "named by the interpreter's map" },
		{ st->n_functions_exact, "exact" },
		{ st->n_functions_remembered, "with remembered callers" },
		{ st->n_functions_innermost, "with unknown callers" },
		{ st->n_functions_unknown, "unknown" },
	};
	const char *before = ": ";
	for (size_t i = 0; i < sizeof(share) / sizeof(*share); i++) {
		if (!share[i].n)
			continue;
		fprintf(to, "%s%.1f %% %s", before, 100.0 * (double)share[i].n / (double)n_all(st),
			share[i].what);
		before = ", ";
	}
	fputc('\n', to);
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
		fprintf(to, "  functions of an interpreter are unknown in %" PRIu64 " sample%s: ",
			st->n_functions_refused, units_s(st->n_functions_refused));
		printable_text(to, st->functions_refused);
		fputc('\n', to);
	}
	if (!n_all(st))
		return;
	fputs("  functions of ", to);
	printable_text(to, st->functions_of);
	print_shares(to, st);
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
	fprintf(to, ", \"functions_refused_samples\": %" PRIu64 ", \"functions_mapped\": %"
		PRIu64, st->n_functions_refused, st->n_functions_mapped);
}
