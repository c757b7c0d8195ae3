/*
 * stuckfs FOLDER FILE: mounts a FUSE file system on FOLDER whose only file, "file", has the
 * contents of FILE, and prints "ready".  After SIGUSR1 it still reads requests, but answers none:
 * every process that then waits for it waits until the program ends, and cannot be killed.  It ends
 * after a minute at the latest.
 * stuckfs FOLDER FILE slow: instead answers each read after 50 ms with at most a page.
 * stuckfs FOLDER FILE direct: the first opening of the file is cached, and later ones are not:
 * mmap(2) of those writes back what the first has changed.
 * stuckfs FOLDER FILE cut: the file is truncated to its half by the first read of the other half.
 * stuckfs FOLDER FILE dies: it gets stuck when it has answered statfs(2) for the first time.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define REQUEST_BYTES (256u << 10)
#define FILE_ID 2
#define PAGE 4096u

enum kind { PLAIN, SLOW, DIRECT, CUT, DIES };

static volatile sig_atomic_t is_stuck;

static void get_stuck(int signal)
{
	(void)signal;
	is_stuck = 1;
	alarm(60);
}

static const char *folder;

static void unmount(int signal)
{
	(void)signal;
	umount2(folder, MNT_DETACH);
	_exit(0);
}

static void answer(int fd, const struct fuse_in_header *in, int error, const void *data, size_t n)
{
	struct fuse_out_header out = {
		.len = (uint32_t)(sizeof(out) + n), .error = error, .unique = in->unique,
	};
	struct iovec v[2] = { { &out, sizeof(out) }, { (void *)data, n } };
	if (writev(fd, v, n ? 2 : 1) < 0 && errno != ENOENT)
		perror("stuckfs: answer");
}

static struct fuse_attr attr_of(uint64_t id, uint64_t n_bytes)
{
	bool is_file = id == FILE_ID;
	return (struct fuse_attr){
		.ino = id, .size = is_file ? n_bytes : 0, .blocks = n_bytes / 512,
		.mode = is_file ? S_IFREG | 0755 : S_IFDIR | 0755, .nlink = 1, .blksize = PAGE,
		.mtime = 1000000000, .ctime = 1000000000,
	};
}

static void serve(int fd, const char *request, const char *bytes, uint64_t n_bytes, enum kind kind)
{
	const struct fuse_in_header *in = (const void *)request;
	const void *arg = in + 1;
	switch (in->opcode) {
	case FUSE_INIT: {
		const struct fuse_init_in *init = arg;
		struct fuse_init_out out = {
			.major = FUSE_KERNEL_VERSION, .minor = FUSE_KERNEL_MINOR_VERSION,
			.max_readahead = init->max_readahead, .max_write = 64 << 10,
			.max_background = 16, .congestion_threshold = 12, .time_gran = 1,
			.flags = kind == DIRECT ? FUSE_WRITEBACK_CACHE : 0,
		};
		answer(fd, in, 0, &out, sizeof(out));
		return;
	}
	case FUSE_LOOKUP: {
		struct fuse_entry_out out = {
			.nodeid = FILE_ID, .attr = attr_of(FILE_ID, n_bytes),
		};
		if (strcmp(arg, "file") != 0)
			answer(fd, in, -ENOENT, NULL, 0);
		else
			answer(fd, in, 0, &out, sizeof(out));
		return;
	}
	case FUSE_GETATTR: {
		struct fuse_attr_out out = { .attr = attr_of(in->nodeid, n_bytes) };
		answer(fd, in, 0, &out, sizeof(out));
		return;
	}
	case FUSE_OPEN:
	case FUSE_OPENDIR: {
		static bool was_opened;
		struct fuse_open_out out = {
			.fh = 1,
			.open_flags = kind == DIRECT && was_opened ? FOPEN_DIRECT_IO
								   : FOPEN_KEEP_CACHE,
		};
		was_opened |= in->opcode == FUSE_OPEN;
		answer(fd, in, 0, &out, sizeof(out));
		return;
	}
	case FUSE_READ: {
		const struct fuse_read_in *r = arg;
		uint64_t left = r->offset < n_bytes ? n_bytes - r->offset : 0;
		size_t n = left < r->size ? (size_t)left : r->size;
		if (kind == CUT && r->offset + n > n_bytes / 2)
			n = r->offset < n_bytes / 2 ? (size_t)(n_bytes / 2 - r->offset) : 0;
		if (kind == SLOW) {
			usleep(50000);
			n = n < PAGE ? n : PAGE;
		}
		answer(fd, in, 0, bytes + r->offset, n);
		return;
	}
	case FUSE_FLUSH:
	case FUSE_RELEASE:
	case FUSE_RELEASEDIR:
		answer(fd, in, 0, NULL, 0);
		return;
	case FUSE_STATFS: {
		struct fuse_statfs_out out = { .st = { .bsize = PAGE, .namelen = 255 } };
		answer(fd, in, 0, &out, sizeof(out));
		if (kind == DIES)
			get_stuck(0);
		return;
	}
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT:
		return;
	default:
		answer(fd, in, -ENOSYS, NULL, 0);
	}
}

static char *read_whole(const char *path, uint64_t *ret_n)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	if (fd < 0 || fstat(fd, &st) < 0)
		return NULL;
	char *bytes = malloc((size_t)st.st_size + 1);
	uint64_t n = 0;
	for (ssize_t got; bytes && n < (uint64_t)st.st_size; n += (uint64_t)got)
		if ((got = read(fd, bytes + n, (size_t)st.st_size - n)) <= 0)
			break;
	close(fd);
	*ret_n = n;
	return bytes;
}

int main(int argc, char **argv)
{
	uint64_t n_bytes = 0;
	char options[128];
	char *bytes = argc > 2 ? read_whole(argv[2], &n_bytes) : NULL;
	char *request = malloc(REQUEST_BYTES);
	if (!bytes || !request)
		return 64;
	folder = argv[1];
	enum kind kind = argc < 4 ? PLAIN : strcmp(argv[3], "slow") == 0 ? SLOW
			 : strcmp(argv[3], "direct") == 0 ? DIRECT
			 : strcmp(argv[3], "dies") == 0 ? DIES : CUT;
	int fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	if (fd < 0) {
		perror("stuckfs: /dev/fuse");
		return 77;
	}
	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=%u,group_id=%u%s", fd,
		 getuid(), getgid(), getuid() == 0 ? ",allow_other" : "");
	if (mount("stuckfs", folder, "fuse.stuckfs", MS_NOSUID | MS_NODEV, options) < 0) {
		perror("stuckfs: mount");
		return 77;
	}
	signal(SIGUSR1, get_stuck);
	signal(SIGTERM, unmount);
	signal(SIGINT, unmount);
	printf("ready\n");
	fflush(stdout);
	for (;;) {
		ssize_t n = read(fd, request, REQUEST_BYTES);
		if (n < 0 && (errno == EINTR || errno == EAGAIN || errno == ENOENT))
			continue;
		if (n < 0)
			return 0;  /* unmounted */
		if (!is_stuck)
			serve(fd, request, bytes, n_bytes, kind);
	}
}
