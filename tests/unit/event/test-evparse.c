/* The grammar on different machines: hybrid, AMD, big.LITTLE, scattered fields; and with the
 * tracepoints, breakpoints, probes and groups that every machine has. */
#include "event/evparse.h"
#include "event/evspec.h"

#include "base/err.h"

#include <errno.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>

#include "machine.h"
#include "tap.h"

static struct machine m;

#define DEVICES "sys/bus/event_source/devices/"

static void pmu(const char *name, const char *type, const char *cpus)
{
	char path[300];
	snprintf(path, sizeof(path), DEVICES "%s/type", name);
	machine_file(&m, path, type);
	snprintf(path, sizeof(path), DEVICES "%s/cpus", name);
	if (cpus)
		machine_file(&m, path, cpus);
}

static void file(const char *name, const char *path, const char *text)
{
	char full[300];
	snprintf(full, sizeof(full), DEVICES "%s/%s", name, path);
	machine_file(&m, full, text);
}

/* The result of parsing the text, one line for each event that is opened. */
static const char *lines(const char *text, char out[4000])
{
	struct evspec_list l = { NULL, 0, 0, 0 };
	struct err e = { 0 };
	size_t n = 0;
	out[0] = '\0';
	int r = evparse_list(&l, &m.host, text, &e);
	if (r < 0)
		snprintf(out, 4000, "%d %s", r, e.what);
	for (size_t i = 0; i < l.n; i++) {
		const struct evspec *s = &l.v[i];
		n += (size_t)snprintf(out + n, 4000 - n, "%s%u %s type %u config %llx",
				      i ? "\n" : "", s->output, s->name, s->type,
				      (unsigned long long)s->config);
		if (s->config1 | s->config2 | s->config3)
			n += (size_t)snprintf(out + n, 4000 - n, " %llx %llx %llx",
					      (unsigned long long)s->config1,
					      (unsigned long long)s->config2,
					      (unsigned long long)s->config3);
		if (s->pmu[0])
			n += (size_t)snprintf(out + n, 4000 - n, " pmu %s", s->pmu);
		if (s->cpus)
			n += (size_t)snprintf(out + n, 4000 - n, " cpus %s", s->cpus);
		if (s->group)
			n += (size_t)snprintf(out + n, 4000 - n, " group %u%s%s", s->group,
					      s->group_sample ? "S" : "", s->weak ? "W" : "");
		if (s->rate)
			n += (size_t)snprintf(out + n, 4000 - n, " rate %llu",
					      (unsigned long long)s->rate);
	}
	evspec_list_done(&l);
	return out;
}

static void is(const char *text, const char *want)
{
	char out[4000];
	tap_str(lines(text, out), want, text);
}

