/* Two lengths, then a .gopclntab, .rodata and .data. */

#include "symbolize/dwarf/symdwarf.h"
#include "symbolize/runtime/go-names.h"
#include "tests/unit/symbolize/gobuild.h"

#include <assert.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint16_t n[2];
	if (size < sizeof(n) || size > 65536)
		return 0;
	memcpy(n, data, sizeof(n));
	data += sizeof(n);
	size -= sizeof(n);
	size_t n_table = n[0] < size ? n[0] : size;
	size_t n_ro = n[1] < size - n_table ? n[1] : size - n_table, n_file = 0;
	void *file = gobuild_elf((struct gobuild_part){ data, n_table },
				 (struct gobuild_part){ data + n_table, n_ro },
				 (struct gobuild_part){ data + n_table + n_ro,
							size - n_table - n_ro }, &n_file);
	elf_version(EV_CURRENT);
	Elf *elf = file ? elf_memory(file, n_file) : NULL;
	struct go_names *g;
	if (elf && go_names_open(elf, &g) == 0) {
		for (uint64_t vaddr = 0x400ff0; vaddr < 0x401070; vaddr += 3) {
			struct symdwarf_frame f[8];
			size_t k = go_names_find(g, vaddr, f, 8);
			assert(k <= 8);
			for (size_t i = 0; i < k; i++)
				assert(f[i].name && *f[i].name);
		}
		go_names_close(g);
	}
	elf_end(elf);
	free(file);
	return 0;
}
