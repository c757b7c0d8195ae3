/*
 * An entry is a length, then a CIE, or an FDE that refers to its CIE.  Each request decodes one
 * FDE, and its CIE unless that is cached.  Entries longer than ENTRY_BYTES_MAX are refused, so the
 * time for one is bounded.
 */

#include "symbolize/cfi/cfi-entry.h"

#include "symbolize/arch/arch.h"
#include "symbolize/cfi/cfi-run.h"
#include "symbolize/cfi/cfi-section.h"

#include <dwarf.h>
#include <string.h>

/* The longest in a dozen large programs and libraries had 20 KB (cc1plus of gcc 12). */
#define ENTRY_BYTES_MAX (1u << 17)

/* ---- numbers ---------------------------------------------------------------- */

bool cfi_entry_long_uleb(const uint8_t **p, const uint8_t *end, uint64_t *ret)
{
	uint64_t x = 0;
	for (unsigned int shift = 0; *p < end; shift += 7) {
		uint8_t b = *(*p)++;
		if (shift < 64)
			x |= (uint64_t)(b & 0x7f) << shift;
		if (!(b & 0x80)) {
			*ret = x;
			return true;
		}
	}
	return false;
}

bool cfi_entry_sleb(const uint8_t **p, const uint8_t *end, int64_t *ret)
{
	uint64_t x = 0;
	for (unsigned int shift = 0; *p < end;) {
		uint8_t b = *(*p)++;
		if (shift < 64)
			x |= (uint64_t)(b & 0x7f) << shift;
		shift += 7;
		if (!(b & 0x80)) {
			if (b & 0x40 && shift < 64)
				x |= ~0ull << shift;
			*ret = (int64_t)x;
			return true;
		}
	}
	return false;
}

bool cfi_entry_fixed(const uint8_t **p, const uint8_t *end, size_t n_bytes, uint64_t *ret)
{
	uint64_t x = 0;
	if ((size_t)(end - *p) < n_bytes)
		return false;
	memcpy(&x, *p, n_bytes);
	*p += n_bytes;
	*ret = x;
	return true;
}

static uint64_t entry_sign_extend(uint64_t x, size_t n_bytes)
{
	unsigned int shift = 64 - 8 * (unsigned int)n_bytes;
	return (uint64_t)((int64_t)(x << shift) >> shift);
}

size_t cfi_entry_pointer_bytes(uint8_t enc, uint8_t addr_bytes)
{
	switch (enc & 0x0f) {
	case DW_EH_PE_absptr: return addr_bytes;
	case DW_EH_PE_udata2: case DW_EH_PE_sdata2: return 2;
	case DW_EH_PE_udata4: case DW_EH_PE_sdata4: return 4;
	case DW_EH_PE_udata8: case DW_EH_PE_sdata8: return 8;
	default: return 0;
	}
}

bool cfi_entry_pointer(const struct cfi_frames *f, uint8_t enc, uint8_t addr_bytes, uint64_t vaddr,
		     const uint8_t **p, const uint8_t *end, uint64_t *ret)
{
	uint64_t x;
	if (enc == DW_EH_PE_aligned) {
		uint64_t skip = -vaddr & (addr_bytes - 1u);
		if ((uint64_t)(end - *p) < skip)
			return false;
		*p += skip;
		return cfi_entry_fixed(p, end, addr_bytes, ret);
	}
	size_t n = cfi_entry_pointer_bytes(enc, addr_bytes);
	if (n) {
		if (!cfi_entry_fixed(p, end, n, &x))
			return false;
		if (enc & DW_EH_PE_signed)
			x = entry_sign_extend(x, n);
	} else if ((enc & 0x0f) == DW_EH_PE_uleb128) {
		if (!cfi_entry_uleb(p, end, &x))
			return false;
	} else if ((enc & 0x0f) == DW_EH_PE_sleb128) {
		if (!cfi_entry_sleb(p, end, (int64_t *)&x))
			return false;
	} else {
		return false;
	}
	switch (enc & 0x70) {
	case 0: break;
	case DW_EH_PE_pcrel: x += vaddr; break;
	case DW_EH_PE_textrel: x += f->text_vaddr; break;
	case DW_EH_PE_datarel: x += f->data_vaddr; break;
	default: return false;
	}
	*ret = addr_bytes == 4 ? (uint32_t)x : x;
	return true;
}

