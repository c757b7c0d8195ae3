/*
 * Files are identified by device, inode and generation.  MMAP2 records with a build id have it in
 * place of these; then its hash becomes the inode number on a device 0:0, which no file has.  Old
 * MMAP records have only the name (inode 0, see symbolize/elf/dso.c).
 */

#include "proc/mapdso.h"

#include "base/cleanup.h"
#include "base/foreign.h"
#include "base/hash.h"
#include "base/host.h"
#include "proc/dsofile.h"
#include "source/record.h"
#include "symbolize/elf/dso.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#define DELETED " (deleted)"

static bool starts_with(const char *s, const char *prefix)
{
	return strncmp(s, prefix, strlen(prefix)) == 0;
}

/* Executable memory whose name looks like a file's, without a file that contains code. */
static bool is_anonymous(const char *filename)
{
	return filename[0] != '/' ||                    /* "", [heap], [stack], anon_inode:... */
	       starts_with(filename, "//anon") ||
	       starts_with(filename, "/dev/zero") ||
	       starts_with(filename, "/anon_hugepage") ||
	       starts_with(filename, "/SYSV");          /* System V shared memory */
}

static struct dso *find_or_add(struct mapdso *x, const struct dso_key *key, const char *path)
{
	struct dso *d = dso_table_find(x->dsos, key, path);
	return d ? d : dso_table_add(x->dsos, key, path);
}

static bool fd_is_elf(int fd)
{
	char magic[SELFMAG];
	return pread(fd, magic, sizeof(magic), 0) == (ssize_t)sizeof(magic) &&
	       memcmp(magic, ELFMAG, SELFMAG) == 0;
}

/* ---- opening again ----------------------------------------------------------------------- */

/* Which file it is: one that was deleted may have left its inode number to another one. */
struct identity {
	uint64_t dev, ino;
	int64_t born_ns;          /* 0: the file system does not know */
	unsigned int generation;
};

/* Where a process had mapped the file; 0: it was opened by its name. */
struct origin {
	uint32_t pid;
	uint64_t start, end;
	struct identity identity;
};

static bool identify(int fd, struct identity *ret)
{
	struct statx st;
	if (statx(fd, "", AT_EMPTY_PATH, STATX_INO | STATX_BTIME, &st) < 0)
		return false;
	*ret = (struct identity){ .dev = (uint64_t)st.stx_dev_major << 32 | st.stx_dev_minor,
				  .ino = st.stx_ino };
	if (st.stx_mask & STATX_BTIME)
		ret->born_ns = (int64_t)st.stx_btime.tv_sec * 1000000000 + st.stx_btime.tv_nsec;
	if (ioctl(fd, FS_IOC_GETVERSION, &ret->generation) < 0)
		ret->generation = 0;
	return true;
}

/* fd if it is the file, else -ESTALE. */
static int prove_same(const struct origin *o, int fd)
{
	struct identity now;
	if (fd < 0 || (identify(fd, &now) && now.dev == o->identity.dev &&
		       now.ino == o->identity.ino && now.born_ns == o->identity.born_ns &&
		       now.generation == o->identity.generation))
		return fd;
	close(fd);
	return -ESTALE;
}

/* By the name under which a file was opened that no process of this machine has mapped. */
static int reopen_by_name(const struct mapdso *x, const struct dso *d, const struct origin *o)
{
	const struct foreign_want want = { .dir_fd = AT_FDCWD,
					   .path = d->open_path ? d->open_path : "" };
	return prove_same(o, foreign_open(x->host ? x->host->foreign : NULL, &want, NULL));
}

static int reopen_file(void *ctx, const struct dso *d, const void *origin)
{
	const struct mapdso *x = ctx;
	const struct origin *o = origin;
	if (!o->pid)
		return reopen_by_name(x, d, o);
	const struct dsofile want = { .pid = o->pid, .start = o->start, .end = o->end,
				      .maj = d->key.maj, .min = d->key.min, .ino = d->key.ino,
				      .filename = d->path };
	CLEANUP_FREE char *path = NULL;
	int fd = prove_same(o, dsofile_open(x->host, &want, &path));
	if (fd >= 0 || foreign_is_lost(fd) || foreign_lacks_descriptor(fd) || d->root_fd <= 0)
		return fd;
	/* Its process has ended. */
	const struct foreign_want in_root = { .dir_fd = d->root_fd, .path = d->path,
					      .flags = FOREIGN_IN_ROOT | FOREIGN_NO_FOLLOW };
	return prove_same(o, foreign_open(x->host->foreign, &in_root, NULL));
}

