/* Interpreters of processes that have ended are forgotten, however rarely records are read; samples
 * whose functions have names in a map are counted as such. */

#include "engine/functions.h"

#include "agg/frames.h"
#include "agg/stacks.h"
#include "base/hash.h"
#include "proc/procs.h"
#include "source/record.h"
#include "stack/stack-walk.h"
#include "symbolize/elf/dso.h"
#include "tap.h"

#define SECOND_NS UINT64_C(1000000000)

#define LOOP 0x100                      /* the interpreter's loop, in its file */

static bool is_loop(void *ctx, uint64_t vaddr)
{
	return vaddr == LOOP;
}

/* A stack of the loop, code without a file, and the interpreter again: python3 -X perf. */
static void test_mapped(void)
{
	const struct interp_tables tables = { .dsos = NULL };
	const struct dso_key elf_key = { .kind = DSO_ELF, .ino = 1 };
	const struct dso_key jit_key = { .kind = DSO_ANON, .pid = 7 };
	struct dso_table dsos;
	struct frames frames;
	struct stacks stacks;
	struct functions f;
	dso_table_init(&dsos, NULL);
	frames_init(&frames, NULL);
	stacks_init(&stacks, NULL);
	uint32_t elf = dso_table_add(&dsos, &elf_key, "/usr/bin/python3")->id;
	uint32_t jit = dso_table_add(&dsos, &jit_key, "[jit]")->id;
	uint32_t node = STACKS_EMPTY;
	node = stacks_add(&stacks, node, frames_add(&frames, elf, 0x200, false), false);
	node = stacks_add(&stacks, node, frames_add(&frames, jit, 0x5000, false), false);
	node = stacks_add(&stacks, node, frames_add(&frames, elf, LOOP, false), false);
	const struct unwind_frame cut[] = { { .pc = LOOP }, { .pc = 0x5000 }, { .pc = 0x200 } };
	struct stack_walk w = {
		.dsos = &dsos, .frames = &frames, .stacks = &stacks, .kernel_dso = UINT32_MAX,
		.cut_frame = cut, .n_cut_frames = 3,
	};
	struct procs_process process = { .pid = 7 };
	const struct record r = { .tid = 7 };
	const struct interp_code code = { .dso = elf, .is_loop = is_loop };
	functions_init(&f, &tables, NULL, NULL, INTERP_AUTO, NULL);
	f.now_ns = SECOND_NS;
	f.seen[hash_u64(7) % FUNCTIONS_SEEN] = (struct functions_seen){
		.pid = 7, .time_ns = SECOND_NS, .has_program = true, .program.code = &code,
	};
	uint32_t stack = node, labels = 0;
	tap_ok(!functions_place(&f, &w, &process, &r, &stack, &labels) && stack == node,
	       "functions with code of their own: the stack stays as it is");
	tap_int((long long)f.stats.n_mapped, 1, "the sample is counted as named by a map");
	tap_int((long long)f.stats.n[INTERP_QUALITY_UNKNOWN], 0, "and not as unknown");
	functions_done(&f);
	stacks_done(&stacks);
	frames_done(&frames);
	dso_table_done(&dsos);
}

int main(void)
{
	test_mapped();
	const struct interp_tables tables = { .dsos = NULL };
	const struct procs none = { .n_threads = 0 };
	const struct procs_process ended = { .pid = 7 };
	struct functions f;
	functions_init(&f, &tables, NULL, NULL, INTERP_AUTO, NULL);
	uint64_t now_ns = 1000 * SECOND_NS + 5000000;
	functions_tick(&f, &none, now_ns);
	interp_cache_is_early(&f.cache, &ended, now_ns);
	tap_int((long long)f.cache.by_pid.item.n, 1, "a process");
	functions_tick(&f, &none, now_ns += SECOND_NS / 50);
	functions_tick(&f, &none, now_ns += SECOND_NS);
	tap_int((long long)f.cache.by_pid.item.n, 0, "it is forgotten a second after its end");
	functions_tick(&f, &none, now_ns += SECOND_NS);
	functions_done(&f);
	return tap_done();
}