/* ---- entries ---------------------------------------------------------------- */

struct entry {
	const uint8_t *p, *end; /* after the id */
	uint64_t vaddr;         /* of p */
	uint64_t next_off;
	uint64_t cie_off;       /* of an FDE */
	bool is_cie;
};

static enum cfi_entry entry_head(const struct cfi_frames *f, uint64_t off, struct entry *ret)
{
	size_t head = 4, id_bytes = 4;
	uint64_t len = 0, id = 0;
	const uint8_t *p = cfi_section_get(f->section, off, 4);
	if (!p)
		return CFI_ENTRY_END;
	memcpy(&len, p, 4);
	if (len == 0 && f->is_eh)
		return CFI_ENTRY_END;
	if (len == 0xffffffff) {
		p = cfi_section_get(f->section, off + 4, 8);
		if (!p)
			return CFI_ENTRY_BAD;
		memcpy(&len, p, 8);
		head = 12;
		if (!f->is_eh)
			id_bytes = 8;
	}
	if (len < id_bytes || len > ENTRY_BYTES_MAX)
		return CFI_ENTRY_BAD;
	p = cfi_section_get(f->section, off + head, len);
	if (!p)
		return CFI_ENTRY_BAD;
	memcpy(&id, p, id_bytes);
	ret->p = p + id_bytes;
	ret->end = p + len;
	ret->vaddr = f->section->vaddr + off + head + id_bytes;
	ret->next_off = off + head + len;
	if (f->is_eh) {
		ret->is_cie = id == 0;
		ret->cie_off = off + head - id;
		if (id > off + head)
			return CFI_ENTRY_BAD;
	} else {
		ret->is_cie = id == (id_bytes == 4 ? 0xffffffffull : ~0ull);
		ret->cie_off = id;
	}
	return ret->is_cie ? CFI_ENTRY_CIE : CFI_ENTRY_FDE;
}

/* The augmentation data of 'z'.  Only the encodings matter. */
static bool entry_augmentation(const struct cfi_frames *f, const char *aug, struct entry *e,
			     const uint8_t *start, struct cfi_cie *c)
{
	uint64_t len, unused;
	if (!cfi_entry_uleb(&e->p, e->end, &len) || len > (uint64_t)(e->end - e->p))
		return false;
	const uint8_t *p = e->p, *end = e->p + len;
	c->has_aug_data = true;
	e->p = end;
	for (; *aug; aug++) {
		switch (*aug) {
		case 'R':
			if (p == end)
				return false;
			c->fde_enc = *p++;
			break;
		case 'P':
			if (p == end)
				return false;
			uint8_t enc = *p++;
			uint64_t vaddr = e->vaddr + (uint64_t)(p - start);
			/* only to skip it: its target does not matter */
			if (!cfi_entry_pointer(f, enc == DW_EH_PE_aligned ? enc : enc & 0x0f,
					     c->addr_bytes, vaddr, &p, end, &unused))
				return false;
			break;
		case 'L':
			if (p == end)
				return false;
			p++;
			break;
		case 'S':
			c->is_signal = true;
			break;
		case 'B': case 'G': /* arm64: signed with key B; memory-tagged stack frame */
			break;
		default:            /* unknown, but the length covers it */
			return true;
		}
	}
	return true;
}

