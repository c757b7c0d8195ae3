/*
 * Members of structures in debug information (dwinput.h).  The seeds are the structures g, gobuf
 * and m, compiled by gcc and clang with "-g -std=c11 -c", in DWARF 2 to 5, and in 64-bit DWARF 5.
 */

#include "symbolize/dwarf/dwmember.h"
#include "tests/fuzz/dwinput.h"

#include <dwarf.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint16_t language[] = { DW_LANG_C11, DW_LANG_C99 };
	struct dwinput in;
	dwinput_open(&in, data, size);
	for (size_t k = 0; k < 2; k++) {
		struct dwmember m[] = {
			{ .type = "g", .name = "goid" }, { .type = "g", .name = "sched" },
			{ .type = "gobuf", .name = "pc" }, { .type = "m", .name = "curg" },
			{ .type = "m" }, { .type = "guintptr" },
		};
		dwmember_find(&in.file, language[k], m, sizeof(m) / sizeof(*m));
		for (size_t i = 0; i < sizeof(m) / sizeof(*m); i++)
			if (m[i].is_found && !m[i].name && m[i].off)
				abort();
	}
	if (in.file.out_of_memory)
		abort();
	dwinput_close(&in);
	return 0;
}
