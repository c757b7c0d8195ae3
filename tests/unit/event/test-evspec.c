/* The grammar of -e, its errors, and the names of events in files. */
#include "event/evparse.h"
#include "event/evspec.h"

#include "base/err.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>

#include "tap.h"

/* One event as "name type config side precise rate-kind rate". */
static const char *text_of(const struct evspec *s, char buf[300])
{
	static const char *const kind[] = { "default", "freq", "max", "period" };
	snprintf(buf, 300, "%s %u 0x%llx %s%s%u %s %llu%s", s->name, s->type,
		 (unsigned long long)s->config, s->only_user ? "u" : "", s->only_kernel ? "k" : "",
		 s->precise_ip, kind[s->rate_kind], (unsigned long long)s->rate,
		 s->is_clock ? " clock" : "");
	return buf;
}

static void accepts(const char *text, const char *want)
{
	struct evspec_list l = { NULL, 0 };
	struct err e = { 0 };
	char got[300] = "";
	int r = evparse_list(&l, NULL, text, &e);
	if (r == 0 && l.n == 1)
		text_of(&l.v[0], got);
	else
		snprintf(got, sizeof(got), "%d, %zu events: %.200s", r, l.n, e.what);
	tap_str(got, want, text);
	evspec_list_done(&l);
}

static void forms(void)
{
	accepts("cycles", "cycles 0 0x0 0 default 0");
	accepts("cpu-cycles", "cycles 0 0x0 0 default 0");
	accepts("cpu-clock", "cpu-clock 1 0x0 0 default 0 clock");
	accepts("timer", "cpu-clock 1 0x0 0 default 0 clock");
	accepts("task-clock", "task-clock 1 0x1 0 default 0 clock");
	accepts("page-faults", "page-faults 1 0x2 0 default 0");
	accepts("cacheMisses", "cache-misses 0 0x3 0 default 0");
	accepts("llc-load-misses", "LLC-load-misses 3 0x10002 0 default 0");
	accepts("off-cpu", "off-cpu 1 0x3 0 period 1");
	accepts("OffCPU", "off-cpu 1 0x3 0 period 1");
	accepts("wall", "0, 2 events: ");
	accepts("l1-d", "L1-dcache-loads 3 0x0 0 default 0");
	/* raw */
	accepts("r01d1", "r01d1 4 0x1d1 0 default 0");
	accepts("r1A8", "r1a8 4 0x1a8 0 default 0");
	accepts("R0", "r0 4 0x0 0 default 0");
	accepts("rffffffffffffffff", "rffffffffffffffff 4 0xffffffffffffffff 0 default 0");
	accepts("r1d1:u", "r1d1:u 4 0x1d1 u0 default 0");
	/* modifiers */
	accepts("cycles:u", "cycles:u 0 0x0 u0 default 0");
	accepts("cycles:k", "cycles:k 0 0x0 k0 default 0");
	accepts("cycles:uk", "cycles 0 0x0 0 default 0");
	accepts("cycles:ku", "cycles 0 0x0 0 default 0");
	accepts("cycles:p", "cycles:p 0 0x0 1 default 0");
	accepts("cycles:ppp", "cycles:ppp 0 0x0 3 default 0");
	accepts("cycles:pup", "cycles:upp 0 0x0 u2 default 0");
	accepts("context-switches:k", "context-switches:k 1 0x3 k0 default 0");
	accepts("cs:uk", "context-switches 1 0x3 0 default 0");
	accepts("faults:u", "page-faults:u 1 0x2 u0 default 0");
	/* terms */
	accepts("cycles/period=100003/", "cycles 0 0x0 0 period 100003");
	accepts("cycles/period=0x10/", "cycles 0 0x0 0 period 16");
	accepts("cycles/period=9223372036854775807/", "cycles 0 0x0 0 period 9223372036854775807");
	accepts("cpu-clock/freq=250/", "cpu-clock 1 0x0 0 freq 250 clock");
	accepts("cycles/freq=max/", "cycles 0 0x0 0 max 0");
	accepts("cycles/period=1/u", "cycles:u 0 0x0 u0 period 1");
	accepts("cycles/period=1/:u", "cycles:u 0 0x0 u0 period 1");
	accepts("cycles/name=foo/", "foo 0 0x0 0 default 0");
	accepts("r1d1/name=mem.loads_L3-hit,period=2003/u", "mem.loads_L3-hit:u 4 0x1d1 u0 period "
		"2003");
	accepts("cpu-clock/name=ticks/", "ticks 1 0x0 0 default 0 clock");
}

