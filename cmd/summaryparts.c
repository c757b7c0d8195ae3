#include "cmd/summaryparts.h"

#include "cmd/printable.h"
#include "cprof.h"

#include <inttypes.h>
#include <string.h>

void summaryparts_count(uint64_t n, const char *what, FILE *to)
{
	size_t n_word = strcspn(what, " "), n_ending = 0;
	if (n == 1 && n_word > 0 && what[n_word - 1] == 's')
		n_ending = n_word > 4 && strncmp(what + n_word - 4, "sses", 4) == 0 ? 2 : 1;
	fprintf(to, "  %" PRIu64 " %.*s%s\n", n, (int)(n_word - n_ending), what, what + n_word);
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
	printable_print(to, ends->path);
	fputs("': ", to);
	summaryparts_ends(ends, to);
}

void summaryparts_frames(const struct cprof_stats *st, FILE *to)
{
	fprintf(to, "  %" PRIu64 " distinct stacks, %" PRIu64 " frames; %" PRIu64 " of %" PRIu64
		    " user and %" PRIu64 " of %" PRIu64 " kernel frames named\n",
		st->n_stacks, st->n_frames, st->n_frames_user_named, st->n_frames_user,
		st->n_frames_kernel_named, st->n_frames_kernel);
}

void summaryparts_json_string(FILE *to, const char *key, const char *value)
{
	fprintf(to, "\"%s\": ", key);
	if (value)
		printable_print_json(to, value);
	else
		fputs("null", to);
}
