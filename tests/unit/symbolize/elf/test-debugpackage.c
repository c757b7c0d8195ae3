#include "tap.h"

#include "base/host.h"
#include "symbolize/elf/debugpackage.h"

#include <ftw.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* A root folder with dpkg's lists of a few packages. */
static char root[] = "/tmp/test-debugpackage-XXXXXX";
static struct host host;

static void put(const char *list, const char *text)
{
	char path[256];
	snprintf(path, sizeof(path), "%s/var/lib/dpkg/info/%s", root, list);
	FILE *f = fopen(path, "w");
	if (!f || fputs(text, f) < 0)
		tap_ok(false, "cannot write %s", path);
	if (f)
		fclose(f);
}

static void is(const char *path, const char *want)
{
	char package[128];
	bool found = debugpackage_of(&host, path, package, sizeof(package));
	tap_str(found ? package : "none", want, path);
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
	(void)st, (void)kind, (void)ftw;
	return remove(path);
}

int main(void)
{
	static const char *const folder[] = { "var", "var/lib", "var/lib/dpkg",
					      "var/lib/dpkg/info" };
	char path[256];
	if (!mkdtemp(root) || host_open(&host, root, NULL, NULL, NULL) < 0)
		return 1;
	is("/usr/bin/gzip", "none");
	for (size_t i = 0; i < sizeof(folder) / sizeof(*folder); i++) {
		snprintf(path, sizeof(path), "%s/%s", root, folder[i]);
		mkdir(path, 0700);
	}
	put("zlib1g:amd64.list", "/.\n/lib/x86_64-linux-gnu/libz.so.1.2.13\n");
	put("gzip.list", "/bin/gzip\n/bin/gzip-not");
	put("gzip.conffiles", "/usr/bin/conf\n");
	put("libc6:amd64.list", "/lib/x86_64-linux-gnu/libc.so.6\n");
	put("libc6-dev:amd64.list", "/usr/lib/x86_64-linux-gnu/crt1.o\n");
	put("openjdk-17-jre-headless:amd64.list", "/usr/lib/jvm/lib/server/libjvm.so\n");
	put("openjdk-lts.list", "/usr/lib/jvm/lts.so\n");
	put("ceph-osd.list", "/usr/bin/ceph-osd\n");
	is("/usr/lib/x86_64-linux-gnu/libz.so.1.2.13", "zlib1g-dbgsym");
	is("/bin/gzip", "gzip-dbgsym");
	is("/usr/bin/gzip", "gzip-dbgsym");
	is("/bin/gzip-not", "gzip-dbgsym");
	is("/bin/gzi", "none");
	is("/usr/bin/conf", "none");
	is("/usr/lib/x86_64-linux-gnu/libc.so.6", "libc6-dbg");
	is("/usr/lib/x86_64-linux-gnu/crt1.o", "libc6-dev-dbgsym");
	is("/usr/lib/jvm/lib/server/libjvm.so", "openjdk-17-dbg");
	is("/usr/lib/jvm/lts.so", "openjdk-lts-dbgsym");
	is("/usr/bin/ceph-osd", "ceph-osd-dbg");
	host_close(&host);
	nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	return tap_done();
}