static bool entry_decode_cie(const struct cfi_frames *f, uint64_t off, struct cfi_cie *c)
{
	struct entry e;
	if (entry_head(f, off, &e) != CFI_ENTRY_CIE || e.p == e.end)
		return false;
	const uint8_t *start = e.p;
	uint8_t version = *e.p++;
	if (version != 1 && version != 3 && version != 4)
		return false;
	*c = (struct cfi_cie){ .addr_bytes = 8, .off = off };
	const char *aug = (const char *)e.p;
	const uint8_t *nul = memchr(e.p, 0, (size_t)(e.end - e.p));
	if (!nul)
		return false;
	e.p = nul + 1;
	if (version == 4) {
		if (e.end - e.p < 2 || (e.p[0] != 8 && e.p[0] != 4) || e.p[1])
			return false;
		c->addr_bytes = e.p[0];
		e.p += 2;
	}
	if (!strncmp(aug, "eh", 2)) { /* gcc 2: followed by a pointer, which is not used */
		if (e.end - e.p < 8)
			return false;
		e.p += 8;
		aug += 2;
	}
	uint64_t ra = 0;
	if (!cfi_entry_uleb(&e.p, e.end, &c->code_align) ||
	    !cfi_entry_sleb(&e.p, e.end, &c->data_align) ||
	    !(version == 1 ? cfi_entry_fixed(&e.p, e.end, 1, &ra) :
	      cfi_entry_uleb(&e.p, e.end, &ra)) ||
	    ra >= f->arch->n_regs)
		return false;
	c->ra_reg = (unsigned int)ra;
	if (*aug == 'z') {
		if (!entry_augmentation(f, aug + 1, &e, start, c))
			return false;
	} else if (*aug) {
		return false; /* data of unknown length */
	}
	c->program = e.p;
	c->program_end = e.end;
	return true;
}

static bool entry_cie(const struct cfi_frames *f, uint64_t off, struct cfi_cie *c)
{
	if (!f->cached)
		return entry_decode_cie(f, off, c);
	unsigned int i = off / 8 % CFI_CACHED_MAX;
	struct cfi_cached_cie *k = &f->cached[i];
	if (!k->is_valid || k->cie.off != off) {
		k->is_valid = entry_decode_cie(f, off, &k->cie);
		k->cie.row = &f->cached_row[i];
	}
	*c = k->cie;
	return k->is_valid;
}

/* A function's start and length.  The usual encoding has a path of its own. */
static bool entry_range(const struct cfi_frames *f, struct entry *e, struct cfi_fde *d)
{
	uint8_t enc = d->cie.fde_enc, n_addr = d->cie.addr_bytes;
	if (enc == (DW_EH_PE_pcrel | DW_EH_PE_sdata4) && n_addr == 8 && e->end - e->p >= 8) {
		int32_t v[2];
		memcpy(v, e->p, sizeof(v));
		d->start = e->vaddr + (uint64_t)(int64_t)v[0];
		d->n_bytes = (uint64_t)(int64_t)v[1];
		e->p += sizeof(v);
		return true;
	}
	return cfi_entry_pointer(f, enc, n_addr, e->vaddr, &e->p, e->end, &d->start) &&
	       cfi_entry_pointer(f, enc & 0x0f, n_addr, 0, &e->p, e->end, &d->n_bytes);
}

enum cfi_entry cfi_entry_parse(const struct cfi_frames *f, uint64_t off, struct cfi_fde *ret,
			     uint64_t *ret_next)
{
	struct entry e;
	enum cfi_entry kind = entry_head(f, off, &e);
	if (ret_next && (kind == CFI_ENTRY_CIE || kind == CFI_ENTRY_FDE))
		*ret_next = e.next_off;
	if (kind != CFI_ENTRY_FDE)
		return kind;
	struct cfi_fde d;
	const uint8_t *start = e.p;
	uint64_t len;
	if (!entry_cie(f, e.cie_off, &d.cie) || !entry_range(f, &e, &d))
		return CFI_ENTRY_BAD;
	if (d.cie.has_aug_data) {
		if (!cfi_entry_uleb(&e.p, e.end, &len) || len > (uint64_t)(e.end - e.p))
			return CFI_ENTRY_BAD;
		e.p += len;
	}
	d.program = e.p;
	d.program_end = e.end;
	d.program_vaddr = e.vaddr + (uint64_t)(e.p - start);
	*ret = d;
	return CFI_ENTRY_FDE;
}
