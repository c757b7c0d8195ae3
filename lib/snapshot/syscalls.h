#ifndef CPROF_SNAPSHOT_SYSCALLS_H
#define CPROF_SNAPSHOT_SYSCALLS_H

/* The system calls of the machine that cprof was built for. */

/* "read"; NULL: unknown. */
const char *syscalls_name(long number);

/* What a call waits for, by its arguments. */
enum syscalls_object {
	SYSCALLS_NOTHING,       /* or nothing that an argument names */
	SYSCALLS_FD,            /* argument 0: a descriptor */
	SYSCALLS_FUTEX,         /* argument 0: the address of a futex word */
	SYSCALLS_POLL,          /* arguments 0 and 1: struct pollfd, and their number */
	SYSCALLS_PROCESS,       /* argument 0: a process */
	SYSCALLS_PROCESS_OF,    /* argument 1: likewise, if argument 0 is P_PID */
	SYSCALLS_QUEUE,         /* argument 0: the id of a System V object */
};
enum syscalls_object syscalls_object(long number);

#endif
