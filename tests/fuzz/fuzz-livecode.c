/*
 * JIT code that a hostile runtime describes in its memory, which is this process's own, while it
 * changes it: a byte of choices, then steps of four bytes each: what is done, where, and a value.
 */

#include "base/clock.h"
#include "base/host.h"
#include "base/log.h"
#include "base/remotemem.h"
#include "base/strtab.h"
#include "proc/jitlive.h"
#include "proc/livecode.h"
#include "proc/procs-space.h"
#include "symbolize/elf/dso.h"
#include "symbolize/jit/jitcalls.h"
#include "symbolize/jit/jitcode.h"
#include "symbolize/name/symbolizer.h"
#include "symbolize/runtime/runtime-code.h"
#include "tests/unit/symbolize/hotspotvm.h"
#include "tests/unit/symbolize/v8vm.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define BASE HOTSPOTVM_BASE
#define BYTES V8VM_BYTES                /* of the larger one */
#define SECOND_NS 1000000000u
#define STARTED_NS 1000u
#define STEPS_MAX 256u
#define RESOLVED_MAX 16u
#define LAYER_INO(layer) (1000u + (layer))

_Static_assert(HOTSPOTVM_BASE == V8VM_BASE && HOTSPOTVM_BYTES <= V8VM_BYTES, "one mapping");

enum { N_JVMS = 3, N_V8S = 2, N_VMS = N_JVMS + N_V8S };
enum {
	CHOICE_SMALL = 1,               /* memory for few names */
	CHOICE_LATE = 2,                /* the runtime is opened by a step */
	CHOICE_NO_FILE = 4,             /* its file cannot be read */
};

/* Kinds of steps, and those of STEP_OTHER. */
enum {
	STEP_WRITE, STEP_WORD, STEP_TICK, STEP_NAME, STEP_NAME_LATE, STEP_PROVE, STEP_FRAME,
	STEP_OTHER, N_STEPS,
};
enum { OTHER_LOOK, OTHER_READ, OTHER_FIND, OTHER_HIDE, OTHER_SHOW, OTHER_END, N_OTHERS };

struct step {
	uint8_t kind;
	uint16_t at;
	uint8_t value;
};

static struct hotspotvm jvm[N_JVMS];    /* honest ones, of each version */
static struct v8vm v8[N_V8S];
static struct host host;                /* only its memory is used */
static uint8_t *memory;                 /* at BASE */

static struct livecode *all;
static struct jitlive live;
static struct dso_table dsos;
static struct procs_space space;
static unsigned int which;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool ok)
{
	if (!ok)
		abort();
}

static void check_line(void *ctx, enum log_level level, const char *text)
{
	check(*text != '\0');
}

