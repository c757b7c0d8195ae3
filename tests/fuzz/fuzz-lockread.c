/* The memory at a futex, and the arguments of a call that waits for it. */

#include "proc/lockread.h"

#include <assert.h>
#include <linux/futex.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct { uint64_t arg[3]; uint32_t word[LOCKREAD_WORDS]; } in = { .arg = { 0 } };
	struct lockread_wait w = { 0 };
	if (size)
		memcpy(&in, data, size < sizeof(in) ? size : sizeof(in));
	if (!lockread_wait(in.arg, &w)) {
		assert(!w.address && !w.op);
		return 0;
	}
	assert(w.address == in.arg[0] && w.address);
	uint32_t holder = lockread_holder(&w, in.word);
	assert(holder <= FUTEX_TID_MASK);
	assert(!holder || in.word[0]);
	return 0;
}
