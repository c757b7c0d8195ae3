#include "cmd/output.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The event's name is inserted before these endings. */
static const char *const endings[] = { ".pb.gz", ".pprof", ".pb", ".prof", ".gz" };

static char *make_path(const char *name, const char *part, size_t n, const char *stamp)
{
	char *path = NULL;
	int got;
	size_t len = name ? strlen(name) : 0, end = 0;
	const char *dot = stamp ? "." : "";
	stamp = stamp ? stamp : "";
	for (size_t i = 0; i < sizeof(endings) / sizeof(*endings) && !end; i++) {
		size_t k = strlen(endings[i]);
		if (len > k && strcmp(name + len - k, endings[i]) == 0)
			end = k;
	}
	if (!name)
		got = asprintf(&path, "cprof.%s%s%s.pb.gz", part, dot, stamp);
	else if (n == 1)
		got = asprintf(&path, "%.*s%s%s%s", (int)(len - end), name, dot, stamp,
			       name + len - end);
	else
		got = asprintf(&path, "%.*s.%s%s%s%s", (int)(len - end), name, part, dot, stamp,
			       name + len - end);
	return got < 0 ? NULL : path;
}

int output_check_terminal(struct err *e)
{
	if (isatty(STDOUT_FILENO) != 1)
		return 0;
	int r = err_usage(e, "not writing a compressed profile to a terminal");
	err_hint(e, "redirect stdout, or use -o FILE");
	return r;
}

static int open_stdout(struct output *o, size_t n, struct err *e)
{
	if (n != 1) {
		err_usage(e, "-o - takes one event, not %zu: each event has its own file",
			n);
		err_hint(e, "give a file name, or record one event");
		return -EINVAL;
	}
	int r = output_check_terminal(e);
	if (r < 0)
		return r;
	/* main() replaces a closed stdout by /dev/null, open for reading. */
	int flags = fcntl(STDOUT_FILENO, F_GETFL);
	if (flags < 0 || (flags & O_ACCMODE) == O_RDONLY) {
		r = err_errno(e, EBADF, "cannot write to stdout");
		err_hint(e, "it is closed, or open for reading only; use -o FILE");
		return r;
	}
	o->path = strdup("-");
	if (!o->path)
		return err_errno(e, ENOMEM, "cannot open the output");
	outfile_open_fd(&o->file, STDOUT_FILENO);
	o->open = true;
	return 0;
}

static int open_files(struct output *o, const char *const *part, size_t n, const char *name,
		      const char *stamp, struct err *e)
{
	for (size_t i = 0; i < n; i++) {
		o[i].path = make_path(name, part[i], n, stamp);
		if (!o[i].path)
			return err_errno(e, ENOMEM, "cannot open the output");
		for (size_t k = 0; k < i; k++) {
			if (strcmp(o[i].path, o[k].path) == 0) {
				err_set(e, EINVAL,
					"two events would be written to the same file '%s'",
					o[i].path);
				err_hint(e, "give one of them another name: EVENT/name=NAME/");
				return -EINVAL;
			}
		}
	}
	for (size_t i = 0; i < n; i++) {
		int r = outfile_open(&o[i].file, o[i].path, e);
		if (r < 0)
			return r;
		o[i].open = true;
	}
	return 0;
}

int output_open(struct output *o, const char *const *part, size_t n, const char *name,
		const char *stamp, struct err *e)
{
	if (name && strcmp(name, "-") == 0)
		return open_stdout(o, n, e);
	int r = open_files(o, part, n, name, stamp, e);
	for (size_t i = 0; r < 0 && i < n; i++)
		output_done(&o[i]);
	return r;
}

int output_write(void *ctx, const void *data, size_t n_bytes)
{
	struct output *o = ctx;
	o->n_bytes += n_bytes;
	return outfile_write(&o->file, data, n_bytes);
}

void output_discard(struct output *o)
{
	if (o->open)
		outfile_abort(&o->file);
	o->open = false;
}

int output_commit(struct output *o, size_t n, struct err *e)
{
	CLEANUP_FREE struct outfile *file = calloc(n, sizeof(*file));
	if (!file)
		return err_errno(e, ENOMEM, "cannot finish the output");
	size_t n_files = 0;
	for (size_t i = 0; i < n; i++)
		if (o[i].open)
			file[n_files++] = o[i].file;
	int r = outfile_commit(file, n_files, e);
	for (size_t i = 0, k = 0; i < n; i++)
		if (o[i].open)
			o[i].file = file[k++];
	return r;
}

static int open_in(struct output *o, const char *folder)
{
	struct err e = { 0 };
	const char *name = path_base_name(o->path);
	char *path = NULL;
	outfile_abort(&o->file);
	o->open = false;
	o->n_bytes = 0;
	if (asprintf(&path, "%s/%s", folder, name) < 0)
		return -ENOMEM;
	int r = outfile_open(&o->file, path, &e);
	o->open = r == 0;
	free(o->path);
	o->path = path;
	return r;
}

int output_elsewhere(struct output *o, size_t n, char folder[PATH_MAX])
{
	const char *tmp = getenv("TMPDIR");
	bool is_moved = false;
	int r = 0;
	snprintf(folder, PATH_MAX, "%s/cprof-XXXXXX", tmp && *tmp == '/' ? tmp : "/tmp");
	for (size_t i = 0; i < n && r == 0; i++) {
		if (!o[i].open)
			continue;
		if (!o[i].file.path)
			r = -EINVAL;
		else if (!is_moved && !mkdtemp(folder))
			r = -errno;
		is_moved |= r == 0;
		if (r == 0)
			r = open_in(&o[i], folder);
	}
	for (size_t i = 0; i < n && r < 0; i++)
		output_discard(&o[i]);
	if (r < 0 && is_moved)
		rmdir(folder);
	return r;
}

void output_done(struct output *o)
{
	output_discard(o);
	free(o->path);
	o->path = NULL;
}