/* Gives d an open file.  A copy of a file on a slow file system stays open, and so does everything
 * when memory is short. */
static void set_file(struct mapdso *x, struct dso *d, int fd, const char *path,
		     struct origin origin)
{
	struct dsokeep *keep = &x->dsos->keep;
	uint64_t dev, ino = d->key.ino;
	dso_set_file(d, fd, path);
	if (!identify(fd, &origin.identity))
		return;
	if (!origin.pid) {
		const struct foreign_want named = { .dir_fd = AT_FDCWD, .path = path ? path : "",
						    .flags = FOREIGN_MAGIC_LINKS };
		if (!path || foreign_identify(&named, &dev, &ino) < 0)
			return;
	}
	struct origin *kept = ino == origin.identity.ino ? malloc(sizeof(*kept)) : NULL;
	if (!kept)
		return;
	*kept = origin;
	keep->reopen = reopen_file;
	keep->ctx = x;
	dsokeep_add(keep, d, kept);
}

/* ---- kinds of mappings ------------------------------------------------------------------- */

/* A file in memory holds an ELF file (a program or library run from there) or JIT code; its first
 * bytes decide. */
static bool is_in_memory(const char *path)
{
	return starts_with(path, "/memfd:") || starts_with(path, "/dev/shm/");
}

static struct dso *find_in_memory(struct mapdso *x, uint32_t pid, const struct record_mmap *m,
			      const struct dso_key *key, const char *path)
{
	struct dso *d = dso_table_find(x->dsos, key, path);
	if (d || !x->host)
		return d;
	struct dsofile want = { .pid = pid, .start = m->start, .end = m->start + m->len,
				.maj = m->maj, .min = m->min, .ino = m->ino,
				.filename = m->filename };
	CLEANUP_FREE char *open_path = NULL;
	CLEANUP_CLOSE int fd = dsofile_open(x->host, &want, &open_path);
	if (fd < 0 || !fd_is_elf(fd))
		return NULL;
	d = dso_table_add(x->dsos, key, path);
	if (d)
		set_file(x, d, TAKE_FD(fd), open_path,
			 (struct origin){ .pid = pid, .start = m->start, .end = want.end });
	return d;
}

static struct dso *find_elf(struct mapdso *x, uint32_t pid, const struct record_mmap *m)
{
	struct dso_key key = {
		.kind = DSO_ELF, .maj = m->maj, .min = m->min, .ino = m->ino,
		.ino_generation = m->ino_generation,
	};
	size_t n = strlen(m->filename);
	if (n > strlen(DELETED) && strcmp(m->filename + n - strlen(DELETED), DELETED) == 0)
		n -= strlen(DELETED);
	CLEANUP_FREE char *path = strndup(m->filename, n);
	if (!path)
		return NULL;
	if (is_in_memory(path))
		return find_in_memory(x, pid, m, &key, path);
	if (m->n_build_id)
		key = (struct dso_key){ .kind = DSO_ELF,
					.ino = hash_bytes(m->build_id, m->n_build_id) };
	struct dso *d = find_or_add(x, &key, path);
	if (d && m->n_build_id && !d->n_build_id) {
		memcpy(d->build_id, m->build_id, m->n_build_id);
		d->n_build_id = m->n_build_id;
	}
	return d;
}

struct dso *mapdso_find(struct mapdso *x, uint32_t pid, const struct record_mmap *m,
			uint64_t *ret_pgoff)
{
	struct dso_key key = { .kind = DSO_ANON, .pid = pid };
	const char *path = "[jit]";

	if (strcmp(m->filename, "[vdso]") == 0) {
		/* 32-bit processes have another vDSO than 64-bit ones. */
		key = (struct dso_key){ .kind = DSO_VDSO,
					.min = m->start + m->len <= UINT32_MAX ? 32 : 0 };
		*ret_pgoff = 0;
		return find_or_add(x, &key, "[vdso]");
	}
	if (strcmp(m->filename, "[vsyscall]") == 0) {
		key.pid = 0;  /* one page of the kernel, shared by all */
		path = "[vsyscall]";
	} else if (!is_anonymous(m->filename)) {
		struct dso *d = find_elf(x, pid, m);
		if (d) {
			*ret_pgoff = m->pgoff;
			return d;
		}
		if (!is_in_memory(m->filename))
			return NULL;
	}
	*ret_pgoff = m->start;
	return find_or_add(x, &key, path);
}

