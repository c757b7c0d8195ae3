#ifndef CPROF_PROC_MAPDSO_H
#define CPROF_PROC_MAPDSO_H

/*
 * Which DSO a mapping's code comes from: a file by device and inode, the vDSO, or memory
 * without a file.  Reads the names that the kernel gives to mappings (perf_event_mmap_event
 * in kernel/events/core.c, show_map_vma in fs/proc/task_mmu.c).
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

#define MAPDSO_ROOTS_MAX 32       /* each costs a descriptor; beyond that there is none */

struct mapdso {
	struct dso_table *dsos;   /* borrowed */
	const struct host *host;  /* borrowed; NULL: nothing can be opened */
	size_t n_open;            /* descriptors kept open in DSOs */
	size_t max_open;          /* 0: half of RLIMIT_NOFILE as it is at that time */
	/* Of a recording from elsewhere: finds the file that d was mapped from by this name, a
	 * descriptor or -errno, or gives d its image and returns -errno.  Asked once for each
	 * DSO, instead of the host.  NULL: none. */
	int (*open_file)(void *ctx, struct dso *d, const char *filename, char **ret_path);
	void *open_ctx;
	struct mapdso_root root[MAPDSO_ROOTS_MAX];
	size_t n_roots;
};

/* Closes the root folders: nothing may be asked about the DSOs' debug files any more. */
void mapdso_done(struct mapdso *x);

/*
 * Finds or adds the DSO of process pid's mapping m.  NULL when memory is out.  *ret_pgoff is
 * m's offset, made fit for the kind: the vDSO counts from 0, and memory without a file has
 * the address itself, so that a "file offset" there is the pc.
 */
struct dso *mapdso_find(struct mapdso *x, uint32_t pid, const struct record_mmap *m,
			uint64_t *ret_pgoff);

/*
 * Opens d's file (or copies the vDSO's image) as process pid has it mapped at [start, end),
 * unless that was done or x has no host.  Tried again at each call while it fails; d->open_errno
 * says why.  Beyond max_open the file is looked into (build id, segments) and closed
 * again: fd -1, open_errno EMFILE, and open_path names where it was.  d->root_fd is set where the
 * process has another root folder than the host.
 */
void mapdso_open(struct mapdso *x, struct dso *d, uint32_t pid, uint64_t start, uint64_t end,
		 const char *filename);

#endif
