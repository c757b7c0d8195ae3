/*
 * Samples are divided as `cprof report --by LABEL` divides them into rows.  Each file is written
 * from the same model, without the samples of other rows.
 */
#include "cmd/mergeby.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "cmd/filemode.h"
#include "cmd/outputs.h"
#include "cmd/printable.h"
#include "view/model/model.h"
#include "view/table/rows.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define NAME_BYTES_MAX 100u

struct value_file {
	const struct model *m;
	const struct rows *rows;
	bool *sample_out;
	int level;
	char path[4096];
};

static int make_folder(const char *folder, struct err *e)
{
	struct stat st;
	if (mkdir(folder, 0777) == 0 || (errno == EEXIST && stat(folder, &st) == 0 &&
					 S_ISDIR(st.st_mode)))
		return 0;
	int r = err_errno(e, errno, "cannot create the directory '%s'", folder);
	err_hint(e, "with --by, -o names a directory for the profiles");
	return r;
}

/* No file is hidden, or above the folder. */
static void set_name(char name[NAME_BYTES_MAX + 1], const char *value)
{
	size_t n = 0;
	for (; value[n] && n < NAME_BYTES_MAX; n++) {
		unsigned char c = (unsigned char)value[n];
		bool is_kept = isascii(c) && (isalnum(c) || c == '_' || c == '+' || c == '-' ||
					      (c == '.' && n > 0));
		name[n] = is_kept ? (char)c : '_';
	}
	name[n] = '\0';
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Names of files by row, each once; the caller frees the array, which is one block. */
static char (*file_names(const struct rows *rows))[NAME_BYTES_MAX + 12]
{
	char (*name)[NAME_BYTES_MAX + 12] = calloc(rows->n_rows + 1u, sizeof(*name));
	CLEANUP_FREE char **sorted = calloc(rows->n_rows + 1u, sizeof(*sorted));
	if (!name || !sorted) {
		free(name);
		return NULL;
	}
	for (uint32_t i = 0; i < rows->n_rows; i++) {
		set_name(name[i], rows->row[i].name);
		sorted[i] = name[i];
	}
	qsort(sorted, rows->n_rows, sizeof(*sorted), compare_names);
	for (uint32_t i = 0; i < rows->n_rows;) {
		uint32_t k = i + 1;
		while (k < rows->n_rows && strcmp(sorted[k], sorted[i]) == 0)
			k++;
		/* '~' is in no other name */
		for (uint32_t at = i + 1; at < k; at++)
			snprintf(sorted[at] + strlen(sorted[at]), 12, "~%u", at - i + 1);
		i = k;
	}
	return name;
}

static int write_value(void *what, int (*write)(void *ctx, const void *data, size_t n_bytes),
		       void *ctx, struct err *e)
{
	const struct value_file *v = what;
	return model_write_some(v->m, &(struct model_some){ .sample_out = v->sample_out }, write,
				ctx, v->level, e);
}

static int write_row(struct value_file *v, uint32_t row, const char *folder, const char *name,
		     const struct filemode *mode, struct err *e)
{
	const struct model *m = v->m;
	for (uint32_t i = 0; i < m->n_samples; i++)
		v->sample_out[i] = v->rows->of_labels[m->sample[i].labels] != row;
	int n = snprintf(v->path, sizeof(v->path), "%s/%s.pb.gz", folder, name);
	if (n < 0 || (size_t)n >= sizeof(v->path))
		return err_set(e, ENAMETOOLONG, "the path of the directory is too long");
	int r = outputs_write(&(struct outputs){ v->path, true, write_value, v }, 1, mode, e);
	if (r == 0) {
		printable_text(stdout, v->rows->row[row].name);
		putchar('\t');
		printable_text(stdout, v->path);
		putchar('\n');
	}
	return r;
}

/* Rows that samples have, and not only label sets without any. */
static bool *used_rows(const struct model *m, const struct rows *rows)
{
	bool *used = calloc(rows->n_rows + 1u, sizeof(*used));
	for (uint32_t i = 0; used && i < m->n_samples; i++)
		used[rows->of_labels[m->sample[i].labels]] = true;
	return used;
}

int mergeby_write(const struct model *m, const char *label, const char *folder,
		  const struct filemode *mode, int level, struct err *e)
{
	CLEANUP(rows_freep) struct rows *rows = NULL;
	int r = rows_new(m, NULL, ROWS_LABEL, label, &rows, e);
	if (r < 0)
		return r;
	if (rows->n_rows > MERGEBY_FILES_MAX)
		return err_set(e, E2BIG, "label '%s' has %u values: at most %u files are written",
			       label, rows->n_rows, MERGEBY_FILES_MAX);
	CLEANUP_FREE bool *out = calloc(m->n_samples + 1u, sizeof(*out));
	CLEANUP_FREE bool *used = used_rows(m, rows);
	CLEANUP_FREE char (*name)[NAME_BYTES_MAX + 12] = file_names(rows);
	CLEANUP_FREE struct value_file *v = malloc(sizeof(*v));
	if (!out || !used || !name || !v)
		return err_errno(e, ENOMEM, "cannot write the profiles");
	*v = (struct value_file){ .m = m, .rows = rows, .sample_out = out, .level = level };
	r = make_folder(folder, e);
	for (uint32_t i = 0; r == 0 && i < rows->n_rows; i++)
		if (used[i])
			r = write_row(v, i, folder, name[i], mode, e);
	return r;
}
