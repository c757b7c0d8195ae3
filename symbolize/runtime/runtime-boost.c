/*
 * A coroutine of boost.context has a stack of its own.  make_fcontext, which has no CFI, lays out
 * its first frame so that its function would return to code that ends the program.
 */

#include "symbolize/arch/arch.h"
#include "symbolize/runtime/runtime-private.h"

static enum runtime_root root_at(const struct arch *arch, const uint8_t *code, size_t n_bytes)
{
	return arch->is_exit(code, n_bytes) ? RUNTIME_ROOT_TRAP : RUNTIME_ROOT_NO;
}

const struct runtime runtime_boost = { .name = "boost.context", .root = root_at };
