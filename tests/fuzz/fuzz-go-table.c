/* The machine, two lengths, then a .gopclntab, code, and bytes that are both the relocations and
 * the moduledata. */

#include "symbolize/runtime/go-table.h"
#include "symbolize/runtime/runtime-file.h"
#include "symbolize/runtime/runtime-private.h"
#include "symbolize/unwind/unwind-call.h"
#include "tests/unit/symbolize/gocode.h"

#include <assert.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool find_module(void *ctx, uint64_t pc, struct module *ret)
{
	struct runtime_file *file = ctx;
	*ret = (struct module){ .cfi = file->cfi, .file = file };
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
	const struct gocode_part rest = { data + n_table + n_text, size - n_table - n_text };
	int fd = gocode_file(&(struct gocode){
		.machine = arch == &arch_arm64 ? EM_AARCH64 : EM_X86_64,
		.table = { data, n_table }, .text = { data + n_table, n_text },
		.rela = rest, .module = rest });
	struct runtime_file *file =
		fd >= 0 && cfi_open_file(fd, &c) == 0 ? runtime_file_new(c) : NULL;
	const struct module m = { .cfi = c, .file = file };
	for (uint64_t at = GOCODE_TEXT - 2; file && at < GOCODE_TEXT + 0x90; at += 3) {
		const struct runtime_switch s = {
			.arch = arch, .find_module = find_module, .ctx = file,
			.at = GOCODE_TEXT + 0x28, .called_at = GOCODE_TEXT + 0x40, .ra = at,
		};
		struct go_table *g = runtime_file_data(file, &runtime_go);
		struct cfi_rule r;
		struct go_table_function f;
		uint64_t ra;
		runtime_file_rule(&m, at, &r);
		assert(r.kind != CFI_EMPTY && r.kind < CFI_N_KINDS);
		if (g && go_table_find(g, at, &f))
			assert(f.start <= at && at < f.end);
		unwind_call_site(arch, find_module, file, at);
		runtime_caller(&s, &ra);
	}
	runtime_file_free(file);
	cfi_close(c);
	if (fd >= 0)
		close(fd);
	return 0;
}
