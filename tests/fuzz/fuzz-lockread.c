/* The memory at a futex, and the arguments of a call that waits for it.  The memory is also that of
 * this process. */

#include "base/host.h"
#include "base/remotemem.h"
#include "proc/lockread.h"

#include <assert.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Only its memory is used. */
static struct host host;

static void check_now(struct lockread_wait w, const uint32_t word[LOCKREAD_WORDS])
{
	if (!host.memory) {
		int proc_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		host.memory = remotemem_new(proc_fd);
		assert(proc_fd >= 0 && host.memory);
	}
	w.address = (uintptr_t)word;
	assert(lockread_holder_now(&host, (uint32_t)getpid(), &w) == lockread_holder(&w, word));
	/* nothing is mapped there */
	w.address = 8;
	assert(lockread_holder_now(&host, (uint32_t)getpid(), &w) == 0);
}

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
	/* who wakes it held it: true wherever the words name a holder */
	assert(!holder || lockread_is_mutex(&w));
	if (size % 8 == 4)
		check_now(w, in.word);
	return 0;
}
