/*
 * The instructions, and what is done with them.  bpf_get_current_task() is for programs under the
 * GPL.
 */

#include "source/live/filterprog.h"

#include "base/bpfcall.h"
#include "source/live/bpfcode.h"
#include "source/live/livecopy.h"

#include <linux/sched.h>
#include <string.h>
#include <unistd.h>

enum label { HERE, IS_THREAD, IS_TASK, IS_ALL, ADD, ACCEPT, REJECT, COPIED, END };

/* ---- the programs ---------------------------------------------------------------------- */

/* On the stack. */
enum { ID = -4, VALUE = -8, TASK = -16, NS_IDS = -24 };

/* r6: the thread id; r7: the process id.  A task in another pid namespace has neither here: next
 * is where to go on then. */
static void get_ids(struct bpfcode *c, const struct filterprog *p, enum label next)
{
	if (!p->ns_inode) {
		bpfcode_call(c, BPF_FUNC_get_current_pid_tgid);
		bpfcode_move(c, BPF_REG_6, BPF_REG_0);
		bpfcode_move(c, BPF_REG_7, BPF_REG_0);
		bpfcode_emit(c, BPF_ALU64 | BPF_RSH | BPF_K, BPF_REG_7, 0, 0, 32);
		return;
	}
	bpfcode_set_u64(c, BPF_REG_1, 0, p->ns_dev);
	bpfcode_set_u64(c, BPF_REG_2, 0, p->ns_inode);
	bpfcode_stack_address(c, BPF_REG_3, NS_IDS);
	bpfcode_set(c, BPF_REG_4, 8);
	bpfcode_call(c, BPF_FUNC_get_ns_current_pid_tgid);
	bpfcode_jump(c, BPF_JNE, BPF_REG_0, 0, next);
	bpfcode_load(c, BPF_W, BPF_REG_6, BPF_REG_10, NS_IDS);
	bpfcode_load(c, BPF_W, BPF_REG_7, BPF_REG_10, NS_IDS + 4);
}

/* Loads the bits of the id in reg into r1; goes on at no if p->ids does not have that id. */
static void check_id(struct bpfcode *c, const struct filterprog *p, uint8_t reg, enum label no)
{
	bpfcode_store(c, BPF_W, ID, reg);
	bpfcode_look_up(c, p->ids, ID);
	bpfcode_jump(c, BPF_JEQ, BPF_REG_0, 0, no);
	bpfcode_load(c, BPF_W, BPF_REG_1, BPF_REG_0, 0);
}

/* Is the present task in TASKS?  Then goes on at yes. */
static void check_task(struct bpfcode *c, const struct filterprog *p, enum label yes)
{
	bpfcode_call(c, BPF_FUNC_get_current_task);
	bpfcode_store(c, BPF_DW, TASK, BPF_REG_0);
	bpfcode_look_up(c, p->tasks, TASK);
	bpfcode_jump(c, BPF_JNE, BPF_REG_0, 0, yes);
}

/* Goes on at ACCEPT or REJECT. */
static void filter(struct bpfcode *c, const struct filterprog *p)
{
	check_id(c, p, BPF_REG_7, IS_THREAD);
	bpfcode_jump(c, BPF_JSET, BPF_REG_1, FILTERPROG_PROCESS, ACCEPT);
	bpfcode_place(c, IS_THREAD);
	check_id(c, p, BPF_REG_6, IS_TASK);
	bpfcode_jump(c, BPF_JSET, BPF_REG_1, FILTERPROG_THREAD, ACCEPT);
	bpfcode_place(c, IS_TASK);
	if (p->tasks >= 0)
		check_task(c, p, ACCEPT);
	bpfcode_set(c, BPF_REG_3, 0);
	check_id(c, p, BPF_REG_3, REJECT);
	bpfcode_jump(c, BPF_JSET, BPF_REG_1, FILTERPROG_ALL, ACCEPT);
	bpfcode_place(c, REJECT);
	bpfcode_leave(c, 0);
}

