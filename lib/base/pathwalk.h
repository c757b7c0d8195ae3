#ifndef CPROF_BASE_PATHWALK_H
#define CPROF_BASE_PATHWALK_H

/*
 * Walks a path one component at a time, so that the caller can judge each folder and each symbolic
 * link on it, and so that nobody can exchange a folder in the middle of the walk.  Nothing is
 * opened for reading or writing: the results are O_PATH descriptors.
 */

#include <limits.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <sys/types.h>

struct err;
struct fstype_cache;

/* A symbolic link on the path. */
struct pathwalk_link {
	const char *name;          /* in its folder */
	const struct stat *folder; /* that holds it */
	const struct stat *st;     /* of the link itself */
	bool in_proc;              /* a link of procfs, which may lead anywhere */
};

struct pathwalk_policy {
	int root_fd;               /* what "/" means, and what ".." cannot leave; -1: our root */
	/* Called for each folder that is entered (fd: O_PATH), the first one included, and for
	 * each symbolic link before it is followed.  0, or -errno with e set, which ends the walk.
	 * NULL: every folder, every link. */
	int (*folder)(void *ctx, int fd, const struct stat *st, struct err *e);
	int (*link)(void *ctx, const struct pathwalk_link *link, struct err *e);
	void *ctx;
	/* Not NULL: ask no file system that may wait for somebody else; -EREMOTE instead. */
	struct fstype_cache *at_once;
};

struct pathwalk {
	int folder_fd;             /* the folder of the last component */
	struct stat folder;
	char name[NAME_MAX + 1];   /* the last component, after all links; "": a path like "/" */
	int fd;                    /* the file of this name; -1: there is none */
	struct stat st;            /* of fd */
	bool is_proc_link;         /* fd is the target of a procfs link of this name */
	bool has_slash;            /* a slash follows the name */
};

#define PATHWALK_LINKS_MAX 40      /* as in the kernel */

/*
 * Walks to the end of path, through the last component if that is a link.  0 also if nothing has
 * that name in an existing folder.  -ENOENT, -ENOTDIR, -ELOOP, -ENAMETOOLONG, -EACCES and the like
 * without changing e, or what the policy returned; there is nothing to close then.
 */
int pathwalk_open(const char *path, const struct pathwalk_policy *policy, struct pathwalk *ret,
		  struct err *e);
void pathwalk_close(struct pathwalk *w);

/* Can users other than root and ourselves create and remove entries in a folder with this state?
 * In a user namespace, the owner of all files of unmapped users counts as root. */
bool pathwalk_is_shared(const struct stat *folder);

/* Does an entry of this folder with this owner belong to another user who could have put it there?
 * Not if it is root's or ours. */
bool pathwalk_is_foreign(uid_t owner, const struct stat *folder);

/* Opens the file behind an O_PATH descriptor itself, even if its name belongs to another file by
 * now; -errno. */
int pathwalk_reopen(int path_fd, int flags);

/* Opens the file that w found.  Without /proc, its name is opened, and -ESTALE if that is
 * another file. */
int pathwalk_open_found(const struct pathwalk *w, int flags);

#endif