static void lists(void)
{
	struct evspec_list l = { NULL, 0 };
	struct err e = { 0 };
	int r = evparse_list(&l, NULL, "cycles/period=7,name=a/u,instructions,r1:k", &e);
	tap_int(r, 0, "a list with a comma in slashes");
	tap_int((long long)l.n, 3, "has three events");
	tap_str(l.v[0].name, "a:u", "the first");
	tap_str(l.v[1].name, "instructions", "the second");
	tap_str(l.v[2].name, "r1:k", "the third");
	tap_int(evparse_list(&l, NULL, "cycles,cycles:u", &e), 0,
		"more is appended; sides tell events "
		"the two events are distinguished");
	tap_int((long long)l.n, 5, "the list has five events");
	r = evparse_list(&l, NULL, "branches,cpu-cycles", &e);
	tap_int(r, -EINVAL, "an event of an earlier -e is refused");
	tap_str(e.what, "event 'cycles' is given twice, at character 10 of 'branches,cpu-cycles'",
		"and named");
	tap_int((long long)l.n, 5, "then nothing of that argument is appended");
	tap_int(evparse_list(&l, NULL, "branches", NULL), 0, "so that it may be given again");
	tap_int(evparse_list(&l, NULL, "faults,faults", NULL), -EINVAL,
		"an error needs no struct err");
	tap_int(evparse_list(&l, NULL, "cycles/name=cycles-u/", &e), -EINVAL,
		"two events with one file name are one");
	tap_int(evparse_list(&l, NULL, "cycles:ku", &e), -EINVAL, "both sides equal no side");
	evspec_list_done(&l);
	tap_ok(!l.v && l.n == 0, "a list is empty when done");
	evspec_list_done(&l);
}

/* hint: NULL if it does not matter. */
static void refuses(const char *text, const char *want, const char *hint)
{
	struct evspec_list l = { NULL, 0 };
	struct err e = { 0 };
	int r = evparse_list(&l, NULL, text, &e);
	tap_int(r, -EINVAL, text);
	tap_int(e.code, -EINVAL, "  the code is in the error");
	tap_str(e.what, want, "  what");
	if (hint)
		tap_str(e.hint, hint, "  hint");
	tap_int((long long)l.n, 0, "  nothing is appended");
	evspec_list_done(&l);
}

#define MODIFIERS \
	"modifiers are u (user code), k (kernel code), h (hypervisor), I (not while idle), G " \
	"(guests), H (host), p (precise, up to ppp), P (as precise as can be), D (always on the " \
	"PMU), W (weak group), S (the group's leader samples)"

