#ifndef CPROF_SYMBOLIZE_ARCH_ARM64_ARM64CODE_H
#define CPROF_SYMBOLIZE_ARCH_ARM64_ARM64CODE_H

/* What arm64 code says about its frames: the functions of struct arch. */

#include "symbolize/arch/arch.h"

enum code_next arm64code_step(const uint8_t *insn, size_t n_bytes, struct code_path *path);
bool arm64code_stub_rule(const uint8_t *pc, size_t n_before, size_t n_bytes, uint64_t vaddr,
			 struct cfi_rule *ret);
enum arch_call arm64code_call(const uint8_t *before, size_t n_bytes, uint64_t ra, uint64_t *ret);
bool arm64code_stub_slot(const uint8_t *code, size_t n_bytes, uint64_t pc, uint64_t *ret);
enum arch_plt arm64code_plt_entry(const uint8_t *plt, size_t n_bytes, uint64_t start, size_t off,
				  size_t entry_bytes, uint64_t *ret);
bool arm64code_is_root(const uint8_t *code, size_t n_bytes);
bool arm64code_is_exit(const uint8_t *code, size_t n_bytes);
bool arm64code_is_epilogue(const uint8_t *code, size_t n_bytes);
bool arm64code_is_leaving(const uint8_t *pc, size_t n_before, size_t n_bytes);
bool arm64code_prologue_rule(const uint8_t *pc, size_t n_bytes, struct cfi_rule *ret);
bool arm64code_stores_fp(const uint8_t *insn, size_t n_bytes);
unsigned int arm64code_n_sp_loads(const uint8_t *code, size_t n_bytes);
size_t arm64code_references(const uint8_t *code, size_t n_bytes, uint64_t vaddr, uint64_t *ret,
			    size_t max);

#endif
