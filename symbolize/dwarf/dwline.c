/*
 * A row covers the addresses up to the next row of its sequence; of several rows at one address,
 * the last one counts.  So a row is used when the next one is known, and no rows are stored.
 * Within a sequence addresses only grow, and the wanted ones are sorted, too: each sequence is a
 * merge that starts with a binary search.  The program ends when every wanted address has its row.
 *
 * Nearly all opcodes are of a few kinds, and few rows are wanted.  A short loop with everything in
 * registers handles those (run_common); all others are handled one by one.
 *
 * A sequence from address 0 is code that the linker dropped.
 */

#include "symbolize/dwarf/dwline.h"

#include "base/search.h"

#include "symbolize/dwarf/dwfile.h"

#include <dwarf.h>

struct state {
	uint64_t vaddr;
	uint64_t file;
	uint32_t line, column;
	uint32_t op_index;       /* within a VLIW instruction; 0 elsewhere */
};

struct run {
	struct dwline *l;
	struct dwline_row *row;
	size_t n, n_left;
	size_t next;             /* first wanted row at or above all addresses up to the last one */
	uint64_t limit;          /* lower rows are not wanted; 0: outside of sequences */
	bool in_sequence, dropped;
	struct state now, last;
};

static size_t lower_bound(const struct dwline_row *row, size_t n, uint64_t vaddr)
{
	return SEARCH_COUNT(n, i, row[i].vaddr < vaddr);
}

/* Uses the last row for the addresses below the current one. */
static void finish_row(struct run *r)
{
	for (; r->next < r->n && r->row[r->next].vaddr < r->now.vaddr; r->next++) {
		struct dwline_row *row = &r->row[r->next];
		if (row->found)
			continue;
		row->found = true;
		row->file = r->last.file;
		row->line = r->last.line;
		row->column = r->last.column;
		r->n_left--;
	}
}

static inline void add_row(struct run *r)
{
	if (!r->in_sequence) {
		r->in_sequence = true;
		r->dropped = r->now.vaddr == 0;
		r->next = r->dropped ? r->n : lower_bound(r->row, r->n, r->now.vaddr);
	} else if (r->next < r->n && r->row[r->next].vaddr < r->now.vaddr) {
		finish_row(r);
	}
	r->limit = r->next < r->n ? r->row[r->next].vaddr + 1 : UINT64_MAX;
	r->last = r->now;
}

static void end_sequence(struct run *r)
{
	if (r->in_sequence)
		finish_row(r);
	r->in_sequence = false;
	r->limit = 0;
	r->now = (struct state){ .file = 1, .line = 1 };
}

static inline void advance(struct run *r, uint64_t n_ops)
{
	const struct dwline *l = r->l;
	if (l->max_ops == 1) {
		r->now.vaddr += n_ops * l->min_insn_bytes;
		return;
	}
	uint64_t ops = r->now.op_index + n_ops;
	r->now.vaddr += ops / l->max_ops * l->min_insn_bytes;
	r->now.op_index = (uint32_t)(ops % l->max_ops);
}

static void run_extended(struct run *r, struct bytes *b)
{
	uint64_t n_bytes = dwform_uleb(b);
	const uint8_t *p = bytes_take(b, n_bytes);
	if (!p || !n_bytes)
		return;
	struct bytes operands = bytes_of(p + 1, n_bytes - 1);
	switch (*p) {
	case DW_LNE_end_sequence:
		end_sequence(r);
		break;
	case DW_LNE_set_address:
		if (n_bytes - 1 == 4 || n_bytes - 1 == 8) {
			r->now.vaddr = dwform_unsigned(&operands, (unsigned)(n_bytes - 1));
			r->now.op_index = 0;
		}
		break;
	case DW_LNE_define_file: {
		struct dwline_file file = { .name = { DW_FORM_string, 0,
						      bytes_cstr(&operands) } };
		file.dir = dwform_uleb(&operands);
		if (!operands.bad && r->l->version < 5 && !VEC_PUSH(&r->l->files, file))
			r->l->u->file->out_of_memory = true;
	}
	}
}

