/*
 * /proc/PID/map_files holds one magic link per file mapping.  It leads to the mapped inode itself,
 * deleted or not, through any mount namespace, but following it needs CAP_CHECKPOINT_RESTORE or
 * CAP_SYS_ADMIN.  /proc/PID/root needs only permission to ptrace, and so does /proc/PID/exe, which
 * leads to a deleted main binary.  The host's own file of the same name is right for processes of
 * the host and needs no permission, but is used only if device and inode are the mapped ones.
 *
 * Names below a root are resolved with RESOLVE_IN_ROOT (Linux 5.6), so that a container's absolute
 * symbolic link stays inside the container.
 */

#include "proc/dsofile.h"

#include "base/cleanup.h"
#include "base/foreign.h"
#include "base/host.h"
#include "base/remotemem.h"
#include "base/rights.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

/* A vDSO has one to four pages of 4 KiB to 64 KiB. */
#define VDSO_BYTES_MAX (1u << 20)

static bool is_wanted(const struct stat *st, const struct dsofile *want, bool any_anonymous_device)
{
	if (st->st_ino != want->ino)
		return false;
	if (major(st->st_dev) == want->maj && minor(st->st_dev) == want->min)
		return true;
	return any_anonymous_device && (major(st->st_dev) == 0 || want->maj == 0);
}

/* Opens the wanted file at that path; -ESTALE: another file is there. */
static int open_wanted(const struct host *h, const struct dsofile *want, int dir_fd,
		       const char *path, unsigned flags)
{
	struct stat st;
	struct foreign_want where = { .dir_fd = dir_fd, .path = path, .flags = flags,
				      .pid = want->pid };
	bool is_own_root = dir_fd == h->fd[HOST_ROOT];
	CLEANUP_CLOSE int fd = foreign_open(h->foreign, &where, &st);
	if (fd < 0)
		return fd == -ENXIO ? -ESTALE : fd;
	return is_wanted(&st, want, !is_own_root) ? TAKE_FD(fd) : -ESTALE;
}

/* A link in the folder of the process. */
static int open_link(const struct host *h, const struct dsofile *want, const char *name)
{
	struct stat st;
	const struct foreign_want where = { .pid = want->pid, .flags = FOREIGN_MAGIC_LINKS };
	CLEANUP_CLOSE int path_fd = host_open_process_link(h, want->pid, name);
	if (path_fd < 0)
		return path_fd;
	CLEANUP_CLOSE int fd = foreign_open_path(h->foreign, &where, path_fd, &st);
	if (fd < 0)
		return fd == -ENXIO ? -ESTALE : fd;
	return is_wanted(&st, want, true) ? TAKE_FD(fd) : -ESTALE;
}

static int open_map_file(const struct host *h, const struct dsofile *want, char **ret_path)
{
	char name[64];
	snprintf(name, sizeof(name), "map_files/%llx-%llx", (unsigned long long)want->start,
		 (unsigned long long)want->end);
	CLEANUP_CLOSE int fd = open_link(h, want, name);
	if (fd < 0)
		return fd;
	if (asprintf(ret_path, "%s/%u/%s", h->path[HOST_PROC], want->pid, name) < 0)
		return -ENOMEM;
	return TAKE_FD(fd);
}

static int open_in_process_root(const struct host *h, const struct dsofile *want, char **ret_path)
{
	CLEANUP_CLOSE int root = host_open_process_link(h, want->pid, "root");
	if (root < 0)
		return root;
	CLEANUP_CLOSE int fd = open_wanted(h, want, root, want->filename,
					   FOREIGN_IN_ROOT | FOREIGN_NO_FOLLOW);
	if (fd < 0)
		return fd;
	if (asprintf(ret_path, "%s/%u/root%s", h->path[HOST_PROC], want->pid, want->filename) < 0)
		return -ENOMEM;
	return TAKE_FD(fd);
}

static int open_on_host(const struct host *h, const struct dsofile *want, char **ret_path)
{
	CLEANUP_CLOSE int fd = open_wanted(h, want, h->fd[HOST_ROOT], want->filename,
					   FOREIGN_IN_ROOT | FOREIGN_NO_FOLLOW);
	if (fd < 0)
		return fd;
	const char *root = strcmp(h->path[HOST_ROOT], "/") ? h->path[HOST_ROOT] : "";
	if (asprintf(ret_path, "%s%s", root, want->filename) < 0)
		return -ENOMEM;
	return TAKE_FD(fd);
}

