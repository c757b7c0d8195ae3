#ifndef CPROF_INTERP_INTERP_VM_H
#define CPROF_INTERP_INTERP_VM_H

/* What languages have in common whose frames and functions are objects in the program's memory. */

#include <stdbool.h>
#include <stdint.h>

#include "interp/interp-language.h"
#include "interp/vmcodes.h"

struct interp_vm;

struct interp_vm_ops {
	/* The innermost frame of a thread, by its id in its own namespace; 0: it has none.  False:
	 * it is unknown. */
	bool (*innermost)(struct interp_vm *vm, struct runtime_pages *pages, uint32_t tid,
			  uint64_t *ret);
	/* The frames from one on; false: no memory. */
	bool (*frames)(struct interp_vm *vm, struct runtime_pages *pages, uint64_t at,
		       struct runtime_frames *ret);
	/* What describes the function of a frame; false: it cannot be read. */
	bool (*code_of_frame)(struct interp_vm *vm, struct runtime_pages *pages, uint64_t at,
			      uint64_t *ret);
	/* As struct runtime_function_key and struct runtime_function say. */
	bool (*key)(struct interp_vm *vm, uint64_t code, struct runtime_function_key *ret);
	bool (*function)(struct interp_vm *vm, uint64_t code, struct runtime_function *ret);
	uint32_t back;                  /* bytes from the present instruction to the address that
					 * frames and the loop have */
};

/* The beginning of each language's own struct. */
struct interp_vm {
	struct interp_process base;
	const struct interp_vm_ops *ops;
	struct runtime_pages frame_pages; /* threads and frames, for samples */
	struct runtime_frames frames;   /* of the present thread */
	struct vmcodes codes;
};

/* Sets base.ops except its name; label as there, prefix as in struct vmcodes. */
void interp_vm_init(struct interp_vm *vm, const struct interp_vm_ops *ops, const char *prefix,
		    const char *label);

/* For struct interp_language. */
void interp_vm_close(struct interp_process *base);
bool interp_vm_read(struct interp_process *base, uint32_t tid, struct interp_frames *ret);

#endif
