#include "base/rights.h"
#include "tap.h"

#include <linux/capability.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#define PERFMON (UINT64_C(1) << 38)
#define SYS_PTRACE (UINT64_C(1) << CAP_SYS_PTRACE)
#define SYS_ADMIN (UINT64_C(1) << CAP_SYS_ADMIN)
#define DAC_OVERRIDE (UINT64_C(1) << CAP_DAC_OVERRIDE)

/* As the kernel shows it; -1 if it shows nothing. */
static uint64_t shown(const char *format)
{
	unsigned long long value = UINT64_MAX;
	char line[256];
	FILE *f = fopen("/proc/thread-self/status", "re");
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, format, &value) == 1)
			break;
	if (f)
		fclose(f);
	return value;
}

static uint64_t effective(void)
{
	return shown("CapEff: %llx");
}

int main(void)
{
	tap_ok(rights_useful(UINT64_MAX) & PERFMON && !(rights_useful(UINT64_MAX) & DAC_OVERRIDE),
	       "rights over files are of no use");
	tap_ok(!(rights_useful(PERFMON | SYS_ADMIN) & SYS_ADMIN) &&
	       rights_useful(SYS_ADMIN) == SYS_ADMIN, "CAP_SYS_ADMIN only where there is no other");
	uint64_t before = effective();
	tap_ok(rights_permitted() == shown("CapPrm: %llx"), "the permitted capabilities");
	tap_ok(!rights_are_kept() && !rights_raise() && effective() == before,
	       "without a limit nothing is managed");
	tap_int(rights_drop(), 0, "without a limit nothing is dropped");
	tap_ok(effective() == before, "  the capabilities are the same");

	uint64_t keep = rights_permitted() & SYS_PTRACE;
	tap_int(rights_limit(SYS_PTRACE), 0, "a limit");
	tap_ok(effective() == 0 && rights_permitted() == keep, "  nothing is effective any more");
	tap_ok(rights_are_kept() == (keep != 0), "  what is kept");
	bool outer = rights_raise();
	tap_ok(outer == (keep != 0) && effective() == keep, "raised");
	{
		CLEANUP_RIGHTS bool inner = rights_raise();
		tap_ok(!inner, "raised within raised");
	}
	tap_ok(effective() == keep, "  the inner end changes nothing");
	rights_lower(&outer);
	tap_ok(effective() == 0 && rights_permitted() == keep, "lowered");
	pid_t pid = fork();
	if (pid == 0)
		_exit(effective() == 0 ? 0 : 1);
	int status = 1;
	waitpid(pid, &status, 0);
	tap_int(status, 0, "a child has nothing effective");
	tap_int(rights_drop(), 0, "dropped");
	tap_ok(!rights_are_kept() && !rights_raise() && rights_permitted() == 0,
	       "  for good");
	return tap_done();
}
