/*
 * A form has a size, fixed or encoded in the bytes, and a meaning that only the reader of the
 * attribute knows.  Blocks are skipped: no expression is evaluated here.
 */

#include "symbolize/dwarf/dwform.h"

#include <dwarf.h>

uint64_t dwform_unsigned(struct bytes *b, unsigned n_bytes)
{
	switch (n_bytes) {
	case 1: return bytes_u8(b);
	case 2: return bytes_u16(b);
	case 4: return bytes_u32(b);
	case 8: return bytes_u64(b);
	case 3: {
		uint32_t low = bytes_u16(b), high = bytes_u8(b);
		return __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? low | high << 16
								 : low << 8 | high;
	}
	}
	b->bad = true;
	return 0;
}

struct bytes dwform_length(struct bytes *b, uint8_t *ret_off_bytes)
{
	uint64_t n_bytes = bytes_u32(b);
	*ret_off_bytes = 4;
	if (n_bytes == 0xffffffff) {
		*ret_off_bytes = 8;
		n_bytes = bytes_u64(b);
	} else if (n_bytes >= 0xfffffff0) {
		b->bad = true;
	}
	struct bytes behind = *b;
	bytes_take(&behind, n_bytes);
	if (behind.bad)
		b->bad = true;
	else
		b->end = behind.p;
	return behind;
}

/* Sizes by form, plus one.  0 is unknown; the size of large values depends on the format. */
enum { VARIABLE = 100, ADDR, OFFSET, REF_ADDR };

static const uint8_t size_of[] = {
	[DW_FORM_flag_present] = 1 + 0,
	[DW_FORM_implicit_const] = 1 + 0,
	[DW_FORM_data1] = 1 + 1,
	[DW_FORM_flag] = 1 + 1,
	[DW_FORM_ref1] = 1 + 1,
	[DW_FORM_strx1] = 1 + 1,
	[DW_FORM_addrx1] = 1 + 1,
	[DW_FORM_data2] = 1 + 2,
	[DW_FORM_ref2] = 1 + 2,
	[DW_FORM_strx2] = 1 + 2,
	[DW_FORM_addrx2] = 1 + 2,
	[DW_FORM_strx3] = 1 + 3,
	[DW_FORM_addrx3] = 1 + 3,
	[DW_FORM_data4] = 1 + 4,
	[DW_FORM_ref4] = 1 + 4,
	[DW_FORM_strx4] = 1 + 4,
	[DW_FORM_addrx4] = 1 + 4,
	[DW_FORM_ref_sup4] = 1 + 4,
	[DW_FORM_data8] = 1 + 8,
	[DW_FORM_ref8] = 1 + 8,
	[DW_FORM_ref_sig8] = 1 + 8,
	[DW_FORM_ref_sup8] = 1 + 8,
	[DW_FORM_data16] = 1 + 16,
	[DW_FORM_addr] = ADDR,
	[DW_FORM_ref_addr] = REF_ADDR,
	[DW_FORM_strp] = OFFSET,
	[DW_FORM_line_strp] = OFFSET,
	[DW_FORM_sec_offset] = OFFSET,
	[DW_FORM_strp_sup] = OFFSET,
	[DW_FORM_string] = VARIABLE,
	[DW_FORM_block] = VARIABLE,
	[DW_FORM_block1] = VARIABLE,
	[DW_FORM_block2] = VARIABLE,
	[DW_FORM_block4] = VARIABLE,
	[DW_FORM_exprloc] = VARIABLE,
	[DW_FORM_sdata] = VARIABLE,
	[DW_FORM_udata] = VARIABLE,
	[DW_FORM_ref_udata] = VARIABLE,
	[DW_FORM_indirect] = VARIABLE,
	[DW_FORM_strx] = VARIABLE,
	[DW_FORM_addrx] = VARIABLE,
	[DW_FORM_loclistx] = VARIABLE,
	[DW_FORM_rnglistx] = VARIABLE,
};

/* GNU's forms, which have much higher numbers. */
static int size_of_gnu(unsigned form, const struct dwformat *f)
{
	switch (form) {
	case DW_FORM_GNU_ref_alt:
	case DW_FORM_GNU_strp_alt:
		return f->off_bytes;
	case DW_FORM_GNU_addr_index:
	case DW_FORM_GNU_str_index:
		return DWFORM_VARIABLE;
	}
	return DWFORM_UNKNOWN;
}

int dwform_size(unsigned form, const struct dwformat *f)
{
	if (form >= sizeof(size_of) / sizeof(*size_of))
		return size_of_gnu(form, f);
	switch (size_of[form]) {
	case 0:
		return DWFORM_UNKNOWN;
	case VARIABLE:
		return DWFORM_VARIABLE;
	case ADDR:
		return f->addr_bytes;
	case OFFSET:
		return f->off_bytes;
	case REF_ADDR:
		/* in DWARF 2, the size of an address */
		return f->version < 3 ? f->addr_bytes : f->off_bytes;
	}
	return size_of[form] - 1;
}

static void form_read_variable(struct bytes *b, struct dwvalue *v)
{
	switch (v->form) {
	case DW_FORM_string:
		v->text = bytes_cstr(b);
		break;
	case DW_FORM_block:
	case DW_FORM_exprloc:
		bytes_take(b, dwform_uleb(b));
		break;
	case DW_FORM_block1:
		bytes_take(b, bytes_u8(b));
		break;
	case DW_FORM_block2:
		bytes_take(b, bytes_u16(b));
		break;
	case DW_FORM_block4:
		bytes_take(b, bytes_u32(b));
		break;
	case DW_FORM_sdata:
		v->u = (uint64_t)dwform_sleb(b);
		break;
	default:
		v->u = dwform_uleb(b);
	}
}

void dwform_read(struct bytes *b, unsigned form, int64_t implicit, const struct dwformat *f,
		 struct dwvalue *ret)
{
	if (form == DW_FORM_indirect) {
		/* the form that follows cannot be DW_FORM_indirect again, nor one without bytes
		 * here */
		form = (unsigned)dwform_uleb(b);
		if (form == DW_FORM_indirect || form == DW_FORM_implicit_const || form > UINT16_MAX)
			form = 0;
	}
	*ret = (struct dwvalue){ .form = (uint16_t)form };
	int size = dwform_size(form, f);
	if (form == DW_FORM_implicit_const)
		ret->u = (uint64_t)implicit;
	else if (form == DW_FORM_flag_present)
		ret->u = 1;
	else if (size == DWFORM_UNKNOWN)
		b->bad = true;
	else if (size == DWFORM_VARIABLE)
		form_read_variable(b, ret);
	else if (size == 16)
		bytes_take(b, 16);
	else
		ret->u = dwform_unsigned(b, (unsigned)size);
}

void dwform_skip(struct bytes *b, unsigned form, const struct dwformat *f)
{
	struct dwvalue v;
	dwform_read(b, form, 0, f, &v);
}
