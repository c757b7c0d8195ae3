/* Files that stay open for names: which ones, how many, and which not. */

#include "symbolize/elf/dso.h"
#include "symbolize/elf/elfcache.h"
#include "tap.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <unistd.h>

#define N_DSOS (ELFCACHE_FILES_MAX + 2)

static int n_open_files(void)
{
	int n = 0;
	for (int fd = 0; fd < 256; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

static struct symelf *get(struct elfcache *kept, const struct dso *d,
			  const struct symdebug_place *where)
{
	struct symelf *s = NULL;
	return elfcache_get(kept, d, where, &s) == 0 ? s : NULL;
}

int main(void)
{
	struct dso dso[N_DSOS], none = { .fd = -1 };
	const struct symdebug_place where = { 0 }, fetched = { .fetched_fd = 1000 };
	struct elfcache kept = { { NULL } };
	for (int i = 0; i < N_DSOS; i++)
		dso[i] = (struct dso){ .id = (uint32_t)i,
				       .fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC) };
	int n_before = n_open_files();

	const char *name;
	struct symelf *s = get(&kept, &dso[0], &where);
	tap_ok(s && symelf_find(s, 0, &name) == NULL, "a file is opened");
	tap_int(s->symbols_read, true, "the symbols of the file are read");
	elfcache_put(&kept, s);
	struct symelf *again = get(&kept, &dso[0], &where);
	tap_ok(again == s && again->symbols_read,
	       "at the second request the file is open and its symbols are sorted");
	tap_ok(again->where == &where, "debug files are searched where the caller says");
	struct symelf *other = get(&kept, &dso[1], &where);
	tap_ok(other && other != again, "another file is opened");
	elfcache_put(&kept, again);
	elfcache_put(&kept, other);

	for (int i = 2; i < N_DSOS; i++)
		elfcache_put(&kept, get(&kept, &dso[i], &where));
	tap_int(n_open_files() - n_before, ELFCACHE_FILES_MAX,
		"only the last few files stay open");
	s = get(&kept, &dso[N_DSOS - 1], &where);
	tap_ok(s && !kept.file[ELFCACHE_FILES_MAX - 1], "the last file was still open");
	elfcache_put(&kept, s);
	s = get(&kept, &dso[0], &where);
	tap_ok(s && !s->symbols_read, "the first file is opened anew");
	elfcache_put(&kept, s);
	tap_int(n_open_files() - n_before, ELFCACHE_FILES_MAX,
		"the first file replaces another one");

	tap_ok(kept.file[0] == s, "the first file is in the cache again");
	s = get(&kept, &dso[0], &fetched);
	tap_ok(s && !s->symbols_read, "a file with a fetched debug file is opened anew");
	elfcache_put(&kept, s);
	tap_int(n_open_files() - n_before, ELFCACHE_FILES_MAX - 1,
		"a file with a fetched debug file is not cached");

	tap_int(elfcache_get(&kept, &none, &where, &s), -EINVAL,
		"a file that is not a program is refused");
	s = get(NULL, &dso[0], &where);
	tap_ok(s != NULL, "a file is opened without a cache");
	elfcache_put(NULL, s);
	elfcache_done(&kept);
	elfcache_put(&kept, get(&kept, &dso[3], &where));
	elfcache_done(&kept);
	tap_int(n_open_files(), n_before, "at the end all files are closed");
	for (int i = 0; i < N_DSOS; i++)
		close(dso[i].fd);
	return tap_done();
}