static void scattered(void)
{
	machine_open(&m);
	pmu("cpu", "4\n", NULL);
	file("cpu", "format/event", "config:0-7,32-35\n");
	file("cpu", "format/umask", "config:8-15\n");
	file("cpu", "format/inv", "config:23\n");
	file("cpu", "format/ldlat", "config1:0-15\n");
	file("cpu", "format/odd", "config2:1,3,60-63\n");
	file("cpu", "format/far", "config3:0-63\n");
	file("cpu", "format/bad", "config:9-3\n");
	file("cpu", "events/mem-loads", "event=0xcd,umask=0x1,ldlat=3\n");
	file("cpu", "events/mem-loads.unit", "loads\n");
	file("cpu", "events/mem-loads.scale", "0.5\n");
	file("cpu", "events/of-domain", "event=0x10,umask=?\n");
	is("cpu/event=0xd1,umask=0x01,name=l1_hit/", "0 l1_hit type 4 config 1d1");
	is("cpu/event=0x1d1/", "0 cpu/event=0x1d1/ type 4 config 1000000d1");
	is("cpu/event=0xfff,inv/u", "0 cpu/event=0xfff,inv/:u type 4 config f008000ff");
	is("cpu/odd=0x3f/", "0 cpu/odd=0x3f/ type 4 config 0 0 f00000000000000a 0");
	is("cpu/odd=0x5/", "0 cpu/odd=0x5/ type 4 config 0 0 1000000000000002 0");
	is("cpu/far=0xffffffffffffffff/",
	   "0 cpu/far=0xffffffffffffffff/ type 4 config 0 0 0 ffffffffffffffff");
	is("cpu/config=0x12,config1=3,config2=4,config3=5/",
	   "0 cpu/config=0x12,config1=3,config2=4,config3=5/ type 4 config 12 3 4 5");
	is("cpu/r1a8/", "0 cpu/r1a8/ type 4 config 1a8");
	is("cpu/mem-loads/", "0 cpu/mem-loads/ type 4 config 1cd 3 0 0");
	is("cpu/mem-loads,ldlat=30/P", "0 cpu/mem-loads,ldlat=30/:P type 4 config 1cd 1e 0 0");
	is("mem-loads:pp", "0 mem-loads:pp type 4 config 1cd 3 0 0");
	is("mem-loads/ldlat=5,period=7/", "0 mem-loads/ldlat=5/ type 4 config 1cd 5 0 0 rate 7");
	is("cpu/of-domain,umask=7/", "0 cpu/of-domain,umask=7/ type 4 config 710");
	is("cpu//", "0 cpu// type 4 config 0");
	is("cycles", "0 cycles type 0 config 0");
	is("r1a8", "0 r1a8 type 4 config 1a8");
	is("cpu/umask=0x100/", "-22 256 is too large: 'umask' of PMU 'cpu' has 8 bits, at "
	   "character "
	   "5 of 'cpu/umask=0x100/'");
	is("cpu/umask=x/", "-22 'x' is not a number, at character 5 of 'cpu/umask=x/'");
	is("cpu/bad=1/", "-22 the kernel's format of 'bad' is not understood, at character 5 of "
	   "'cpu/bad=1/'");
	is("cpu/umask=1,color=2/", "-2 PMU 'cpu' has no event or field 'color=2', at character "
	   "13 of "
	   "'cpu/umask=1,color=2/'");
	is("cpu/mem-loads.unit/", "-2 PMU 'cpu' has no event or field 'mem-loads.unit', at "
	   "character "
	   "5 of 'cpu/mem-loads.unit/'");
	is("gpu/event=1/", "-2 this machine has no event or PMU 'gpu'");
	struct evspec_list l = { NULL, 0, 0, 0 };
	tap_ok(evparse_list(&l, &m.host, "mem-loads", NULL) == 0 && l.v[0].scale == 0.5 &&
	       strcmp(l.v[0].unit, "loads") == 0, "scale and unit of an event");
	evspec_list_done(&l);
	machine_close(&m);
}

static void hybrid(void)
{
	machine_open(&m);
	pmu("cpu_core", "4\n", "0-1\n");
	pmu("cpu_atom", "10\n", "2,4\n");
	file("cpu_core", "format/event", "config:0-7\n");
	file("cpu_atom", "format/event", "config:0-7\n");
	file("cpu_core", "format/frontend", "config1:0-23\n");
	file("cpu_core", "events/slots", "event=0x00\n");
	is("cycles", "0 cycles type 0 config a00000000 pmu cpu_atom cpus 2,4\n"
	   "0 cycles type 0 config 400000000 pmu cpu_core cpus 0-1");
	is("LLC-loads:u", "0 LLC-loads:u type 3 config a00000002 pmu cpu_atom cpus 2,4\n"
	   "0 LLC-loads:u type 3 config 400000002 pmu cpu_core cpus 0-1");
	is("r1c2", "0 r1c2 type 10 config 1c2 pmu cpu_atom cpus 2,4\n"
	   "0 r1c2 type 4 config 1c2 pmu cpu_core cpus 0-1");
	is("cpu/event=0xc0/", "0 cpu/event=0xc0/ type 10 config c0 pmu cpu_atom cpus 2,4\n"
	   "0 cpu/event=0xc0/ type 4 config c0 pmu cpu_core cpus 0-1");
	is("cpu_atom/event=0xc0/", "0 cpu_atom/event=0xc0/ type 10 config c0 cpus 2,4");
	is("cpu/event=1,frontend=2/",
	   "0 cpu/event=1,frontend=2/ type 4 config 1 2 0 0 cpus 0-1");
	is("slots", "0 slots type 4 config 0 cpus 0-1");
	is("cpu-clock", "0 cpu-clock type 1 config 0");
	is("{cycles,instructions,page-faults}:S",
	   "0 cycles type 0 config a00000000 pmu cpu_atom cpus 2,4 group 1S\n"
	   "1 instructions type 0 config a00000001 pmu cpu_atom cpus 2,4 group 1S\n"
	   "2 page-faults type 1 config 2 pmu cpu_atom cpus 2,4 group 1S\n"
	   "0 cycles type 0 config 400000000 pmu cpu_core cpus 0-1 group 2S\n"
	   "1 instructions type 0 config 400000001 pmu cpu_core cpus 0-1 group 2S\n"
	   "2 page-faults type 1 config 2 pmu cpu_core cpus 0-1 group 2S");
	machine_close(&m);
}

