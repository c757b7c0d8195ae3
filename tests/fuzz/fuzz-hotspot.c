/* A hostile JVM: a byte that chooses the version and an address, then changes of its memory. */

#include "symbolize/runtime/hotspot-code.h"
#include "tests/fuzz/codehostile.h"
#include "tests/unit/symbolize/hotspotvm.h"

#include <string.h>

static struct hotspotvm honest[3], vm;     /* of each version; the one that is read */

static void interpret(const struct codehostile *c, void *program,
		      const struct runtime_code_source *from, uint64_t method, uint64_t bci)
{
	struct runtime_frame f = { .pc = HOTSPOTVM_INTERPRETER, .below = { [2] = method } };
	uint64_t pc;
	f.below[6] = f.below[7] = HOTSPOTVM_BYTECODE(method) + bci;
	if (hotspot_code_ops.frame(program, from, &f, &pc))
		codehostile_ask(c, program, from, pc);
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
	codehostile_change(vm.b, sizeof(vm.b), data + 1, size - 1);
	struct codehostile c = { .ops = &hotspot_code_ops, .n_reads_max = 100000,
				 .memory = { vm.b, sizeof(vm.b), HOTSPOTVM_BASE, true } };
	const struct runtime_memory m = { codehostile_read, &c };
	const struct runtime_code_source from = { .memory = &m, .cfi = h->cfi };
	struct runtime_code_program program;
	if (hotspot_code_ops.open(&from, &program) == RUNTIME_CODE_OK) {
		codehostile_ask(&c, program.data, &from, HOTSPOTVM_CODE + 0x40);
		codehostile_ask(&c, program.data, &from, HOTSPOTVM_CODE + data[0]);
		codehostile_ask(&c, program.data, &from, HOTSPOTVM_STUB_CODE + data[0] / 4);
		interpret(&c, program.data, &from, HOTSPOTVM_OUTER, data[0] % 16);
		interpret(&c, program.data, &from, HOTSPOTVM_INNER, data[0] / 16);
		hotspot_code_ops.close(program.data);
	}
	return 0;
}
