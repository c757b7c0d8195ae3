#include "source/live/ringsize.h"
#include "tests/unit/tap.h"

#define MIB (UINT64_C(1) << 20)

static const struct { const char *name; struct ringsize z; unsigned want_kib; } table[] = {
	{ "the default", { true, false, 999, 2, 128 * MIB }, 4096 },
	{ "without copies", { false, false, 999, 2, 128 * MIB }, 2048 },
	{ "a high rate", { true, false, 5000, 2, 128 * MIB }, 8192 },
	{ "a rate at which rings fill soon", { true, false, 50000, 2, 128 * MIB }, 16384 },
	{ "the same with 32 CPUs", { true, false, 50000, 32, 128 * MIB }, 4096 },
	{ "a period instead of a rate", { true, false, 0, 2, 128 * MIB }, 4096 },
	{ "a program that records itself", { true, true, 999, 2, 128 * MIB }, 16384 },
	{ "the same without copies", { false, true, 999, 2, 128 * MIB }, 2048 },
	{ "16 CPUs, a high rate", { true, false, 5000, 16, 128 * MIB }, 8192 },
	{ "32 CPUs", { true, false, 999, 32, 128 * MIB }, 4096 },
	{ "128 CPUs", { true, false, 999, 128, 128 * MIB }, 1024 },
	{ "256 CPUs", { true, false, 999, 256, 128 * MIB }, 512 },
	{ "256 CPUs with more memory", { true, false, 999, 256, 1024 * MIB }, 4096 },
	{ "4096 CPUs", { true, false, 999, 4096, 128 * MIB }, 128 },
	{ "no limit", { true, false, 999, 4096, 0 }, 4096 },
	{ "little memory", { true, false, 999, 2, 1 * MIB }, 512 },
};

int main(void)
{
	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++)
		tap_int((long long)(ringsize_choose(&table[i].z) / 1024), table[i].want_kib,
			table[i].name);
	tap_int((long long)ringsize_wakeup(MIB, 5000), MIB / 4,
		"the reader of a small ring wakes up when a quarter is full");
	tap_int((long long)ringsize_wakeup(8 * MIB, 5000), 4 * MIB,
		"that of a large one at a half");
	tap_int((long long)ringsize_wakeup(8 * MIB, 0), 2 * MIB,
		"a large ring at an unknown rate: at a quarter");
	tap_int((long long)ringsize_wakeup(8 * MIB, 50000), 2 * MIB,
		"but at a high rate at a quarter, too");
	return tap_done();
}
