/* The programs run here on a small interpreter, and, where bpf(2) is allowed, are loaded into the
 * kernel, which verifies them. */
#include "source/live/filterprog.h"
#include "source/samplecopy.h"
#include "tests/unit/tap.h"

#include <linux/sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define IDS 5
#define TASKS 6
#define NEXT 7
#define CONTEXT 0x1234
#define STEPS_MAX 200

/* ---- a machine with two maps and a present task ----------------------------------------- */

struct machine {
	uint32_t id[8], bits[8];
	uint64_t task[4];
	size_t n_ids, n_tasks, max_tasks;
	uint32_t pid, tid;             /* of the present task */
	bool other_namespace;
	uint64_t next;                 /* the map of which a program was called */
	uint64_t current;              /* its address */
	uint64_t asked_dev, asked_inode;
};

static uint64_t find(struct machine *m, uint64_t map, uint64_t key)
{
	static uint32_t one = 1;
	uint32_t id;
	uint64_t task;
	memcpy(&id, (void *)(uintptr_t)key, sizeof(id));
	for (size_t i = 0; map == IDS && i < m->n_ids; i++)
		if (m->id[i] == id)
			return (uintptr_t)&m->bits[i];
	if (map == IDS)
		return 0;
	memcpy(&task, (void *)(uintptr_t)key, sizeof(task));
	for (size_t i = 0; i < m->n_tasks; i++)
		if (m->task[i] == task)
			return (uintptr_t)&one;
	return 0;
}

static int64_t add_task(struct machine *m, uint64_t map, uint64_t key)
{
	if (map != TASKS || m->n_tasks == m->max_tasks)
		return -7;
	memcpy(&m->task[m->n_tasks++], (void *)(uintptr_t)key, sizeof(uint64_t));
	return 0;
}

static int64_t remove_task(struct machine *m, uint64_t key)
{
	uint64_t task;
	memcpy(&task, (void *)(uintptr_t)key, sizeof(task));
	for (size_t i = 0; i < m->n_tasks; i++)
		if (m->task[i] == task) {
			m->task[i] = m->task[--m->n_tasks];
			return 0;
		}
	return -2;
}

static uint64_t call(struct machine *m, int32_t function, const uint64_t *r)
{
	uint32_t ids[2] = { m->tid, m->pid };
	switch (function) {
	case BPF_FUNC_get_current_pid_tgid: return (uint64_t)m->pid << 32 | m->tid;
	case BPF_FUNC_get_current_task: return m->current;
	case BPF_FUNC_map_lookup_elem: return find(m, r[1], r[2]);
	case BPF_FUNC_map_update_elem: return (uint64_t)add_task(m, r[1], r[2]);
	case BPF_FUNC_map_delete_elem: return (uint64_t)remove_task(m, r[2]);
	case BPF_FUNC_tail_call:
		m->next = r[1] == CONTEXT && r[3] == 0 ? r[2] : 0;
		return (uint64_t)-2;
	case BPF_FUNC_get_ns_current_pid_tgid:
		m->asked_dev = r[1];
		m->asked_inode = r[2];
		if (r[4] != sizeof(ids) || m->other_namespace)
			return (uint64_t)-22;
		memcpy((void *)(uintptr_t)r[3], ids, sizeof(ids));
		return 0;
	default:
		printf("# function %d\n", function);
		exit(1);
	}
}

static bool is_true(uint8_t code, uint64_t a, uint64_t b)
{
	switch (BPF_OP(code)) {
	case BPF_JA: return true;
	case BPF_JEQ: return a == b;
	case BPF_JNE: return a != b;
	case BPF_JSET: return a & b;
	default: exit(1);
	}
}

static void compute(const struct bpf_insn *i, uint64_t *r)
{
	uint64_t b = BPF_SRC(i->code) == BPF_X ? r[i->src_reg] : (uint64_t)(int64_t)i->imm;
	switch (BPF_OP(i->code)) {
	case BPF_MOV: r[i->dst_reg] = b; break;
	case BPF_ADD: r[i->dst_reg] += b; break;
	case BPF_AND: r[i->dst_reg] &= b; break;
	case BPF_RSH: r[i->dst_reg] >>= b; break;
	default: exit(1);
	}
}

