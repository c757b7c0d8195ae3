#include "cmd/saveas.h"

#include "base/err.h"
#include "cmd/signals.h"
#include "proto/outfile.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

int saveas_write(const char *name, bool is_binary, saveas_fn *fn, void *what, struct err *e)
{
	struct outfile file;
	int code = 0;
	if (strcmp(name, "-") != 0) {
		code = outfile_open(&file, name, e);
	} else if (is_binary && isatty(STDOUT_FILENO)) {
		code = err_usage(e, "not writing a compressed profile to a terminal");
		err_hint(e, "redirect stdout, or use -o FILE");
	} else {
		outfile_open_fd(&file, STDOUT_FILENO);
	}
	if (code < 0)
		return code;
	signal(SIGPIPE, SIG_IGN);
	signals_abort_on(&file.tmp_path, 1);
	code = fn(what, outfile_write, &file, e);
	if (file.code < 0)
		code = outfile_error(&file, e);
	if (code == 0) {
		signals_hold();
		code = outfile_commit(&file, 1, e);
	}
	outfile_abort(&file);
	signals_abort_on(NULL, 0);
	return code;
}
