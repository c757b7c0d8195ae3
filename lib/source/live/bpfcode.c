#include "source/live/bpfcode.h"

void bpfcode_emit(struct bpfcode *c, uint8_t code, uint8_t dst, uint8_t src, int16_t off,
		  int32_t imm)
{
	c->insn[c->n++] = (struct bpf_insn){
		.code = code, .dst_reg = dst & 15, .src_reg = src & 15, .off = off, .imm = imm,
	};
}

void bpfcode_move(struct bpfcode *c, uint8_t to, uint8_t from)
{
	bpfcode_emit(c, BPF_ALU64 | BPF_MOV | BPF_X, to, from, 0, 0);
}

void bpfcode_set(struct bpfcode *c, uint8_t to, int32_t value)
{
	bpfcode_emit(c, BPF_ALU64 | BPF_MOV | BPF_K, to, 0, 0, value);
}

void bpfcode_set_u64(struct bpfcode *c, uint8_t to, uint8_t kind, uint64_t value)
{
	bpfcode_emit(c, BPF_LD | BPF_DW | BPF_IMM, to, kind, 0, (int32_t)(uint32_t)value);
	bpfcode_emit(c, 0, 0, 0, 0, (int32_t)(uint32_t)(value >> 32));
}

void bpfcode_store(struct bpfcode *c, uint8_t size, int16_t at, uint8_t from)
{
	bpfcode_emit(c, (uint8_t)(BPF_STX | BPF_MEM | size), BPF_REG_10, from, at, 0);
}

void bpfcode_load(struct bpfcode *c, uint8_t size, uint8_t to, uint8_t base, int16_t at)
{
	bpfcode_emit(c, (uint8_t)(BPF_LDX | BPF_MEM | size), to, base, at, 0);
}

void bpfcode_stack_address(struct bpfcode *c, uint8_t to, int16_t at)
{
	bpfcode_move(c, to, BPF_REG_10);
	bpfcode_emit(c, BPF_ALU64 | BPF_ADD | BPF_K, to, 0, 0, at);
}

void bpfcode_call(struct bpfcode *c, int32_t function)
{
	bpfcode_emit(c, BPF_JMP | BPF_CALL, 0, 0, 0, function);
}

void bpfcode_jump(struct bpfcode *c, uint8_t how, uint8_t reg, int32_t value, uint8_t label)
{
	c->target[c->n] = label;
	bpfcode_emit(c, (uint8_t)(BPF_JMP | how | BPF_K), reg, 0, 0, value);
}

void bpfcode_place(struct bpfcode *c, uint8_t label)
{
	c->label[label] = c->n;
}

void bpfcode_leave(struct bpfcode *c, int32_t result)
{
	bpfcode_set(c, BPF_REG_0, result);
	bpfcode_emit(c, BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
}

size_t bpfcode_finish(struct bpfcode *c)
{
	for (size_t i = 0; i < c->n; i++)
		if (c->target[i])
			c->insn[i].off = (int16_t)(c->label[c->target[i]] - i - 1);
	return c->n;
}

void bpfcode_add(struct bpfcode *c, uint8_t to, int32_t value)
{
	bpfcode_emit(c, BPF_ALU64 | BPF_ADD | BPF_K, to, 0, 0, value);
}

void bpfcode_store_at(struct bpfcode *c, uint8_t size, uint8_t base, int16_t at, uint8_t from)
{
	bpfcode_emit(c, (uint8_t)(BPF_STX | BPF_MEM | size), base, from, at, 0);
}

void bpfcode_look_up(struct bpfcode *c, int map, int16_t key)
{
	bpfcode_set_u64(c, BPF_REG_1, BPF_PSEUDO_MAP_FD, (uint32_t)map);
	bpfcode_stack_address(c, BPF_REG_2, key);
	bpfcode_call(c, BPF_FUNC_map_lookup_elem);
}