/* Returns r0. */
static uint64_t run(struct machine *m, const struct bpf_insn *code, size_t n, const void *ctx)
{
	uint64_t stack[8] = { 0 }, r[11] = { [1] = (uintptr_t)ctx, [10] = (uintptr_t)(stack + 8) };
	size_t at = 0;
	for (int step = 0; at < n && step < STEPS_MAX; step++) {
		const struct bpf_insn *i = &code[at++];
		size_t n_bytes = BPF_SIZE(i->code) == BPF_W ? 4 : 8;
		char *to = (char *)(uintptr_t)(r[i->dst_reg] + (uint64_t)(int64_t)i->off);
		uint64_t imm = (uint32_t)i->imm, loaded = 0;
		switch (BPF_CLASS(i->code)) {
		case BPF_LD:
			r[i->dst_reg] = imm | (uint64_t)(uint32_t)code[at++].imm << 32;
			break;
		case BPF_LDX:
			memcpy(&loaded, (char *)(uintptr_t)r[i->src_reg] + i->off, n_bytes);
			r[i->dst_reg] = loaded;
			break;
		case BPF_STX: memcpy(to, &r[i->src_reg], n_bytes); break;
		case BPF_ST: memcpy(to, &imm, n_bytes); break;
		case BPF_ALU64: compute(i, r); break;
		case BPF_JMP:
			if (BPF_OP(i->code) == BPF_EXIT)
				return r[0];
			if (BPF_OP(i->code) == BPF_CALL)
				r[0] = call(m, i->imm, r);
			else if (is_true(i->code, r[i->dst_reg], (uint64_t)(int64_t)i->imm))
				at = (size_t)((long)at + i->off);
			break;
		default: exit(1);
		}
	}
	printf("# the program does not end\n");
	exit(1);
}

/* ---- cases ------------------------------------------------------------------------------ */

static bool accepts(struct machine *m, const struct filterprog *p, uint32_t pid, uint32_t tid,
		    uint64_t task)
{
	struct bpf_insn code[BPFCODE_INSNS_MAX];
	m->pid = pid;
	m->tid = tid;
	m->current = task;
	return run(m, code, filterprog_filter(p, code), (void *)CONTEXT) == 1;
}

static void create(struct machine *m, const struct filterprog *p, uint32_t pid, uint32_t tid,
		   uint64_t task, uint64_t child, uint64_t flags)
{
	struct bpf_insn code[BPFCODE_INSNS_MAX];
	uint64_t args[2] = { child, flags };
	m->pid = pid;
	m->tid = tid;
	m->current = task;
	run(m, code, filterprog_new_task(p, code), args);
}

static void end(struct machine *m, const struct filterprog *p, uint64_t task)
{
	struct bpf_insn code[BPFCODE_INSNS_MAX];
	run(m, code, filterprog_free_task(p, code), &task);
}

static struct machine machine(void)
{
	return (struct machine){ .id = { 0, 100, 201 }, .n_ids = 3, .max_tasks = 3,
				 .bits = { 0, FILTERPROG_PROCESS | FILTERPROG_THREAD,
					   FILTERPROG_THREAD } };
}

static void test_ids(void)
{
	const struct filterprog p = { .ids = IDS, .tasks = -1 , .next = -1};
	struct machine m = machine();
	tap_ok(accepts(&m, &p, 100, 100, 1), "the main thread of a target");
	tap_ok(accepts(&m, &p, 100, 105, 1), "another thread of it");
	tap_ok(accepts(&m, &p, 200, 201, 1), "a thread that is a target");
	tap_ok(!accepts(&m, &p, 200, 200, 1), "but not the others of its process");
	tap_ok(!accepts(&m, &p, 201, 202, 1), "nor a process with its id");
	tap_ok(!accepts(&m, &p, 0, 0, 1), "nor the idle task");
	tap_ok(!accepts(&m, &p, 300, 300, 1), "nor another process");
	m.bits[0] = FILTERPROG_ALL;
	tap_ok(accepts(&m, &p, 300, 300, 1) && accepts(&m, &p, 0, 0, 1),
	       "if there is no room for tasks, everything is accepted");
}

static void test_tasks(void)
{
	const struct filterprog p = { .ids = IDS, .tasks = TASKS , .next = -1};
	struct machine m = machine();
	create(&m, &p, 300, 300, 0x30, 0x31, 0);
	tap_int(m.n_tasks, 0, "a child of another process is not added");
	create(&m, &p, 100, 105, 0x10, 0x11, CLONE_THREAD | CLONE_VM);
	tap_int(m.n_tasks, 0, "nor a thread of a target, which is known by its process");
	tap_ok(!accepts(&m, &p, 106, 106, 0x12), "a task before it is created");
	create(&m, &p, 100, 105, 0x10, 0x12, 0);
	tap_ok(accepts(&m, &p, 106, 106, 0x12), "a child of a target");
	create(&m, &p, 106, 106, 0x12, 0x13, CLONE_THREAD);
	tap_ok(accepts(&m, &p, 106, 107, 0x13), "a thread of that child");
	create(&m, &p, 200, 201, 0x20, 0x21, CLONE_THREAD);
	tap_ok(accepts(&m, &p, 200, 202, 0x21), "a thread created by a target thread");
	tap_ok(!accepts(&m, &p, 200, 203, 0x22), "but no other of that process");
	end(&m, &p, 0x12);
	tap_ok(!accepts(&m, &p, 300, 300, 0x12), "an address that is used again");
	end(&m, &p, 0x99);
	tap_int(m.n_tasks, 2, "the end of other tasks changes nothing");
	create(&m, &p, 100, 100, 0x10, 0x14, 0);
	tap_ok(!accepts(&m, &p, 300, 300, 0x30), "as long as there is room");
	create(&m, &p, 100, 100, 0x10, 0x15, 0);
	tap_ok(accepts(&m, &p, 108, 108, 0x15) && m.bits[0] == FILTERPROG_ALL,
	       "without room everything is accepted");
}

