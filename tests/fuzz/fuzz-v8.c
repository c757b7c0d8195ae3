/*
 * A hostile program with V8: a byte that chooses the version and an address, then changes of the
 * memory of an honest one, three bytes each: where, and what is there.  That memory appears again
 * and again at all higher addresses, so that many pointers lead into it.
 */

#include "symbolize/runtime/runtime-memory.h"
#include "symbolize/runtime/v8-code.h"
#include "tests/unit/symbolize/flatmemory.h"
#include "tests/unit/symbolize/v8vm.h"

#include <stdlib.h>
#include <string.h>

#define READS_MAX 20000u                /* a bound for all questions of one input */

static struct v8vm honest[4], vm;       /* of each version; the one that is read */
static unsigned int n_reads;

static long read_again_and_again(void *ctx, const struct iovec *local, size_t n_local,
				 const struct iovec *remote, size_t n_remote)
{
	const struct flatmemory m = { vm.b, sizeof(vm.b), V8VM_BASE, true };
	(void)ctx;
	if (++n_reads > READS_MAX)
		abort();
	return flatmemory_read(&m, local, n_local, remote, n_remote);
}

static void ask(void *program, const struct runtime_code_source *from, uint64_t pc)
{
	struct runtime_call call[RUNTIME_CALLS_MAX];
	struct runtime_code code;
	if (!v8_code_ops.find(program, from, pc, &code))
		return;
	if (pc - code.start >= code.n_bytes || !code.name || !*code.name)
		abort();
	for (unsigned int i = 0; i < 3; i++) {
		size_t n = v8_code_ops.calls(program, from, &code, pc + i, call);
		if (n < 1 || n > RUNTIME_CALLS_MAX || !call[n - 1].name)
			abort();
	}
	v8_code_ops.release(&code);
}

static void ask_frame(void *program, const struct runtime_code_source *from,
		      struct v8vm_function function, uint32_t off)
{
	const struct runtime_frame f = v8vm_frame(&vm, function, off);
	uint64_t pc;
	if (v8_code_ops.frame(program, from, &f, &pc) == RUNTIME_FRAME_FOUND)
		ask(program, from, pc);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const unsigned int major[4] = { 10, 11, 12, 13 };
	if (size < 1)
		return 0;
	struct v8vm *h = &honest[data[0] % 4];
	if (!h->cfi) {
		h->major = major[data[0] % 4];
		if (!v8vm_init(h))
			return 0;
	}
	vm = *h;
	for (size_t i = 1; i + 3 <= size; i += 3)
		vm.b[(data[i] | data[i + 1] << 8) % V8VM_BYTES] = data[i + 2];
	const struct runtime_memory m = { read_again_and_again, NULL };
	const struct runtime_code_source from = { .memory = &m, .cfi = h->cfi };
	struct runtime_code_program program;
	n_reads = 0;
	if (v8_code_ops.open(&from, &program) == RUNTIME_CODE_OK) {
		ask_frame(program.data, &from, vm.outer, data[0] / 4);
		ask_frame(program.data, &from, vm.method, 0);
		ask(program.data, &from, V8VM_CODE + data[0]);
		ask(program.data, &from, V8VM_BASELINE + 4);
		v8_code_ops.close(program.data);
	}
	return 0;
}
