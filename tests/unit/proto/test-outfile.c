#include "base/err.h"
#include "proto/outfile.h"
#include "tap.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[] = "/tmp/test-outfile-XXXXXX";

static const char *in_dir(const char *name)
{
	static char path[4][512];
	static int turn;
	turn = (turn + 1) % 4;
	snprintf(path[turn], sizeof(path[turn]), "%s/%s", dir, name);
	return path[turn];
}

static void put(const char *name, const char *text)
{
	FILE *f = fopen(in_dir(name), "w");
	fputs(text, f);
	fclose(f);
}

static bool holds(const char *name, const char *text)
{
	char have[100] = "";
	FILE *f = fopen(in_dir(name), "r");
	if (!f)
		return text == NULL;
	size_t n = fread(have, 1, sizeof(have) - 1, f);
	fclose(f);
	have[n] = '\0';
	return text && strcmp(have, text) == 0;
}

/* The number of entries in the folder, to detect temporary files. */
static int n_entries(void)
{
	int n = 0;
	DIR *d = opendir(dir);
	for (struct dirent *e; (e = readdir(d));)
		n += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
	closedir(d);
	return n;
}

static bool open_and_write(struct outfile *f, const char *path, const char *text)
{
	struct err e = { 0 };
	if (outfile_open(f, path, &e) < 0) {
		printf("# %s\n", e.what);
		return false;
	}
	return outfile_write(f, text, strlen(text)) == 0;
}

static void test_one(void)
{
	struct outfile f;
	struct err e = { 0 };
	umask(022);
	tap_ok(open_and_write(&f, in_dir("a"), "new"), "a new file is written");
	tap_ok(holds("a", NULL), "it does not exist before the commit");
	tap_int(outfile_commit(&f, 1, &e), 0, "it is committed");
	tap_ok(f.committed && holds("a", "new"), "and then it exists, complete");
	outfile_abort(&f);
	tap_ok(holds("a", "new"), "abort after commit removes nothing");
	struct stat st;
	tap_ok(stat(in_dir("a"), &st) == 0 && (st.st_mode & 0777) == 0644, "mode 0666 & ~umask");

	chmod(in_dir("a"), 0600);
	tap_ok(open_and_write(&f, in_dir("a"), "other"), "a file is replaced");
	outfile_abort(&f);
	tap_ok(holds("a", "new"), "abort keeps the old content");
	outfile_abort(&f);
	tap_int(n_entries(), 1, "abort leaves no temporary file, and may be repeated");
	tap_ok(open_and_write(&f, in_dir("a"), "other") && outfile_commit(&f, 1, &e) == 0 &&
	       holds("a", "other"), "commit replaces it");
	tap_ok(stat(in_dir("a"), &st) == 0 && (st.st_mode & 0777) == 0600,
	       "a replaced file keeps its mode");
	tap_int(n_entries(), 1, "no temporary file is left");

	char name[NAME_MAX + 1];
	memset(name, 'n', NAME_MAX);
	name[NAME_MAX] = '\0';
	tap_ok(open_and_write(&f, in_dir(name), "x") && outfile_commit(&f, 1, &e) == 0,
	       "a name may have the maximum length");
	unlink(in_dir(name));

	if (chdir(dir) == 0)
		tap_ok(open_and_write(&f, "plain", "x") && outfile_commit(&f, 1, &e) == 0 &&
		       holds("plain", "x"), "a path without a folder");
	unlink(in_dir("plain"));
}

static void refused(const char *path, int errnum, const char *hint, const char *name)
{
	struct outfile f = { .fd = -7 };
	struct err e = { 0 };
	char what[700];
	int r = outfile_open(&f, path, &e);
	snprintf(what, sizeof(what), "cannot write '%s': %s", path, strerror(errnum));
	tap_ok(r == -errnum && strcmp(e.what, what) == 0 && strstr(e.hint, hint), "%s", name);
	if (r != -errnum || strcmp(e.what, what) != 0 || !strstr(e.hint, hint))
		printf("# %d '%s' '%s'\n", r, e.what, e.hint);
	tap_int(f.fd, -7, "  and does not change the outfile");
}

/* Makes files not writable for this process; false if that is impossible. */
static bool give_up_root(void)
{
	chmod(dir, 0755);
	chmod(in_dir("folder"), 0555);
	chmod(in_dir("a"), 0444);
	if (geteuid() == 0 && seteuid(65534) < 0)
		return false;
	return faccessat(AT_FDCWD, in_dir("a"), R_OK, AT_EACCESS) == 0;
}

static void take_root_again(void)
{
	if (getuid() == 0)
		(void)!seteuid(0);
	chmod(in_dir("a"), 0644);
	chmod(in_dir("folder"), 0755);
}

static void test_refused(void)
{
	char long_name[NAME_MAX + 2];
	memset(long_name, 'n', sizeof(long_name) - 1);
	long_name[sizeof(long_name) - 1] = '\0';
	mkdir(in_dir("folder"), 0755);
	refused(in_dir("none/x"), ENOENT, "does not exist", "a missing folder");
	refused(in_dir("a/x"), ENOTDIR, "is not a folder", "a file as the folder");
	refused(in_dir("folder"), EISDIR, "name a file", "a folder as the file");
	refused(in_dir("new/"), EISDIR, "name a file", "a new name that ends in a slash");
	refused("", ENOENT, "", "an empty name");
	refused(in_dir(long_name), ENAMETOOLONG, "shorter", "a name that is too long");
	(void)!symlink("loop", in_dir("loop"));
	refused(in_dir("loop"), ELOOP, "", "a link to itself");
	unlink(in_dir("loop"));
	if (give_up_root()) {
		refused(in_dir("folder/x"), EACCES, "no permission to write", "a read-only folder");
		refused(in_dir("a"), EACCES, "no permission to write", "a read-only file");
	} else {
		tap_skip("a read-only folder", "root may write everywhere");
		tap_skip("a read-only file", "root may write everywhere");
	}
	take_root_again();
	rmdir(in_dir("folder"));
	tap_int(n_entries(), 1, "refusals leave no files behind");
}

