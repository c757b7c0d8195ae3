#include "cmd/childnames.h"

#include "base/err.h"
#include "cprof-names.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

int childnames_open(void)
{
	return memfd_create("cprof-names", MFD_CLOEXEC);
}

static int write_all(void *ctx, const void *data, size_t n_bytes)
{
	const char *p = data;
	while (n_bytes > 0) {
		ssize_t n = write(*(const int *)ctx, p, n_bytes);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		p += n;
		n_bytes -= (size_t)n;
	}
	return 0;
}

void childnames_send(int fd, struct cprof_recorder *r)
{
	struct err e = { 0 };
	/* A part of them would not be understood. */
	if (fd >= 0 && cprof_recorder_send_names(r, write_all, &fd, &e) < 0 && ftruncate(fd, 0) < 0)
		return;
}

void childnames_take(int fd, struct cprof_recorder *r)
{
	struct err e = { 0 };
	struct stat st;
	if (fd < 0)
		return;
	if (fstat(fd, &st) == 0 && st.st_size > 0) {
		size_t n = (size_t)st.st_size;
		void *data = mmap(NULL, n, PROT_READ, MAP_SHARED, fd, 0);
		if (data != MAP_FAILED) {
			cprof_recorder_add_names(r, data, n, &e);
			munmap(data, n);
		}
	}
	close(fd);
}
