/*
 * pprof-check FILE...: prints one line for each rule of a pprof consumer that a profile violates.
 * Exit status 1 for an error, which includes a FILE that is not a profile; 64 for wrong usage.
 */

#include "base/err.h"
#include "proto/pprof-check.h"
#include "proto/pprof-read.h"

#include <stdio.h>

static void print_finding(void *ctx, const struct pprof_finding *f)
{
	const char *path = ctx;
	printf("%s: %s: %s: %s\n", path,
	       f->severity == PPROF_CHECK_ERROR ? "error" : "warning",
	       pprof_check_rule_name(f->rule), f->text);
}

static size_t check_file(char *path)
{
	struct profile *p;
	struct err e = { 0 };
	size_t n_errors = 0, n_warnings = 0;
	if (profile_read_file(path, &p, &e) < 0) {
		printf("%s: error: read: %s\n", path, e.what);
		return 1;
	}
	if (pprof_check(p, PPROF_CONSUMER_ALL, print_finding, path, &n_errors, &n_warnings) < 0) {
		printf("%s: error: out of memory\n", path);
		n_errors = 1;
	} else if (n_errors + n_warnings > 0) {
		printf("%s: %zu errors, %zu warnings\n", path, n_errors, n_warnings);
	}
	profile_free(p);
	return n_errors;
}

int main(int argc, char **argv)
{
	size_t n_errors = 0;
	if (argc < 2) {
		fprintf(stderr, "usage: pprof-check FILE...\n");
		return 64;
	}
	for (int i = 1; i < argc; i++)
		n_errors += check_file(argv[i]);
	return n_errors > 0;
}