size_t filterprog_filter(const struct filterprog *p, struct bpf_insn *ret)
{
	struct bpfcode c = { .insn = ret };
	bpfcode_move(&c, BPF_REG_8, BPF_REG_1);
	get_ids(&c, p, IS_TASK);
	filter(&c, p);
	bpfcode_place(&c, ACCEPT);
	if (p->next >= 0) {
		bpfcode_move(&c, BPF_REG_1, BPF_REG_8);
		bpfcode_set_u64(&c, BPF_REG_2, BPF_PSEUDO_MAP_FD, (uint32_t)p->next);
		bpfcode_set(&c, BPF_REG_3, 0);
		bpfcode_call(&c, BPF_FUNC_tail_call);
	}
	bpfcode_leave(&c, 1);
	return bpfcode_finish(&c);
}

size_t filterprog_copy(const struct filterprog *p, const struct samplecopy *copy,
		       struct bpf_insn *ret)
{
	struct bpfcode c = { .insn = ret };
	get_ids(&c, p, END);
	livecopy_emit(copy, &c, COPIED, END);
	bpfcode_leave(&c, 1);
	return bpfcode_finish(&c);
}

/* task_newtask(task, clone_flags), in the creator. */
size_t filterprog_new_task(const struct filterprog *p, struct bpf_insn *ret)
{
	struct bpfcode c = { .insn = ret };
	bpfcode_move(&c, BPF_REG_9, BPF_REG_1);
	get_ids(&c, p, IS_TASK);
	check_id(&c, p, BPF_REG_7, IS_THREAD);
	bpfcode_emit(&c, BPF_ALU64 | BPF_AND | BPF_K, BPF_REG_1, 0, 0, FILTERPROG_PROCESS);
	bpfcode_jump(&c, BPF_JEQ, BPF_REG_1, 0, IS_THREAD);
	/* A new thread of such a process is known by its process. */
	bpfcode_load(&c, BPF_DW, BPF_REG_1, BPF_REG_9, 8);
	bpfcode_jump(&c, BPF_JSET, BPF_REG_1, CLONE_THREAD, REJECT);
	bpfcode_jump(&c, BPF_JA, 0, 0, ADD);
	bpfcode_place(&c, IS_THREAD);
	check_id(&c, p, BPF_REG_6, IS_TASK);
	bpfcode_jump(&c, BPF_JSET, BPF_REG_1, FILTERPROG_THREAD, ADD);
	bpfcode_place(&c, IS_TASK);
	check_task(&c, p, ADD);
	bpfcode_place(&c, REJECT);
	bpfcode_leave(&c, 0);

	bpfcode_place(&c, ADD);
	bpfcode_load(&c, BPF_DW, BPF_REG_1, BPF_REG_9, 0);
	bpfcode_store(&c, BPF_DW, TASK, BPF_REG_1);
	bpfcode_set(&c, BPF_REG_1, 1);
	bpfcode_store(&c, BPF_W, VALUE, BPF_REG_1);
	bpfcode_set_u64(&c, BPF_REG_1, BPF_PSEUDO_MAP_FD, (uint32_t)p->tasks);
	bpfcode_stack_address(&c, BPF_REG_2, TASK);
	bpfcode_stack_address(&c, BPF_REG_3, VALUE);
	bpfcode_set(&c, BPF_REG_4, BPF_ANY);
	bpfcode_call(&c, BPF_FUNC_map_update_elem);
	bpfcode_jump(&c, BPF_JEQ, BPF_REG_0, 0, ACCEPT);
	/* There is no room. */
	bpfcode_set(&c, BPF_REG_1, 0);
	bpfcode_store(&c, BPF_W, ID, BPF_REG_1);
	bpfcode_look_up(&c, p->ids, ID);
	bpfcode_jump(&c, BPF_JEQ, BPF_REG_0, 0, ACCEPT);
	bpfcode_emit(&c, BPF_ST | BPF_MEM | BPF_W, BPF_REG_0, 0, 0, FILTERPROG_ALL);
	bpfcode_place(&c, ACCEPT);
	bpfcode_leave(&c, 0);
	return bpfcode_finish(&c);
}

/* sched_process_free(task) */
size_t filterprog_free_task(const struct filterprog *p, struct bpf_insn *ret)
{
	struct bpfcode c = { .insn = ret };
	bpfcode_load(&c, BPF_DW, BPF_REG_1, BPF_REG_1, 0);
	bpfcode_store(&c, BPF_DW, TASK, BPF_REG_1);
	bpfcode_set_u64(&c, BPF_REG_1, BPF_PSEUDO_MAP_FD, (uint32_t)p->tasks);
	bpfcode_stack_address(&c, BPF_REG_2, TASK);
	bpfcode_call(&c, BPF_FUNC_map_delete_elem);
	bpfcode_leave(&c, 0);
	return bpfcode_finish(&c);
}

