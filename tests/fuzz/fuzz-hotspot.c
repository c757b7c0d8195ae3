/*
 * A hostile JVM: a byte that chooses the version and an address, then changes of the memory of an
 * honest one, three bytes each: where, and what is there.  That memory appears again and again at
 * all higher addresses, so that many pointers lead into it.
 */

#include "symbolize/runtime/hotspot-code.h"
#include "symbolize/runtime/runtime-memory.h"
#include "tests/unit/symbolize/flatmemory.h"
#include "tests/unit/symbolize/hotspotvm.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define READS_MAX 100000u               /* a bound for all questions of one input */

static struct hotspotvm honest[3], vm;     /* of each version; the one that is read */
static unsigned int n_reads;

static long read_again_and_again(void *ctx, const struct iovec *local, size_t n_local,
				 const struct iovec *remote, size_t n_remote)
{
	const struct flatmemory m = { vm.b, sizeof(vm.b), HOTSPOTVM_BASE, true };
	(void)ctx;
	if (++n_reads > READS_MAX)
		abort();
	return flatmemory_read(&m, local, n_local, remote, n_remote);
}

static void ask(void *program, const struct runtime_code_source *from, uint64_t pc)
{
	struct runtime_call call[RUNTIME_CALLS_MAX];
	struct runtime_code code;
	if (!hotspot_code_ops.find(program, from, pc, &code))
		return;
	if (pc - code.start >= code.n_bytes || !code.name || !*code.name)
		abort();
	for (unsigned int i = 0; i < 4; i++) {
		size_t n = hotspot_code_ops.calls(program, from, &code, pc + i, call);
		if (n < 1 || n > RUNTIME_CALLS_MAX || !call[n - 1].name)
			abort();
	}
	hotspot_code_ops.release(&code);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const unsigned int version[3] = { 8, 17, 25 };
	if (size < 1)
		return 0;
	struct hotspotvm *h = &honest[data[0] % 3];
	if (!h->cfi) {
		h->version = version[data[0] % 3];
		if (!hotspotvm_init(h))
			return 0;
	}
	memcpy(vm.b, h->b, sizeof(vm.b));
	for (size_t i = 1; i + 3 <= size; i += 3)
		vm.b[(data[i] | data[i + 1] << 8) % HOTSPOTVM_BYTES] = data[i + 2];
	const struct runtime_memory m = { read_again_and_again, NULL };
	const struct runtime_code_source from = { .memory = &m, .cfi = h->cfi };
	struct runtime_code_program program;
	n_reads = 0;
	if (hotspot_code_ops.open(&from, &program) == RUNTIME_CODE_OK) {
		ask(program.data, &from, HOTSPOTVM_CODE + 0x40);
		ask(program.data, &from, HOTSPOTVM_CODE + data[0]);
		ask(program.data, &from, HOTSPOTVM_STUB_CODE + data[0] / 4);
		hotspot_code_ops.close(program.data);
	}
	return 0;
}
