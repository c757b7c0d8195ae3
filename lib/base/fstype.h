#ifndef CPROF_BASE_FSTYPE_H
#define CPROF_BASE_FSTYPE_H

/*
 * Can the file system of an open file make a reader wait for somebody else?  Answered without
 * asking the file system itself: statfs(2) of a FUSE mount waits for its daemon.
 */

#include <stdint.h>
#include <sys/types.h>

enum fstype {
	FSTYPE_LOCAL,    /* storage or memory of this kernel */
	FSTYPE_REMOTE,   /* a server or a daemon answers, or the type is unknown */
	FSTYPE_PSEUDO,   /* no storage: opening or reading such a file may have side effects */
};

/*
 * What fstype_of has found out.  Only file systems that stay mounted are remembered, or those whose
 * mount has a number that is never used again (Linux 6.8).
 */
struct fstype_cache {
	uint32_t root_major, root_minor, memfd_major, memfd_minor;
	int has_root, has_memfd;
	struct { uint64_t mount; enum fstype type; } mount[32];
	unsigned n_mounts;
};

/*
 * The kind of fd's file system, and the type of the file in *ret_mode (S_IFREG ...; 0: unknown).
 * fd may be an O_PATH descriptor or AT_FDCWD.  pid: a process whose mounts include it; 0: this one.
 * cache may be NULL.  Never blocks, and may be called where a signal handler may.
 */
enum fstype fstype_of(struct fstype_cache *cache, int fd, uint32_t pid, mode_t *ret_mode);

/* The kind that a file system of this name is ("ext4", "fuse.sshfs"). */
enum fstype fstype_by_name(const char *name);

#endif
