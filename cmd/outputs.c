#include "cmd/outputs.h"

#include "base/err.h"
#include "cmd/filemode.h"
#include "cmd/output.h"
#include "cmd/signals.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

static int open_file(struct outfile *f, const struct outputs *s, struct err *e)
{
	if (strcmp(s->name, "-") != 0)
		return outfile_open(f, s->name, e);
	int r = s->is_binary ? output_check_terminal(e) : 0;
	if (r < 0)
		return r;
	outfile_open_fd(f, STDOUT_FILENO);
	return 0;
}

/* Fills the open files and gives them their names. */
static int write_files(const struct outputs *file, struct outfile *out, size_t n, struct err *e)
{
	for (size_t i = 0; i < n; i++) {
		int r = file[i].fn(file[i].what, outfile_write, &out[i], e);
		if (out[i].code < 0)
			r = outfile_error(&out[i], e);
		if (r < 0)
			return r;
	}
	signals_hold();
	return outfile_commit(out, n, e);
}

int outputs_write(const struct outputs *file, size_t n, const struct filemode *mode, struct err *e)
{
	struct outfile out[OUTPUTS_FILES_MAX];
	const struct outfile *unfinished[OUTPUTS_FILES_MAX];
	size_t n_open = 0;
	int r = 0;
	assert(n <= OUTPUTS_FILES_MAX);
	signal(SIGPIPE, SIG_IGN);
	while (n_open < n) {
		r = open_file(&out[n_open], &file[n_open], e);
		if (r < 0)
			goto out;
		filemode_apply(mode, &out[n_open]);
		unfinished[n_open] = &out[n_open];
		n_open++;
		signals_abort_on(unfinished, n_open);
	}
	r = write_files(file, out, n, e);
out:
	for (size_t i = 0; i < n_open; i++)
		outfile_abort(&out[i]);
	signals_abort_on(NULL, 0);
	return r;
}
