#ifndef CPROF_SYMBOLIZE_KERNEL_SYMKERNEL_H
#define CPROF_SYMBOLIZE_KERNEL_SYMKERNEL_H

/*
 * Names of the running kernel from /proc/kallsyms.  Read once, at the end, and only
 * when there are kernel frames; kept compact (text symbols only, sorted by address).
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct host;
struct symkernel;

/* Reads HOST_PROC/kallsyms.  0, or -errno with e set; -EPERM with a hint about kptr_restrict when
 * all addresses are hidden (zero). */
int symkernel_open(const struct host *h, struct symkernel **ret_kernel, struct err *e);

/* The same from n bytes of kallsyms text, which are not needed afterwards; where modules
 * end is guessed. */
int symkernel_open_text(const char *text, size_t n_bytes, struct symkernel **ret_kernel,
			struct err *e);
void symkernel_close(struct symkernel *k);

/* Gives back the pages of a cache that look-ups have touched; the next one reads them again.  k may
 * be NULL. */
void symkernel_rest(const struct symkernel *k);

/*
 * Finds the symbol that covers address.  *ret_module is "" for the kernel itself, else the
 * module's name without brackets ("ext4", "bpf").  Borrowed until close.  False where nothing
 * covers it.
 */
bool symkernel_find(const struct symkernel *k, uint64_t address, const char **ret_name,
		    const char **ret_module, uint64_t *ret_start);

/* How many functions of that module ("": the kernel proper) have that name; the address of the
 * last one. */
size_t symkernel_address(const struct symkernel *k, const char *name, const char *module,
			 uint64_t *ret_address);

/*
 * The kernel proper's names as an earlier recording of this boot has saved them in the folder
 * dir: the kernel needs 40 ms to print kallsyms, and these do not change until the next boot.
 * Knows nothing of modules and BPF programs: for addresses outside of symkernel_text, ask
 * symkernel_open.  The file is believed only when it is ours alone.  0 or -errno.
 */
int symkernel_cache_open(const struct host *h, const char *dir, struct symkernel **ret_kernel);

/* Saves k for the next time, readable by its owner only, in place of those of earlier boots.
 * dir and its parent are made where they are missing.  A failure only means no cache. */
void symkernel_cache_save(const struct symkernel *k, const struct host *h, const char *dir);

/* [_stext, _etext) of the kernel proper; zeros where unknown. */
void symkernel_text(const struct symkernel *k, uint64_t *ret_start, uint64_t *ret_end);

/* The running kernel's GNU build id from /sys/kernel/notes into id (at most max bytes); its
 * length, 0 when unknown. */
size_t symkernel_build_id(const struct host *h, uint8_t *id, size_t max);

/* The same of a loaded module, from /sys/module/NAME/notes. */
size_t symkernel_module_build_id(const struct host *h, const char *module, uint8_t *id,
				 size_t max);

#endif
