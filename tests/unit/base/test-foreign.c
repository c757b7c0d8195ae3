#include "base/foreign.h"

#include "base/cleanup.h"
#include "tap.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

static char dir[] = "/tmp/cprof-test-foreign-XXXXXX";
static struct foreign *state;
static int dir_fd;

static void make_file(const char *name, const char *text)
{
	int fd = openat(dir_fd, name, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		abort();
	close(fd);
}

/* The text of the file, or the errno's name. */
static const char *text_of(const char *path, unsigned flags, struct stat *ret)
{
	static char text[64];
	const struct foreign_want want = { .dir_fd = dir_fd, .path = path, .flags = flags };
	CLEANUP_CLOSE int fd = foreign_open(state, &want, ret);
	if (fd < 0)
		return strerrorname_np(-fd);
	ssize_t n = pread(fd, text, sizeof(text) - 1, 0);
	text[n < 0 ? 0 : n] = '\0';
	return text;
}

static void test_files(void)
{
	struct stat st, own;
	make_file("file", "text");
	tap_str(text_of("file", 0, &st), "text", "a regular file is read");
	tap_ok(fstatat(dir_fd, "file", &own, 0) == 0 && own.st_ino == st.st_ino &&
	       own.st_size == st.st_size, "its inode and size are returned");
	tap_str(text_of("missing", 0, NULL), "ENOENT", "a missing file");
	tap_str(text_of("file/below", 0, NULL), "ENOTDIR", "a file is not a folder");
	tap_str(text_of(".", 0, NULL), "ENXIO", "a folder is not a regular file");
	tap_ok(symlinkat("file", dir_fd, "link") == 0, "fixture");
	tap_str(text_of("link", 0, NULL), "text", "links are followed");
	tap_str(text_of("link", FOREIGN_NO_FOLLOW, NULL), "ELOOP", "unless they are forbidden");
	const struct foreign_want want = { .dir_fd = dir_fd, .path = "file" };
	CLEANUP_CLOSE int fd = foreign_open(NULL, &want, NULL);
	int flags = fcntl(fd, F_GETFL);
	tap_ok(fd >= 0 && flags & O_NONBLOCK && (flags & O_ACCMODE) == O_RDONLY &&
	       fcntl(fd, F_GETFD) & FD_CLOEXEC, "without state, too; the descriptor never blocks");
}

static void test_special(void)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	tap_ok(mkfifoat(dir_fd, "fifo", 0600) == 0, "fixture");
	tap_str(text_of("fifo", 0, NULL), "ENXIO", "a FIFO is not opened");
	tap_ok(openat(dir_fd, "fifo", O_WRONLY | O_NONBLOCK) < 0 && errno == ENXIO,
	       "its writer has seen no reader");
	snprintf(name.sun_path, sizeof(name.sun_path), "%s/socket", dir);
	int s = socket(AF_UNIX, SOCK_STREAM, 0);
	tap_ok(bind(s, (const void *)&name, sizeof(name)) == 0, "fixture");
	tap_str(text_of("socket", 0, NULL), "ENXIO", "a socket is not opened");
	close(s);
	tap_str(text_of("/dev/null", 0, NULL), "ENXIO", "a device is not opened");
	tap_str(text_of("/proc/self/status", 0, NULL), "ENXIO",
		"a file of /proc is regular, but reading it may do anything");
	tap_ok(symlinkat("/proc/self/status", dir_fd, "to-proc") == 0, "fixture");
	tap_str(text_of("to-proc", 0, NULL), "ENXIO", "also through a link");
}

static void test_roots(void)
{
	tap_ok(mkdirat(dir_fd, "c", 0700) == 0 && symlinkat("/f", dir_fd, "c/absolute") == 0 &&
	       symlinkat("../../../file", dir_fd, "c/up") == 0 &&
	       symlinkat("/proc/self/exe", dir_fd, "magic") == 0, "fixture");
	make_file("c/f", "inside");
	make_file("c/file", "inside, too");
	int c = openat(dir_fd, "c", O_PATH | O_DIRECTORY), before = dir_fd;
	dir_fd = c;
	tap_str(text_of("/absolute", FOREIGN_IN_ROOT, NULL), "inside",
		"an absolute link stays inside of a root");
	tap_str(text_of("up", FOREIGN_IN_ROOT, NULL), "inside, too", "and so does ..");
	dir_fd = before;
	close(c);
	tap_str(text_of("magic", 0, NULL), "ELOOP", "a link of /proc is not followed");
	tap_ok(*text_of("magic", FOREIGN_MAGIC_LINKS, NULL) == 0x7f, "unless that is wanted");
}

/* The holder of a lease delays everybody who opens its file, for 45 seconds by default. */
static void test_lease(void)
{
	make_file("leased", "text");
	CLEANUP_CLOSE int fd = openat(dir_fd, "leased", O_RDWR);
	signal(SIGIO, SIG_IGN);
	if (fcntl(fd, F_SETLEASE, F_WRLCK) < 0) {
		tap_skip("a leased file", "no leases here");
		return;
	}
	tap_str(text_of("leased", 0, NULL), "EAGAIN", "a lease is not waited for");
}

static void test_folders(void)
{
	struct foreign_want want = { .dir_fd = dir_fd, .path = "c" };
	CLEANUP_CLOSE int fd = foreign_open_folder(state, &want);
	tap_ok(fd >= 0 && fcntl(fd, F_GETFL) & O_PATH, "a folder");
	want.path = "file";
	tap_int(foreign_open_folder(state, &want), -ENOTDIR, "a file is not a folder");
	uint64_t device, inode, device_2, inode_2;
	struct foreign_want in_c = { .dir_fd = fd, .path = "../file" };
	tap_ok(foreign_identify(&want, &device, &inode) == 0 &&
	       foreign_identify(&in_c, &device_2, &inode_2) == 0 && device == device_2 &&
	       inode == inode_2, "two names of one file");
	want.path = "missing";
	tap_int(foreign_identify(&want, &device, &inode), -ENOENT, "a missing file");
	tap_ok(foreign_is_lost(-ETIMEDOUT) && foreign_is_lost(-EFBIG) && !foreign_is_lost(-ENOENT),
	       "only files given up are lost");
}

static void test_check(void)
{
	char path[300], too_long[5000];
	snprintf(path, sizeof(path), "%s/c", dir);
	tap_int(foreign_check_folder(state, path), 0, "a folder on this machine can be used");
	snprintf(path, sizeof(path), "%s/none/none", dir);
	tap_int(foreign_check_folder(state, path), 0, "so can a folder to come");
	/* The kernel does not remember what is missing there. */
	tap_int(foreign_check_folder(state, "/dev/shm/cprof-none/none"), 0,
		"and one in another file system, below its mount point");
	memset(too_long, 'x', sizeof(too_long) - 1);
	too_long[sizeof(too_long) - 1] = '\0';
	tap_int(foreign_check_folder(state, too_long), -ENAMETOOLONG, "a path that is too long");
	tap_int(foreign_check_folder(NULL, "none"), 0, "no state, and a relative path");
}

int main(void)
{
	state = foreign_new();
	if (!state || !mkdtemp(dir) || (dir_fd = open(dir, O_PATH | O_DIRECTORY)) < 0)
		abort();
	test_files();
	test_special();
	test_roots();
	test_lease();
	test_folders();
	test_check();
	foreign_free(state);
	foreign_free(NULL);
	char command[64];
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	return system(command) == 0 ? tap_done() : 1;
}