static void errors(void)
{
	refuses("", "event name missing", "'cprof list' shows all names");
	refuses("cycles,", "event name missing, at character 8 of 'cycles,'",
		"cycles,\n       ^\n'cprof list' shows all names");
	refuses(",cycles", "event name missing", NULL);
	refuses("cycles,,r1", "event name missing, at character 8 of 'cycles,,r1'", NULL);
	refuses(":u", "event name missing", NULL);
	refuses("/period=1/", "event name missing", NULL);
	refuses("cycles,cache-mises",
		"unknown event 'cache-mises', at character 8 of 'cycles,cache-mises'",
		"cycles,cache-mises\n       ^\nnearest names: cache-misses, branch-misses, cycles; "
		"'cprof list' shows all; a raw event is 'r' and 1 to 16 hex digits");
	refuses("nonsense", "unknown event 'nonsense'", NULL);
	refuses(" cycles", "unknown event ' cycles'", NULL);
	refuses("cy\001\377les", "unknown event 'cy??les'", NULL);
	refuses("r", "unknown event 'r'", NULL);
	refuses("r1g", "unknown event 'r1g'", NULL);
	refuses("r0x1d1", "unknown event 'r0x1d1'", NULL);
	refuses("r11112222333344445", "raw event 'r11112222333344445' has more than 16 hex "
		"digits, at "
		"character 18 of 'r11112222333344445'", NULL);

	refuses("cycles:", "modifier missing after ':', at character 8 of 'cycles:'",
		"cycles:\n       ^\n" MODIFIERS);
	refuses("cycles:x", "unknown modifier 'x', at character 8 of 'cycles:x'",
		"cycles:x\n       ^\n" MODIFIERS);
	refuses("cycles:uq", "unknown modifier 'q', at character 9 of 'cycles:uq'", NULL);
	refuses("cycles:u\t", "unknown modifier 0x09, at character 9 of 'cycles:u?'", NULL);
	refuses("cycles:uu", "modifier 'u' is given twice, at character 9 of 'cycles:uu'", NULL);
	refuses("cycles:kuk", "modifier 'k' is given twice, at character 10 of 'cycles:kuk'", NULL);
	refuses("cycles:pppp", "more than three 'p', at character 11 of 'cycles:pppp'", NULL);
	refuses("cpu-clock:p", "modifier 'p' has no meaning for 'cpu-clock': only a PMU can be "
		"precise, "
		"at character 11 of 'cpu-clock:p'", NULL);
	refuses("cs:u", "'context-switches' happens inside the kernel: with 'u' there is never a "
		"sample, at character 4 of 'cs:u'", "cs:u\n   ^\nleave out ':u'");
	refuses("migrations:u", "'cpu-migrations' happens inside the kernel: with 'u' there is "
		"never a "
		"sample, at character 12 of 'migrations:u'", NULL);
	refuses("cycles:u/period=1/", "terms in slashes come before the modifiers, at character 9 "
		"of "
		"'cycles:u/period=1/'", NULL);
	refuses("cycles/period=1/u:k", "unknown modifier ':', at character 18 of "
		"'cycles/period=1/u:k'",
		NULL);

	refuses("cycles/period=1", "'/' is never closed, at character 7 of 'cycles/period=1'",
		NULL);
	refuses("cycles//", "empty term, at character 8 of 'cycles//'", NULL);
	refuses("cycles/period=1,/", "empty term, at character 17 of 'cycles/period=1,/'", NULL);
	refuses("cycles/event=0xd1/", "unknown term 'event=0xd1', at character 8 of "
		"'cycles/event=0xd1/'",
		"cycles/event=0xd1/\n       ^\nterms are period=N, freq=HZ, freq=max, name=WORD, "
		"call-graph=dwarf|fp|no, stack-size=N; page faults have unit=bytes, "
		"USDT probes value=argN, label=argN and unit=; "
		"other fields of a PMU event are written "
		"cpu/FIELD=N/, or go into a raw code rHEX");
	refuses("cycles/period/", "unknown term 'period', at character 8 of 'cycles/period/'",
		NULL);
	refuses("cycles/period=/", "bad period '': not a whole number, at character 15 of "
		"'cycles/period=/'", NULL);
	refuses("cycles/period=0/", "bad period '0': must be at least 1, at character 15 of "
		"'cycles/period=0/'", NULL);
	refuses("cycles/period=-1/", "bad period '-1': not a whole number, at character 15 of "
		"'cycles/period=-1/'", NULL);
	refuses("cycles/period=1e6/", "bad period '1e6': not a whole number, at character 15 of "
		"'cycles/period=1e6/'", NULL);
	refuses("cycles/period=9223372036854775808/", "bad period '9223372036854775808': too "
		"large (the "
		"kernel takes less than 2^63), at character 15 of "
		"'cycles/period=9223372036854775808/'",
		NULL);
	refuses("cycles/period=99999999999999999999/", "bad period '99999999999999999999': too "
		"large "
		"(the kernel takes less than 2^63), at character 15 of "
		"'cycles/period=99999999999999999999/'", NULL);
	refuses("cycles/period=max/", "bad period 'max': not a whole number, at character 15 of "
		"'cycles/period=max/'", NULL);
	refuses("cycles/freq=0/", "bad frequency '0': must be at least 1, at character 13 of "
		"'cycles/freq=0/'", NULL);
	refuses("cycles/freq=fast/", "bad frequency 'fast': neither a whole number of hertz nor "
		"'max', at "
		"character 13 of 'cycles/freq=fast/'", NULL);
	refuses("cycles/freq=1,period=1/", "second rate '1', at character 22 of "
		"'cycles/freq=1,period=1/'", NULL);
	refuses("cycles/freq=00000000000000000000000000000000000001/",
		"bad frequency '00000000000000000000000000000000000001': too long for a number, at "
		"character 13 of 'cycles/freq=00000000000000000000000000000000000001/'", NULL);
	refuses("cycles/name=/", "name missing after 'name=', at character 13 of 'cycles/name=/'",
		NULL);
	refuses("cycles/name=a b/", "bad character in name, at character 14 of 'cycles/name=a b/'",
		NULL);
	refuses("cycles/name=Samples/",
		"the name 'samples' is taken in every profile, at character "
		"13 of 'cycles/name=Samples/'",
		NULL);
	refuses("cycles/name=a,name=b/", "second name for one event, at character 20 of "
		"'cycles/name=a,name=b/'", NULL);
}