static void run_standard(struct run *r, struct bytes *b, unsigned op)
{
	switch (op) {
	case DW_LNS_copy:
		add_row(r);
		break;
	case DW_LNS_advance_pc:
		advance(r, dwform_uleb(b));
		break;
	case DW_LNS_advance_line:
		r->now.line += (uint32_t)dwform_sleb(b);
		break;
	case DW_LNS_set_file:
		r->now.file = dwform_uleb(b);
		break;
	case DW_LNS_set_column:
		r->now.column = (uint32_t)dwform_uleb(b);
		break;
	case DW_LNS_negate_stmt:
	case DW_LNS_set_basic_block:
	case DW_LNS_set_prologue_end:
	case DW_LNS_set_epilogue_begin:
		break;
	case DW_LNS_const_add_pc:
		advance(r, r->l->n_ops[255]);
		break;
	case DW_LNS_fixed_advance_pc:
		r->now.vaddr += bytes_u16(b);
		r->now.op_index = 0;
		break;
	default:
		for (unsigned i = 0; i < r->l->n_operands[op]; i++)
			dwform_uleb(b);
	}
}

static void run_one(struct run *r, struct bytes *b)
{
	unsigned op = bytes_u8(b);
	if (op >= r->l->opcode_base) {
		advance(r, r->l->n_ops[op]);
		r->now.line += (uint32_t)(int32_t)r->l->n_lines[op];
		add_row(r);
	} else if (op == 0) {
		run_extended(r, b);
	} else {
		run_standard(r, b, op);
	}
}

/* Is it DW_LNE_set_discriminator with a small number?  gcc writes many. */
static inline bool is_discriminator(const struct bytes *b)
{
	return bytes_left(b) >= 4 && b->p[1] == 2 && b->p[2] == DW_LNE_set_discriminator;
}

/* Runs up to the first opcode that is not common, or makes a row that may be wanted. */
static void run_common(struct run *r, struct bytes *program)
{
	const struct dwline *l = r->l;
	const unsigned base = l->opcode_base, n_insn_bytes = l->min_insn_bytes;
	const uint64_t limit = r->limit;
	struct bytes b = *program;
	struct state now = r->now, last = r->last;
	while (b.p < b.end) {
		unsigned op = *b.p;
		if (op >= base) {
			uint64_t vaddr = now.vaddr + l->n_ops[op] * n_insn_bytes;
			if (vaddr >= limit)
				break;
			b.p++;
			now.vaddr = vaddr;
			now.line += (uint32_t)(int32_t)l->n_lines[op];
			last = now;
		} else if (op == DW_LNS_set_column) {
			b.p++;
			now.column = (uint32_t)dwform_uleb(&b);
		} else if (op == DW_LNS_negate_stmt) {
			b.p++;
		} else if (op == DW_LNS_advance_line) {
			b.p++;
			now.line += (uint32_t)dwform_sleb(&b);
		} else if (op == DW_LNS_copy && now.vaddr < limit) {
			b.p++;
			last = now;
		} else if (op == DW_LNS_set_file) {
			b.p++;
			now.file = dwform_uleb(&b);
		} else if (op == DW_LNS_const_add_pc) {
			b.p++;
			now.vaddr += l->n_ops[255] * n_insn_bytes;
		} else if (op == 0 && is_discriminator(&b)) {
			b.p += 4;
		} else {
			break;
		}
	}
	r->now = now;
	r->last = last;
	*program = b;
}

void dwline_run(struct dwline *l, struct dwline_row *row, size_t n)
{
	struct run r = { .l = l, .row = row, .n = n, .n_left = n };
	struct bytes b = l->program;
	uint64_t *steps = &l->u->file->n_steps_left;
	bool has_common = l->max_ops == 1 && l->opcode_base > DW_LNS_const_add_pc;
	end_sequence(&r);
	if (*steps < bytes_left(&b))
		return;
	*steps -= bytes_left(&b);
	while (b.p < b.end && !b.bad && r.n_left) {
		if (has_common)
			run_common(&r, &b);
		run_one(&r, &b);
	}
}
