/*
 * A file's path is as the target sees it.  For a container, another file may have that path on the
 * host, so a candidate must be confirmed by build id or CRC.
 */

#include "symbolize/elf/symdebug.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/foreign.h"
#include "base/host.h"
#include "symbolize/elf/dso.h"

#include <elfutils/libdwelf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

/* What a candidate must match. */
struct wanted {
	const uint8_t *build_id;
	size_t n_build_id;       /* 0: unknown */
	bool by_crc;
	uint32_t crc;
	const struct dso *not;   /* the stripped file itself does not count */
	struct symdebug_misfit *misfit; /* NULL: not requested */
};

static const char *const default_dirs[] = { "/usr/lib/debug", NULL };

/* ---- proof --------------------------------------------------------------- */

bool symdebug_is_late(const struct symdebug_place *where)
{
	return where && where->deadline_ns && clock_monotonic_ns() >= where->deadline_ns;
}

/* The CRC of .gnu_debuglink is zlib's, over the whole file. */
static bool crc_matches(const struct symdebug_place *where, int fd, uint32_t want)
{
	enum { CHUNK = 256 << 10 };
	CLEANUP_FREE uint8_t *buf = malloc(CHUNK);
	if (!buf)
		return false;
	uLong crc = crc32(0, NULL, 0);
	for (off_t off = 0;;) {
		ssize_t n = pread(fd, buf, CHUNK, off);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 || symdebug_is_late(where))
			return false;
		if (n == 0)
			return crc == want;
		crc = crc32(crc, buf, (uInt)n);
		off += n;
	}
}

static bool is_same_file(const struct stat *st, const struct dso *d)
{
	struct stat own;
	int fd = d ? dsokeep_hold(d) : -ENOENT;
	if (fd < 0)
		return false;
	bool is_same = fstat(fd, &own) == 0 && own.st_dev == st->st_dev &&
		       own.st_ino == st->st_ino;
	dsokeep_release(d);
	return is_same;
}

/* NULL: it is the wanted file; "": it is not a usable file; else the reason why it does not
 * match. */
static const char *why_not(const struct symdebug_place *where, int fd, const struct wanted *w)
{
	struct stat st;
	if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || is_same_file(&st, w->not))
		return "";
	struct dso file = { .fd = -1 };
	dso_set_file(&file, fd, NULL);
	if (!file.is_elf)
		return "it is not an ELF file";
	bool id_known = file.n_build_id && w->n_build_id;
	if (id_known && (file.n_build_id != w->n_build_id ||
			 memcmp(file.build_id, w->build_id, w->n_build_id) != 0))
		return "its build id differs";
	if (w->by_crc)
		return crc_matches(where, fd, w->crc) ? NULL : "its CRC differs";
	return id_known ? NULL : "it has no build id";
}

/* The root folder to search: a container's own files come first. */
enum root { ROOT_OF_PROCESS, ROOT_OF_HOST, N_ROOTS };

/* A regular file, or -ENOENT.  Symbolic links of a container are resolved inside it. */
static int open_below(const struct symdebug_place *where, enum root root, const char *path)
{
	struct foreign_want want = { .dir_fd = where->host->fd[HOST_ROOT], .path = path };
	if (root == ROOT_OF_PROCESS) {
		want.dir_fd = where->root_fd;
		want.flags = FOREIGN_IN_ROOT;
	}
	while (*want.path == '/')
		want.path++;
	if (want.dir_fd <= 0)
		return -ENOENT;
	int fd = foreign_open(where->host->foreign, &want, NULL);
	if (dsokeep_makes_room(where->keep, fd))
		fd = foreign_open(where->host->foreign, &want, NULL);
	if (where->unread) {
		where->unread->n_lost += foreign_is_lost(fd);
		where->unread->n_no_descriptor += foreign_lacks_descriptor(fd);
	}
	return fd < 0 ? -ENOENT : fd;
}

int symdebug_open_file(const struct symdebug_place *where, const char *path)
{
	int fd = -ENOENT;
	if (!where || !where->host)
		return -ENOENT;
	for (enum root i = 0; i < N_ROOTS && fd < 0; i++)
		fd = open_below(where, i, path);
	return fd;
}

/* Opens path below a root if it is the wanted file.  Returns a descriptor or -ENOENT. */
static int try_path(const struct symdebug_place *where, const char *path, const struct wanted *w)
{
	for (enum root i = 0; i < N_ROOTS; i++) {
		CLEANUP_CLOSE int fd = open_below(where, i, path);
		const char *why = fd >= 0 ? why_not(where, fd, w) : "";
		if (!why)
			return TAKE_FD(fd);
		if (*why && w->misfit && !w->misfit->path)
			*w->misfit = (struct symdebug_misfit){ strdup(path), why };
	}
	return -ENOENT;
}

