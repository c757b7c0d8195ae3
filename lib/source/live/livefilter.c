/*
 * Ids are those of a pid namespace.  In the initial one, the ids of each task are those that /proc
 * shows here.  In another one, the kernel gives a program the ids of tasks of that namespace only:
 * a target in a namespace below would not be recognised, so then there is no filter.  Tasks that
 * the targets create are known by their addresses, wherever they are.
 */

#include "source/live/livefilter.h"

#include "base/cleanup.h"
#include "base/host.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

/* PROC_PID_INIT_INO of include/linux/proc_ns.h. */
#define INIT_PID_NAMESPACE_INODE 0xEFFFFFFCu

static const char *why_refused(int r)
{
	switch (-r) {
	case EPERM:
	case EACCES: return "bpf(2) needs CAP_BPF or root";
	case ENOSYS: return "this kernel has no bpf(2)";
	default: return strerror(-r);
	}
}

static bool stat_namespace(const struct host *h, pid_t pid, struct stat *ret)
{
	CLEANUP_CLOSE int fd = host_open_process_link(h, (uint32_t)pid, "ns/pid");
	return fd >= 0 && fstat(fd, ret) == 0;
}

static bool is_within(const struct host *h, pid_t id, const struct stat *own)
{
	struct stat st;
	return stat_namespace(h, id, &st) && st.st_ino == own->st_ino;
}

static void set_own_namespace(struct filterprog *p, const struct stat *own)
{
	if (own->st_ino == INIT_PID_NAMESPACE_INODE)
		return;
	p->ns_inode = own->st_ino;
	/* As the kernel's dev_t, MKDEV() of include/linux/kdev_t.h. */
	p->ns_dev = (uint64_t)major(own->st_dev) << 20 | minor(own->st_dev);
}

/* The reason why the ids of the targets mean nothing to the kernel's programs; NULL: they do. */
static const char *set_namespace(struct filterprog *p, const struct live_targets *want,
				 const struct host *h)
{
	struct stat own;
	if (!stat_namespace(h, getpid(), &own))
		return "the pid namespace is unknown";
	if (own.st_ino == INIT_PID_NAMESPACE_INODE)
		return NULL;
	set_own_namespace(p, &own);
	for (size_t i = 0; i < want->n_pids; i++)
		if (!is_within(h, want->pid[i], &own))
			return "a target may be in another pid namespace";
	for (size_t i = 0; i < want->n_tids; i++)
		if (!is_within(h, want->tid[i], &own))
			return "a target may be in another pid namespace";
	return NULL;
}

static int set_ids(const struct filterprog *p, const struct live_targets *want)
{
	int r = filterprog_set_id(p->ids, 0, 0);
	for (size_t i = 0; r == 0 && i < want->n_tids; i++)
		r = filterprog_set_id(p->ids, (uint32_t)want->tid[i], FILTERPROG_THREAD);
	for (size_t i = 0; r == 0 && i < want->n_pids; i++)
		r = filterprog_set_id(p->ids, (uint32_t)want->pid[i],
				      FILTERPROG_PROCESS | FILTERPROG_THREAD);
	return r;
}

static int follow_tasks(struct livefilter *f)
{
	f->prog.tasks = filterprog_new_tasks();
	if (f->prog.tasks < 0)
		return f->prog.tasks;
	f->free_fd = filterprog_attach_free(&f->prog);
	if (f->free_fd < 0)
		return f->free_fd;
	f->new_fd = filterprog_attach_new(&f->prog);
	return f->new_fd < 0 ? f->new_fd : 0;
}

static int load(struct livefilter *f, const struct live_targets *want)
{
	f->prog.ids = filterprog_new_ids((uint32_t)(want->n_pids + want->n_tids));
	if (f->prog.ids < 0)
		return f->prog.ids;
	int r = set_ids(&f->prog, want);
	if (r == 0 && want->follow)
		r = follow_tasks(f);
	if (r < 0)
		return r;
	f->prog.next = filterprog_new_next();
	f->filter_fd = filterprog_load_filter(&f->prog);
	return f->filter_fd < 0 ? f->filter_fd : 0;
}

bool livefilter_open(struct livefilter *f, const struct live_targets *want,
		     const struct host *h, const char **ret_why_not)
{
	*f = (struct livefilter)LIVEFILTER_NONE;
	*ret_why_not = set_namespace(&f->prog, want, h);
	if (*ret_why_not)
		return false;
	int r = load(f, want);
	if (r == 0)
		return true;
	*ret_why_not = why_refused(r);
	livefilter_close(f);
	return false;
}

void livefilter_close(struct livefilter *f)
{
	const int fds[] = { f->filter_fd, f->new_fd, f->free_fd, f->prog.ids, f->prog.tasks,
			     f->prog.next };
	for (size_t i = 0; i < sizeof(fds) / sizeof(*fds); i++)
		if (fds[i] >= 0)
			close(fds[i]);
	*f = (struct livefilter)LIVEFILTER_NONE;
}

int livefilter_load_copy(const struct livefilter *f, const struct samplecopy *copy,
			 const struct host *h)
{
	struct filterprog p = f->prog;
	struct stat own;
	if (f->filter_fd < 0 && !stat_namespace(h, getpid(), &own))
		return -ENOENT;
	if (f->filter_fd < 0)
		set_own_namespace(&p, &own);
	int fd = filterprog_load_copy(&p, copy);
	int r = fd >= 0 && f->filter_fd >= 0 ? filterprog_set_next(p.next, fd) : 0;
	if (r == 0)
		return fd;
	close(fd);
	return r;
}

int livefilter_attach_program(int program_fd, int event_fd)
{
	return ioctl(event_fd, PERF_EVENT_IOC_SET_BPF, program_fd) < 0 ? -errno : 0;
}

int livefilter_attach(const struct livefilter *f, int event_fd)
{
	return livefilter_attach_program(f->filter_fd, event_fd);
}

bool livefilter_is_full(const struct livefilter *f)
{
	return f->filter_fd >= 0 && filterprog_get_id(f->prog.ids, 0) & FILTERPROG_ALL;
}
