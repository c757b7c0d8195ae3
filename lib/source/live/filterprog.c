/*
 * The instructions, and what is done with them.  bpf_get_current_task() is for programs under the
 * GPL.
 *
 * Registers as in the kernel's Documentation/bpf/standardization/instruction-set.rst: r0 is the
 * result of a call, r1 to r5 its arguments, r6 to r9 survive it, r10 is the end of the stack.
 */

#include "source/live/filterprog.h"

#include "base/bpfcall.h"

#include <linux/sched.h>
#include <string.h>
#include <unistd.h>

/* ---- a small assembler ----------------------------------------------------------------- */

enum label { HERE, IS_THREAD, IS_TASK, IS_ALL, ADD, ACCEPT, REJECT, N_LABELS };

struct code {
	struct bpf_insn *insn;
	size_t n, label[N_LABELS];
	uint8_t target[FILTERPROG_INSNS_MAX];  /* of each jump */
};

static void emit(struct code *c, uint8_t code, uint8_t dst, uint8_t src, int16_t off, int32_t imm)
{
	c->insn[c->n++] = (struct bpf_insn){
		.code = code, .dst_reg = dst & 15, .src_reg = src & 15, .off = off, .imm = imm,
	};
}

static void move(struct code *c, uint8_t to, uint8_t from)
{
	emit(c, BPF_ALU64 | BPF_MOV | BPF_X, to, from, 0, 0);
}

static void set(struct code *c, uint8_t to, int32_t value)
{
	emit(c, BPF_ALU64 | BPF_MOV | BPF_K, to, 0, 0, value);
}

/* Two instructions. */
static void set_u64(struct code *c, uint8_t to, uint8_t kind, uint64_t value)
{
	emit(c, BPF_LD | BPF_DW | BPF_IMM, to, kind, 0, (int32_t)(uint32_t)value);
	emit(c, 0, 0, 0, 0, (int32_t)(uint32_t)(value >> 32));
}

/* size: BPF_W or BPF_DW */
static void store(struct code *c, uint8_t size, int16_t at, uint8_t from)
{
	emit(c, (uint8_t)(BPF_STX | BPF_MEM | size), BPF_REG_10, from, at, 0);
}

static void load(struct code *c, uint8_t size, uint8_t to, uint8_t base, int16_t at)
{
	emit(c, (uint8_t)(BPF_LDX | BPF_MEM | size), to, base, at, 0);
}

static void stack_address(struct code *c, uint8_t to, int16_t at)
{
	move(c, to, BPF_REG_10);
	emit(c, BPF_ALU64 | BPF_ADD | BPF_K, to, 0, 0, at);
}

static void call(struct code *c, int32_t function)
{
	emit(c, BPF_JMP | BPF_CALL, 0, 0, 0, function);
}

/* how: BPF_JA, BPF_JEQ, BPF_JNE or BPF_JSET */
static void jump(struct code *c, uint8_t how, uint8_t reg, int32_t value, enum label to)
{
	c->target[c->n] = (uint8_t)to;
	emit(c, (uint8_t)(BPF_JMP | how | BPF_K), reg, 0, 0, value);
}

static void place(struct code *c, enum label l)
{
	c->label[l] = c->n;
}

