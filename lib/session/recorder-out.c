/* A recorder's ways to the outside but its callback: files, and descriptors to write and to wait
 * on. */

#include "base/err.h"
#include "proto/outfile.h"
#include "session/recorder-private.h"

#include <errno.h>
#include <sys/epoll.h>
#include <unistd.h>

int cprof_recorder_write_fd(struct cprof_recorder *r, size_t event, int fd, struct err *e)
{
	struct outfile f;
	outfile_open_fd(&f, fd);
	int code = cprof_recorder_write(r, event, outfile_write, &f, e);
	if (f.code < 0)
		code = err_errno(e, -f.code, "cannot write the profile");
	outfile_abort(&f);
	return code;
}

int cprof_recorder_write_file(struct cprof_recorder *r, size_t event, const char *path,
			      struct err *e)
{
	struct outfile f;
	int code = outfile_open(&f, path, e);
	if (code < 0)
		return code;
	code = cprof_recorder_write(r, event, outfile_write, &f, e);
	if (f.code < 0)
		code = outfile_error(&f, e);
	if (code == 0)
		code = outfile_commit(&f, 1, e);
	outfile_abort(&f);
	return code;
}

static int watch(int poll_fd, int fd)
{
	struct epoll_event ev = { .events = EPOLLIN };
	return epoll_ctl(poll_fd, EPOLL_CTL_ADD, fd, &ev) < 0 ? -errno : 0;
}

int cprof_recorder_fd(struct cprof_recorder *r, struct err *e)
{
	int code = recorder_check_owner(r, e);
	if (code < 0 || r->poll_fd >= 0)
		return code < 0 ? code : r->poll_fd;
	int poll_fd = epoll_create1(EPOLL_CLOEXEC);
	code = poll_fd < 0 ? -errno : 0;
	int fd;
	for (size_t i = 0; code == 0 && (fd = live_ring_fd(r->source, i)) >= 0; i++)
		code = watch(poll_fd, fd);
	for (size_t i = 0; code == 0 && i < r->n_pidfds; i++)
		code = watch(poll_fd, r->pidfd[i]);
	if (code < 0) {
		if (poll_fd >= 0)
			close(poll_fd);
		return err_errno(e, -code, "cannot make a descriptor to wait on");
	}
	return r->poll_fd = poll_fd;
}
