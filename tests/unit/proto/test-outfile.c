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
	refused(in_dir("a/x"), ENOTDIR, "is not a directory", "a file as the folder");
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

static void test_modes(void)
{
	struct outfile f;
	struct err e = { 0 };
	struct stat st;
	umask(027);
	tap_ok(open_and_write(&f, in_dir("m"), "x") && fstat(f.fd, &st) == 0 &&
	       (st.st_mode & 0777) == 0600, "only its owner can read an unfinished file");
	tap_ok(outfile_commit(&f, 1, &e) == 0 && stat(in_dir("m"), &st) == 0 &&
	       (st.st_mode & 0777) == 0640, "a finished one has 0666 & ~umask");
	chmod(in_dir("m"), 0644);
	outfile_open(&f, in_dir("m"), &e);
	outfile_limit_mode(&f, 0600);
	tap_ok(outfile_commit(&f, 1, &e) == 0 && stat(in_dir("m"), &st) == 0 &&
	       (st.st_mode & 0777) == 0600, "a limit also counts for a file that is replaced");
	outfile_open(&f, in_dir("m"), &e);
	outfile_set_mode(&f, 0664);
	outfile_limit_mode(&f, 0600);
	tap_ok(outfile_commit(&f, 1, &e) == 0 && stat(in_dir("m"), &st) == 0 &&
	       (st.st_mode & 0777) == 0664, "a mode that is set has no limit and no umask");
	umask(022);
	unlink(in_dir("m"));
}

static void test_descriptors(void)
{
	struct outfile f;
	struct err e = { 0 };
	char path[64];
	FILE *to = fopen(in_dir("to"), "w");
	fputs("before ", to);
	fflush(to);
	snprintf(path, sizeof(path), "/dev/fd/%d", fileno(to));
	tap_ok(open_and_write(&f, path, "x") && outfile_commit(&f, 1, &e) == 0 &&
	       holds("to", "before x"), "/dev/fd/N is that descriptor, at its position");
	fclose(to);
	unlink(in_dir("to"));
	int fd[2];
	char back[3] = "";
	(void)!pipe(fd);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd[1]);
	tap_ok(open_and_write(&f, path, "hi") && outfile_commit(&f, 1, &e) == 0 &&
	       read(fd[0], back, 2) == 2 && strcmp(back, "hi") == 0, "a pipe, too");
	close(fd[1]);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd[0]);
	tap_int(outfile_open(&f, path, &e), -EBADF, "the reading end of a pipe is refused");
	close(fd[0]);
}

#define OTHER 4711

/* The path is refused, with this reason. */
static void not_trusted(const char *name, const char *why, const char *title)
{
	struct outfile f;
	struct err e = { 0 };
	int r = outfile_open(&f, in_dir(name), &e);
	tap_ok(r == -EPERM && strstr(e.what, why) && strstr(e.hint, "another place"), "%s", title);
	if (r == 0)
		outfile_abort(&f);
	else if (!strstr(e.what, why))
		printf("# %s\n", e.what);
}

static void give(const char *name, const char *text, mode_t mode)
{
	put(name, text);
	chmod(in_dir(name), mode);
	(void)!chown(in_dir(name), OTHER, (gid_t)-1);
}

/* As root in a folder like /tmp, and in one of another user's. */
static void test_shared(void)
{
	struct outfile f;
	struct err e = { 0 };
	struct stat st;
	mkdir(in_dir("tmp"), 0755);
	chmod(in_dir("tmp"), 01777);
	mkdir(in_dir("safe"), 0755);
	put("secret", "secret");
	chmod(in_dir("secret"), 0600);
	static const char *const links[][2] = {
		{ "../secret", "tmp/link" }, { "../new", "tmp/dangling" }, { "../safe", "tmp/dir" },
	};
	for (size_t i = 0; i < 3; i++) {
		(void)!symlink(links[i][0], in_dir(links[i][1]));
		(void)!lchown(in_dir(links[i][1]), OTHER, (gid_t)-1);
	}
	not_trusted("tmp/link", "link", "another user's link is not followed");
	not_trusted("tmp/dangling", "link", "nor if it leads to nothing");
	not_trusted("tmp/dir/x", "link 'dir'", "nor if it is a folder of the path");
	tap_ok(holds("secret", "secret") && holds("new", NULL), "nothing has changed");
	give("tmp/file", "theirs", 0666);
	not_trusted("tmp/file", "another user", "another user's file is not replaced");
	(void)!link(in_dir("secret"), in_dir("tmp/hard"));
	not_trusted("tmp/hard", "hard links", "nor is a hard link");
	mkfifo(in_dir("tmp/fifo"), 0666);
	(void)!chown(in_dir("tmp/fifo"), OTHER, (gid_t)-1);
	not_trusted("tmp/fifo", "another user", "another user's FIFO is not opened");
	(void)!symlink("../safe/own", in_dir("tmp/own"));
	tap_ok(open_and_write(&f, in_dir("tmp/own"), "x") && outfile_commit(&f, 1, &e) == 0 &&
	       holds("safe/own", "x"), "a link of our own is followed");
	put("tmp/mine", "old");
	chmod(in_dir("tmp/mine"), 0604);
	tap_ok(open_and_write(&f, in_dir("tmp/mine"), "new") && outfile_commit(&f, 1, &e) == 0 &&
	       holds("tmp/mine", "new") && stat(in_dir("tmp/mine"), &st) == 0 &&
	       (st.st_mode & 0777) == 0604, "our own file is replaced, and keeps its mode");

	tap_ok(open_and_write(&f, in_dir("tmp/race"), "x"), "the name is free at first");
	give("tmp/race", "theirs", 0666);
	tap_int(outfile_commit(&f, 1, &e), -EPERM, "another user's file appears there meanwhile");
	tap_ok(holds("tmp/race", "theirs"), "and is not replaced");

	(void)!chown(in_dir("safe"), OTHER, (gid_t)-1);
	give("safe/file", "theirs", 0666);
	not_trusted("safe/file", "another user", "nor in another user's folder");
	tap_ok(open_and_write(&f, in_dir("safe/new"), "x") && outfile_commit(&f, 1, &e) == 0 &&
	       holds("safe/new", "x"), "a new file may be created there");
	tap_int(outfile_remove(in_dir("safe/file")), -EPERM, "another user's file is not removed");
	tap_int(outfile_remove(in_dir("tmp/dir/new")), -EPERM, "nor one behind such a link");
	tap_int(outfile_remove(in_dir("safe/new")), 0, "our own one is");
	static const char *const names[] = { "tmp/link", "tmp/dangling", "tmp/dir", "tmp/file",
					     "tmp/hard", "tmp/fifo", "tmp/own", "tmp/mine",
					     "tmp/race", "safe/own", "safe/file", "secret" };
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		unlink(in_dir(names[i]));
	tap_ok(rmdir(in_dir("tmp")) == 0 && rmdir(in_dir("safe")) == 0, "no other files are left");
}

int main(void)
{
	if (!mkdtemp(dir))
		return 1;
	test_one();
	test_refused();
	test_links_and_devices();
	test_set();
	test_modes();
	test_descriptors();
	if (geteuid() == 0)
		test_shared();
	else
		tap_skip("folders that others can write to", "needs root");
	unlink(in_dir("a"));
	unlink(in_dir("b"));
	if (chdir("/") == 0)
		tap_int(rmdir(dir), 0, "the folder is empty again");
	return tap_done();
}
