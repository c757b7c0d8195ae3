/* The folder is the only list of what it contains: nothing can disagree with it. */
#include "cmd/agent/spool.h"

#include "base/cleanup.h"
#include "base/err.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void spool_name_text(const struct spool_name *n, const char *suffix, char ret[SPOOL_NAME_MAX])
{
	snprintf(ret, SPOOL_NAME_MAX, "%020" PRIu64 "-%010" PRIu64 "-%016" PRIx64 "%s", n->start_ns,
		 n->sequence, n->service, suffix);
}

bool spool_name_parse(const char *text, const char *suffix, struct spool_name *ret)
{
	struct spool_name n;
	char again[SPOOL_NAME_MAX];
	if (strlen(text) >= SPOOL_NAME_MAX ||
	    sscanf(text, "%20" SCNu64 "-%20" SCNu64 "-%16" SCNx64, &n.start_ns, &n.sequence,
		   &n.service) != 3)
		return false;
	/* There is one way to write a name. */
	spool_name_text(&n, suffix, again);
	if (strcmp(text, again) != 0)
		return false;
	*ret = n;
	return true;
}

int spool_name_compare(const struct spool_name *a, const struct spool_name *b)
{
	if (a->start_ns != b->start_ns)
		return a->start_ns < b->start_ns ? -1 : 1;
	if (a->sequence != b->sequence)
		return a->sequence < b->sequence ? -1 : 1;
	return (a->service > b->service) - (a->service < b->service);
}

static int compare_entries(const void *a, const void *b)
{
	const struct spool_entry *x = a, *y = b;
	return spool_name_compare(&x->name, &y->name);
}

static int add_file(struct spool_list *l, int dir_fd, const char *file)
{
	struct spool_entry entry;
	struct stat st;
	if (!spool_name_parse(file, SPOOL_PROFILE, &entry.name) ||
	    fstatat(dir_fd, file, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode))
		return 0;
	entry.n_bytes = (uint64_t)st.st_size;
	l->n_bytes += entry.n_bytes;
	return VEC_PUSH(&l->entry, entry) ? 0 : -ENOMEM;
}

int spool_list(int dir_fd, struct spool_list *ret, struct err *e)
{
	struct spool_list l = { 0 };
	CLEANUP_CLOSE int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	CLEANUP_CLOSEDIR DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	if (!dir)
		return err_errno(e, errno, "cannot read the spool");
	fd = -1;
	int r = 0;
	const struct dirent *d;
	while (r == 0 && (errno = 0, d = readdir(dir)))
		r = add_file(&l, dir_fd, d->d_name);
	if (r == 0)
		r = -errno;
	if (r < 0) {
		spool_list_done(&l);
		return err_errno(e, -r, "cannot read the spool");
	}
	if (l.entry.n)
		qsort(l.entry.v, l.entry.n, sizeof(*l.entry.v), compare_entries);
	*ret = l;
	return 0;
}

void spool_list_done(struct spool_list *l)
{
	VEC_FREE(&l->entry);
	l->n_bytes = 0;
}

int spool_remove(int dir_fd, const struct spool_name *n)
{
	static const char *const suffix[] = { SPOOL_PROFILE, SPOOL_META };
	for (int i = 0; i < 2; i++) {
		char file[SPOOL_NAME_MAX];
		spool_name_text(n, suffix[i], file);
		if (unlinkat(dir_fd, file, 0) < 0 && errno != ENOENT)
			return -errno;
	}
	return 0;
}
