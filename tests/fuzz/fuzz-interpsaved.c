/* What earlier recordings have learned of an interpreter: only places that exist are taken over. */

#include "interp/interp-learn.h"
#include "interp/interp-saved.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct interp_callplaces_known call[INTERP_CALLPLACES_MAX];
	struct interp_learn l = {
		.instruction = ACTIVATION_NO_PLACE, .frame = ACTIVATION_NO_PLACE,
	};
	int r = interp_saved_decode(data, size, &l);
	if (r == 0 && (l.instruction >= ACTIVATION_PLACES || l.frame >= ACTIVATION_PLACES))
		abort();
	if (r < 0 && interp_learn_has_places(&l))
		abort();
	size_t n = interp_callplaces_list(&l.calls, call);
	for (size_t i = 0; i < n; i++)
		if (call[i].place >= ACTIVATION_PLACES)
			abort();
	interp_learn_done(&l);
	return 0;
}