static void other_machines(void)
{
	machine_open(&m);
	pmu("cpu", "4\n", NULL);
	pmu("ibs_op", "11\n", NULL);
	file("ibs_op", "format/cnt_ctl", "config:19\n");
	pmu("uncore_imc_0", "20\n", NULL);
	pmu("uncore_imc_1", "21\n", NULL);
	file("uncore_imc_0", "cpumask", "0\n");
	file("uncore_imc_1", "cpumask", "4\n");
	file("uncore_imc_0", "format/event", "config:0-7\n");
	file("uncore_imc_1", "format/event", "config:0-7\n");
	is("ibs_op//", "0 ibs_op// type 11 config 0");
	/* Names that differ only after 31 bytes. */
#define LONG "pmu_with_a_name_of_many_letters"
	pmu(LONG "_0", "30\n", NULL);
	pmu(LONG "_1", "31\n", NULL);
	file(LONG "_0", "cpumask", "0\n");
	file(LONG "_1", "cpumask", "4\n");
	file(LONG "_0", "format/event", "config:0-7\n");
	file(LONG "_1", "format/event", "config:0-7\n");
	is("{" LONG "/event=1/}", "0 " LONG "/event=1/ type 30 config 1 pmu " LONG "_0 cpus 0 "
	   "group 1\n"
	   "0 " LONG "/event=1/ type 31 config 1 pmu " LONG "_1 cpus 4 group 2");
#undef LONG
	is("ibs_op/cnt_ctl=1,period=100000/p",
	   "0 ibs_op/cnt_ctl=1/:p type 11 config 80000 rate 100000");
	is("uncore_imc/event=4/", "0 uncore_imc/event=4/ type 20 config 4 pmu uncore_imc_0 cpus 0\n"
	   "0 uncore_imc/event=4/ type 21 config 4 pmu uncore_imc_1 cpus 4");
	is("uncore_*/event=4/", "0 uncore_*/event=4/ type 20 config 4 pmu uncore_imc_0 cpus 0\n"
	   "0 uncore_*/event=4/ type 21 config 4 pmu uncore_imc_1 cpus 4");
	machine_close(&m);

	machine_open(&m);
	pmu("armv8_cortex_a53", "8\n", "0-1\n");
	pmu("armv8_cortex_a72", "9\n", "2-3\n");
	file("armv8_cortex_a53", "events/l1d_cache", "event=0x004\n");
	file("armv8_cortex_a72", "events/l1d_cache", "event=0x004\n");
	file("armv8_cortex_a53", "format/event", "config:0-15\n");
	file("armv8_cortex_a72", "format/event", "config:0-15\n");
	is("l1d_cache:u", "0 l1d_cache:u type 8 config 4 pmu armv8_cortex_a53 cpus 0-1\n"
	   "0 l1d_cache:u type 9 config 4 pmu armv8_cortex_a72 cpus 2-3");
	is("instructions", "0 instructions type 0 config 800000001 pmu armv8_cortex_a53 cpus 0-1\n"
	   "0 instructions type 0 config 900000001 pmu armv8_cortex_a72 cpus 2-3");
	machine_close(&m);
}

