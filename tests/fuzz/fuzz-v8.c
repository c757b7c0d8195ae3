/* A hostile program with V8: a byte that chooses the version and an address, then changes of its
 * memory. */

#include "symbolize/runtime/v8-code.h"
#include "tests/fuzz/codehostile.h"
#include "tests/unit/symbolize/v8vm.h"

static struct v8vm honest[4], vm;       /* of each version; the one that is read */

static void ask_frame(const struct codehostile *c, void *program,
		      const struct runtime_code_source *from, struct v8vm_function function,
		      uint32_t off)
{
	const struct runtime_frame f = v8vm_frame(&vm, function, off);
	uint64_t pc;
	if (v8_code_ops.frame(program, from, &f, &pc) == RUNTIME_FRAME_FOUND)
		codehostile_ask(c, program, from, pc);
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
	codehostile_change(vm.b, sizeof(vm.b), data + 1, size - 1);
	struct codehostile c = { .ops = &v8_code_ops, .n_reads_max = 20000,
				 .memory = { vm.b, sizeof(vm.b), V8VM_BASE, true } };
	const struct runtime_memory m = { codehostile_read, &c };
	const struct runtime_code_source from = { .memory = &m, .cfi = h->cfi };
	struct runtime_code_program program;
	if (v8_code_ops.open(&from, &program) == RUNTIME_CODE_OK) {
		ask_frame(&c, program.data, &from, vm.outer, data[0] / 4);
		ask_frame(&c, program.data, &from, vm.method, 0);
		codehostile_ask(&c, program.data, &from, V8VM_CODE + data[0]);
		codehostile_ask(&c, program.data, &from, V8VM_BASELINE + 4);
		v8_code_ops.close(program.data);
	}
	return 0;
}
