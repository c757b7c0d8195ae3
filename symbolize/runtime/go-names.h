#ifndef CPROF_SYMBOLIZE_RUNTIME_GO_NAMES_H
#define CPROF_SYMBOLIZE_RUNTIME_GO_NAMES_H

/*
 * Functions, files, lines and inlined calls of Go programs from .gopclntab, which the Go runtime
 * needs for itself, so that stripped programs have it, too.  The layouts of Go 1.16 to 1.27
 * (src/runtime/symtab.go and src/internal/abi/symtab.go of Go).
 */

#include <libelf.h>
#include <stddef.h>
#include <stdint.h>

struct symdwarf_frame;
struct go_names;

/* 0; -ENOENT: elf has no such table, or one of another layout; -ENOMEM.  elf must outlive the
 * result. */
int go_names_open(Elf *elf, struct go_names **ret_go);
void go_names_close(struct go_names *g);

/* The frames at vaddr, innermost first, at most max; 0: no Go function is there.  Strings are
 * elf's. */
size_t go_names_find(const struct go_names *g, uint64_t vaddr, struct symdwarf_frame *frame,
		     size_t max);

#endif