static void tracepoints(void)
{
	machine_open(&m);
	is("sched:sched_switch", "-19 tracepoint 'sched:sched_switch': tracefs is not mounted");
	struct evspec_list l = { NULL, 0, 0, 0 };
	struct err e = { 0 };
	evparse_list(&l, &m.host, "cycles,sched:sched_switch", &e);
	tap_str(e.hint, "cycles,sched:sched_switch\n       ^\nmount -t tracefs nodev "
		"/sys/kernel/tracing", "the hint has the command that mounts it");
	machine_file(&m, "sys/kernel/debug/tracing/events/irq/irq_entry/id", "7\n");
	is("irq:irq_entry", "0 irq:irq_entry type 2 config 7");
	machine_file(&m, "sys/kernel/tracing/events/sched/sched_switch/id", "314\n");
	machine_file(&m, "sys/kernel/tracing/events/sched/sched_wakeup/id", "315\n");
	machine_file(&m, "sys/kernel/tracing/events/sched/sched_wakeup_new/id", "316\n");
	machine_file(&m, "sys/kernel/tracing/events/sched/enable", "0\n");
	is("sched:sched_switch", "0 sched:sched_switch type 2 config 13a");
	is("sched:sched_switch:k", "0 sched:sched_switch:k type 2 config 13a");
	is("sched:sched_switch/period=10,name=sw/", "0 sw type 2 config 13a rate 10");
	is("cycles,sched:sched_wake*,r1",
	   "0 cycles type 0 config 0\n1 sched:sched_wakeup type 2 config 13b\n"
	   "2 sched:sched_wakeup_new type 2 config 13c\n3 r1 type 4 config 1");
	is("sched:none", "-2 there is no tracepoint 'sched:none'");
	is("none:*", "-2 there is no tracepoint 'none:*'");
	is("sched:", "-22 unknown event 'sched'");
	is("sched:sched_switch:u", "-22 'sched:sched_switch' happens inside the kernel: with 'u' "
	   "there is never a sample, at character 20 of 'sched:sched_switch:u'");
	is("sched:sched_switch:p", "-22 modifier 'p' has no meaning for 'sched:sched_switch': "
	   "only a "
	   "PMU can be precise, at character 20 of 'sched:sched_switch:p'");
	tap_ok(evparse_list(&l, &m.host, "sched:sched_switch:k", NULL) == 0 &&
	       evspec_in_kernel(&l.v[0]) && evspec_is_mark(&l.v[0]), "it is in the kernel");
	char type[EVSPEC_NAME_MAX], part[EVSPEC_NAME_MAX];
	const char *unit;
	evspec_sample_type(&l.v[0], type, &unit);
	evspec_file_part(&l.v[0], part);
	tap_str(type, "sched_sched_switch", "its sample type");
	tap_str(unit, "count", "and unit");
	tap_str(part, "sched-sched_switch-k", "and part of a file name");
	evspec_list_done(&l);
	machine_close(&m);
}

static void breakpoint(const char *text, uint32_t type, uint64_t vaddr, uint64_t n_bytes)
{
	struct evspec_list l = { NULL, 0, 0, 0 };
	struct err e = { 0 };
	int r = evparse_list(&l, NULL, text, &e);
	tap_ok(r == 0 && l.n == 1 && l.v[0].type == PERF_TYPE_BREAKPOINT &&
	       l.v[0].bp_type == type && l.v[0].config1 == vaddr && l.v[0].config2 == n_bytes,
	       "%s", text);
	evspec_list_done(&l);
}