static int __attribute__((format(printf, 4, 5)))
try_format(const struct symdebug_place *where, const struct wanted *w, char **ret_path,
	   const char *fmt, ...)
{
	char path[PATH_MAX];
	va_list ap;
	va_start(ap, fmt);
	int n = vsnprintf(path, sizeof(path), fmt, ap);
	va_end(ap);
	if (n < 0 || (size_t)n >= sizeof(path))
		return -ENOENT;
	int fd = try_path(where, path, w);
	if (fd >= 0 && ret_path)
		*ret_path = strdup(path);
	return fd;
}

/* ---- search -------------------------------------------------------------- */

static int by_build_id(const struct symdebug_place *where, const uint8_t *id, size_t n_id,
		       char **ret_path, struct symdebug_misfit *misfit)
{
	if (n_id < 2 || n_id > DSO_BUILD_ID_MAX)
		return -ENOENT;
	struct dso named = { .n_build_id = (uint8_t)n_id };
	char hex[DSO_BUILD_ID_TEXT_MAX];
	memcpy(named.build_id, id, n_id);
	dso_build_id_text(&named, hex);
	struct wanted w = { .build_id = id, .n_build_id = n_id, .misfit = misfit };
	const char *const *dirs = where->dirs ? where->dirs : default_dirs;
	for (; *dirs; dirs++) {
		int fd = try_format(where, &w, ret_path, "%s/.build-id/%.2s/%s.debug", *dirs, hex,
				    hex + 2);
		if (fd >= 0)
			return fd;
	}
	return -ENOENT;
}

static int by_link(const struct symdebug_place *where, const struct dso *d, Elf *elf,
		   char **ret_path, struct symdebug_misfit *misfit)
{
	GElf_Word crc;
	const char *link = dwelf_elf_gnu_debuglink(elf, &crc);
	const char *slash = strrchr(d->path, '/');
	if (!link || !*link || strchr(link, '/') || strcmp(link, "..") == 0 ||
	    d->path[0] != '/' || slash - d->path > PATH_MAX)
		return -ENOENT;
	int n = (int)(slash - d->path);
	struct wanted w = {
		.build_id = d->build_id, .n_build_id = d->n_build_id,
		.by_crc = true, .crc = crc, .not = d, .misfit = misfit,
	};
	int fd = try_format(where, &w, ret_path, "%.*s/%s", n, d->path, link);
	if (fd < 0)
		fd = try_format(where, &w, ret_path, "%.*s/.debug/%s", n, d->path, link);
	const char *const *dirs = where->dirs ? where->dirs : default_dirs;
	for (; fd < 0 && *dirs; dirs++)
		fd = try_format(where, &w, ret_path, "%s%.*s/%s", *dirs, n, d->path, link);
	return fd;
}

int symdebug_open(const struct symdebug_place *where, const struct dso *d, Elf *elf,
		  char **ret_path, struct symdebug_misfit *ret_misfit)
{
	char *path = NULL;
	int fd = -ENOENT;
	if (where->host)
		fd = by_build_id(where, d->build_id, d->n_build_id, &path, ret_misfit);
	if (where->host && fd < 0)
		fd = by_link(where, d, elf, &path, ret_misfit);
	if (fd < 0 && where->fetched_fd > 0) {
		fd = fcntl(where->fetched_fd, F_DUPFD_CLOEXEC, 3);
		path = fd >= 0 ? strdup(where->fetched_path) : NULL;
	}
	if (fd >= 0)
		*ret_path = path;
	return fd;
}

int symdebug_open_alt(const struct symdebug_place *where, const char *link, const char *from_path,
		      const uint8_t *build_id, size_t n_build_id)
{
	if (!where->host || !n_build_id)
		return -ENOENT;
	struct wanted w = { .build_id = build_id, .n_build_id = n_build_id };
	int fd = -ENOENT;
	const char *slash = from_path ? strrchr(from_path, '/') : NULL;
	if (link[0] == '/')
		fd = try_path(where, link, &w);
	else if (slash && slash - from_path < PATH_MAX)
		fd = try_format(where, &w, NULL, "%.*s/%s", (int)(slash - from_path), from_path,
				link);
	return fd >= 0 ? fd : by_build_id(where, build_id, n_build_id, NULL, NULL);
}
