#ifndef CPROF_SYMBOLIZE_ARCH_X86_64_X86CODE_H
#define CPROF_SYMBOLIZE_ARCH_X86_64_X86CODE_H

/* What x86-64 code says about its frames: the functions of struct arch. */

#include "symbolize/arch/arch.h"

enum code_next x86code_step(const uint8_t *insn, size_t n_bytes, struct code_path *path);
bool x86code_stub_rule(const uint8_t *pc, size_t n_before, size_t n_bytes, uint64_t vaddr,
		       struct cfi_rule *ret);
enum arch_call x86code_call(const uint8_t *before, size_t n_bytes, uint64_t ra, uint64_t *ret);
bool x86code_stub_slot(const uint8_t *code, size_t n_bytes, uint64_t pc, uint64_t *ret);
enum arch_plt x86code_plt_entry(const uint8_t *plt, size_t n_bytes, uint64_t start, size_t off,
				size_t entry_bytes, uint64_t *ret);
bool x86code_is_root(const uint8_t *code, size_t n_bytes);
bool x86code_is_exit(const uint8_t *code, size_t n_bytes);
bool x86code_is_epilogue(const uint8_t *code, size_t n_bytes);
bool x86code_prologue_rule(const uint8_t *pc, size_t n_bytes, struct cfi_rule *ret);
bool x86code_stores_fp(const uint8_t *insn, size_t n_bytes);
unsigned int x86code_n_sp_loads(const uint8_t *code, size_t n_bytes);
size_t x86code_references(const uint8_t *code, size_t n_bytes, uint64_t vaddr, uint64_t *ret,
			  size_t max);

#endif
