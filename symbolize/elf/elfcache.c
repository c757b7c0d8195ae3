#include "symbolize/elf/elfcache.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void close_one(struct symelf *s)
{
	if (s)
		symelf_close(s);
	free(s);
}

/* Removes it from the list.  NULL if it is not in the list. */
static struct symelf *take_file(struct elfcache *kept, const struct dso *d)
{
	for (size_t i = 0; i < ELFCACHE_FILES_MAX && kept->file[i]; i++) {
		struct symelf *s = kept->file[i];
		if (s->d != d)
			continue;
		memmove(&kept->file[i], &kept->file[i + 1],
			(ELFCACHE_FILES_MAX - 1 - i) * sizeof(kept->file[0]));
		kept->file[ELFCACHE_FILES_MAX - 1] = NULL;
		return s;
	}
	return NULL;
}

int elfcache_get(struct elfcache *kept, const struct dso *d, const struct symdebug_place *where,
		struct symelf **ret)
{
	struct symelf *s = kept ? take_file(kept, d) : NULL;
	if (s && where->fetched_fd) {
		close_one(s);
		s = NULL;
	}
	if (s) {
		s->where = where;
		*ret = s;
		return 0;
	}
	s = malloc(sizeof(*s));
	int r = s ? symelf_open(s, d, where) : -ENOMEM;
	if (r < 0)
		free(s);
	else
		*ret = s;
	return r;
}

void elfcache_put(struct elfcache *kept, struct symelf *s)
{
	if (!kept || !s || s->where->fetched_fd) {
		close_one(s);
		return;
	}
	close_one(kept->file[ELFCACHE_FILES_MAX - 1]);
	memmove(&kept->file[1], &kept->file[0],
		(ELFCACHE_FILES_MAX - 1) * sizeof(kept->file[0]));
	kept->file[0] = s;
	s->where = NULL;  /* the caller's */
}

void elfcache_done(struct elfcache *kept)
{
	for (size_t i = 0; i < ELFCACHE_FILES_MAX; i++)
		close_one(kept->file[i]);
	*kept = (struct elfcache){ { NULL } };
}
