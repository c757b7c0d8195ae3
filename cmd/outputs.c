#include "cmd/outputs.h"

#include "base/err.h"
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
	int code = s->is_binary ? output_check_terminal(e) : 0;
	if (code == 0)
		outfile_open_fd(f, STDOUT_FILENO);
	return code;
}

int outputs_write(const struct outputs *file, size_t n, struct err *e)
{
	struct outfile out[OUTPUTS_FILES_MAX];
	char *unfinished[OUTPUTS_FILES_MAX];
	size_t n_open = 0;
	int code = 0;
	assert(n <= OUTPUTS_FILES_MAX);
	signal(SIGPIPE, SIG_IGN);
	while (code == 0 && n_open < n) {
		code = open_file(&out[n_open], &file[n_open], e);
		if (code < 0)
			break;
		unfinished[n_open] = out[n_open].tmp_path;
		n_open++;
		signals_abort_on(unfinished, n_open);
	}
	for (size_t i = 0; code == 0 && i < n; i++) {
		code = file[i].fn(file[i].what, outfile_write, &out[i], e);
		if (out[i].code < 0)
			code = outfile_error(&out[i], e);
	}
	if (code == 0) {
		signals_hold();
		code = outfile_commit(out, n, e);
	}
	for (size_t i = 0; i < n_open; i++)
		outfile_abort(&out[i]);
	signals_abort_on(NULL, 0);
	return code;
}
