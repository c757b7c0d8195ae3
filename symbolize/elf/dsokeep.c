/*
 * A list of the open files, the most recently used first.  A file that somebody holds is skipped
 * when one must be closed, so the limit may be exceeded by as many files as are held.
 */

#include "symbolize/elf/dsokeep.h"

#include "base/foreign.h"
#include "symbolize/elf/dso.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

/* How many files are closed at once when no descriptor is left. */
#define SHED_AT_ONCE 8

int dsokeep_init(struct dsokeep *k)
{
	*k = (struct dsokeep){ 0 };
	return -pthread_mutex_init(&k->lock, NULL);
}

void dsokeep_done(struct dsokeep *k)
{
	pthread_mutex_destroy(&k->lock);
}

static void list_remove(struct dsokeep_file *f)
{
	struct dsokeep *k = f->keep;
	*(f->newer ? &f->newer->older : &k->newest) = f->older;
	*(f->older ? &f->older->newer : &k->oldest) = f->newer;
	f->newer = f->older = NULL;
	k->n_open--;
}

static void list_add(struct dsokeep_file *f)
{
	struct dsokeep *k = f->keep;
	f->older = k->newest;
	*(k->newest ? &k->newest->newer : &k->oldest) = f;
	k->newest = f;
	k->n_open++;
}

/* Closes up to n files but f's. */
static size_t shed(struct dsokeep *k, size_t n, const struct dsokeep_file *f)
{
	size_t n_closed = 0;
	for (struct dsokeep_file *at = k->oldest, *newer; at && n_closed < n; at = newer) {
		newer = at->newer;
		if (at->n_holds || at == f)
			continue;
		list_remove(at);
		close(at->dso->fd);
		at->dso->fd = -1;
		n_closed++;
	}
	return n_closed;
}

static void obey_limit(struct dsokeep *k, const struct dsokeep_file *newest)
{
	struct rlimit limit;
	size_t max = k->max_open;
	if (max == 0)
		max = getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur / 2 : 512;
	if (k->n_open > max)
		shed(k, k->n_open - max, newest);
}

int dsokeep_add(struct dsokeep *k, struct dso *d, void *origin)
{
	struct dsokeep_file *f = calloc(1, sizeof(*f));
	if (!f) {
		free(origin);
		return -ENOMEM;
	}
	*f = (struct dsokeep_file){ .keep = k, .dso = d, .origin = origin };
	pthread_mutex_lock(&k->lock);
	d->kept = f;
	list_add(f);
	obey_limit(k, f);
	pthread_mutex_unlock(&k->lock);
	return 0;
}

void dsokeep_remove(struct dso *d)
{
	struct dsokeep_file *f = d->kept;
	if (!f)
		return;
	struct dsokeep *k = f->keep;
	pthread_mutex_lock(&k->lock);
	if (d->fd >= 0) {
		list_remove(f);
		close(d->fd);
		d->fd = -1;
	}
	d->kept = NULL;
	pthread_mutex_unlock(&k->lock);
	free(f->origin);
	free(f);
}

size_t dsokeep_shed(struct dsokeep *k, size_t n)
{
	pthread_mutex_lock(&k->lock);
	size_t n_closed = shed(k, n, NULL);
	pthread_mutex_unlock(&k->lock);
	return n_closed;
}

bool dsokeep_makes_room(struct dsokeep *k, int result)
{
	return k && foreign_lacks_descriptor(result) && dsokeep_shed(k, SHED_AT_ONCE);
}

bool dsokeep_has_file(const struct dso *d)
{
	return d->kept || d->fd >= 0;
}

static int reopen(struct dsokeep_file *f)
{
	struct dsokeep *k = f->keep;
	if (f->is_lost || !k->reopen)
		return -EMFILE;
	int fd = k->reopen(k->ctx, f->dso, f->origin);
	if (foreign_lacks_descriptor(fd) && shed(k, SHED_AT_ONCE, f))
		fd = k->reopen(k->ctx, f->dso, f->origin);
	if (fd < 0) {
		/* Descriptors may be free again later; a file that has gone does not come back. */
		f->is_lost = !foreign_lacks_descriptor(fd);
		return -EMFILE;
	}
	f->dso->fd = fd;
	list_add(f);
	obey_limit(k, f);
	return fd;
}

int dsokeep_hold(const struct dso *d)
{
	struct dsokeep_file *f = d->kept;
	if (!f)
		return d->fd >= 0 ? d->fd : -ENOENT;
	pthread_mutex_lock(&f->keep->lock);
	int fd = d->fd;
	if (fd < 0) {
		fd = reopen(f);
	} else if (f->newer) {
		list_remove(f);
		list_add(f);
	}
	f->n_holds += fd >= 0;
	pthread_mutex_unlock(&f->keep->lock);
	return fd;
}

void dsokeep_release(const struct dso *d)
{
	struct dsokeep_file *f = d->kept;
	if (!f)
		return;
	pthread_mutex_lock(&f->keep->lock);
	f->n_holds--;
	pthread_mutex_unlock(&f->keep->lock);
}

static int duplicate(int fd)
{
	int r = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	return r < 0 ? -errno : r;
}

int dsokeep_dup(const struct dso *d)
{
	int fd = dsokeep_hold(d);
	if (fd < 0)
		return fd;
	int r = duplicate(fd);
	if (dsokeep_makes_room(d->kept ? d->kept->keep : NULL, r))
		r = duplicate(fd);
	dsokeep_release(d);
	return r;
}

bool dsokeep_is_lost(const struct dso *d)
{
	struct dsokeep_file *f = d->kept;
	if (!f)
		return false;
	pthread_mutex_lock(&f->keep->lock);
	bool is_lost = f->is_lost;
	pthread_mutex_unlock(&f->keep->lock);
	return is_lost;
}
