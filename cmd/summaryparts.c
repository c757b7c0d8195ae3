#include "cmd/summaryparts.h"

#include "base/units.h"
#include "cmd/printable.h"
#include "cprof-losses.h"
#include "cprof.h"

#include <inttypes.h>
#include <string.h>

/* A line "3 samples lost ..."; the first word is a plural. */
static void print_loss(const struct cprof_loss *loss, const struct cprof_losses *losses, size_t i,
		       enum summaryparts_of of, FILE *to)
{
	const char *words = loss->words, *advice = loss->advice;
	uint64_t n = losses->n[i];
	bool is_lost = strcmp(loss->key, "lost") == 0 || strcmp(loss->key, "lost_max") == 0;
	fprintf(to, "%" PRIu64 " %.*s%s", n, units_first_word(n, words), words,
		words + strcspn(words, " "));
	if (!advice && of == SUMMARYPARTS_RECORD)
		advice = is_lost && *losses->lost_advice ? losses->lost_advice :
							   loss->record_advice;
	if (advice)
		fprintf(to, " (%s)", advice);
	fputc('\n', to);
}

static enum cprof_loss_level level_of(const struct cprof_loss *loss, enum summaryparts_of of)
{
	return of == SUMMARYPARTS_RECORD ? loss->record : loss->import;
}

static bool is_many(uint64_t n, uint64_t n_samples)
{
	return n > n_samples / 20;
}

static bool is_shown(enum cprof_loss_level level, uint64_t n, uint64_t n_samples, bool verbose)
{
	bool many = is_many(n, n_samples);
	return n && level != CPROF_LOSS_ABSENT &&
	       (verbose || level >= CPROF_LOSS_SHOWN || (level == CPROF_LOSS_MANY && many));
}

void summaryparts_losses(const struct cprof_losses *losses, enum summaryparts_of of, bool verbose,
			 FILE *to)
{
	const struct cprof_loss *loss;
	for (size_t i = 0; (loss = cprof_loss(i)); i++) {
		if (!is_shown(level_of(loss, of), losses->n[i], losses->n_samples, verbose))
			continue;
		fputs("  ", to);
		print_loss(loss, losses, i, of, to);
	}
}

void summaryparts_losses_quiet(const struct cprof_losses *losses, enum summaryparts_of of,
			       bool any, FILE *to)
{
	const struct cprof_loss *loss;
	enum cprof_loss_level least =
		of == SUMMARYPARTS_RECORD ? CPROF_LOSS_STRICT : CPROF_LOSS_SHOWN;
	for (size_t i = 0; (loss = cprof_loss(i)); i++) {
		uint64_t n = losses->n[i];
		if (!n || level_of(loss, of) < least || !(any || is_many(n, losses->n_samples)))
			continue;
		fprintf(to, "cprof %s: warning: ", of == SUMMARYPARTS_RECORD ? "record" : "import");
		print_loss(loss, losses, i, of, to);
	}
}

void summaryparts_losses_json(const struct cprof_losses *losses, enum summaryparts_of of, FILE *to)
{
	const struct cprof_loss *loss;
	const char *separator = "";
	for (size_t i = 0; (loss = cprof_loss(i)); i++) {
		if (level_of(loss, of) == CPROF_LOSS_ABSENT)
			continue;
		fprintf(to, "%s\"%s\": %" PRIu64, separator, loss->key, losses->n[i]);
		separator = ", ";
	}
}

void summaryparts_ends(const struct cprof_stack_ends *ends, FILE *to)
{
	const char *sep = "";
	for (size_t k = 0; k < CPROF_N_STACK_ENDS; k++) {
		if (ends->n[k]) {
			fprintf(to, "%s%" PRIu64 " %s", sep, ends->n[k], cprof_stack_end_name(k));
			sep = ", ";
		}
	}
	fputc('\n', to);
}

void summaryparts_file_ends(const struct cprof_stack_ends *ends, FILE *to)
{
	fputs("    in '", to);
	printable_text(to, ends->path);
	fputs("': ", to);
	summaryparts_ends(ends, to);
}

void summaryparts_frames(const struct cprof_stats *st, FILE *to)
{
	fprintf(to, "  %" PRIu64 " distinct stack%s, %" PRIu64 " frame%s; %" PRIu64 " of %" PRIu64
		    " user and %" PRIu64 " of %" PRIu64 " kernel frames named\n",
		st->n_stacks, units_s(st->n_stacks), st->n_frames, units_s(st->n_frames),
		st->n_frames_user_named, st->n_frames_user,
		st->n_frames_kernel_named, st->n_frames_kernel);
}

void summaryparts_json_string(FILE *to, const char *key, const char *value)
{
	fprintf(to, "\"%s\": ", key);
	if (value)
		printable_json(to, value);
	else
		fputs("null", to);
}
