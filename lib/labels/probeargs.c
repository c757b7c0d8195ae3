/* The sample was taken at the probe's instruction, so registers and stack are those that the note
 * of the probe describes. */
#include "labels/probeargs.h"

#include "source/record.h"

#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>

/* Perf gives one value for each bit of the mask. */
static bool read_reg(const struct record_sample *s, uint8_t reg, uint64_t *ret)
{
	uint64_t bit = UINT64_C(1) << (reg & 63);
	if (!(s->user_regs_mask & bit))
		return false;
	*ret = s->user_regs[__builtin_popcountll(s->user_regs_mask & (bit - 1))];
	return true;
}

static bool read_address(const struct archprobe_operand *o, const struct record_sample *s,
			 uint64_t *ret)
{
	uint64_t base = 0, index = 0;
	if ((o->reg != ARCHPROBE_NO_REG && !read_reg(s, o->reg, &base)) ||
	    (o->index != ARCHPROBE_NO_REG && !read_reg(s, o->index, &index)))
		return false;
	*ret = base + (index << o->index_shift) + (uint64_t)o->number;
	return true;
}

/* The copy begins at the stack pointer. */
static bool read_memory(const struct evarg *a, uint8_t sp, const struct record_sample *s,
			uint64_t *ret)
{
	uint64_t at, stack;
	if (!s->user_stack || !read_address(&a->from, s, &at) || !read_reg(s, sp, &stack))
		return false;
	uint64_t off = at - stack;
	if (off > s->n_user_stack_bytes || s->n_user_stack_bytes - off < a->n_bytes)
		return false;
	*ret = 0;
	memcpy(ret, s->user_stack + off, a->n_bytes);
	return true;
}

/* The bits are extended to 64, by sign if the argument has one. */
bool probeargs_arg(const struct evarg *a, uint8_t sp, const struct record_sample *s, uint64_t *ret)
{
	uint64_t bits = (uint64_t)a->from.number;
	unsigned n_unused = 64 - 8u * a->n_bytes;
	if (!s->user_regs || s->user_abi != PERF_SAMPLE_REGS_ABI_64)
		return false;
	if (a->from.kind == ARCHPROBE_REG) {
		if (!read_reg(s, a->from.reg, &bits))
			return false;
		bits >>= a->from.low_bit;
	} else if (a->from.kind == ARCHPROBE_MEMORY && !read_memory(a, sp, s, &bits)) {
		return false;
	}
	bits <<= n_unused;
	*ret = a->is_signed ? (uint64_t)((int64_t)bits >> n_unused) : bits >> n_unused;
	return true;
}

void probeargs_read(const struct evusdt_args *a, const struct record_sample *s,
		    struct probeargs *ret)
{
	uint64_t bits;
	*ret = (struct probeargs){ .value = 1 };
	if (a->has_value) {
		/* As an unsigned number, a negative value is too large, too. */
		ret->is_unknown = !probeargs_arg(&a->value, a->sp, s, &bits) ||
				  bits > PROBEARGS_VALUE_MAX;
		ret->value = ret->is_unknown ? 0 : bits;
	}
	for (unsigned i = 0; i < a->n_labels; i++) {
		unsigned n = ret->n_labels;
		if (!probeargs_arg(&a->label[i], a->sp, s, &bits)) {
			ret->is_unknown = true;
			continue;
		}
		ret->key[n] = a->key[i];
		snprintf(ret->text[n], sizeof(ret->text[n]),
			 a->label[i].is_signed ? "%" PRId64 : "%" PRIu64, bits);
		ret->n_labels++;
	}
}