/* ---- bpf(2) ---------------------------------------------------------------------------- */

static int new_map(const char *name, uint32_t key_bytes, uint32_t n)
{
	return bpfcall_map(&(struct bpfcall_map){
		.name = name, .type = BPF_MAP_TYPE_HASH, .key_bytes = key_bytes,
		.value_bytes = sizeof(uint32_t), .n_entries = n,
	});
}

int filterprog_new_ids(uint32_t n_ids)
{
	return new_map("cprof_ids", sizeof(uint32_t), n_ids + 1);
}

static void fill_element(union bpf_attr *a, int ids, const uint32_t *id, const uint32_t *bits)
{
	memset(a, 0, sizeof(*a));
	a->map_fd = (uint32_t)ids;
	a->key = (uintptr_t)id;
	a->value = (uintptr_t)bits;
}

int filterprog_new_next(void)
{
	return bpfcall_map(&(struct bpfcall_map){
		.name = "cprof_next", .type = BPF_MAP_TYPE_PROG_ARRAY,
		.key_bytes = sizeof(uint32_t), .value_bytes = sizeof(uint32_t), .n_entries = 1,
	});
}

int filterprog_set_next(int next, int program)
{
	union bpf_attr a;
	uint32_t key = 0, value = (uint32_t)program;
	fill_element(&a, next, &key, &value);
	return bpfcall(BPF_MAP_UPDATE_ELEM, &a);
}

int filterprog_new_tasks(void)
{
	return new_map("cprof_tasks", sizeof(uint64_t), FILTERPROG_TASKS_MAX);
}

int filterprog_set_id(int ids, uint32_t id, uint32_t bits)
{
	union bpf_attr a;
	fill_element(&a, ids, &id, &bits);
	return bpfcall(BPF_MAP_UPDATE_ELEM, &a);
}

uint32_t filterprog_get_id(int ids, uint32_t id)
{
	union bpf_attr a;
	uint32_t bits = 0;
	fill_element(&a, ids, &id, &bits);
	return bpfcall(BPF_MAP_LOOKUP_ELEM, &a) < 0 ? 0 : bits;
}

int filterprog_load_filter(const struct filterprog *p)
{
	struct bpf_insn insn[BPFCODE_INSNS_MAX];
	return bpfcall_load(&(struct bpfcall_prog){
		.name = "cprof_filter", .type = BPF_PROG_TYPE_PERF_EVENT, .insn = insn,
		.n = filterprog_filter(p, insn),
	});
}

int filterprog_load_copy(const struct filterprog *p, const struct samplecopy *copy)
{
	struct bpf_insn insn[BPFCODE_INSNS_MAX];
	return bpfcall_load(&(struct bpfcall_prog){
		.name = "cprof_copy", .type = BPF_PROG_TYPE_PERF_EVENT, .insn = insn,
		.n = filterprog_copy(p, copy, insn),
	});
}

static int attach(const char *tracepoint, const char *name, const struct bpf_insn *insn, size_t n)
{
	union bpf_attr a;
	int prog = bpfcall_load(&(struct bpfcall_prog){
		.name = name, .type = BPF_PROG_TYPE_RAW_TRACEPOINT, .insn = insn, .n = n,
	});
	if (prog < 0)
		return prog;
	memset(&a, 0, sizeof(a));
	a.raw_tracepoint.name = (uintptr_t)tracepoint;
	a.raw_tracepoint.prog_fd = (uint32_t)prog;
	int fd = bpfcall(BPF_RAW_TRACEPOINT_OPEN, &a);
	close(prog);
	return fd;
}

int filterprog_attach_new(const struct filterprog *p)
{
	struct bpf_insn insn[BPFCODE_INSNS_MAX];
	return attach("task_newtask", "cprof_new", insn, filterprog_new_task(p, insn));
}

int filterprog_attach_free(const struct filterprog *p)
{
	struct bpf_insn insn[BPFCODE_INSNS_MAX];
	return attach("sched_process_free", "cprof_free", insn, filterprog_free_task(p, insn));
}