static void test_namespace(void)
{
	const struct filterprog p = { .ids = IDS, .tasks = TASKS, .next = -1, .ns_dev = 4,
				      .ns_inode = UINT64_C(0x1F0000123) };
	struct machine m = machine();
	tap_ok(accepts(&m, &p, 100, 101, 1), "ids of a pid namespace");
	tap_ok(m.asked_dev == 4 && m.asked_inode == UINT64_C(0x1F0000123), "  which one");
	tap_ok(accepts(&m, &p, 200, 201, 1), "  of a thread");
	m.other_namespace = true;
	tap_ok(!accepts(&m, &p, 100, 101, 1), "equal ids of another namespace");
	m.task[m.n_tasks++] = 0x12;
	tap_ok(accepts(&m, &p, 100, 101, 0x12), "a child in another namespace");
	create(&m, &p, 100, 100, 0x12, 0x13, 0);
	tap_ok(accepts(&m, &p, 1, 1, 0x13), "  and its child");
}

static void test_next(void)
{
	const struct filterprog p = { .ids = IDS, .tasks = -1, .next = NEXT };
	struct machine m = machine();
	tap_ok(!accepts(&m, &p, 300, 300, 1) && m.next == 0, "no next program for other samples");
	tap_ok(accepts(&m, &p, 100, 105, 1) && m.next == NEXT, "one for those of the target");
}

static void test_copy(void)
{
	struct filterprog p = { .ids = -1, .tasks = -1, .next = filterprog_new_next() };
	struct samplecopy copy;
	const uint64_t at[2] = { 0x10000, 0x20000 };
	int r = p.next < 0 ? p.next : samplecopy_open(&copy, 2);
	if (r < 0) {
		tap_skip("the kernel accepts the program that copies", "bpf(2) is not allowed");
		return;
	}
	for (int ns = 0; ns < 2; ns++) {
		p.ns_inode = ns ? 0xF0000123u : 0;
		int fd = filterprog_load_copy(&p, &copy);
		tap_ok(fd >= 0, ns ? "the program that copies, with a pid namespace" :
				"the program that copies");
		tap_int(filterprog_set_next(p.next, fd), 0, "  is the next one of a filter");
		close(fd);
	}
	tap_int(samplecopy_want(&copy, 7, at, 2), 0, "parts of a thread's memory");
	samplecopy_close(&copy);
	tap_int(samplecopy_open(&copy, 1u << 20), -7, "too many CPUs");
	tap_ok(!samplecopy_is_open(&copy), "closed");
	close(p.next);
}

static void test_kernel(void)
{
	struct filterprog p = { .ids = filterprog_new_ids(2), .tasks = -1 , .next = -1};
	if (p.ids < 0) {
		tap_skip("the kernel accepts the programs", "bpf(2) is not allowed");
		return;
	}
	p.tasks = filterprog_new_tasks();
	tap_ok(p.tasks >= 0, "maps");
	tap_int(filterprog_set_id(p.ids, 7, FILTERPROG_THREAD), 0, "an id");
	tap_int((int)filterprog_get_id(p.ids, 7), FILTERPROG_THREAD, "  is there");
	tap_int((int)filterprog_get_id(p.ids, 8), 0, "  another is not");
	tap_int(filterprog_set_id(p.ids, 7, 3), 0, "  is changed");
	tap_int((int)filterprog_get_id(p.ids, 7), 3, "  to that");
	for (int ns = 0; ns < 2; ns++) {
		p.ns_inode = ns ? 0xF0000123u : 0;
		int filter = filterprog_load_filter(&p), added = filterprog_attach_new(&p),
		    freed = filterprog_attach_free(&p);
		tap_ok(filter >= 0, ns ? "the filter, with a pid namespace" : "the filter");
		tap_ok(added >= 0 && freed >= 0, "  new and released tasks");
		close(filter);
		close(added);
		close(freed);
	}
	close(p.tasks);
	p.tasks = -1;
	int filter = filterprog_load_filter(&p);
	tap_ok(filter >= 0, "a filter without later tasks");
	close(filter);
	close(p.ids);
}

int main(void)
{
	test_ids();
	test_tasks();
	test_namespace();
	test_next();
	test_copy();
	test_kernel();
	return tap_done();
}