/* False: this machine does not map such low addresses. */
static bool make_machine(void)
{
	static const unsigned int version[N_JVMS] = { 8, 17, 25 }, major[N_V8S] = { 11, 13 };
	static bool is_tried;
	if (is_tried)
		return memory;
	is_tried = true;
	void *p = mmap((void *)(uintptr_t)BASE, BYTES, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	if (p != (void *)(uintptr_t)BASE)
		return false;
	for (unsigned int i = 0; i < N_JVMS; i++) {
		jvm[i].version = version[i];
		check(hotspotvm_init(&jvm[i]));
	}
	for (unsigned int i = 0; i < N_V8S; i++) {
		v8[i].major = major[i];
		check(v8vm_init(&v8[i]));
	}
	host.memory = remotemem_new(open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	check(host.memory != NULL);
	memory = p;
	return true;
}

/* ---- the process -------------------------------------------------------------------------- */

static void look(void)
{
	jitlive_look(&live, all, &dsos, &space, (uint32_t)getpid(), STARTED_NS);
}

static void start(uint8_t choices)
{
	static const char *const path[2] = { "/usr/lib/jvm/lib/server/libjvm.so", "/usr/bin/node" };
	const struct dso_key key = { .kind = DSO_ELF, .ino = 7 };
	bool is_v8 = which >= N_JVMS;
	check(mprotect(memory, BYTES, PROT_READ | PROT_WRITE) == 0);
	memset(memory, 0, BYTES);
	if (is_v8)
		memcpy(memory, v8[which - N_JVMS].b, V8VM_BYTES);
	else
		memcpy(memory, jvm[which].b, HOTSPOTVM_BYTES);
	check(dso_table_init(&dsos, NULL) == 0);
	struct dso *d = dso_table_add(&dsos, &key, path[is_v8]);
	check(d != NULL);
	if (!(choices & CHOICE_NO_FILE))
		dso_set_file(d, dup(is_v8 ? v8[which - N_JVMS].fd : jvm[which].fd), d->path);
	/* it is mapped where it was linked to */
	d->n_segments = 1;
	d->segment[0] = (struct dso_segment){ .n_file_bytes = BASE, .n_mem_bytes = BASE };
	space = (struct procs_space){ .n_changes = 1 };
	check(procs_space_insert(&space, (struct procs_map){ .start = 0x1000, .end = 0x2000,
							     .pgoff = 0x1000, .dso = d->id }) >= 0);
	all = livecode_new(&host, choices & CHOICE_SMALL ? 4096 : 1 << 20);
	check(all != NULL);
	live = (struct jitlive){ .process = NULL };
	livecode_timeout_ms(all, 1);
	livecode_tick(all, clock_monotonic_ns());
	if (!(choices & CHOICE_LATE))
		look();
}

static void stop(void)
{
	jitlive_done(&live);
	livecode_free(all);
	VEC_FREE(&space.map);
	dso_table_done(&dsos);
}

/* ---- steps -------------------------------------------------------------------------------- */

/* Each layer is one DSO. */
static void check_layer(uint32_t layer)
{
	uint32_t id = jitlive_dso(&live, &dsos, (uint32_t)getpid(), LAYER_INO(layer), layer);
	check(id < dsos.n && dso_get(&dsos, id)->key.ino == LAYER_INO(layer));
	check(jitlive_dso(&live, &dsos, (uint32_t)getpid(), LAYER_INO(layer), layer) == id);
}

static void ask_name(uint64_t pc, uint64_t time_ns)
{
	struct livecode_place p;
	if (!livecode_at(live.process, pc, time_ns, &p))
		return;
	const struct jitcalls *j = livecode_calls(live.process);
	const struct jitcalls_place *found = jitcalls_find(j, p.layer, pc);
	check(pc - p.start < p.n_bytes && found && found->n >= 1);
	for (uint32_t i = 0; i < found->n; i++)
		check(j->call.v[found->first + i].name < j->strings.n);
	check(*strtab_get(&j->strings, j->call.v[found->first].name));
	if (p.layer)
		check_layer(p.layer);
}

static void ask_bytes(uint64_t pc, size_t n)
{
	uint8_t bytes[256];
	check(livecode_read(live.process, pc, bytes, n) <= n);
}

static void ask_frame(const struct step *s)
{
	struct runtime_frame f;
	if (which >= N_JVMS) {
		const struct v8vm *v = &v8[which - N_JVMS];
		f = v8vm_frame(v, s->value & 1 ? v->outer : v->method, s->at);
	} else {
		uint64_t method = s->value & 1 ? HOTSPOTVM_OUTER : HOTSPOTVM_INNER;
		f = (struct runtime_frame){ .pc = HOTSPOTVM_INTERPRETER };
		f.below[2] = method;
		f.below[6] = f.below[7] = HOTSPOTVM_BYTECODE(method) + s->at % 16;
	}
	uint64_t pc = f.pc, time_ns = s->value & 2 ? 1 : clock_monotonic_ns() + SECOND_NS;
	if (!livecode_has_frames(live.process))
		return;
	livecode_frames(live.process, time_ns, &f, 1);
	if (f.is_found)
		ask_name(f.pc, time_ns);
	else
		check(f.pc == pc);
}

static void do_other(const struct step *s)
{
	struct livecode_place p;
	uint64_t pc = BASE + s->at;
	switch (s->value % N_OTHERS) {
	case OTHER_LOOK:
		space.n_changes++;
		look();
		break;
	case OTHER_READ: ask_bytes(pc, s->value); break;
	case OTHER_FIND:
		if (livecode_find(live.process, pc, clock_monotonic_ns(), &p))
			check(pc - p.start < p.n_bytes);
		break;
	case OTHER_HIDE: check(mprotect(memory, BYTES, PROT_NONE) == 0); break;
	case OTHER_SHOW: check(mprotect(memory, BYTES, PROT_READ | PROT_WRITE) == 0); break;
	case OTHER_END: livecode_end(live.process); break;
	}
}

/* The next drain, up to some seconds later. */
static void tick(uint8_t value)
{
	uint64_t now_ns = clock_monotonic_ns() + value * (uint64_t)10000000;
	livecode_tick(all, now_ns);
	int ms = livecode_timeout_ms(all, now_ns);
	check(ms == -1 || ms == 5 || ms == 30);
	if (livecode_wants(live.process))
		look();
	jitlive_is_renewed(&live, value & 1 ? now_ns + SECOND_NS : now_ns);
}

static void write_memory(const struct step *s, bool *is_hidden)
{
	size_t n = which < N_JVMS ? HOTSPOTVM_BYTES : V8VM_BYTES;
	uint64_t word = BASE + (uint64_t)s->value * 0x80;
	if (*is_hidden)
		check(mprotect(memory, BYTES, PROT_READ | PROT_WRITE) == 0);
	*is_hidden = false;
	if (s->kind == STEP_WRITE)
		memory[s->at % n] = s->value;
	else
		memcpy(memory + s->at % (n - 8), &word, sizeof(word));
}

static void do_step(struct step s, bool *is_hidden)
{
	uint64_t pc = BASE + s.at;
	const uint64_t proven[] = { pc, pc + 1, pc + s.value };
	s.kind %= N_STEPS;
	if (s.kind == STEP_WRITE || s.kind == STEP_WORD) {
		write_memory(&s, is_hidden);
		return;
	}
	*is_hidden |= s.kind == STEP_OTHER && s.value % N_OTHERS == OTHER_HIDE;
	if (!live.process && !(s.kind == STEP_OTHER && s.value % N_OTHERS == OTHER_LOOK))
		return;
	switch (s.kind) {
	case STEP_TICK: tick(s.value); break;
	case STEP_NAME: ask_name(pc, clock_monotonic_ns() + SECOND_NS); break;
	case STEP_NAME_LATE: ask_name(pc, s.value); break;
	case STEP_PROVE: jitlive_prove(&live, proven, 3); break;
	case STEP_FRAME: ask_frame(&s); break;
	default: do_other(&s); break;
	}
}

/* ---- at the end ----------------------------------------------------------------------------- */

static void check_resolved(const struct jitcalls *j, const struct jitcalls_place *p)
{
	static char path[] = "[jit]";
	const struct dso anon = { .key = { .kind = DSO_ANON }, .path = path, .fd = -1 };
	struct jitcode none;
	jitcode_init(&none, NULL);
	const struct jitcode_view view = { &none, 0, j, p->layer };
	const struct symbolizer_options o = { .jit = &view, .n_jit = 1 };
	struct symaddr a = { .vaddr = p->pc };
	struct symlines lines = { 0 };
	struct symbolizer_has has;
	struct strtab strings;
	check(strtab_init(&strings, NULL) == 0);
	check(symbolizer_resolve(&o, &anon, &a, 1, &lines, &strings, &has) == 0);
	check(a.source == SYMBOLIZER_JIT && a.n_lines == p->n);
	for (uint32_t i = 0; i < p->n; i++)
		check(strcmp(strtab_get(&strings, lines.v[a.first_line + i].name),
			     strtab_get(&j->strings, j->call.v[p->first + i].name)) == 0);
	free(lines.v);
	strtab_done(&strings);
	jitcode_done(&none);
}

/* An address in a layer has one meaning for ever. */
static void check_names(void)
{
	const struct jitcalls *j = livecode_calls(live.process);
	for (size_t i = 0; i < j->place.n; i++) {
		const struct jitcalls_place *p = &j->place.v[i];
		check(p->first + (size_t)p->n <= j->call.n);
		check(jitcalls_find(j, p->layer, p->pc) == p);
		if (i < RESOLVED_MAX)
			check_resolved(j, p);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct log log = { .line = check_line, .max = LOG_EXPLAIN };
	bool is_hidden = false;
	if (size < 1 || !make_machine())
		return 0;
	which = data[0] % N_VMS;
	start(data[0] / N_VMS % 8);
	for (size_t i = 0; i < STEPS_MAX && 1 + 4 * (i + 1) <= size; i++) {
		const uint8_t *p = data + 1 + 4 * i;
		do_step((struct step){ p[0], (uint16_t)(p[1] | p[2] << 8), p[3] }, &is_hidden);
	}
	const struct livecode_stats s = livecode_stats(all);
	check(s.n_late <= s.n_unknown && s.n_replaced <= s.n_codes && s.n_programs <= 1);
	livecode_explain(all, &log);
	if (live.process) {
		check(s.n_addresses == livecode_calls(live.process)->place.n);
		check_names();
	}
	stop();
	return 0;
}
