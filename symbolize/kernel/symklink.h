#ifndef CPROF_SYMBOLIZE_KERNEL_SYMKLINK_H
#define CPROF_SYMBOLIZE_KERNEL_SYMKLINK_H

/*
 * By how much address space layout randomization has moved a kernel: an address minus the shift is
 * the address at link time, as in vmlinux.
 */

#include <stdbool.h>
#include <stdint.h>

struct host;

/* The kernel's first known symbol.  kallsyms of arm64 often lacks _text. */
struct symklink_first {
	uint64_t address;              /* in memory */
	bool is_stext;                 /* of _stext, not of _text */
};

/*
 * Of the running kernel.  Exact if the caller may read /proc/kcore, or if System.map of the kernel
 * is installed; on x86-64, if the kernel's configuration is readable (/proc/config.gz,
 * /boot/config-RELEASE).  Else as symklink_guess.
 */
uint64_t symklink_running(const struct host *h, struct symklink_first first);

/*
 * Of a kernel about which only its release ("6.1.0-18-arm64"; NULL or "": unknown) and its first
 * symbol are known, by the defaults of its architecture.  If they do not apply, the shift is wrong
 * by a constant, so that addresses minus the shift still do not reveal where the kernel is.
 */
uint64_t symklink_guess(const char *release, struct symklink_first first);

#endif