static void marks(const char *self)
{
	char text[PATH_MAX + 100], out[4000], want[PATH_MAX + 100];
	machine_open(&m);
	breakpoint("mem:0x601040", HW_BREAKPOINT_RW, 0x601040, 4);
	breakpoint("mem:0x601040/8:w", HW_BREAKPOINT_W, 0x601040, 8);
	breakpoint("mem:4096/1:rw", HW_BREAKPOINT_RW, 4096, 1);
	breakpoint("mem:0x401136:x", HW_BREAKPOINT_X, 0x401136, sizeof(long));
	breakpoint("mem:0x401136:r:u", HW_BREAKPOINT_R, 0x401136, 4);
	breakpoint("mem:0x601040/4/name=counter,period=3/u", HW_BREAKPOINT_RW, 0x601040, 4);
	is("mem:0x601040/8:w:u", "0 mem:0x601040/8:w:u type 5 config 0 601040 8 0");
	is("mem:here", "-22 a breakpoint needs an address, at character 5 of 'mem:here'");
	is("mem:0x10/3:w", "-22 a breakpoint is 1, 2, 4 or 8 bytes long, at character 10 of "
	   "'mem:0x10/3:w'");
	is("mem:0x10:rx", "-22 'x' (execution) excludes 'r' and 'w', at character 10 of "
	   "'mem:0x10:rx'");

	snprintf(text, sizeof(text), "uprobe:%s:main", self);
	tap_ok(strncmp(lines(text, out), "-19 this kernel has no uprobes", 30) == 0,
	       "a probe without the kernel's help");
	pmu("uprobe", "8\n", NULL);
	file("uprobe", "format/retprobe", "config:0\n");
	struct evspec_list l = { NULL, 0, 0, 0 };
	tap_ok(evparse_list(&l, &m.host, text, NULL) == 0 && l.v[0].type == 8 && l.v[0].path &&
	       strcmp(l.v[0].path, self) == 0 && l.v[0].config2 && !l.v[0].config,
	       "a probe has a path and an offset");
	uint64_t off = l.n ? l.v[0].config2 : 0;
	const char *base = strrchr(self, '/');
	snprintf(want, sizeof(want), "uprobe:%.40s:main", base ? base + 1 : self);
	tap_str(l.n ? l.v[0].name : "", want, "its name is short");
	evspec_list_done(&l);
	snprintf(text, sizeof(text), "{cycles,uprobe:%s:main+4%%return/period=2,name=m/},r1", self);
	tap_ok(evparse_list(&l, &m.host, text, NULL) == 0 && l.n == 3 &&
	       l.v[1].config2 == off + 4 && l.v[1].config == 1 && l.v[1].rate == 2 &&
	       l.v[1].group == 1 && l.v[2].group == 0, "in a list and a group, with an offset, at "
	       "returns, with terms");
	evspec_list_done(&l);
	snprintf(text, sizeof(text), "uprobe:%s:no_such_function", self);
	snprintf(want, sizeof(want), "-2 '%s' has no function 'no_such_function', at character %zu",
		 self, strlen(self) + 9);
	tap_ok(strncmp(lines(text, out), want, strlen(want)) == 0, "a missing function");
	snprintf(text, sizeof(text), "uprobe:%s:main+0x10000000", self);
	tap_ok(strstr(lines(text, out), "has only"), "an offset beyond the function");
	is("uprobe:/no/such/file:main", "-2 cannot open '/no/such/file': No such file or "
	   "directory, "
	   "at character 8 of 'uprobe:/no/such/file:main'");
	is("uprobe:/etc/passwd:main", "-8 '/etc/passwd' is not an ELF file, at character 8 of "
	   "'uprobe:/etc/passwd:main'");
	is("uprobe:main", "-22 a probe needs a path and a function, at character 8 of "
	   "'uprobe:main'");
	machine_close(&m);
}

