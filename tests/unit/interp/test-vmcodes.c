/* Functions by what identifies them, and by their instructions. */

#include "interp/vmcodes.h"

#include "agg/vfuncs.h"
#include "tap.h"

#include <stdio.h>
#include <stdlib.h>

static struct vfuncs vfuncs;
static struct vmcodes codes = { .vfuncs = &vfuncs, .prefix = "php::" };

static struct runtime_function function(const char *name, uint64_t start)
{
	struct runtime_function f = { .start = start, .n_bytes = 96, .first_line = 3 };
	snprintf(f.name, sizeof(f.name), "%s", name);
	snprintf(f.file, sizeof(f.file), "/srv/a.php");
	f.lines.line = calloc(1, sizeof(*f.lines.line));
	return f;
}

static uint32_t add(uint64_t number, const char *name, uint64_t start)
{
	struct runtime_function_key key = { { number } };
	struct runtime_function f = function(name, start);
	return vmcodes_add(&codes, &key, &f);
}

static const char *name_of(uint32_t code)
{
	uint32_t line;
	const struct vfunc *f =
		vfuncs_at(&vfuncs, vfuncs_vaddr(codes.v.v[code].function, 0), &line);
	return strtab_get(&vfuncs.strings, f->name);
}

/* One whose name was on a page that was read before the function was made. */
static void check_young(void)
{
	uint32_t young = add(5, "garbage", 5000), unreadable = add(6, "gone", 6000);
	struct runtime_function f = function("young", 5000);
	tap_ok(!vmcodes_is_young(&codes, young), "the same reading says the same");
	codes.reading++;
	tap_ok(vmcodes_is_young(&codes, young), "a later one may say something else");
	vmcodes_read_again(&codes, young, &f);
	vmcodes_read_again(&codes, unreadable, NULL);
	tap_str(name_of(young), "php::young", "which replaces what was read too early");
	tap_str(name_of(unreadable), "php::gone", "unless it cannot be read");
	codes.reading++;
	tap_ok(!vmcodes_is_young(&codes, young) && !vmcodes_is_young(&codes, unreadable),
	       "two readings are enough");
}

static uint32_t find(uint64_t number)
{
	const struct runtime_function_key key = { { number } };
	return vmcodes_find(&codes, &key);
}

int main(void)
{
	vfuncs_init(&vfuncs, NULL);
	tap_ok(find(1) == VMCODES_NONE && vmcodes_of(&codes, 1000) == VMCODES_NONE,
	       "none at first");
	uint32_t a = add(1, "a", 1000), b = add(2, "b", 2000);
	tap_ok(find(1) == a && find(2) == b && find(3) == VMCODES_NONE, "by their keys");
	tap_ok(vmcodes_of(&codes, 1000) == a && vmcodes_of(&codes, 1095) == a &&
	       vmcodes_of(&codes, 1096) == VMCODES_NONE && vmcodes_of(&codes, 999) == VMCODES_NONE,
	       "by their instructions");
	tap_str(name_of(a), "php::a", "with the language's prefix");
	uint32_t c = add(4, "c", 1032);
	tap_ok(find(1) == a && vmcodes_of(&codes, 1000) == VMCODES_NONE &&
	       vmcodes_of(&codes, 1050) == c, "another one took its memory");
	check_young();
	uint32_t epoch = codes.epoch;
	vmcodes_limit(&codes);
	tap_ok(codes.epoch == epoch, "few are kept");
	for (uint64_t i = 0; i < 50001; i++)
		add(100 + i, "many", 10000 + 96 * i);
	vmcodes_limit(&codes);
	tap_ok(codes.epoch != epoch && find(1) == VMCODES_NONE, "of too many all are forgotten");
	vmcodes_done(&codes);
	vfuncs_done(&vfuncs);
	return tap_done();
}
