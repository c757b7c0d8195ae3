#ifndef CPROF_LABELS_PROCESSTITLE_H
#define CPROF_LABELS_PROCESSTITLE_H

/*
 * The title of a process, as ps(1) shows it: /proc/PID/cmdline.  Servers write what they are doing
 * over their arguments ("postgres: user db SELECT"), so it is read again from time to time.
 */

#include <stddef.h>
#include <stdint.h>

struct host;
struct procs_process;
struct strtab;

#define PROCESSTITLE_BYTES_MAX 128u  /* longer ones are cut */

/* The time between two readings, by the times of samples. */
#define PROCESSTITLE_EVERY_NS UINT64_C(50000000)

/* Makes a title of cmdline's contents, n bytes, in place: spaces instead of zeros, none at the end.
 * Returns its length. */
size_t processtitle_tidy(char *text, size_t n);

/* The title at about now_ns, as an id of strings; the last one if the process has ended.  0: it has
 * none, as threads of the kernel. */
uint32_t processtitle_at(const struct host *h, struct strtab *strings, struct procs_process *p,
			 uint64_t now_ns);

#endif
