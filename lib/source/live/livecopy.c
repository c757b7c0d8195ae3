#include "source/live/livecopy.h"

#include <stddef.h>

/* On the stack of the program. */
enum { KEY = -4 };

/* In a slot. */
enum { TIME = offsetof(struct samplecopy_slot, time_ns) };

/* r0: the address of the value of the key in reg, or goes on at end. */
static void look_up(struct bpfcode *c, int map, uint8_t reg, uint8_t end)
{
	bpfcode_store(c, BPF_W, KEY, reg);
	bpfcode_look_up(c, map, KEY);
	bpfcode_jump(c, BPF_JEQ, BPF_REG_0, 0, end);
}

/* r9: the next slot of this CPU. */
static void next_slot(const struct samplecopy *l, struct bpfcode *c, uint8_t end)
{
	bpfcode_set(c, BPF_REG_1, 0);
	look_up(c, l->cursor, BPF_REG_1, end);
	bpfcode_load(c, BPF_DW, BPF_REG_9, BPF_REG_0, 0);
	bpfcode_move(c, BPF_REG_1, BPF_REG_9);
	bpfcode_add(c, BPF_REG_1, 1);
	bpfcode_store_at(c, BPF_DW, BPF_REG_0, 0, BPF_REG_1);
	bpfcode_emit(c, BPF_ALU64 | BPF_AND | BPF_K, BPF_REG_9, 0, 0, (int32_t)(l->n_slots - 1));
	bpfcode_call(c, BPF_FUNC_get_smp_processor_id);
	bpfcode_emit(c, BPF_ALU64 | BPF_MUL | BPF_K, BPF_REG_0, 0, 0, (int32_t)l->n_slots);
	bpfcode_emit(c, BPF_ALU64 | BPF_ADD | BPF_X, BPF_REG_9, BPF_REG_0, 0, 0);
	look_up(c, l->slots, BPF_REG_9, end);
	bpfcode_move(c, BPF_REG_9, BPF_REG_0);
}

void livecopy_emit(const struct samplecopy *l, struct bpfcode *c, uint8_t done, uint8_t end)
{
	look_up(c, l->wanted, BPF_REG_6, end);
	bpfcode_move(c, BPF_REG_8, BPF_REG_0);
	next_slot(l, c, end);
	bpfcode_call(c, BPF_FUNC_ktime_get_ns);
	bpfcode_move(c, BPF_REG_7, BPF_REG_0);
	bpfcode_set(c, BPF_REG_1, 0);
	bpfcode_store_at(c, BPF_DW, BPF_REG_9, TIME, BPF_REG_1);
	bpfcode_store_at(c, BPF_W, BPF_REG_9, offsetof(struct samplecopy_slot, tid), BPF_REG_6);
	for (size_t i = 0; i < SAMPLECOPY_PARTS; i++) {
		int16_t at = (int16_t)(offsetof(struct samplecopy_slot, at) + 8 * i);
		bpfcode_load(c, BPF_DW, BPF_REG_3, BPF_REG_8, (int16_t)(8 * i));
		bpfcode_store_at(c, BPF_DW, BPF_REG_9, at, BPF_REG_3);
		bpfcode_jump(c, BPF_JEQ, BPF_REG_3, 0, done);
		bpfcode_move(c, BPF_REG_1, BPF_REG_9);
		bpfcode_add(c, BPF_REG_1, (int32_t)offsetof(struct samplecopy_slot, part[i]));
		bpfcode_set(c, BPF_REG_2, SAMPLECOPY_PART_BYTES);
		bpfcode_call(c, BPF_FUNC_probe_read_user);
		/* failed: two instructions */
		bpfcode_emit(c, BPF_JMP | BPF_JEQ | BPF_K, BPF_REG_0, 0, 2, 0);
		bpfcode_set(c, BPF_REG_1, 0);
		bpfcode_store_at(c, BPF_DW, BPF_REG_9, at, BPF_REG_1);
	}
	bpfcode_place(c, done);
	bpfcode_store_at(c, BPF_DW, BPF_REG_9, TIME, BPF_REG_7);
	bpfcode_place(c, end);
}
