#include "recorder/lostadvice.h"
#include "tests/unit/tap.h"

static void advises(struct lostadvice_seen s, const char *text, const char *name)
{
	char got[128];
	lostadvice_text(&s, got, sizeof(got));
	tap_str(got, text, name);
}

int main(void)
{
	struct lostadvice_seen s = { .scope = CPROF_SCOPE_CGROUP, .is_command = true,
				     .may_cgroup = true, .n_samples = 1000, .may_bpf = true,
				     .ring_bytes = 4 << 20, .fitting_bytes = UINT64_MAX };
	advises(s, "--ring-size 8M, lower -F", "only the target's samples were read");
	s.scope = CPROF_SCOPE_CPU;
	s.n_foreign = 100;
	advises(s, "--ring-size 8M, lower -F", "few of other tasks");
	s.n_foreign = 9000;
	advises(s, "--scope cgroup, --ring-size 8M, lower -F", "a command beside busy neighbours");
	s.may_cgroup = false;
	advises(s, "--scope task, --ring-size 8M, lower -F",
		"  without cgroups, and the kernel refuses the filter");
	s.may_bpf = false;
	advises(s, "CAP_BPF or --scope task, --ring-size 8M, lower -F",
		"  without the right to it");
	s.is_command = false;
	s.may_cgroup = true;
	advises(s, "CAP_BPF or --scope task, --ring-size 8M, lower -F", "a running process");
	s.no_bpf = true;
	advises(s, "CAP_BPF or --scope task, --ring-size 8M, lower -F",
		"  --no-bpf, which changes nothing");
	s.may_bpf = true;
	advises(s, "leave out --no-bpf, --ring-size 8M, lower -F", "  --no-bpf, which does");
	s.scope = CPROF_SCOPE_TASK;
	advises(s, "--ring-size 8M, lower -F", "events of threads read nothing else");
	s.scope = CPROF_SCOPE_CPU;
	s.all_processes = true;
	advises(s, "--ring-size 8M, lower -F", "all processes are wanted");
	s.is_period = true;
	advises(s, "--ring-size 8M, larger -c", "a period");
	s.is_period = false;
	s.fitting_bytes = 4 << 20;
	advises(s, "--ring-size 8M with more locked memory (ulimit -l), lower -F",
		"an ordinary user's limit");
	s.fitting_bytes = 8 << 20;
	s.ring_bytes = 64 << 10;
	advises(s, "--ring-size 128K, lower -F", "a small ring");
	s.ring_bytes = 512 << 10;
	advises(s, "--ring-size 1M, lower -F", "half a mebibyte");
	s.ring_bytes = 0;
	advises(s, "--ring-size, lower -F", "no ring");
	return tap_done();
}