static void open_vdso(struct mapdso *x, struct dso *d, uint32_t pid, uint64_t start, uint64_t end)
{
	CLEANUP_FREE void *image = NULL;
	long n = -ENOENT;
	if (d->image)
		return;
	if (d->key.min == 0 && sizeof(void *) == 8)
		n = dsofile_own_vdso(&image);
	if (n < 0)
		n = dsofile_read_vdso(x->host, pid, start, end, &image);
	if (n > 0)
		n = dso_set_image(d, image, (size_t)n);
	d->open_errno = n < 0 ? (int)-n : 0;
}

static void open_elsewhere(struct mapdso *x, struct dso *d, const char *filename)
{
	if (dsokeep_has_file(d) || d->image || d->open_errno ||
	    (d->key.kind != DSO_ELF && d->key.kind != DSO_VDSO))
		return;
	CLEANUP_FREE char *path = NULL;
	int fd = x->open_file(x->open_ctx, d, filename, &path);
	if (dsokeep_makes_room(&x->dsos->keep, fd))
		fd = x->open_file(x->open_ctx, d, filename, &path);
	if (fd >= 0)
		set_file(x, d, fd, path, (struct origin){ 0 });
	else if (!d->image)
		d->open_errno = -fd;
}

/* The process may be gone when names are looked up in its files, so its root is kept. */
static int root_of(struct mapdso *x, uint32_t pid)
{
	uint64_t dev, ino, own_dev, own_ino;
	CLEANUP_CLOSE int fd = host_open_process_link(x->host, pid, "root");
	const struct foreign_want root = { .dir_fd = fd, .path = "" };
	const struct foreign_want own = { .dir_fd = x->host->fd[HOST_ROOT], .path = "" };
	if (fd < 0 || foreign_identify(&root, &dev, &ino) < 0 ||
	    foreign_identify(&own, &own_dev, &own_ino) < 0 || (dev == own_dev && ino == own_ino))
		return 0;
	for (size_t i = 0; i < x->n_roots; i++)
		if (x->root[i].dev == dev && x->root[i].ino == ino)
			return x->root[i].fd;
	if (x->n_roots == MAPDSO_ROOTS_MAX)
		return 0;
	int kept = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	if (kept < 0)
		return 0;
	x->root[x->n_roots++] = (struct mapdso_root){ dev, ino, kept };
	return kept;
}

static bool is_root_used(const struct mapdso *x, int root_fd)
{
	for (uint32_t i = 0; i < x->dsos->n; i++) {
		const struct dso *d = x->dsos->dso[i];
		if (d && d->root_fd == root_fd && dsokeep_has_file(d))
			return true;
	}
	return false;
}

/* The number will be that of another file. */
static void forget_root(struct mapdso *x, int root_fd)
{
	for (uint32_t i = 0; i < x->dsos->n; i++)
		if (x->dsos->dso[i] && x->dsos->dso[i]->root_fd == root_fd)
			x->dsos->dso[i]->root_fd = 0;
}

void mapdso_close_roots(struct mapdso *x)
{
	for (size_t i = x->n_roots; i-- > 0;) {
		int fd = x->root[i].fd;
		if (is_root_used(x, fd))
			continue;
		forget_root(x, fd);
		close(fd);
		x->root[i] = x->root[--x->n_roots];
	}
}

void mapdso_done(struct mapdso *x)
{
	while (x->n_roots)
		close(x->root[--x->n_roots].fd);
	x->dsos->keep.reopen = NULL;
}

void mapdso_open(struct mapdso *x, struct dso *d, uint32_t pid, uint64_t start, uint64_t end,
		 const char *filename)
{
	d->is_idle = false;
	if (x->open_file) {
		open_elsewhere(x, d, filename);
		return;
	}
	if (!x->host || dsokeep_has_file(d) || foreign_is_lost(-d->open_errno))
		return;
	if (d->key.kind == DSO_VDSO)
		open_vdso(x, d, pid, start, end);
	if (d->key.kind != DSO_ELF)
		return;
	/* Without device and inode the right file cannot be recognised. */
	if (!d->key.maj && !d->key.min) {
		d->open_errno = ESTALE;
		return;
	}
	struct dsofile want = { .pid = pid, .start = start, .end = end, .maj = d->key.maj,
				.min = d->key.min, .ino = d->key.ino, .filename = filename };
	CLEANUP_FREE char *path = NULL;
	int fd = dsofile_open(x->host, &want, &path);
	if (dsokeep_makes_room(&x->dsos->keep, fd))
		fd = dsofile_open(x->host, &want, &path);
	if (fd < 0) {
		d->open_errno = -fd;
		return;
	}
	set_file(x, d, fd, path, (struct origin){ .pid = pid, .start = start, .end = end });
	d->root_fd = root_of(x, pid);
}
