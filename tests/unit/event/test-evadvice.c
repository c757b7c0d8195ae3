/* The table of causes, and remedies that depend on the machine. */
#include "event/evadvice.h"

#include "event/evfield.h"

#include "event/machine.h"
#include "tap.h"

static struct machine m;
static struct perf_event_attr attr = { .type = PERF_TYPE_SOFTWARE, .exclude_kernel = 0 };
static const struct evfield field = { "exclude_kernel", 1, NULL };

static void find(enum evcause cause, struct evadvice *ret)
{
	const struct evcause_request r = { NULL, &attr, 0, -1, 0, &field };
	evadvice_find(&m.host, &r, cause, ret);
}

static void test_table(void)
{
	struct evadvice a;
	bool has_brief = true, has_reason = true, fits = true;
	size_t n_remedies = 0;
	for (int i = 0; i < EVCAUSE_N_CAUSES; i++) {
		find(i, &a);
		has_brief &= evadvice_brief(i) && strlen(evadvice_brief(i)) <= 40;
		has_reason &= i == EVCAUSE_OTHER || a.reason[0];
		fits &= a.n_remedies < EVADVICE_REMEDIES_MAX && !strchr(a.reason, '\n');
		for (size_t k = 0; k < a.n_remedies; k++)
			fits &= a.remedy[k].words[0] &&
				strlen(a.remedy[k].words) + 1 < sizeof(a.remedy[k].words);
		n_remedies += a.n_remedies;
	}
	tap_ok(has_brief, "each cause has a few words");
	tap_ok(has_reason, "each cause but the errno itself has a reason");
	tap_ok(fits, "remedies fit, with room for one more");
	tap_ok(n_remedies > EVCAUSE_N_CAUSES, "most causes have remedies: %zu", n_remedies);
}

static void test_machine(void)
{
	struct evadvice a;
	machine_rights(&m, 2, 0, 0);
	find(EVCAUSE_PARANOID_KERNEL, &a);
	tap_int((long long)a.n_remedies, 3, "the kernel's side: three remedies");
	tap_int(a.remedy[1].kind, CPROF_REMEDY_CAPABILITY, "  a capability");
	tap_str(a.remedy[1].command, "cap_perfmon", "  by the name that setcap takes");
	tap_str(a.remedy[2].command, "sysctl kernel.perf_event_paranoid=1", "  a sysctl");
	find(EVCAUSE_BUSY, &a);
	tap_int((long long)a.n_remedies, 1, "without the NMI watchdog no remedy mentions it");
	machine_file(&m, "proc/sys/kernel/nmi_watchdog", "1\n");
	find(EVCAUSE_BUSY, &a);
	tap_str(a.remedy[1].command, "sysctl kernel.nmi_watchdog=0", "a remedy disables it");
	find(EVCAUSE_SECCOMP, &a);
	tap_ok(a.n_remedies == 2 && a.remedy[1].also, "a container needs the sysctl as well");
	find(EVCAUSE_NO_PMU, &a);
	tap_ok(a.remedy[1].only_doctor, "the set-up of a hypervisor is left to cprof doctor");
}

int main(void)
{
	machine_open(&m);
	test_table();
	test_machine();
	machine_close(&m);
	return tap_done();
}
