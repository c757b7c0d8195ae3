/* The files of the cache folder: who may have written them, and how much they may take up. */

#include "symbolize/pack/cachefile.h"

#include "tap.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static char root[] = "/tmp/cprof-test-XXXXXX";
static char dir[64];

static const char *path_of(const char *name)
{
	static char path[2][200];
	static unsigned i;
	i = !i;
	snprintf(path[i], sizeof(path[i]), "%s/%s", dir, name);
	return path[i];
}

static void put(const char *name, size_t n, long age_s)
{
	static uint8_t zeros[1000];
	struct timespec times[2] = { { .tv_sec = time(NULL) - age_s }, { 0 } };
	times[1] = times[0];
	int fd = open(path_of(name), O_WRONLY | O_CREAT | O_TRUNC, 0600);
	if (write(fd, zeros, n) != (ssize_t)n || futimens(fd, times) != 0)
		printf("Bail out! cannot write %s\n", name);
	close(fd);
}

static bool is_there(const char *name)
{
	return access(path_of(name), F_OK) == 0;
}

static int try_open(const char *name)
{
	uint64_t n_bytes;
	int fd = cachefile_open(dir, name, &n_bytes);
	if (fd >= 0)
		close(fd);
	return fd < 0 ? fd : 0;
}

static void test_folder(void)
{
	struct stat st;
	int fd = cachefile_open_dir(dir);
	tap_ok(fd >= 0, "creates the folder and its parent");
	tap_ok(fstat(fd, &st) == 0 && (st.st_mode & 0777) == 0700, "for the owner only");
	close(fd);
	tap_int(cachefile_open_dir("/proc/self/none"), -ENOENT, "a folder that cannot be created");
	tap_int(cachefile_open_dir("/dev/null"), -ENOTDIR, "a path that is not a folder");
	tap_int(cachefile_open_dir(""), -ENOENT, "an empty path");
}

static void test_owner(void)
{
	put("ours", 10, 0);
	tap_int(try_open("ours"), 0, "opens our own file");
	chmod(path_of("ours"), 0620);
	tap_int(try_open("ours"), -EPERM, "refuses a file that others may write to");
	chmod(path_of("ours"), 0600);
	if (symlink("ours", path_of("link")) != 0 || mkfifo(path_of("fifo"), 0600) != 0)
		printf("Bail out! no symbolic link or FIFO\n");
	tap_int(try_open("link"), -ELOOP, "refuses a symbolic link");
	tap_int(try_open("fifo"), -EPERM, "refuses a FIFO");
	tap_int(try_open("none"), -ENOENT, "a missing file");
	char name[5000];
	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	tap_int(try_open(name), -ENAMETOOLONG, "a name that is too long");
}

static void test_limit(void)
{
	put("a-old", 500, 90000);
	put("a-new", 500, 10);
	put("a-mid", 500, 5000);
	put("b-old", 500, 99999);
	put(".a-dead.1", 100, 99999);
	put(".a-busy.2", 100, 10);
	int fd = cachefile_open_dir(dir);
	cachefile_limit(fd, "a-", NULL, 1500);
	tap_ok(is_there("a-old") && is_there("a-new") && is_there("a-mid"), "all files fit");
	tap_ok(!is_there(".a-dead.1") && is_there(".a-busy.2"),
	       "an old temporary file is removed");
	cachefile_limit(fd, "a-", "a-old", 999);
	tap_ok(is_there("a-old") && is_there("a-new") && !is_there("a-mid"),
	       "the least recently used file is removed, except the one to keep");
	tap_ok(is_there("b-old"), "files with another prefix stay");
	uint64_t n_bytes = 0;
	struct stat st;
	int file = cachefile_open(dir, "a-old", &n_bytes);
	tap_int((long long)n_bytes, 500, "opening reports the size");
	cachefile_touch(file);
	tap_ok(stat(path_of("a-old"), &st) == 0 && st.st_mtime > time(NULL) - 5000,
	       "touching sets the time of last use");
	close(file);
	close(fd);
}

static void test_write(void)
{
	int fd = cachefile_open_dir(dir);
	const struct cachefile_part part[] = { { "some ", 5 }, { "text", 4 } };
	char text[20] = "";
	uint64_t n_bytes = 0;
	tap_int(cachefile_write(fd, "file", part, 2), 0, "writes a file");
	int file = cachefile_open(dir, "file", &n_bytes);
	tap_ok(n_bytes == 9 && read(file, text, sizeof(text) - 1) == 9, "of that size");
	tap_str(text, "some text", "with all parts");
	close(file);
	tap_int(cachefile_write(fd, "none/file", part, 1), -ENOENT, "but in no other folder");
	close(fd);
}

/* As root: folders of another user's, as with sudo and that user's HOME. */
static void test_foreign_folder(void)
{
	char home[300], below[400];
	struct stat st;
	snprintf(home, sizeof(home), "%s/home", root);
	snprintf(below, sizeof(below), "%s/.cache/cprof", home);
	mkdir(home, 0755);
	chmod(dir, 0755);
	int fd = cachefile_open_dir(dir);
	tap_ok(fd >= 0 && fstat(fd, &st) == 0 && (st.st_mode & 0777) == 0700,
	       "our folder is closed to others");
	close(fd);
	if (geteuid() != 0 || chown(home, 4711, (gid_t)-1) < 0) {
		tap_skip("folders of others", "needs root");
		return;
	}
	tap_int(cachefile_open_dir(below), -EPERM, "no folder is created in another user's home");
	tap_ok(access(home, F_OK) == 0 && access(below, F_OK) < 0, "and nothing is left there");
	(void)!chown(dir, 4711, (gid_t)-1);
	tap_int(cachefile_open_dir(dir), -EPERM, "another user's folder is not used");
	(void)!chown(dir, 0, (gid_t)-1);
}

int main(void)
{
	char clean[64];
	if (!mkdtemp(root))
		printf("Bail out! no temporary folder\n");
	snprintf(dir, sizeof(dir), "%s/deep/cache", root);
	test_folder();
	test_owner();
	test_limit();
	test_write();
	test_foreign_folder();
	snprintf(clean, sizeof(clean), "rm -rf %s", root);
	if (system(clean) != 0)
		printf("# %s is left behind\n", root);
	return tap_done();
}
