#include "symbolize/elf/debugpackage.h"

#include "base/cleanup.h"
#include "base/host.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define INFO "var/lib/dpkg/info"

/* Is path a line of that list?  Lists may have /lib for files below /usr/lib. */
static bool is_listed(const struct host *h, const char *list, const char *path)
{
	CLEANUP_FREE char *text = NULL;
	size_t n = strlen(path);
	if (host_read_file(h, HOST_ROOT, &text, NULL, INFO "/%s", list) < 0)
		return false;
	for (const char *p = text; (p = strstr(p, path)); p += n)
		if ((p == text || p[-1] == '\n') && (p[n] == '\n' || !p[n]))
			return true;
	return false;
}

/*
 * From the package's name, which ends at ":amd64" or after n_max bytes.  Nearly all debug packages
 * are generated and called NAME-dbgsym; a few older ones have names of their own.
 */
static void debug_package(const char *package, size_t n_max, char *buf, size_t n_bytes)
{
	int n = (int)strcspn(package, ":"), n_version = 0;
	if ((size_t)n > n_max)
		n = (int)n_max;
	bool is_libc = n == 5 && strncmp(package, "libc6", 5) == 0;
	bool is_ceph = n > 5 && strncmp(package, "ceph-", 5) == 0;
	if (n > 8 && strncmp(package, "openjdk-", 8) == 0)
		n_version = (int)strspn(package + 8, "0123456789");
	if (n_version)
		n = 8 + n_version;
	snprintf(buf, n_bytes, "%.*s-%s", n, package,
		 is_libc || is_ceph || n_version ? "dbg" : "dbgsym");
}

bool debugpackage_of(const struct host *h, const char *path, char *buf, size_t n_bytes)
{
	const char *unmerged = strncmp(path, "/usr/", 5) == 0 ? path + 4 : path;
	int fd = host_open_file(h, HOST_ROOT, O_RDONLY | O_DIRECTORY, INFO);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	if (!dir) {
		if (fd >= 0)
			close(fd);
		return false;
	}
	bool found = false;
	for (const struct dirent *e; !found && (e = readdir(dir));) {
		size_t n = strlen(e->d_name);
		if (n <= 5 || strcmp(e->d_name + n - 5, ".list") != 0 ||
		    (!is_listed(h, e->d_name, path) &&
		     (unmerged == path || !is_listed(h, e->d_name, unmerged))))
			continue;
		/* "zlib1g:amd64.list" */
		debug_package(e->d_name, n - 5, buf, n_bytes);
		found = true;
	}
	closedir(dir);
	return found;
}
