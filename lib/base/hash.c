#include "base/hash.h"

#include <sys/auxv.h>

uint64_t hash_seed, hash_factor = 1;

/* Before all threads.  The kernel gives each program 16 random bytes; the C library uses the first
 * eight for the stack protector's secret, which must not be computable from a hash. */
__attribute__((constructor)) static void choose_seed(void)
{
	const unsigned char *bytes = (const unsigned char *)getauxval(AT_RANDOM);
	if (!bytes)
		return;
	hash_seed = hash_u64_fixed(hash_word(bytes + 8));
	hash_factor = hash_u64_fixed(hash_seed) | 1;
}
