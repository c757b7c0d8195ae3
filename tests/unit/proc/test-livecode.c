/* Names of the code of a JVM whose memory is this test's own, and code that replaces other code. */

#include "base/clock.h"
#include "base/host.h"
#include "base/log.h"
#include "base/remotemem.h"
#include "proc/livecode.h"
#include "symbolize/jit/jitcalls.h"
#include "symbolize/runtime/runtime-code.h"
#include "symbolize/runtime/runtime-private.h"
#include "tests/unit/tap.h"
#include "tests/unit/symbolize/hotspotvm.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define STARTED_NS 1000u
#define SECOND_NS 1000000000u

static struct hotspotvm vm;
static struct host host;         /* only its memory is used */
static struct livecode *live;
static struct livecode_process *process;

/* What is at the address of a JVM's memory. */
static void *place(uint64_t at)
{
	return (void *)(uintptr_t)at;
}

static void put(uint64_t at, uint64_t value, size_t n_bytes)
{
	memcpy(place(at), &value, n_bytes);
}

static void start(uint64_t n_bytes_max)
{
	vm.version = 17;
	if (!hotspotvm_init(&vm))
		abort();
	memcpy(place(HOTSPOTVM_BASE), vm.b, HOTSPOTVM_BYTES);
	live = livecode_new(&host, n_bytes_max);
	livecode_timeout_ms(live, 1);
	livecode_tick(live, SECOND_NS);
	process = livecode_of(live, (uint32_t)getpid(), STARTED_NS);
	if (livecode_wants(process))
		livecode_open(process, &runtime_hotspot, vm.cfi, 0);
}

static void stop(void)
{
	livecode_free(live);
	hotspotvm_done(&vm);
}

/* The time of a sample that is not late, even if this test is interrupted. */
static uint64_t soon(void)
{
	return clock_monotonic_ns() + SECOND_NS;
}

/* Is the code at n addresses what it was at the last question? */
static bool prove(const uint64_t *pc, size_t n)
{
	static uint32_t seen;
	uint32_t before = seen;
	seen = livecode_prove(process, pc, n);
	return seen == before;
}

/* The next drain, with a sample in the code. */
static uint32_t tick(void)
{
	const uint64_t pc[] = { HOTSPOTVM_CODE + 0x81, HOTSPOTVM_CODE + 0x82 };
	uint64_t number;
	livecode_tick(live, clock_monotonic_ns());
	prove(pc, 2);
	return livecode_check(process, 0, &number);
}

/* The innermost function at pc in its layer; "-": unknown. */
static const char *at(uint64_t pc, uint64_t time_ns)
{
	static char text[128];
	struct livecode_place p;
	snprintf(text, sizeof(text), "-");
	if (!livecode_at(process, pc, time_ns, &p))
		return text;
	const struct jitcalls *j = livecode_calls(process);
	const struct jitcalls_place *found = jitcalls_find(j, p.layer, pc);
	if (found)
		snprintf(text, sizeof(text), "%u %s", p.layer,
			 strtab_get(&j->strings, j->call.v[found->first].name));
	return text;
}

/* Another method is compiled to the same place. */
static void replace(uint32_t id, uint64_t method)
{
	put(HOTSPOTVM_BLOB + 72, id, 4);
	put(HOTSPOTVM_BLOB + 64, method, 8);
}

static void names(void)
{
	struct livecode_place p;
	start(1 << 20);
	uint32_t before = tick();
	uint64_t number;
	tap_str(at(HOTSPOTVM_CODE + 0x40, soon()), "1 pack.Inner.step",
		"an inlined method");
	tap_str(at(HOTSPOTVM_CODE + 0x41, soon()), "1 pack.Outer.run", "a method");
	tap_str(at(HOTSPOTVM_STUB_CODE, 1), "0 StubRoutines (1)", "a stub, at any time");
	tap_str(at(HOTSPOTVM_HEAP + 0xf80, soon()), "-", "free memory");
	tap_ok(livecode_find(process, HOTSPOTVM_CODE + 1, soon(), &p) &&
	       p.frame_words == 6 && p.body_off == 0x18, "the size of its frame");
	tap_int(livecode_timeout_ms(live, clock_monotonic_ns()), 5, "the next look is soon");
	tap_int(livecode_timeout_ms(live, clock_monotonic_ns() + 2 * SECOND_NS), -1,
		"but not if nothing is sampled");
	tap_ok(tick() == before, "nothing has changed at the next drain");
	livecode_tick(live, clock_monotonic_ns() + 2 * SECOND_NS);
	livecode_check(process, 0, &number);
	tap_int(livecode_timeout_ms(live, clock_monotonic_ns() + 2 * SECOND_NS), 30,
		"later, if there is no new code");
	stop();
}

