/*
 * A file on a block device belongs to a file system of this kernel.  (A FUSE file system may have a
 * block device, too, but only root can mount it.)  The others have device numbers without a driver,
 * and their type is in /proc/PID/mountinfo, on the line of the mount that statx(2) names.
 *
 * Two devices are known without that: the one of our own root folder, on which cprof itself depends
 * anyway, and the kernel's own tmpfs for memfd_create(2), which is mounted nowhere.
 */

#include "base/fstype.h"

#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef STATX_MNT_ID_UNIQUE
#define STATX_MNT_ID_UNIQUE 0x4000u
#endif

#define NAME_BYTES 32

static const char *const local[] = {
	"bcachefs", "btrfs", "cramfs", "devtmpfs", "erofs", "exfat", "ext2", "ext3", "ext4", "f2fs",
	"hfsplus", "hugetlbfs", "iso9660", "jffs2", "jfs", "nilfs2", "ntfs3", "overlay", "ramfs",
	"reiserfs", "rootfs", "romfs", "squashfs", "tmpfs", "ubifs", "udf", "vfat", "xfs", "zfs",
};

static const char *const pseudo[] = {
	"anon_inodefs", "binfmt_misc", "bpf", "cgroup", "cgroup2", "configfs", "debugfs", "devpts",
	"efivarfs", "fusectl", "mqueue", "nfsd", "nsfs", "pipefs", "proc", "pstore", "resctrl",
	"rpc_pipefs", "securityfs", "selinuxfs", "smackfs", "sockfs", "sysfs", "tracefs", "xenfs",
};

static bool is_listed(const char *name, const char *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(name, list[i]) == 0)
			return true;
	return false;
}

enum fstype fstype_by_name(const char *name)
{
	if (is_listed(name, local, sizeof(local) / sizeof(*local)))
		return FSTYPE_LOCAL;
	if (is_listed(name, pseudo, sizeof(pseudo) / sizeof(*pseudo)))
		return FSTYPE_PSEUDO;
	return FSTYPE_REMOTE;
}

/* DONT_SYNC: the server of a network file system is not asked.  False: the kernel lacks statx. */
static bool look(int fd, const char *path, unsigned mask, struct statx *ret)
{
	int flags = AT_STATX_DONT_SYNC | (*path ? AT_NO_AUTOMOUNT : AT_EMPTY_PATH);
	return statx(fd, path, flags, STATX_TYPE | mask, ret) == 0;
}

/* ---- mountinfo ------------------------------------------------------------- */

/* A reader of one line after the other: "36 35 98:0 /r /mnt rw shared:1 - ext3 /dev/root rw". */
struct reading {
	uint64_t want, number;   /* the mount; the number at the start of the line */
	unsigned n_fields;       /* complete ones of this line */
	bool is_dash, was_dash;  /* this field is "-"; the one before was */
	unsigned n_chars;        /* of this field */
	char name[NAME_BYTES];
	bool is_found;
};

static void end_field(struct reading *r)
{
	if (r->was_dash && r->number == r->want) {
		r->name[r->n_chars < NAME_BYTES ? r->n_chars : NAME_BYTES - 1] = '\0';
		r->is_found = true;
	}
	/* Optional fields come before the dash; they have a name. */
	r->was_dash = r->n_fields >= 6 && r->n_chars == 1 && r->is_dash;
	r->n_fields++;
	r->n_chars = 0;
	r->is_dash = true;
}

static void take_char(struct reading *r, char c)
{
	if (c == ' ' || c == '\n') {
		if (!r->is_found)
			end_field(r);
		if (c == '\n') {
			r->n_fields = 0;
			r->number = 0;
			r->was_dash = false;
		}
		return;
	}
	if (r->n_fields == 0 && c >= '0' && c <= '9')
		r->number = r->number * 10 + (uint64_t)(c - '0');
	r->is_dash &= c == '-';
	if (r->was_dash && r->n_chars < NAME_BYTES - 1 && !r->is_found)
		r->name[r->n_chars] = c;
	r->n_chars++;
}

/* The type of that mount as process pid sees it; false: it is not among its mounts. */
static bool find_mount(uint32_t pid, uint64_t mount, enum fstype *ret)
{
	char path[48], text[4096];
	struct reading r = { .want = mount, .is_dash = true };
	ssize_t n;
	if (pid)
		snprintf(path, sizeof(path), "/proc/%u/mountinfo", pid);
	CLEANUP_CLOSE int fd = open(pid ? path : "/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
	while (fd >= 0 && !r.is_found && (n = read(fd, text, sizeof(text))) > 0)
		for (ssize_t i = 0; i < n; i++)
			take_char(&r, text[i]);
	if (r.is_found)
		*ret = fstype_by_name(r.name);
	return r.is_found;
}

/* ---- known devices ----------------------------------------------------------- */

static void learn(struct fstype_cache *cache)
{
	struct statx st;
	if (!cache->has_root) {
		cache->has_root = look(AT_FDCWD, "/", 0, &st) ? 1 : -1;
		cache->root_major = st.stx_dev_major;
		cache->root_minor = st.stx_dev_minor;
	}
	if (!cache->has_memfd) {
		CLEANUP_CLOSE int fd = memfd_create("cprof", MFD_CLOEXEC);
		cache->has_memfd = fd >= 0 && look(fd, "", 0, &st) ? 1 : -1;
		cache->memfd_major = st.stx_dev_major;
		cache->memfd_minor = st.stx_dev_minor;
	}
}

static bool is_known_device(const struct fstype_cache *cache, const struct statx *st)
{
	return (cache->has_root > 0 && st->stx_dev_major == cache->root_major &&
		st->stx_dev_minor == cache->root_minor) ||
	       (cache->has_memfd > 0 && st->stx_dev_major == cache->memfd_major &&
		st->stx_dev_minor == cache->memfd_minor);
}

/* False: unknown. */
static bool type_of_mount(int fd, uint32_t pid, enum fstype *ret)
{
	struct statx st;
	return look(fd, "", STATX_MNT_ID, &st) && st.stx_mask & STATX_MNT_ID &&
	       (find_mount(0, st.stx_mnt_id, ret) ||
		(pid && find_mount(pid, st.stx_mnt_id, ret)));
}

enum fstype fstype_of(struct fstype_cache *cache, int fd, uint32_t pid, mode_t *ret_mode)
{
	struct fstype_cache own = { 0 };
	struct statx st;
	*ret_mode = 0;
	if (!look(fd, "", STATX_MNT_ID_UNIQUE, &st))
		return FSTYPE_REMOTE;
	*ret_mode = st.stx_mode;
	if (st.stx_dev_major)
		return FSTYPE_LOCAL;
	cache = cache ? cache : &own;
	learn(cache);
	if (is_known_device(cache, &st))
		return FSTYPE_LOCAL;
	bool is_unique = st.stx_mask & STATX_MNT_ID_UNIQUE;
	for (unsigned i = 0; is_unique && i < cache->n_mounts; i++)
		if (cache->mount[i].mount == st.stx_mnt_id)
			return cache->mount[i].type;
	enum fstype type = FSTYPE_REMOTE;
	if (type_of_mount(fd, pid, &type) && is_unique &&
	    cache->n_mounts < sizeof(cache->mount) / sizeof(cache->mount[0])) {
		cache->mount[cache->n_mounts].mount = st.stx_mnt_id;
		cache->mount[cache->n_mounts++].type = type;
	}
	return type;
}
