#include "symbolize/dwform.h"

#include <dwarf.h>

/*
 * A form is a size, fixed or told by the bytes themselves, and a meaning that only the reader of
 * the attribute knows.  Blocks are moved over: no expression is evaluated here.
 */

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

int dwform_size(unsigned form, const struct dwformat *f)
{
	switch (form) {
	case DW_FORM_flag_present:
	case DW_FORM_implicit_const:
		return 0;
	case DW_FORM_data1:
	case DW_FORM_flag:
	case DW_FORM_ref1:
	case DW_FORM_strx1:
	case DW_FORM_addrx1:
		return 1;
	case DW_FORM_data2:
	case DW_FORM_ref2:
	case DW_FORM_strx2:
	case DW_FORM_addrx2:
		return 2;
	case DW_FORM_strx3:
	case DW_FORM_addrx3:
		return 3;
	case DW_FORM_data4:
	case DW_FORM_ref4:
	case DW_FORM_strx4:
	case DW_FORM_addrx4:
	case DW_FORM_ref_sup4:
		return 4;
	case DW_FORM_data8:
	case DW_FORM_ref8:
	case DW_FORM_ref_sig8:
	case DW_FORM_ref_sup8:
		return 8;
	case DW_FORM_data16:
		return 16;
	case DW_FORM_addr:
		return f->addr_bytes;
	case DW_FORM_ref_addr:
		/* in DWARF 2, of the size of an address */
		return f->version < 3 ? f->addr_bytes : f->off_bytes;
	case DW_FORM_strp:
	case DW_FORM_line_strp:
	case DW_FORM_sec_offset:
	case DW_FORM_strp_sup:
	case DW_FORM_GNU_ref_alt:
	case DW_FORM_GNU_strp_alt:
		return f->off_bytes;
	case DW_FORM_string:
	case DW_FORM_block:
	case DW_FORM_block1:
	case DW_FORM_block2:
	case DW_FORM_block4:
	case DW_FORM_exprloc:
	case DW_FORM_sdata:
	case DW_FORM_udata:
	case DW_FORM_ref_udata:
	case DW_FORM_indirect:
	case DW_FORM_strx:
	case DW_FORM_addrx:
	case DW_FORM_loclistx:
	case DW_FORM_rnglistx:
	case DW_FORM_GNU_addr_index:
	case DW_FORM_GNU_str_index:
		return DWFORM_VARIABLE;
	}
	return DWFORM_UNKNOWN;
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
		/* the value it leads to cannot be another of its kind, or have no bytes here */
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
