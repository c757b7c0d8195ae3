#ifndef CPROF_PROC_MAPDSO_H
#define CPROF_PROC_MAPDSO_H

/*
 * The DSO of a mapping's code: a file by device and inode, the vDSO, or memory without a file.
 * Interprets the names that the kernel gives to mappings (perf_event_mmap_event in
 * kernel/events/core.c, show_map_vma in fs/proc/task_mmu.c).
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dso;
struct dso_table;
struct host;
struct record_mmap;

/* A root folder that is not ours, of a container or after chroot(2). */
struct mapdso_root {
	uint64_t dev, ino;
	int fd;
};

#define MAPDSO_ROOTS_MAX 32       /* each costs a descriptor */

struct mapdso {
	struct dso_table *dsos;   /* borrowed */
	const struct host *host;  /* borrowed; NULL: nothing can be opened */
	/* For recordings from elsewhere: opens the file that d was mapped from by this name and
	 * returns a descriptor or -errno, or sets d's image and returns -errno.  Called once for
	 * each DSO, instead of using the host.  NULL: use the host. */
	int (*open_file)(void *ctx, struct dso *d, const char *filename, char **ret_path);
	void *open_ctx;
	struct mapdso_root root[MAPDSO_ROOTS_MAX];
	size_t n_roots;
};

/* Closes the root folders from which no file is open: dso_close_file has closed those of containers
 * that have ended.  A file that is opened again sets d->root_fd again. */
void mapdso_close_roots(struct mapdso *x);

/* Closes the root folders: debug files of the DSOs can no longer be looked up, and files that were
 * closed are not opened again. */
void mapdso_done(struct mapdso *x);

/*
 * Finds or adds the DSO of process pid's mapping m.  NULL: no memory.  *ret_pgoff is m's offset in
 * terms of the kind: the vDSO counts from 0, and for memory without a file it is the address, so
 * that a "file offset" there is the pc.
 */
struct dso *mapdso_find(struct mapdso *x, uint32_t pid, const struct record_mmap *m,
			uint64_t *ret_pgoff);

/*
 * Opens d's file (or copies the vDSO's image) as process pid has it mapped at [start, end), unless
 * that was done or x has no host.  After a failure each call tries again, unless that would mean
 * to wait again (foreign_is_lost); d->open_errno is the reason.  The file belongs to dsos->keep,
 * which may close it and open it again.  d->root_fd is set if the process has another root folder
 * than the host.
 */
void mapdso_open(struct mapdso *x, struct dso *d, uint32_t pid, uint64_t start, uint64_t end,
		 const char *filename);

#endif
