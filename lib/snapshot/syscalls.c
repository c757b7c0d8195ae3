/* The names are generated from the kernel's headers (syscalls.py). */

#include "snapshot/syscalls.h"

#include "base/search.h"

#include <stddef.h>
#include <sys/syscall.h>

static const struct { int number; const char *name; } names[] = {
#include "snapshot/syscallnames.h"
};

#define N_NAMES (sizeof(names) / sizeof(*names))

const char *syscalls_name(long number)
{
	size_t i = SEARCH_COUNT(N_NAMES, k, names[k].number < number);
	return i < N_NAMES && names[i].number == number ? names[i].name : NULL;
}

enum syscalls_object syscalls_object(long number)
{
	switch (number) {
	case SYS_read: case SYS_write: case SYS_readv: case SYS_writev: case SYS_pread64:
	case SYS_pwrite64: case SYS_preadv: case SYS_pwritev: case SYS_recvfrom:
	case SYS_recvmsg: case SYS_recvmmsg: case SYS_sendto: case SYS_sendmsg:
	case SYS_sendmmsg: case SYS_accept: case SYS_accept4: case SYS_connect:
	case SYS_epoll_pwait: case SYS_ioctl: case SYS_flock: case SYS_fcntl: case SYS_fsync:
	case SYS_fdatasync: case SYS_splice: case SYS_tee: case SYS_sendfile:
	case SYS_io_uring_enter: case SYS_ftruncate: case SYS_fallocate: case SYS_getdents64:
#ifdef SYS_epoll_wait
	case SYS_epoll_wait:
#endif
#ifdef SYS_epoll_pwait2
	case SYS_epoll_pwait2:
#endif
		return SYSCALLS_FD;
	case SYS_futex:
		return SYSCALLS_FUTEX;
	case SYS_ppoll:
#ifdef SYS_poll
	case SYS_poll:
#endif
		return SYSCALLS_POLL;
	case SYS_wait4:
		return SYSCALLS_PROCESS;
	case SYS_waitid:
		return SYSCALLS_PROCESS_OF;
	case SYS_semop: case SYS_semtimedop: case SYS_msgrcv: case SYS_msgsnd:
		return SYSCALLS_QUEUE;
	default:
		return SYSCALLS_NOTHING;
	}
}
