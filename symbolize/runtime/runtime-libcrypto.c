/*
 * If the CFI of hand-written code, such as libcrypto's, depends on a value that is unknown, the
 * code may have left the CFA elsewhere:
 *
 * - in a register that callees need not preserve, but do: aesni_gcm_decrypt has its CFA in rax
 *   while its own parts run;
 * - in a word of the stack: sha512_block_data_order_avx2 puts its CFA below each part of the
 *   message, so below the stack pointer, but also further up.
 */

#include "symbolize/runtime/runtime-private.h"

/* Words of the stack that are searched. */
#define BELOW_WORDS_MAX 256u

static bool find_cfa(const struct runtime_lost_cfa *l, uint64_t *ret)
{
	uint64_t word;
	if (l->why == CFI_EVAL_NO_REG)
		return l->if_kept(l->ctx, ret);
	if (l->why != CFI_EVAL_NO_MEMORY || !l->is_innermost)
		return false;
	for (uint64_t i = 0; i < BELOW_WORDS_MAX && l->load(l->ctx, l->stack + 8 * i, &word); i++)
		if (word % 8 == 0 && word - l->stack < l->n_stack_bytes &&
		    l->if_below(l->ctx, word, ret))
			return true;
	return false;
}

const struct runtime runtime_libcrypto = { .name = "libcrypto", .cfa = find_cfa };
