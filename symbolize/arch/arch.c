/* The list of architectures.  A new one is added to arch_all and to arch_native. */

#include "symbolize/arch/arch.h"

#include <string.h>

/* In the order in which arch_of_perf_mask tests their perf_mark. */
static const struct arch *const arch_all[] = { &arch_arm64, &arch_x86_64 };
#define N_ARCHS (sizeof(arch_all) / sizeof(*arch_all))

const struct arch *arch_native(void)
{
#if defined(__x86_64__)
	return &arch_x86_64;
#elif defined(__aarch64__)
	return &arch_arm64;
#else
	return NULL;
#endif
}

const struct arch *arch_of_machine(uint16_t e_machine)
{
	for (size_t i = 0; i < N_ARCHS; i++)
		if (arch_all[i]->e_machine == e_machine)
			return arch_all[i];
	return NULL;
}

const struct arch *arch_of_name(const char *name)
{
	for (size_t i = 0; i < N_ARCHS; i++)
		if (strcmp(arch_all[i]->name, name) == 0 ||
		    strcmp(arch_all[i]->perf_name, name) == 0)
			return arch_all[i];
	return NULL;
}

/* perf samples all registers that it knows, so a high one identifies the architecture. */
const struct arch *arch_of_perf_mask(uint64_t sample_regs_user)
{
	for (size_t i = 0; i < N_ARCHS; i++)
		if (sample_regs_user & arch_all[i]->perf_mark)
			return arch_all[i];
	return NULL;
}
