#include "cmd/record/exclusive.h"
#include "tests/unit/tap.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static void put(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");
	if (f) {
		fputs(text, f);
		fclose(f);
	}
}

int main(void)
{
	char dir[] = "/tmp/test-exclusive-XXXXXX", text[EXCLUSIVE_TEXT_MAX];
	if (!mkdtemp(dir) || chdir(dir) < 0)
		return 1;
	tap_str(exclusive_describe(".", text), "governor unknown, turbo unknown, SMT unknown",
		"a machine that tells nothing");
	mkdir("cpu0", 0700);
	mkdir("cpu0/cpufreq", 0700);
	mkdir("cpu1", 0700);
	mkdir("cpu1/cpufreq", 0700);
	mkdir("intel_pstate", 0700);
	mkdir("cpufreq", 0700);
	mkdir("smt", 0700);
	put("cpu0/cpufreq/scaling_governor", "performance\n");
	put("cpu1/cpufreq/scaling_governor", "performance\n");
	put("intel_pstate/no_turbo", "1\n");
	put("smt/active", "1\n");
	tap_str(exclusive_describe(".", text), "governor performance, turbo off, SMT on",
		"intel_pstate");
	put("cpu1/cpufreq/scaling_governor", "powersave\n");
	unlink("intel_pstate/no_turbo");
	put("cpufreq/boost", "1\n");
	put("smt/active", "0\n");
	tap_str(exclusive_describe(".", text), "governor mixed, turbo on, SMT off", "others");
	char remove[64];
	snprintf(remove, sizeof(remove), "rm -rf %s", dir);
	if (chdir("/") == 0 && system(remove) != 0)
		return 1;
	return tap_done();
}
