/* Within the releases of a version, nothing of this has changed: 3.1.0 to 3.1.7, 3.2.0 to 3.2.11,
 * 3.3.0 to 3.3.12, and 3.4.0 to 3.4.11. */

#include "symbolize/runtime/ruby-layout.h"

#include <string.h>

#define MEMBERS_OF_3_3                                                                          \
	.ractor_threads = 256, .thread_ec = 48, .thread_native = 40, .native_pthread = 16,      \
	.native_tid = 24, .frame_bytes = 56, .info = 112, .info_size = 128, .info_index = 136,  \
	.has_string_length = true

static const struct ruby_layout layouts[] = {
	{
		.version = "3.1", .ractor_threads = 304, .thread_ec = 40, .native_pthread = 80,
		.native_tid = 88, .frame_bytes = 64, .info = 120, .info_size = 136,
		.info_index = 144, .has_number_objects = true,
	},
	{
		.version = "3.2", .ractor_threads = 304, .thread_ec = 48, .thread_native = 40,
		.native_pthread = 8, .native_tid = 16, .frame_bytes = 64, .info = 112,
		.info_size = 128, .info_index = 136, .has_string_length = true,
	},
	{ .version = "3.3", MEMBERS_OF_3_3 },
	{ .version = "3.4", MEMBERS_OF_3_3 },
};

const struct ruby_layout *ruby_layout_find(const char *version)
{
	for (size_t i = 0; i < sizeof(layouts) / sizeof(*layouts); i++) {
		size_t n = strlen(layouts[i].version);
		if (strncmp(version, layouts[i].version, n) == 0 && version[n] == '.')
			return &layouts[i];
	}
	return NULL;
}

/* x86-64: endbr64; mov variable(%rip), %rax, or lea and mov (%rax), %rax.  Where the variable has
 * its address in the global offset table, it is mov twice. */
bool ruby_layout_vm(const uint8_t *code, size_t n, uint64_t vaddr, uint64_t *ret,
		    bool *ret_is_indirect)
{
	static const uint8_t endbr[] = { 0xf3, 0x0f, 0x1e, 0xfa };
	static const uint8_t load[] = { 0x48, 0x8b, 0x00 };
	int32_t to;
	size_t at = n >= sizeof(endbr) && memcmp(code, endbr, sizeof(endbr)) == 0 ?
		sizeof(endbr) : 0;
	if (n < at + 10 || code[at] != 0x48 || code[at + 2] != 0x05)
		return false;
	bool has_load = memcmp(code + at + 7, load, sizeof(load)) == 0;
	memcpy(&to, code + at + 3, sizeof(to));
	*ret = vaddr + at + 7 + (uint64_t)(int64_t)to;
	*ret_is_indirect = code[at + 1] == 0x8b && has_load;
	return code[at + 1] == 0x8b || (code[at + 1] == 0x8d && has_load);
}
