/* The language runtime of a sample's process is found, by one scan for each change of its maps. */

#include "stack/stack-user.h"
#include "symbolize/runtime/runtime.h"
#include "tests/unit/engine/engine-feed.h"
#include "tests/unit/tap.h"

#define JIT_CODE 0x7f0000000000u
#define JAVA 7
#define NODE 8

static struct engine g;
static struct stack_user user;

/* Walks a stack in JIT code; the runtime that the process is then known to run. */
static const char *runtime_of_sample(uint32_t pid)
{
	/* PERF_REG_X86_SP and _IP */
	static const uint64_t regs[] = { 0x7ffc00000000u, JIT_CODE + 0x10 };
	static const uint64_t stack[8];
	struct procs_space *space = &procs_process(&g.procs, pid)->space;
	struct unwind_result result;
	struct record r = feed_record(PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER, pid, pid);
	r.sample = (struct record_sample){
		.user_abi = PERF_SAMPLE_REGS_ABI_64, .user_regs = regs,
		.user_regs_mask = 1u << 7 | 1u << 8, .user_stack = (const uint8_t *)stack,
		.n_user_stack_bytes = sizeof(stack),
	};
	if (!stack_user_walk(&user, space, &r, NULL, &result))
		return "(not unwound)";
	return space->runtime ? space->runtime->name : "none";
}

/* to is shorter. */
static void rename_file(const char *from, const char *to)
{
	for (uint32_t i = 0; i < g.dsos.n; i++) {
		const struct dso *d = dso_get(&g.dsos, i);
		if (d->path && strcmp(d->path, from) == 0)
			strcpy(d->path, to);
	}
}

static void test_side_by_side(void)
{
	feed_mmap(&g, JAVA, 0x10000, 0x1000, 0, "/jvm/lib/server/libjvm.so");
	feed_mmap(&g, JAVA, JIT_CODE, 0x1000, 0, "//anon");
	feed_mmap(&g, NODE, 0x10000, 0x1000, 0, "/usr/bin/node");
	feed_mmap(&g, NODE, JIT_CODE, 0x1000, 0, "//anon");
	tap_str(runtime_of_sample(JAVA), "HotSpot", "a process that has mapped libjvm.so");
	tap_str(runtime_of_sample(NODE), "none", "another one with JIT code");

	/* so that a second scan would find another runtime */
	rename_file("/jvm/lib/server/libjvm.so", "/lib/other.so");
	rename_file("/usr/bin/node", "/libjvm.so");
	tap_str(runtime_of_sample(JAVA), "HotSpot",
		"the maps are not scanned again after a sample of another process");
	tap_str(runtime_of_sample(NODE), "none", "nor are those of that process");
	feed_mmap(&g, JAVA, 0x30000, 0x1000, 0, "/lib/late.so");
	tap_str(runtime_of_sample(JAVA), "none", "a change of the maps is a reason to scan");
	feed_mmap(&g, NODE, 0x30000, 0x1000, 0, "/lib/late.so");
	tap_str(runtime_of_sample(NODE), "HotSpot", "as in the other process");
}

int main(void)
{
	feed_open(&g, 0);
	if (stack_user_init(&user, &g.dsos, NULL, "x86_64", 0, NULL) < 0)
		return 1;
	test_side_by_side();
	stack_user_done(&user);
	engine_done(&g);
	return tap_done();
}
