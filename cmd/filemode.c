/* The owner's own bits are not limited: they protect the file from nobody. */

#include "cmd/filemode.h"

#include "proto/outfile.h"

#include <argp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MODE_MAX 0777u

void filemode_parse(struct filemode *m, struct argp_state *state, const char *arg)
{
	size_t n = strlen(arg);
	unsigned long mode = strtoul(arg, NULL, 8);
	if (n == 0 || n > 4 || strspn(arg, "01234567") != n || mode > MODE_MAX)
		argp_error(state, "--mode '%s' is not an octal number from 0 to 0777, such as 0640",
			   arg);
	m->mode = (mode_t)mode;
	m->is_given = true;
}

void filemode_check(const struct filemode *m, struct argp_state *state, const char *output)
{
	if (m->is_given && output && strcmp(output, "-") == 0)
		argp_error(state, "--mode is for files, but the output goes to stdout");
}

static void add_input(struct filemode *m, const char *path)
{
	struct stat st;
	char data[4096];
	bool is_stdin = strcmp(path, "-") == 0;
	if ((is_stdin ? fstat(STDIN_FILENO, &st) : stat(path, &st)) < 0)
		return;
	m->denied |= ~st.st_mode & FILEMODE_PRIVATE;
	if (!S_ISDIR(st.st_mode))
		return;
	int n = snprintf(data, sizeof(data), "%s/data", path);
	if (n > 0 && (size_t)n < sizeof(data) && stat(data, &st) == 0)
		m->denied |= ~st.st_mode & FILEMODE_PRIVATE;
}

void filemode_add_inputs(struct filemode *m, const char *const *path, size_t n)
{
	for (size_t i = 0; i < n; i++)
		add_input(m, path[i]);
}

void filemode_apply(const struct filemode *m, struct outfile *f)
{
	if (m->is_given)
		outfile_set_mode(f, m->mode);
	else
		outfile_limit_mode(f, ~m->denied & MODE_MAX);
}
