#ifndef CPROF_SOURCE_LIVE_BPFCODE_H
#define CPROF_SOURCE_LIVE_BPFCODE_H

/*
 * A small assembler for the kernel's BPF programs.
 *
 * Registers as in the kernel's Documentation/bpf/standardization/instruction-set.rst: r0 is the
 * result of a call, r1 to r5 its arguments, r6 to r9 survive it, r10 is the end of the stack.
 */

#include <linux/bpf.h>
#include <stddef.h>
#include <stdint.h>

#define BPFCODE_INSNS_MAX 256
#define BPFCODE_LABELS 16           /* the program's own numbers, from 1 on */

struct bpfcode {
	struct bpf_insn *insn;          /* the caller's, BPFCODE_INSNS_MAX */
	size_t n, label[BPFCODE_LABELS];
	uint8_t target[BPFCODE_INSNS_MAX];  /* of each jump */
};

void bpfcode_emit(struct bpfcode *c, uint8_t code, uint8_t dst, uint8_t src, int16_t off,
		  int32_t imm);
void bpfcode_move(struct bpfcode *c, uint8_t to, uint8_t from);
void bpfcode_set(struct bpfcode *c, uint8_t to, int32_t value);
void bpfcode_add(struct bpfcode *c, uint8_t to, int32_t value);
/* Two instructions.  kind: 0, or BPF_PSEUDO_MAP_FD for a map's descriptor. */
void bpfcode_set_u64(struct bpfcode *c, uint8_t to, uint8_t kind, uint64_t value);

/* On the stack.  size: BPF_W or BPF_DW. */
void bpfcode_store(struct bpfcode *c, uint8_t size, int16_t at, uint8_t from);
void bpfcode_stack_address(struct bpfcode *c, uint8_t to, int16_t at);
/* At an offset from a register. */
void bpfcode_store_at(struct bpfcode *c, uint8_t size, uint8_t base, int16_t at, uint8_t from);
void bpfcode_load(struct bpfcode *c, uint8_t size, uint8_t to, uint8_t base, int16_t at);

void bpfcode_call(struct bpfcode *c, int32_t function);
/* r0: the address of the value of the key that is on the stack, or 0. */
void bpfcode_look_up(struct bpfcode *c, int map, int16_t key);
/* how: BPF_JA, BPF_JEQ, BPF_JNE or BPF_JSET */
void bpfcode_jump(struct bpfcode *c, uint8_t how, uint8_t reg, int32_t value, uint8_t label);
void bpfcode_place(struct bpfcode *c, uint8_t label);
void bpfcode_leave(struct bpfcode *c, int32_t result);

/* Sets the distances of all jumps.  Returns the number of instructions. */
size_t bpfcode_finish(struct bpfcode *c);

#endif
