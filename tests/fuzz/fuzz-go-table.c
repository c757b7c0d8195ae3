/* The machine, two lengths, then a .gopclntab, code and relocations. */

#include "symbolize/runtime/go-table.h"
#include "symbolize/runtime/go-switch.h"
#include "tests/unit/symbolize/gocode.h"

#include <assert.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool find_module(void *ctx, uint64_t pc, struct module *ret)
{
	*ret = (struct module){ .cfi = ctx };
	return pc >= GOCODE_TEXT && pc < GOCODE_TEXT + 0x1000;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint16_t n[2];
	struct cfi *c = NULL;
	if (size < 1 + sizeof(n) || size > 65536)
		return 0;
	const struct arch *arch = data[0] & 1 ? &arch_arm64 : &arch_x86_64;
	memcpy(n, data + 1, sizeof(n));
	data += 1 + sizeof(n);
	size -= 1 + sizeof(n);
	size_t n_table = n[0] < size ? n[0] : size;
	size_t n_text = n[1] < size - n_table ? n[1] : size - n_table;
	int fd = gocode_file(arch == &arch_arm64 ? EM_AARCH64 : EM_X86_64,
			     (struct gocode_part){ data, n_table },
			     (struct gocode_part){ data + n_table, n_text },
			     (struct gocode_part){ data + n_table + n_text,
						   size - n_table - n_text });
	if (fd >= 0 && cfi_open_file(fd, &c) == 0) {
		for (uint64_t at = GOCODE_TEXT - 2; at < GOCODE_TEXT + 0x90; at += 3) {
			struct cfi_rule r;
			struct go_table_function f;
			uint64_t ra;
			cfi_rule_at(c, at, &r);
			assert(r.kind != CFI_EMPTY && r.kind < CFI_N_KINDS);
			if (go_table_find(c, at, &f))
				assert(f.start <= at && at < f.end);
			go_switch_outer(arch, find_module, c, at);
			go_switch_caller(arch, find_module, c, GOCODE_TEXT + 0x28,
					 GOCODE_TEXT + 0x40, at, &ra);
		}
	}
	cfi_close(c);
	if (fd >= 0)
		close(fd);
	return 0;
}