static void lengthy(void)
{
	char text[4000];
	struct evspec_list l = { NULL, 0 };
	struct err e = { 0 };
	memset(text, 'x', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	tap_int(evparse_list(&l, NULL, text, &e), -EINVAL, "an endless name is refused");
	tap_ok(strlen(e.what) < 200, "with a short message");
	memset(text, ',', sizeof(text) - 1);
	memcpy(text, "cycles", 6);
	tap_int(evparse_list(&l, NULL, text, &e), -EINVAL, "endless commas too");
	tap_ok(!strchr(e.hint, '^'), "no caret under a text that is not shown in full");
	snprintf(text, sizeof(text), "cycles/name=%063d/,r1/name=%064d/", 1, 2);
	tap_int(evparse_list(&l, NULL, text, &e), -EINVAL, "a name of 64 characters is too long");
	tap_ok(strstr(e.what, "name is longer than 63 characters"), "and 63 are not");
	text[strlen(text) - 66] = '\0';
	evspec_list_done(&l);
}

static void rate(const char *text, bool is_freq, int want_kind, unsigned long long want,
		 const char *problem)
{
	enum evspec_rate kind = EVSPEC_RATE_DEFAULT;
	uint64_t value = 77;
	struct err e = { 0 };
	int r = evparse_rate(text, is_freq, &kind, &value, &e);
	if (problem) {
		tap_ok(r == -EINVAL && kind == EVSPEC_RATE_DEFAULT && value == 77,
		       "rate '%s' is refused, outputs unchanged", text);
		tap_str(e.what, problem, "  with this message");
	} else {
		tap_ok(r == 0 && (int)kind == want_kind && value == want, "rate '%s' is %llu", text,
		       want);
	}
}

static void rates(void)
{
	rate("999", true, EVSPEC_RATE_FREQ, 999, NULL);
	rate("max", true, EVSPEC_RATE_FREQ_MAX, 0, NULL);
	rate("1000003", false, EVSPEC_RATE_PERIOD, 1000003, NULL);
	rate("0", true, 0, 0, "bad frequency '0': must be at least 1");
	rate("0", false, 0, 0, "bad period '0': must be at least 1");
	rate("max", false, 0, 0, "bad period 'max': not a whole number");
	rate("", true, 0, 0, "bad frequency '': neither a whole number of hertz nor 'max'");
	rate("1k", true, 0, 0, "bad frequency '1k': neither a whole number of hertz nor 'max'");
	rate("9223372036854775808", false, 0, 0,
	     "bad period '9223372036854775808': too large (the kernel takes less than 2^63)");
}

static void called(const char *text, const char *type, const char *unit, const char *part)
{
	struct evspec_list l = { NULL, 0 };
	char got_type[EVSPEC_NAME_MAX], got_part[EVSPEC_NAME_MAX];
	const char *got_unit;
	if (!tap_ok(evparse_list(&l, NULL, text, NULL) == 0, "%s", text))
		return;
	evspec_sample_type(&l.v[0], got_type, &got_unit);
	evspec_file_part(&l.v[0], got_part);
	tap_str(got_type, type, "  sample type");
	tap_str(got_unit, unit, "  unit");
	tap_str(got_part, part, "  part of a file name");
	evspec_list_done(&l);
}

static void names_in_files(void)
{
	called("cpu-clock", "cpu", "nanoseconds", "cpu-clock");
	called("off-cpu", "off_cpu", "nanoseconds", "off-cpu");
	called("block", "delay", "nanoseconds", "block");
	called("mutex", "delay", "nanoseconds", "mutex");
	called("wall", "wall", "nanoseconds", "wall");
	called("task-clock:u", "cpu", "nanoseconds", "task-clock-u");
	called("timer", "cpu", "nanoseconds", "cpu-clock");
	called("cpu-clock/name=ticks/", "cpu", "nanoseconds", "ticks");
	called("cycles", "cycles", "count", "cycles");
	called("cacheMisses:u", "cache_misses", "count", "cache-misses-u");
	called("L1-dcache-load-misses", "l1_dcache_load_misses", "count", "L1-dcache-load-misses");
	called("r01D1:kpp", "r01d1", "count", "r01d1-kpp");
	called("cycles/name=A.b_C-1/", "a_b_c_1", "count", "A.b_C-1");
}

static void facts(void)
{
	struct evspec_list l = { NULL, 0 };
	bool want[] = { true, true, false, false };
	if (!tap_ok(evparse_list(&l, NULL, "cs,migrations,faults,r3", NULL) == 0, "four events"))
		return;
	for (size_t i = 0; i < l.n; i++)
		tap_ok(evspec_in_kernel(&l.v[i]) == want[i], "'%s' is %s kernel side only",
		       l.v[i].name, want[i] ? "" : "not");
	evspec_list_done(&l);
	tap_str(evspec_known(0)->name, "cpu-clock", "the table of names begins with cpu-clock");
	tap_ok(!evspec_known(55), "and ends");
}

int main(void)
{
	forms();
	lists();
	errors();
	lengthy();
	rates();
	names_in_files();
	facts();
	return tap_done();
}
