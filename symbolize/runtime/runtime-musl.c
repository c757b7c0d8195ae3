/*
 * musl's assembly has no CFI.  Its rules are derived from the code, and this file recognises the
 * outermost frames: main's caller and a thread's hand the returned value straight on to exit, to
 * pthread_exit or to the system call.
 */

#include "symbolize/arch/arch.h"
#include "symbolize/runtime/runtime-private.h"

static enum runtime_root root_at(const struct arch *arch, const uint8_t *code, size_t n_bytes)
{
	return arch->is_root(code, n_bytes) ? RUNTIME_ROOT_FRAME : RUNTIME_ROOT_NO;
}

const struct runtime runtime_musl = { .name = "musl", .root = root_at };
