#ifndef CPROF_VIEW_CONVERT_FORMAT_H
#define CPROF_VIEW_CONVERT_FORMAT_H

/*
 * The formats that `cprof convert` reads and writes.  Each is described by a `const struct format`
 * in the file that writes it, or that reads it if it is input only.  To add an output format, write
 * conv-NAME.c, add conv_NAME to FORMATS and the file to meson.build.
 *
 * All formats but pprof are text, and valid UTF-8 whatever names the profile holds.  Frames are the
 * rows of rows.h by function, including inlined calls.
 */

#include "view/convert/emit.h"
#include "view/model/model.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

/* In the order in which help texts list them. */
#define FORMATS(X) \
	X(conv_folded) X(conv_speedscope) X(conv_chrome) X(conv_firefox) X(format_pprof) \
	X(from_script) X(from_jemalloc) X(from_gperftools) X(from_heaptrack) X(from_dhat)

struct format {
	const char *name, *alias;     /* values of --to and --from; alias: NULL if there is none */
	const char *contents;         /* what a file holds, for messages: "folded stacks" */
	const char *ending[5];        /* file names that select the format for output */
	bool is_pprof;                /* binary; read and written by the model itself */
	bool is_alone;                /* a file is a whole profile, and may be in gzip or zstd */
	bool has_addresses;           /* of code, with mappings, but without names */

	/* Writes one sample type through o, which the caller opens and finishes.  *ret_n_left_out:
	 * samples that the format cannot hold.  0, or -ENOMEM with e set; the output is worthless
	 * then.  NULL: input only, or pprof. */
	int (*write)(const struct model *m, uint32_t type, struct emit *o, uint64_t *ret_n_left_out,
		     struct err *e);

	/* Reads text, which may hold any bytes and needs no NUL.  NULL: output only, or pprof. */
	int (*read)(const char *text, size_t n_bytes, struct model **ret, struct err *e);
};

#define FORMAT_DECLARE(name) extern const struct format name;
FORMATS(FORMAT_DECLARE)

enum format_use { FORMAT_OUTPUT, FORMAT_INPUT };

/* The i-th format for this use, or NULL after the last. */
const struct format *format_at(enum format_use use, size_t i);

/* Its name, for completions; NULL after the last. */
const char *format_output_name(size_t i);
const char *format_input_name(size_t i);

/* NULL: unknown. */
const struct format *format_find(enum format_use use, const char *name);
const struct format *format_of_path(const char *path);

#endif
