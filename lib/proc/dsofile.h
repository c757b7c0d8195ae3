#ifndef CPROF_PROC_DSOFILE_H
#define CPROF_PROC_DSOFILE_H

/*
 * Opens the file that a process has mapped, in any mount namespace or root folder, even if the
 * file was deleted or replaced since.
 */

#include <stddef.h>
#include <stdint.h>

struct host;

struct dsofile {
	uint32_t pid;
	uint64_t start, end;   /* of the mapping, exactly as the kernel reports it */
	uint32_t maj, min;     /* of the file's device as /proc/PID/maps shows it */
	uint64_t ino;
	const char *filename;  /* as the kernel gives it; "/memfd:..." is in no folder */
};

/*
 * Tries /proc/PID/map_files/START-END, then the name below /proc/PID/root, then /proc/PID/exe, then
 * the name below the host's root.  A file is used only if it is a regular one with the recorded
 * inode number and device.  If the main thread of a process has ended, the folder of another thread
 * is used.  If the first three show another device than the kernel's maps (btrfs and overlayfs have
 * anonymous ones, major 0), the inode number is enough; for the host's own file of that name it is
 * not.  Returns a descriptor, and the name that worked in *ret_path (the caller frees it); or
 * -errno: -ESTALE if only other files were found.
 */
int dsofile_open(const struct host *h, const struct dsofile *want, char **ret_path);

/* Inode number of /proc/PID/exe; 0 if it is not available. */
uint64_t dsofile_exe_ino(const struct host *h, uint32_t pid);

/*
 * The bytes of a vDSO, in fresh memory that the caller frees: this process's own, which all 64-bit
 * processes of the running kernel share, or by reading [start, end) of process pid.  Both return
 * the number of bytes or -errno.
 */
long dsofile_own_vdso(void **ret_image);
long dsofile_read_vdso(const struct host *h, uint32_t pid, uint64_t start, uint64_t end,
		       void **ret_image);

#endif
