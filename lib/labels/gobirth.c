#include "labels/gobirth.h"

#include <string.h>

/* newproc1 gets the creator's g in its second register for arguments, BX, and stores
 * it in its frame first.  mov %rbx,disp(%rsp), with 8 or 32 bits of disp: */
static const uint8_t store8[] = { 0x48, 0x89, 0x5c, 0x24 };
static const uint8_t store32[] = { 0x48, 0x89, 0x9c, 0x24 };

unsigned int gobirth_creator_word(const uint8_t *code, size_t n_bytes)
{
	for (size_t i = 0; i + 8 <= n_bytes; i++) {
		uint32_t off = code[i + 4];
		bool is_wide = memcmp(code + i, store32, sizeof(store32)) == 0;
		if (is_wide)
			memcpy(&off, code + i + 4, sizeof(off));
		else if (memcmp(code + i, store8, sizeof(store8)) != 0)
			continue;
		/* below it is the return address of the function with the breakpoint */
		return off % 8 == 0 && off < GOBREAK_STACK_BYTES - 8 ? off / 8 + 1 : 0;
	}
	return 0;
}

bool gobirth_decode(const struct gobirth_code *c, const struct gobreak_hit *h,
		    struct goread_birth *ret)
{
	if (!h->n_words || h->stack[0] - c->newproc1 >= c->newproc1_end - c->newproc1)
		return false;
	*ret = (struct goread_birth){
		.time_ns = h->time_ns, .g = h->labels - c->g_offset,
		.creator = c->creator_word < h->n_words ? h->stack[c->creator_word] : 0,
	};
	return true;
}