/* What the unwinder reads of the code is copied once, and is not older than the code. */
static void bytes(void)
{
	uint8_t b[8] = { 0 };
	start(1 << 20);
	tick();
	tap_int((int)livecode_read(process, HOTSPOTVM_CODE, b, 8), 0, "code that is not known");
	put(HOTSPOTVM_CODE + 0x40, 0x11, 1);
	at(HOTSPOTVM_CODE + 0x40, soon());
	tap_ok(livecode_read(process, HOTSPOTVM_CODE + 0x40, b, 8) == 8 && b[0] == 0x11,
	       "bytes of the code");
	tap_int((int)livecode_read(process, HOTSPOTVM_CODE + HOTSPOTVM_CODE_BYTES - 3, b, 8), 3,
		"up to its end");
	put(HOTSPOTVM_CODE + 0x40, 0x22, 1);
	livecode_tick(live, clock_monotonic_ns());
	tap_ok(livecode_read(process, HOTSPOTVM_CODE + 0x40, b, 8) == 8 && b[0] == 0x11,
	       "a copy is used as long as the code is the same");
	replace(34, HOTSPOTVM_INNER);
	livecode_tick(live, clock_monotonic_ns());
	tap_int((int)livecode_read(process, HOTSPOTVM_CODE + 0x40, b, 8), 0, "but not longer");
	stop();
}

static void replaced(void)
{
	const uint64_t old_pc[] = { HOTSPOTVM_CODE + 0x81 };
	start(1 << 20);
	uint32_t before = tick();
	tap_str(at(HOTSPOTVM_CODE + 0x81, soon()), "1 pack.Outer.run", "old code");
	replace(34, HOTSPOTVM_INNER);
	put(HOTSPOTVM_BLOB + 84, 0, 4); /* nothing is inlined */
	tap_str(at(HOTSPOTVM_CODE + 0x81, soon()), "1 pack.Outer.run",
		"in one drain code is looked at once");
	tap_ok(prove(old_pc, 1), "also for unchanged stacks");
	livecode_tick(live, clock_monotonic_ns());
	uint64_t number;
	uint32_t seen = livecode_check(process, 0, &number);
	tap_ok(!prove(old_pc, 1), "in the next drain they are proven");
	tap_ok(livecode_prove(process, old_pc, 1) != seen,
	       "another engine that asks in that drain notices it, too");
	tap_ok(tick() != before, "at the next drain the change is seen");
	tap_str(at(HOTSPOTVM_CODE + 0x81, soon()), "2 pack.Inner.step",
		"new code is in another layer");
	const struct jitcalls *j = livecode_calls(process);
	const struct jitcalls_place *old = jitcalls_find(j, 1, HOTSPOTVM_CODE + 0x81);
	tap_str(old ? strtab_get(&j->strings, j->call.v[old->first].name) : "-",
		"pack.Outer.run", "and the old one keeps its name");
	/* later, at an address that nobody has asked for lately */
	replace(35, HOTSPOTVM_OUTER);
	livecode_tick(live, clock_monotonic_ns() + 3 * SECOND_NS);
	tap_str(at(HOTSPOTVM_CODE + 0x82, soon()), "3 pack.Outer.run",
		"code that is not known in the stack is proven when it is looked up");
	tap_int((int)livecode_stats(live).n_replaced, 2, "both are counted");
	/* freed: the header is the same, but the memory is another block's, or nobody's */
	put(HOTSPOTVM_BLOB - 16 + 8, 0, 1);
	tick();
	tap_str(at(HOTSPOTVM_CODE + 0x82, soon()), "-",
		"a freed block has no name, though its compilation is still there");
	stop();
}

