#ifndef CPROF_CMD_IMPORTSUMMARY_H
#define CPROF_CMD_IMPORTSUMMARY_H

/* The results of an import, for people (stderr) and for programs (JSON on stdout). */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct cprof_importer;

struct importsummary_file {
	const char *path;        /* NULL: nothing was written for this event */
	uint64_t n_bytes;
	size_t output;           /* index among the files that are written */
	bool wanted;             /* it has samples */
};

struct importsummary {
	struct cprof_importer *importer;
	const struct importsummary_file *file;  /* per event */
	const char *damage;      /* why part of the file could not be read; NULL: none */
	bool verbose;
	bool no_symbols;         /* names were not wanted */
};

void importsummary_print(const struct importsummary *s, FILE *to);

/* With -q: only losses that affect more than 5 % of the samples. */
void importsummary_print_quiet(const struct importsummary *s, FILE *to);
void importsummary_print_json(const struct importsummary *s, FILE *to);

#endif
