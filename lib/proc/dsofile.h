#ifndef CPROF_PROC_DSOFILE_H
#define CPROF_PROC_DSOFILE_H

/*
 * Opens the very file that a process has mapped, whichever mount namespace or root folder
 * the process has, and also when the file was deleted or replaced since.
 */

#include <stddef.h>
#include <stdint.h>

struct host;

struct dsofile {
	uint32_t pid;
	uint64_t start, end;   /* of the mapping, exactly as the kernel has it */
	uint32_t maj, min;     /* of the file's device as /proc/PID/maps shows it */
	uint64_t ino;
	const char *filename;  /* as the kernel gives it; "/memfd:..." has no place in a folder */
};

/*
 * Tries /proc/PID/map_files/START-END, then the name below /proc/PID/root, then /proc/PID/exe, then
 * the name below the host's root.  A file is taken only when it is a regular one and has the inode
 * number and the device.  Of a process whose main thread has ended the folder of another thread
 * is looked into.  Where the first three show another device than the kernel's maps do
 * (btrfs and overlayfs have anonymous ones, major 0) the inode number is enough; for the host's own
 * file of that name it is not.  Returns a descriptor, and in *ret_path by which
 * name (the caller frees it); or -errno: -ESTALE where only other files were found.
 */
int dsofile_open(const struct host *h, const struct dsofile *want, char **ret_path);

/* Inode number of /proc/PID/exe; 0 when it cannot be had. */
uint64_t dsofile_exe_ino(const struct host *h, uint32_t pid);

/*
 * The bytes of a vDSO, in fresh memory that the caller frees: this process's own, which is
 * the same for all 64-bit processes of the running kernel, or by reading [start, end) of
 * process pid.  Both return the number of bytes or -errno.
 */
long dsofile_own_vdso(void **ret_image);
long dsofile_read_vdso(const struct host *h, uint32_t pid, uint64_t start, uint64_t end,
		       void **ret_image);

#endif