/* Between two drains, the first of which has proven the code. */
static void between(void)
{
	start(1 << 20);
	tick();
	at(HOTSPOTVM_CODE + 0x81, soon());
	tick();
	uint64_t between_ns = clock_monotonic_ns();
	replace(34, HOTSPOTVM_INNER);
	put(HOTSPOTVM_BLOB + 84, 0, 4);
	livecode_tick(live, clock_monotonic_ns());
	tap_str(at(HOTSPOTVM_CODE + 0x81, between_ns), "-",
		"a sample before the change was noticed may be of either");
	const struct jitcalls *j = livecode_calls(process);
	tap_ok(!jitcalls_find(j, 0, HOTSPOTVM_CODE + 0x81) &&
	       jitcalls_find(j, 1, HOTSPOTVM_CODE + 0x81),
	       "it does not get the first one's name by having none");
	livecode_tick(live, clock_monotonic_ns());
	tap_str(at(HOTSPOTVM_CODE + 0x81, soon()), "2 pack.Inner.step",
		"one after it is the new one's");
	/* its class is unloaded; the code is still there (JDK 8 to 19) */
	put(HOTSPOTVM_BLOB + 64, 0, 8);
	livecode_tick(live, clock_monotonic_ns());
	tap_str(at(HOTSPOTVM_CODE + 0x82, soon()), "-", "code without its class has no name");
	/* a header that is left over within a larger block */
	replace(34, HOTSPOTVM_INNER);
	livecode_tick(live, clock_monotonic_ns());
	tap_str(at(HOTSPOTVM_CODE + 0x82, soon()), "3 pack.Inner.step", "the block is used again");
	put(HOTSPOTVM_SEGMENTS + 1, 0, 1);
	put(HOTSPOTVM_SEGMENTS + 2, 1, 1);
	livecode_tick(live, clock_monotonic_ns());
	tap_str(at(HOTSPOTVM_CODE + 0x82, soon()), "-",
		"then by another one, in which its header is left over");
	stop();
}

/* The last samples of a program are read when its memory is gone. */
static void gone(void)
{
	const uint64_t pc[] = { HOTSPOTVM_CODE + 0x81 };
	for (unsigned int unloads = 0; unloads < 2; unloads++) {
		start(1 << 20);
		tick();
		tap_str(at(pc[0], soon()), "1 pack.Outer.run", "code of a program that will end");
		put(HOTSPOTVM_UNLOADED, unloads, 8);
		tick();
		mprotect(place(HOTSPOTVM_BASE), HOTSPOTVM_BYTES, PROT_NONE);
		livecode_tick(live, clock_monotonic_ns());
		livecode_prove(process, pc, 1);
		tap_str(at(pc[0], soon()), unloads ? "-" : "1 pack.Outer.run",
			unloads ? "which has just unloaded classes" : "the name is the last one");
		mprotect(place(HOTSPOTVM_BASE), HOTSPOTVM_BYTES, PROT_READ | PROT_WRITE);
		stop();
	}
}

/* A class is unloaded between a sample and the first look at its code. */
static void unloaded(void)
{
	start(1 << 20);
	tick();
	tap_str(at(HOTSPOTVM_STUB_CODE, soon()), "0 StubRoutines (1)", "a JVM is read");
	uint64_t before_ns = clock_monotonic_ns();
	put(HOTSPOTVM_UNLOADED, 1, 8);
	livecode_tick(live, clock_monotonic_ns());
	tap_str(at(HOTSPOTVM_CODE + 0x81, before_ns), "-",
		"code that is first seen after classes were unloaded may be another class's");
	tick();
	tap_str(at(HOTSPOTVM_CODE + 0x81, soon()), "1 pack.Outer.run",
		"later samples have the name");
	stop();
	/* long before it was known, and not since */
	vm.without = NULL;
	start(1 << 20);
	put(HOTSPOTVM_UNLOADED, 1, 8);
	tick();
	tap_str(at(HOTSPOTVM_STUB_CODE, soon()), "0 StubRoutines (1)",
		"a JVM that has unloaded some");
	before_ns = clock_monotonic_ns();
	livecode_tick(live, clock_monotonic_ns());
	tap_str(at(HOTSPOTVM_CODE + 0x81, before_ns), "1 pack.Outer.run",
		"code is named at once if no class was unloaded meanwhile");
	stop();
}

/* The class of an interpreted method is loaded again under another name, at the same addresses. */
static void reloaded(void)
{
	const uint64_t pc[] = { HOTSPOTVM_BYTECODE(HOTSPOTVM_OUTER) + 4 };
	const uint64_t text = HOTSPOTVM_OUTER + 0x100 + 6;
	struct runtime_frame f = { .pc = HOTSPOTVM_INTERPRETER,
				   .below = { [2] = HOTSPOTVM_OUTER, [7] = pc[0] } };
	start(1 << 20);
	tick();
	tap_ok(livecode_has_frames(process), "some frames are the interpreter's");
	livecode_frames(process, clock_monotonic_ns() - SECOND_NS, &f, 1);
	tap_ok(!f.is_found && f.pc == HOTSPOTVM_INTERPRETER,
	       "a method that may have come after the sample does not take its place");
	tick();
	livecode_frames(process, soon(), &f, 1);
	tap_ok(f.is_found && f.pc == pc[0], "its bytecode takes the place of the pc");
	tap_str(at(pc[0], soon()), "1 pack.Outer.run", "an interpreted method");
	memcpy(place(text), "pack/Newer", 10);
	livecode_tick(live, clock_monotonic_ns());
	tap_ok(!prove(pc, 1), "another class is seen");
	tap_str(at(pc[0], soon()), "2 pack.Newer.run", "though only its name differs");
	/* the word in the constant pool that leads to the class */
	put(HOTSPOTVM_OUTER + 0x60 + 8, HOTSPOTVM_INNER + 0xb0, 8);
	livecode_tick(live, clock_monotonic_ns());
	tap_ok(!prove(pc, 1), "so is a class whose object is elsewhere");
	tap_str(at(pc[0], soon()), "3 pack.Inner.run",
		"while that of the old one is still there");
	stop();
}

