#ifndef CPROF_SYMBOLIZE_KERNEL_SYMKERNEL_H
#define CPROF_SYMBOLIZE_KERNEL_SYMKERNEL_H

/*
 * Names of the running kernel from /proc/kallsyms, read once, at the end, and only if there are
 * kernel frames.  Only text symbols are kept, sorted by address.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct host;
struct symkernel;

/* Reads HOST_PROC/kallsyms.  0, or -errno with e set; -EPERM with a hint about kptr_restrict if all
 * addresses are hidden (zero). */
int symkernel_open(const struct host *h, struct symkernel **ret_kernel, struct err *e);

/*
 * The same for addresses from first to last only.  If these are in the kernel proper, reading ends
 * with its code: the kernel prints symbols by address, and what follows (data, modules, BPF
 * programs) is more than half of them where CONFIG_KALLSYMS_ALL is set.
 */
int symkernel_open_for(const struct host *h, uint64_t first, uint64_t last,
		       struct symkernel **ret_kernel, struct err *e);

/*
 * The same for these n addresses only, in ascending order: asks the kernel for each of them
 * (symkask.h), in about a microsecond, and does not read its table.  -EPERM, -EINVAL, ... if we may
 * not ask, or -ENOENT if an address has no name: use symkernel_open then.  shift: what
 * symkernel_shift should return if the caller knows it already; NULL: it is looked up, which takes
 * longer than some hundred names.
 */
int symkernel_ask_open(const struct host *h, const uint64_t *address, size_t n,
		       const uint64_t *shift, struct symkernel **ret_kernel);

/* The same from n bytes of kallsyms text, which may be freed afterwards.  The ends of modules are
 * estimated. */
int symkernel_open_text(const char *text, size_t n_bytes, struct symkernel **ret_kernel,
			struct err *e);
void symkernel_close(struct symkernel *k);

/* Returns the cache's pages that look-ups have touched to the system; the next look-up reads them
 * again.  k may be NULL. */
void symkernel_rest(const struct symkernel *k);

/*
 * Finds the symbol that covers address.  *ret_module is "" for the kernel itself, else the module's
 * name without brackets ("ext4", "bpf").  Borrowed until close.  False if there is none.
 */
bool symkernel_find(const struct symkernel *k, uint64_t address, const char **ret_name,
		    const char **ret_module, uint64_t *ret_start);

/* The number of functions with that name in that module ("": the kernel proper), and the address of
 * the last one. */
size_t symkernel_address(const struct symkernel *k, const char *name, const char *module,
			 uint64_t *ret_address);

/* The code of a function of the kernel proper, up to the next one.  False: there is none. */
bool symkernel_code(const struct symkernel *k, const char *name, uint64_t *ret_start,
		    uint64_t *ret_end);

/*
 * The kernel proper's names, as an earlier recording of this boot has saved them in the folder dir:
 * the kernel needs 40 ms to print kallsyms, and these names do not change until the next boot.
 * Modules and BPF programs are not in the cache: for addresses outside of symkernel_text, use
 * symkernel_open.  The file must belong to us alone.  0 or -errno.
 */
int symkernel_cache_open(const struct host *h, const char *dir, struct symkernel **ret_kernel);

/* Saves k for later recordings, readable by its owner only, in place of files of earlier boots.
 * Creates dir and its parent if they are missing.  On failure there is no cache. */
void symkernel_cache_save(const struct symkernel *k, const struct host *h, const char *dir);

/* [_stext, _etext) of the kernel proper; zeros if unknown. */
void symkernel_text(const struct symkernel *k, uint64_t *ret_start, uint64_t *ret_end);

/*
 * The address at which a module's text is loaded; for the kernel proper ("") that of _text, or of
 * _stext if there is no _text.  0: unknown.
 */
uint64_t symkernel_base(const struct symkernel *k, const char *module);

/* By how much address space layout randomization has moved the kernel proper: see symklink.h. */
uint64_t symkernel_shift(const struct symkernel *k);

/* Copies the running kernel's GNU build id from /sys/kernel/notes into id (at most max bytes).
 * Returns its length, 0 if unknown. */
size_t symkernel_build_id(const struct host *h, uint8_t *id, size_t max);

/* The same for a loaded module, from /sys/module/NAME/notes. */
size_t symkernel_module_build_id(const struct host *h, const char *module, uint8_t *id,
				 size_t max);

#endif
