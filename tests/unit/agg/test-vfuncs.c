#include "agg/vfuncs.h"

#include "base/budget.h"
#include "tap.h"

#include <stdio.h>

int main(void)
{
	struct budget b;
	struct vfuncs f;
	char name[32];
	uint32_t line, n_refused = 0;
	budget_init(&b, 0);
	tap_int(vfuncs_init(&f, &b), 0, "init");
	uint32_t pay = vfuncs_add(&f, "py::pay", "a.py", 3);
	tap_ok(pay == 0 && vfuncs_add(&f, "py::pay", "b.py", 3) == 1 &&
	       vfuncs_add(&f, "py::pay", "a.py", 4) == 2 && vfuncs_add(&f, "py::x", "a.py", 3) == 3,
	       "functions differ by name, file and first line");
	tap_ok(vfuncs_add(&f, "py::pay", "a.py", 3) == pay && f.n == 4, "equal ones are one");
	const struct vfunc *v = vfuncs_at(&f, vfuncs_vaddr(1, 77), &line);
	tap_ok(v && line == 77, "a frame is a function and a line");
	tap_str(strtab_get(&f.strings, v->file), "b.py", "its file");
	tap_ok(!vfuncs_at(&f, vfuncs_vaddr(4, 1), &line), "an unknown function");
	tap_ok(vfuncs_add(&f, "", "a.py", 3) == VFUNCS_NONE, "without a name there is none");
	vfuncs_done(&f);
	tap_int((long long)b.used_bytes, 0, "all memory is released");

	budget_init(&b, 100000);
	vfuncs_init(&f, &b);
	for (int i = 0; i < 20000; i++) {
		snprintf(name, sizeof(name), "py::f%d", i);
		n_refused += vfuncs_add(&f, name, "a.py", 1) == VFUNCS_NONE;
	}
	tap_ok(n_refused && b.used_bytes < 150000, "the budget limits them");
	vfuncs_done(&f);
	return tap_done();
}