static void late(void)
{
	start(1 << 20);
	uint32_t before = tick();
	uint64_t number, before_ns = clock_monotonic_ns() - SECOND_NS;
	tap_str(at(HOTSPOTVM_CODE + 0x81, before_ns), "-",
		"code that may have come after the sample has no name");
	tap_int((int)livecode_stats(live).n_late, 1, "it is counted");
	tap_ok(livecode_check(process, 0, &number) == before,
	       "nothing changes until the next drain");
	tap_ok(tick() != before, "then it is looked up again");
	tap_str(at(HOTSPOTVM_CODE + 0x81, soon()), "1 pack.Outer.run",
		"later samples have it");
	uint64_t newer;
	livecode_check(process, 0, &number);
	livecode_check(process, soon(), &newer);
	tap_ok(newer != number, "code of a sample that is newer than the drain is read again");
	stop();
}

static void ends(void)
{
	start(1 << 20);
	tick();
	at(HOTSPOTVM_CODE + 0x81, soon());
	livecode_end(process);
	tap_str(at(HOTSPOTVM_CODE + 0x81, soon()), "-", "a process that has ended");
	tap_ok(jitcalls_find(livecode_calls(process), 1, HOTSPOTVM_CODE + 0x81),
	       "names that are known stay");
	tap_ok(livecode_of(live, (uint32_t)getpid(), STARTED_NS) == process, "it is the same");
	tap_ok(livecode_of(live, (uint32_t)getpid(), STARTED_NS + 1) != process,
	       "the next program of that process is another one");
	stop();
	start(1);
	tick();
	tap_str(at(HOTSPOTVM_CODE + 0x81, soon()), "-", "without memory no names");
	stop();
}

static void first(void)
{
	uint64_t now_ns = clock_monotonic_ns();
	live = livecode_new(&host, 1 << 20);
	tap_int(livecode_timeout_ms(live, now_ns), 5,
		"a program that may have a runtime is looked at soon");
	tap_int(livecode_timeout_ms(live, now_ns + SECOND_NS), -1,
		"but not for ever, if it has none");
	livecode_free(live);
}

static void keep(void *ctx, enum log_level level, const char *text)
{
	(void)level;
	snprintf(ctx, 300, "%s", text);
}

static void refused(void)
{
	char line[300] = "";
	uint64_t number;
	const struct log log = { .line = keep, .ctx = line, .max = LOG_WARN };
	vm.without = "_compile_id";
	start(1 << 20);
	for (unsigned int i = 1; i < 10; i++) {
		livecode_tick(live, (1 + i) * SECOND_NS);
		if (livecode_wants(process))
			livecode_open(process, &runtime_hotspot, vm.cfi, 0);
	}
	vm.without = NULL;
	tap_int((int)livecode_stats(live).n_unsupported, 1, "an unknown version is given up");
	tap_ok(!livecode_wants(process), "after some tries");
	tap_str(at(HOTSPOTVM_CODE, soon()), "-", "it has no names");
	livecode_check(process, 0, &number);
	livecode_explain(live, &log);
	tap_ok(strncmp(line, "code has no names in 1 sample: process ", 39) == 0 &&
	       strstr(line, "HotSpot") && strstr(line, "'_compile_id' is missing"), "%s", line);
	tap_int(livecode_timeout_ms(live, clock_monotonic_ns()), -1, "and costs no time");
	stop();
}

int main(void)
{
	int proc_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	host.memory = remotemem_new(proc_fd);
	void *p = mmap(place(HOTSPOTVM_BASE), HOTSPOTVM_BYTES, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	if (p == place(HOTSPOTVM_BASE) && host.memory) {
		names();
		bytes();
		replaced();
		between();
		unloaded();
		gone();
		reloaded();
		late();
		ends();
		first();
		refused();
	} else {
		tap_skip("livecode", "this machine does not map such low addresses");
	}
	remotemem_free(host.memory);
	close(proc_fd);
	return tap_done();
}
