/* The settings of a machine and the command line of a process, read below given folders. */
#include "cmd/record/exclusive.h"

#include "base/host.h"
#include "tests/unit/tap.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static void put(const char *path, const char *text, size_t n)
{
	FILE *f = fopen(path, "w");
	if (f) {
		fwrite(text, 1, n, f);
		fclose(f);
	}
}
#define PUT(path, text) put(path, text, sizeof(text) - 1)

static void test_command_line(const struct host *h)
{
	char text[EXCLUSIVE_TEXT_MAX];
	PUT("42/cmdline", "cprof\0record\0--exclusive\0");
	tap_str(exclusive_command_line(h, 42, text), "cprof record --exclusive",
		"a command line is read below the given /proc");
	tap_str(exclusive_command_line(h, 43, text), "", "a process that has ended has none");
}

int main(void)
{
	char dir[] = "/tmp/test-exclusive-XXXXXX", text[EXCLUSIVE_TEXT_MAX];
	struct host h;
	if (!mkdtemp(dir) || chdir(dir) < 0)
		return 1;
	mkdir("42", 0700);
	mkdir("devices", 0700);
	mkdir("devices/system", 0700);
	mkdir("devices/system/cpu", 0700);
	if (host_open(&h, ".", ".", ".", NULL) < 0 || chdir("devices/system/cpu") < 0)
		return 1;
	tap_str(exclusive_describe(&h, text), "governor unknown, turbo unknown, SMT unknown",
		"a machine without these files");
	mkdir("cpu0", 0700);
	mkdir("cpu0/cpufreq", 0700);
	mkdir("cpu1", 0700);
	mkdir("cpu1/cpufreq", 0700);
	mkdir("intel_pstate", 0700);
	mkdir("cpufreq", 0700);
	mkdir("smt", 0700);
	PUT("cpu0/cpufreq/scaling_governor", "performance\n");
	PUT("cpu1/cpufreq/scaling_governor", "performance\n");
	PUT("intel_pstate/no_turbo", "1\n");
	PUT("smt/active", "1\n");
	tap_str(exclusive_describe(&h, text), "governor performance, turbo off, SMT on",
		"intel_pstate");
	PUT("cpu1/cpufreq/scaling_governor", "powersave\n");
	unlink("intel_pstate/no_turbo");
	PUT("cpufreq/boost", "1\n");
	PUT("smt/active", "0\n");
	tap_str(exclusive_describe(&h, text), "governor mixed, turbo on, SMT off",
		"other drivers, and CPUs that differ");
	if (chdir(dir) < 0)
		return 1;
	test_command_line(&h);
	host_close(&h);
	char remove[64];
	snprintf(remove, sizeof(remove), "rm -rf %s", dir);
	if (chdir("/") == 0 && system(remove) != 0)
		return 1;
	return tap_done();
}
