#ifndef CPROF_TESTS_UNIT_SYMBOLIZE_CFIBYTES_H
#define CPROF_TESTS_UNIT_SYMBOLIZE_CFIBYTES_H

/* Numbers, LEB128 and encoded pointers of a section of CFI: see cfibuild.h. */

#include <dwarf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct cfibuild {
	uint8_t v[8192];
	size_t n;
	uint64_t vaddr;         /* of the section */
	bool is_eh;
	bool is_64;             /* entries in the 64-bit form */
	uint8_t enc;            /* 'R' of the next CIE; 0: pcrel | sdata4 */
	size_t cie, entry;      /* offsets of the last CIE, of the entry being written */
	bool has_z;
};

static inline void cfibuild_bytes(struct cfibuild *b, const void *p, size_t n)
{
	memcpy(b->v + b->n, p, n);
	b->n += n;
}

#define CFIBUILD(b, ...) do { \
	const uint8_t bytes_[] = { __VA_ARGS__ }; \
	cfibuild_bytes(b, bytes_, sizeof(bytes_)); \
} while (0)

static inline void cfibuild_le(struct cfibuild *b, uint64_t x, size_t n)
{
	cfibuild_bytes(b, &x, n);
}

static inline void cfibuild_uleb(struct cfibuild *b, uint64_t x)
{
	do {
		b->v[b->n++] = (uint8_t)((x & 0x7f) | (x > 0x7f ? 0x80 : 0));
		x >>= 7;
	} while (x);
}

static inline void cfibuild_sleb(struct cfibuild *b, int64_t x)
{
	for (;;) {
		uint8_t low = x & 0x7f;
		x >>= 7;
		bool last = (x == 0 && !(low & 0x40)) || (x == -1 && low & 0x40);
		b->v[b->n++] = (uint8_t)(low | (last ? 0 : 0x80));
		if (last)
			return;
	}
}

static inline void cfibuild_pointer(struct cfibuild *b, uint64_t x, uint8_t enc)
{
	if ((enc & 0x70) == DW_EH_PE_pcrel)
		x -= b->vaddr + b->n;
	switch (enc & 0x0f) {
	case DW_EH_PE_udata2: case DW_EH_PE_sdata2: cfibuild_le(b, x, 2); break;
	case DW_EH_PE_udata4: case DW_EH_PE_sdata4: cfibuild_le(b, x, 4); break;
	case DW_EH_PE_uleb128: cfibuild_uleb(b, x); break;
	case DW_EH_PE_sleb128: cfibuild_sleb(b, (int64_t)x); break;
	default: cfibuild_le(b, x, 8);
	}
}

#endif