static void test_links_and_devices(void)
{
	struct outfile f;
	struct err e = { 0 };
	struct stat st;
	(void)!symlink("a", in_dir("link"));
	tap_ok(open_and_write(&f, in_dir("link"), "through") && outfile_commit(&f, 1, &e) == 0,
	       "a file is written through a symbolic link");
	tap_ok(lstat(in_dir("link"), &st) == 0 && S_ISLNK(st.st_mode) && holds("a", "through"),
	       "the link stays and its target is replaced");
	unlink(in_dir("link"));
	(void)!symlink("later", in_dir("link"));
	tap_ok(open_and_write(&f, in_dir("link"), "x") && outfile_commit(&f, 1, &e) == 0 &&
	       holds("later", "x"), "a link to a file that is to come");
	unlink(in_dir("link"));
	unlink(in_dir("later"));

	tap_ok(open_and_write(&f, "/dev/null", "x") && outfile_commit(&f, 1, &e) == 0 &&
	       stat("/dev/null", &st) == 0 && S_ISCHR(st.st_mode), "/dev/null stays a device");
	outfile_open(&f, "/dev/full", &e);
	tap_int(outfile_write(&f, "x", 1), -ENOSPC, "a write to a full device fails");
	tap_int(outfile_write(&f, "x", 0), -ENOSPC, "further writes fail, too");
	tap_int(outfile_error(&f, &e), -ENOSPC, "the reason is available");
	e = (struct err){ 0 };
	tap_int(outfile_commit(&f, 1, &e), -ENOSPC, "commit fails with the same error");
	tap_str(e.what, "cannot write '/dev/full': No space left on device",
		"the message names the path");
	tap_ok(strstr(e.hint, "free some space"), "the hint suggests a remedy");

	int fd[2];
	(void)!pipe(fd);
	outfile_open_fd(&f, fd[1]);
	char back[3] = "";
	tap_ok(outfile_write(&f, "hi", 2) == 0 && outfile_commit(&f, 1, &e) == 0 &&
	       read(fd[0], back, 2) == 2 && strcmp(back, "hi") == 0, "a descriptor");
	tap_ok(fcntl(fd[1], F_GETFD) >= 0, "the descriptor stays the caller's");
	close(fd[0]);
	close(fd[1]);
	outfile_open_fd(&f, fd[1]);
	outfile_write(&f, "hi", 2);
	tap_int(outfile_commit(&f, 1, &e), -EBADF, "a closed descriptor is an error");
}

static void test_set(void)
{
	struct outfile f[3];
	struct err e = { 0 };
	put("b", "old b");
	tap_ok(open_and_write(&f[0], in_dir("b"), "1") && open_and_write(&f[1], in_dir("c"), "2") &&
	       open_and_write(&f[2], in_dir("d"), "3") && outfile_commit(f, 3, &e) == 0,
	       "three files are committed together");
	tap_ok(holds("b", "1") && holds("c", "2") && holds("d", "3"), "all exist");
	tap_int(n_entries(), 4, "and no other files");

	/* The last cannot be renamed, since there is now a folder. */
	unlink(in_dir("c"));
	unlink(in_dir("d"));
	tap_ok(open_and_write(&f[0], in_dir("b"), "4") && open_and_write(&f[1], in_dir("c"), "5") &&
	       open_and_write(&f[2], in_dir("d"), "6"), "a set whose last target becomes a folder");
	mkdir(in_dir("d"), 0755);
	tap_int(outfile_commit(f, 3, &e), -EISDIR, "the commit fails");
	tap_ok(strstr(e.what, "/d'"), "the message names the file");
	tap_ok(holds("b", "1"), "the first file has its old content");
	tap_ok(holds("c", NULL), "the second file does not exist");
	struct stat st;
	tap_ok(stat(in_dir("d"), &st) == 0 && S_ISDIR(st.st_mode), "the folder is kept");
	tap_int(n_entries(), 3, "no temporary file is left");
	rmdir(in_dir("d"));

	tap_ok(open_and_write(&f[0], in_dir("b"), "7") && open_and_write(&f[1], in_dir("c"), "8"),
	       "one of two files has a failed write");
	outfile_open(&f[2], "/dev/full", &e);
	outfile_write(&f[2], "9", 1);
	tap_int(outfile_commit(f, 3, &e), -ENOSPC, "the commit fails");
	tap_ok(holds("b", "1") && holds("c", NULL) && n_entries() == 2, "nothing has changed");
}

int main(void)
{
	if (!mkdtemp(dir))
		return 1;
	test_one();
	test_refused();
	test_links_and_devices();
	test_set();
	unlink(in_dir("a"));
	unlink(in_dir("b"));
	if (chdir("/") == 0)
		tap_int(rmdir(dir), 0, "the folder is empty again");
	return tap_done();
}