static void groups(void)
{
	machine_open(&m);
	pmu("cpu", "4\n", NULL);
	file("cpu", "format/event", "config:0-7\n");
	is("{cycles,instructions}", "0 cycles type 0 config 0 group 1\n"
	   "1 instructions type 0 config 1 group 1");
	is("faults,{cycles/period=7/,cpu/event=1,name=x/}:Su,{r1,r2}:W",
	   "0 page-faults type 1 config 2\n1 cycles:u type 0 config 0 group 1S rate 7\n"
	   "2 x:u type 4 config 1 group 1S\n3 r1 type 4 config 1 group 2W\n"
	   "4 r2 type 4 config 2 group 2W");
	is("{cycles:u,instructions:k}:D", "0 cycles:uD type 0 config 0 group 1\n"
	   "1 instructions:k type 0 config 1 group 1");
	is("{cpu-clock,cycles}:pp", "0 cpu-clock type 1 config 0 group 1\n"
	   "1 cycles:pp type 0 config 0 group 1");
	is("cycles:kIGHppD", "0 cycles:kIGHppD type 0 config 0");
	is("cycles:uh", "0 cycles:uh type 0 config 0");
	is("{}", "-22 event name missing, at character 2 of '{}'");
	is("{cycles", "-22 '{' is never closed");
	is("cycles}", "-22 unexpected '}' after 'cycles', at character 7 of 'cycles}'");
	is("{cycles,{r1}}", "-22 a group within a group, at character 9 of '{cycles,{r1}}'");
	is("{cycles}r1", "-22 a group is followed by ':' and modifiers, or by ',', at character "
	   "9 of "
	   "'{cycles}r1'");
	is("{cycles,cycles}", "-22 event 'cycles' is given twice");
	is("cycles:S", "-22 'W' and 'S' are modifiers of groups, at character 8 of 'cycles:S'");
	is("{cycles,r1}:SW", "-22 'W' and 'S' exclude each other: a group that samples as one "
	   "cannot "
	   "be broken up, at character 13 of '{cycles,r1}:SW'");
	is("{cycles,r1/period=5/}:S", "-22 'r1' has a rate of its own, but only the first of a "
	   "group "
	   "with 'S' samples, at character 23 of '{cycles,r1/period=5/}:S'");
	is("cycles:pP", "-22 'p' and 'P' exclude each other, at character 8 of 'cycles:pP'");
	is("cycles{r1}", "-22 unexpected '{' after 'cycles', at character 7 of 'cycles{r1}'");
	struct evspec_list l = { NULL, 0, 0, 0 };
	tap_ok(evparse_list(&l, NULL, "cycles:P", NULL) == 0 && l.v[0].precise_ip == 3 &&
	       l.v[0].precise_max, "P requests the highest level");
	tap_ok(evparse_list(&l, NULL, "r1:G,r2:GH,r3:H,r4:h", NULL) == 0 && l.v[1].with_guests &&
	       l.v[1].no_host && l.v[2].with_guests && !l.v[2].no_host && !l.v[3].with_guests &&
	       l.v[4].only_user && l.v[4].only_kernel && l.v[4].with_hv, "G, GH, H, h");
	tap_ok(evparse_list(&l, NULL, "faults/call-graph=no/,cs/call-graph=fp,stack-size=16K/,"
		"minor-faults/call-graph=dwarf,stack-size=4096/", NULL) == 0 &&
	       l.v[5].callgraph == EVSPEC_CALLGRAPH_NONE && l.v[6].callgraph ==
	       EVSPEC_CALLGRAPH_FP && l.v[6].stack_bytes == 16384 && l.v[7].callgraph ==
	       EVSPEC_CALLGRAPH_DWARF && l.v[7].stack_bytes == 4096, "call graphs by event");
	tap_ok(evparse_list(&l, NULL, "page-faults/unit=bytes,name=growth/,major-faults/name=m/",
			    NULL) == 0 && l.v[8].bytes_each == (uint64_t)sysconf(_SC_PAGESIZE) &&
	       evspec_default_period(&l.v[8]) == 101 && l.v[9].bytes_each == 0,
	       "page faults in bytes");
	evspec_list_done(&l);
	is("page-faults/unit=kb/", "-22 bad unit 'kb', at character 18 of 'page-faults/unit=kb/'");
	is("cs/unit=bytes/", "-22 'context-switches' cannot be counted in bytes, at character 9 of "
	   "'cs/unit=bytes/'");
	is("cycles/call-graph=all/", "-22 bad call-graph 'all', at character 19 of "
	   "'cycles/call-graph=all/'");
	is("cycles/stack-size=7/", "-22 bad stack-size '7': it must be a multiple of 8, at most "
	   "65528, at character 19 of 'cycles/stack-size=7/'");
	machine_close(&m);
}

int main(int argc, char **argv)
{
	char self[PATH_MAX];
	(void)argc;
	if (!realpath(argv[0], self))
		return 1;
	scattered();
	hybrid();
	other_machines();
	tracepoints();
	marks(self);
	groups();
	return tap_done();
}
