#include "cmd/pathlist.h"

#include "base/err.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define TEXT_BYTES_MAX ((size_t)1 << 30)
#define BLOCK_BYTES 65536u

static int read_text(struct pathlist *l, FILE *f, struct err *e)
{
	size_t n;
	do {
		if (!VEC_RESERVE(&l->text, BLOCK_BYTES + 1))
			return err_errno(e, ENOMEM, "cannot hold the list of files");
		n = fread(l->text.v + l->text.n, 1, BLOCK_BYTES, f);
		l->text.n += n;
		if (l->text.n > TEXT_BYTES_MAX)
			return err_set(e, E2BIG, "the list of files has more than 1 GiB");
	} while (n > 0);
	return ferror(f) ? err_errno(e, errno ? errno : EIO, "cannot read the list of files") : 0;
}

/* The text ends with a NUL that is not part of it. */
static bool split_text(struct pathlist *l)
{
	char end = memchr(l->text.v, '\0', l->text.n) ? '\0' : '\n';
	char *p = l->text.v, *stop = p + l->text.n;
	*stop = '\0';
	while (p < stop) {
		char *next = memchr(p, end, (size_t)(stop - p));
		if (!next)
			next = stop;
		*next = '\0';
		if (*p && !VEC_PUSH(&l->path, p))
			return false;
		p = next + 1;
	}
	return true;
}

int pathlist_read(struct pathlist *l, const char *from, struct err *e)
{
	bool is_stdin = strcmp(from, "-") == 0;
	FILE *f = is_stdin ? stdin : fopen(from, "re");
	if (!f)
		return err_errno(e, errno, "cannot read the list of files '%s'", from);
	int r = read_text(l, f, e);
	if (!is_stdin)
		fclose(f);
	if (r == 0 && l->text.n > 0 && !split_text(l))
		r = err_errno(e, ENOMEM, "cannot hold the list of files");
	return r;
}

void pathlist_done(struct pathlist *l)
{
	VEC_FREE(&l->path);
	VEC_FREE(&l->text);
}