/* The main binary, deleted or not: this link needs no more permission than the process's root. */
static int open_exe(const struct host *h, const struct dsofile *want, char **ret_path)
{
	CLEANUP_CLOSE int fd = open_link(h, want, "exe");
	if (fd < 0)
		return fd;
	if (asprintf(ret_path, "%s/%u/exe", h->path[HOST_PROC], want->pid) < 0)
		return -ENOMEM;
	return TAKE_FD(fd);
}

/* A file in memory has a name, but no folder. */
static bool is_in_folder(const struct dsofile *want)
{
	return want->filename[0] == '/' && strncmp(want->filename, "/memfd:", 7) != 0;
}

/* The more informative of two reasons: that a file is gone is the least informative.  A lack of
 * descriptors hides whether the file is there. */
static int better_reason(int a, int b)
{
	if (foreign_is_lost(b) || foreign_lacks_descriptor(b))
		return b;
	if (foreign_lacks_descriptor(a))
		return a;
	return a == 0 || a == -ENOENT || (a == -ESTALE && b != -ENOENT) ? b : a;
}

static int open_of_process(const struct host *h, const struct dsofile *want, char **ret_path)
{
	int fd = open_map_file(h, want, ret_path), reason = fd;
	/* Each further way to a file system that does not answer would cost time again. */
	if (foreign_is_lost(fd))
		return fd;
	if (fd < 0 && is_in_folder(want)) {
		fd = open_in_process_root(h, want, ret_path);
		reason = better_reason(reason, fd);
	}
	if (fd < 0 && !foreign_is_lost(fd)) {
		fd = open_exe(h, want, ret_path);
		reason = better_reason(reason, fd);
	}
	return fd >= 0 ? fd : reason;
}

int dsofile_open(const struct host *h, const struct dsofile *want, char **ret_path)
{
	CLEANUP_RIGHTS bool raised = rights_raise();
	int fd = open_of_process(h, want, ret_path), reason = fd;
	if (fd >= 0 || foreign_is_lost(fd))
		return fd;
	uint32_t live = host_live_thread(h, want->pid);
	if (live != want->pid) {
		struct dsofile by_thread = *want;
		by_thread.pid = live;
		fd = open_of_process(h, &by_thread, ret_path);
		if (fd >= 0 || foreign_is_lost(fd))
			return fd;
		reason = foreign_lacks_descriptor(reason) ? reason : fd;
	}
	if (!is_in_folder(want))
		return reason;
	fd = open_on_host(h, want, ret_path);
	if (fd >= 0)
		return fd;
	return better_reason(reason, fd);
}

uint64_t dsofile_exe_ino(const struct host *h, uint32_t pid)
{
	uint64_t device, inode;
	CLEANUP_RIGHTS bool raised = rights_raise();
	CLEANUP_CLOSE int fd = host_open_process_link(h, host_live_thread(h, pid), "exe");
	const struct foreign_want want = { .dir_fd = fd, .path = "" };
	return fd >= 0 && foreign_identify(&want, &device, &inode) == 0 ? inode : 0;
}

/* The size of an ELF image in memory, by its own headers. */
static size_t image_n_bytes(const uint8_t *image)
{
	const ElfW(Ehdr) *eh = (const void *)image;
	if (memcmp(eh->e_ident, ELFMAG, SELFMAG) != 0)
		return 0;
	size_t end = eh->e_shoff + (size_t)eh->e_shnum * eh->e_shentsize;
	const ElfW(Phdr) *ph = (const void *)(image + eh->e_phoff);
	for (int i = 0; i < eh->e_phnum; i++) {
		if (ph[i].p_type == PT_LOAD && ph[i].p_offset + ph[i].p_filesz > end)
			end = ph[i].p_offset + ph[i].p_filesz;
	}
	return end <= VDSO_BYTES_MAX ? end : 0;
}

long dsofile_own_vdso(void **ret_image)
{
	const uint8_t *image = (const uint8_t *)getauxval(AT_SYSINFO_EHDR);
	size_t n = image ? image_n_bytes(image) : 0;
	if (n == 0)
		return -ENOENT;
	void *copy = malloc(n);
	if (!copy)
		return -ENOMEM;
	memcpy(copy, image, n);
	*ret_image = copy;
	return (long)n;
}

long dsofile_read_vdso(const struct host *h, uint32_t pid, uint64_t start, uint64_t end,
		       void **ret_image)
{
	if (start >= end || end - start > VDSO_BYTES_MAX)
		return -EINVAL;
	size_t n = (size_t)(end - start);
	CLEANUP_FREE void *image = malloc(n);
	if (!image)
		return -ENOMEM;
	long got = remotemem_read_file(h->memory, host_live_thread(h, pid), image, n, start);
	if (got < 0)
		return got;
	if ((size_t)got != n)
		return -EIO;
	*ret_image = TAKE_PTR(image);
	return (long)n;
}