static void leave(struct code *c, int32_t result)
{
	set(c, BPF_REG_0, result);
	emit(c, BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
}

static size_t finish(struct code *c)
{
	for (size_t i = 0; i < c->n; i++)
		if (c->target[i])
			c->insn[i].off = (int16_t)(c->label[c->target[i]] - i - 1);
	return c->n;
}

/* ---- the programs ---------------------------------------------------------------------- */

/* On the stack. */
enum { ID = -4, VALUE = -8, TASK = -16, NS_IDS = -24 };

/* r0: the address of the value of the key on the stack, or 0 */
static void look_up(struct code *c, int map, int16_t key)
{
	set_u64(c, BPF_REG_1, BPF_PSEUDO_MAP_FD, (uint32_t)map);
	stack_address(c, BPF_REG_2, key);
	call(c, BPF_FUNC_map_lookup_elem);
}

/* r6: the thread id; r7: the process id.  A task in another pid namespace has neither here: next
 * is where to go on then. */
static void get_ids(struct code *c, const struct filterprog *p, enum label next)
{
	if (!p->ns_inode) {
		call(c, BPF_FUNC_get_current_pid_tgid);
		move(c, BPF_REG_6, BPF_REG_0);
		move(c, BPF_REG_7, BPF_REG_0);
		emit(c, BPF_ALU64 | BPF_RSH | BPF_K, BPF_REG_7, 0, 0, 32);
		return;
	}
	set_u64(c, BPF_REG_1, 0, p->ns_dev);
	set_u64(c, BPF_REG_2, 0, p->ns_inode);
	stack_address(c, BPF_REG_3, NS_IDS);
	set(c, BPF_REG_4, 8);
	call(c, BPF_FUNC_get_ns_current_pid_tgid);
	jump(c, BPF_JNE, BPF_REG_0, 0, next);
	load(c, BPF_W, BPF_REG_6, BPF_REG_10, NS_IDS);
	load(c, BPF_W, BPF_REG_7, BPF_REG_10, NS_IDS + 4);
}

/* Loads the bits of the id in reg into r1; goes on at no if p->ids does not have that id. */
static void check_id(struct code *c, const struct filterprog *p, uint8_t reg, enum label no)
{
	store(c, BPF_W, ID, reg);
	look_up(c, p->ids, ID);
	jump(c, BPF_JEQ, BPF_REG_0, 0, no);
	load(c, BPF_W, BPF_REG_1, BPF_REG_0, 0);
}

/* Is the present task in TASKS?  Then goes on at yes. */
static void check_task(struct code *c, const struct filterprog *p, enum label yes)
{
	call(c, BPF_FUNC_get_current_task);
	store(c, BPF_DW, TASK, BPF_REG_0);
	look_up(c, p->tasks, TASK);
	jump(c, BPF_JNE, BPF_REG_0, 0, yes);
}

size_t filterprog_filter(const struct filterprog *p, struct bpf_insn *ret)
{
	struct code c = { .insn = ret };
	get_ids(&c, p, IS_TASK);
	check_id(&c, p, BPF_REG_7, IS_THREAD);
	jump(&c, BPF_JSET, BPF_REG_1, FILTERPROG_PROCESS, ACCEPT);
	place(&c, IS_THREAD);
	check_id(&c, p, BPF_REG_6, IS_TASK);
	jump(&c, BPF_JSET, BPF_REG_1, FILTERPROG_THREAD, ACCEPT);
	place(&c, IS_TASK);
	if (p->tasks >= 0)
		check_task(&c, p, ACCEPT);
	set(&c, BPF_REG_3, 0);
	check_id(&c, p, BPF_REG_3, REJECT);
	jump(&c, BPF_JSET, BPF_REG_1, FILTERPROG_ALL, ACCEPT);
	place(&c, REJECT);
	leave(&c, 0);
	place(&c, ACCEPT);
	leave(&c, 1);
	return finish(&c);
}

/* task_newtask(task, clone_flags), in the creator. */
size_t filterprog_new_task(const struct filterprog *p, struct bpf_insn *ret)
{
	struct code c = { .insn = ret };
	move(&c, BPF_REG_9, BPF_REG_1);
	get_ids(&c, p, IS_TASK);
	check_id(&c, p, BPF_REG_7, IS_THREAD);
	emit(&c, BPF_ALU64 | BPF_AND | BPF_K, BPF_REG_1, 0, 0, FILTERPROG_PROCESS);
	jump(&c, BPF_JEQ, BPF_REG_1, 0, IS_THREAD);
	/* A new thread of such a process is known by its process. */
	load(&c, BPF_DW, BPF_REG_1, BPF_REG_9, 8);
	jump(&c, BPF_JSET, BPF_REG_1, CLONE_THREAD, REJECT);
	jump(&c, BPF_JA, 0, 0, ADD);
	place(&c, IS_THREAD);
	check_id(&c, p, BPF_REG_6, IS_TASK);
	jump(&c, BPF_JSET, BPF_REG_1, FILTERPROG_THREAD, ADD);
	place(&c, IS_TASK);
	check_task(&c, p, ADD);
	place(&c, REJECT);
	leave(&c, 0);

	place(&c, ADD);
	load(&c, BPF_DW, BPF_REG_1, BPF_REG_9, 0);
	store(&c, BPF_DW, TASK, BPF_REG_1);
	set(&c, BPF_REG_1, 1);
	store(&c, BPF_W, VALUE, BPF_REG_1);
	set_u64(&c, BPF_REG_1, BPF_PSEUDO_MAP_FD, (uint32_t)p->tasks);
	stack_address(&c, BPF_REG_2, TASK);
	stack_address(&c, BPF_REG_3, VALUE);
	set(&c, BPF_REG_4, BPF_ANY);
	call(&c, BPF_FUNC_map_update_elem);
	jump(&c, BPF_JEQ, BPF_REG_0, 0, ACCEPT);
	/* There is no room. */
	set(&c, BPF_REG_1, 0);
	store(&c, BPF_W, ID, BPF_REG_1);
	look_up(&c, p->ids, ID);
	jump(&c, BPF_JEQ, BPF_REG_0, 0, ACCEPT);
	emit(&c, BPF_ST | BPF_MEM | BPF_W, BPF_REG_0, 0, 0, FILTERPROG_ALL);
	place(&c, ACCEPT);
	leave(&c, 0);
	return finish(&c);
}

/* sched_process_free(task) */
size_t filterprog_free_task(const struct filterprog *p, struct bpf_insn *ret)
{
	struct code c = { .insn = ret };
	load(&c, BPF_DW, BPF_REG_1, BPF_REG_1, 0);
	store(&c, BPF_DW, TASK, BPF_REG_1);
	set_u64(&c, BPF_REG_1, BPF_PSEUDO_MAP_FD, (uint32_t)p->tasks);
	stack_address(&c, BPF_REG_2, TASK);
	call(&c, BPF_FUNC_map_delete_elem);
	leave(&c, 0);
	return finish(&c);
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

int filterprog_new_tasks(void)
{
	return new_map("cprof_tasks", sizeof(uint64_t), FILTERPROG_TASKS_MAX);
}

static void fill_element(union bpf_attr *a, int ids, const uint32_t *id, const uint32_t *bits)
{
	memset(a, 0, sizeof(*a));
	a->map_fd = (uint32_t)ids;
	a->key = (uintptr_t)id;
	a->value = (uintptr_t)bits;
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
	struct bpf_insn insn[FILTERPROG_INSNS_MAX];
	return bpfcall_load(&(struct bpfcall_prog){
		.name = "cprof_filter", .type = BPF_PROG_TYPE_PERF_EVENT, .insn = insn,
		.n = filterprog_filter(p, insn),
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
	struct bpf_insn insn[FILTERPROG_INSNS_MAX];
	return attach("task_newtask", "cprof_new", insn, filterprog_new_task(p, insn));
}

int filterprog_attach_free(const struct filterprog *p)
{
	struct bpf_insn insn[FILTERPROG_INSNS_MAX];
	return attach("sched_process_free", "cprof_free", insn, filterprog_free_task(p, insn));
}
