#include "base/err.h"
#include "base/cpus.h"
#include "tests/unit/event/machine.h"
#include "tests/unit/tap.h"

#include <errno.h>

/* "0 1 2", or "-EINVAL". */
static const char *parsed(const char *text)
{
	static char out[512];
	int *cpus = NULL;
	int n = cpus_parse(text, &cpus);
	size_t len = 0;
	if (n < 0)
		return n == -EINVAL && !cpus ? "-EINVAL" : "?";
	out[0] = '\0';
	for (int i = 0; i < n && len < sizeof(out) - 16; i++)
		len += (size_t)snprintf(out + len, sizeof(out) - len, "%s%d", i ? " " : "",
					cpus[i]);
	free(cpus);
	return out;
}

int main(void)
{
	static const struct { const char *text, *want;
	} cases[] = {
		{ "0\n", "0" },
		{ "0-3\n", "0 1 2 3" },
		{ "0-1,4,6-7\n", "0 1 4 6 7" },
		{ "5", "5" },
		{ "2-2", "2" },
		{ "65535", "65535" },
		{ "", "-EINVAL" },
		{ "\n", "-EINVAL" },
		{ "x", "-EINVAL" },
		{ "-1", "-EINVAL" },
		{ "1-", "-EINVAL" },
		{ "3-1", "-EINVAL" },
		{ "1,,2", "-EINVAL" },
		{ ",1", "-EINVAL" },
		{ "1,", "-EINVAL" },
		{ "1,\n", "-EINVAL" },
		{ "1 2", "-EINVAL" },
		{ "2,1", "-EINVAL" },
		{ "1,1", "-EINVAL" },
		{ "0-2,2", "-EINVAL" },
		{ "65536", "-EINVAL" },
		{ "0-99999999999999999999", "-EINVAL" },
		{ "0x1", "-EINVAL" },
		{ "0--1", "-EINVAL" },
		{ "0-3:1/2", "-EINVAL" },
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		char name[64];
		snprintf(name, sizeof(name), "'%.*s'", (int)strcspn(cases[i].text, "\n"),
			 cases[i].text);
		tap_str(parsed(cases[i].text), cases[i].want, name);
	}

	struct machine m;
	struct err e = { 0 };
	int *cpus = NULL;
	machine_open(&m);
	tap_ok(cpus_online(&m.host, &cpus, &e) == 4 && cpus[3] == 4, "a machine with a gap");
	free(cpus);
	machine_file(&m, "sys/devices/system/cpu/online", "0-\n");
	cpus = NULL;
	tap_int(cpus_online(&m.host, &cpus, &e), -EINVAL, "an invalid list");
	tap_ok(strstr(e.what, "'0-'") && !strchr(e.what, '\n') && !cpus,
	       "the message has it, in one line");
	machine_file(&m, "sys/devices/system/cpu/online", NULL);
	int n = cpus_online(&m.host, &cpus, &e);
	bool ascending = n == (int)sysconf(_SC_NPROCESSORS_ONLN);
	for (int i = 0; i < n; i++)
		ascending &= cpus[i] == i;
	tap_ok(ascending, "without a list: as many as the C library reports");
	free(cpus);
	uint64_t ns = 7;
	uint64_t tick_ns = 1000000000u / (uint64_t)sysconf(_SC_CLK_TCK);
	machine_file(&m, "proc/stat",
		     "cpu  1111 2222 3333 4444 5555 6666 7777 8888 9999 0\n"
		     "cpu0 1 2 4 1000 1000 8 16 1000 1000 1000\n"
		     "cpu3 100 0 0 1000 1000 0 0 1000 0 0\n"
		     "intr 1 2 3 4 5 6 7 8 9\ncpufoo 1 2 3 4 5 6 7\n");
	tap_ok(cpus_busy_ns(&m.host, NULL, &ns) == 0 && ns == 131 * tick_ns,
	       "busy: user, nice, system, irq, softirq of all CPUs");
	tap_ok(cpus_busy_ns(&m.host, "3-8", &ns) == 0 && ns == 100 * tick_ns,
	       "busy time of CPUs on a list");
	tap_ok(cpus_busy_ns(&m.host, "1,2", &ns) == -EINVAL && ns == 100 * tick_ns,
	       "unknown for CPUs that do not exist");
	machine_file(&m, "proc/stat", NULL);
	tap_int(cpus_busy_ns(&m.host, NULL, &ns), -ENOENT, "and without the file");
	machine_close(&m);
	return tap_done();
}
