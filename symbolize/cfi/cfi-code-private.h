#ifndef CPROF_SYMBOLIZE_CFI_CFI_CODE_PRIVATE_H
#define CPROF_SYMBOLIZE_CFI_CFI_CODE_PRIVATE_H

/* What cfi-code.c, which follows the code, shares with the files that know a machine's
 * instructions.  Only these use it. */

#include "symbolize/cfi/cfi-code.h"

enum code_base { CODE_BASE_SP, CODE_BASE_FP, CODE_BASE_SLOT, CODE_BASE_LINK, CODE_BASE_LOST };

/* A register, by those of the beginning: the stack or the frame pointer + off, the link register;
 * with CODE_BASE_SLOT the word that lay at slot_base + off. */
struct code_value {
	uint8_t base, slot_base;        /* enum code_base */
	int64_t off;
};

struct code_way {
	uint64_t at;                    /* the next instruction */
	struct code_value sp, fp;
	struct code_value ra;           /* the return address */
	/* where the frame pointer and the link register have been stored while they were as at
	 * the beginning: a slot, or LOST for nowhere */
	struct code_value fp_slot, ra_slot;
};

/* What an instruction makes of a way. */
enum code_next {
	CODE_ON,
	CODE_RETURN,    /* sp: what the return leaves; ra: where it goes to */
	CODE_LOST,
};

struct code;

/* The code at `at`: *ret_n bytes of it, those of the longest instruction if there are so many. */
const uint8_t *cfi_code_bytes(struct code *k, uint64_t at, size_t *ret_n);

/* Keeps a way as it is, but at `to`, to be followed when those before it have failed. */
void cfi_code_branch(struct code *k, const struct code_way *w, uint64_t to);

/* Does one instruction: moves w->at behind it, or to where it goes. */
enum code_next cfi_code_x86_step(struct code *k, struct code_way *w);
enum code_next cfi_code_arm_step(struct code *k, struct code_way *w);

/* The rule for a pc in a stub, where following the code would lead nowhere or astray, or false:
 * within a PLT entry, in a function that is but a jump.  read is that of struct cfi_code. */
bool cfi_code_x86_stub(struct code *k, const struct cfi_code *c, uint64_t pc, struct cfi_rule *ret);
bool cfi_code_arm_stub(const struct cfi_code *c, uint64_t pc, struct cfi_rule *ret);

/* As those without a machine's name. */
bool cfi_code_x86_is_exit(const uint8_t *code, size_t n_bytes);
bool cfi_code_arm_is_exit(const uint8_t *code, size_t n_bytes);
bool cfi_code_x86_is_root(const uint8_t *code, size_t n_bytes);
bool cfi_code_arm_is_root(const uint8_t *code, size_t n_bytes);
bool cfi_code_x86_ends_with_call(const uint8_t *before, size_t n_bytes);
bool cfi_code_arm_ends_with_call(const uint8_t *before, size_t n_bytes);

#endif
