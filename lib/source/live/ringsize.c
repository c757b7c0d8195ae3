#include "source/live/ringsize.h"

#define KIB UINT64_C(1024)
#define MIB (1024 * KIB)

/* Enough for 70 ms of 25-frame stacks at 100 kHz. */
#define WITHOUT_COPIES (2 * MIB)
/* 60 ms of 64 KiB at the default rate, or 50 ms of 8 KiB at 10 kHz. */
#define WITH_COPIES (4 * MIB)
/* 25 ms of 64 KiB at 5 kHz, or of 16 KiB at 20 kHz.  At lower rates the smaller ring suffices. */
#define FAST_COPIES (8 * MIB)
#define FAST_HZ_MIN 1600u
#define FAST_HZ_MAX 25000u
/* 36 ms of 8 KiB at 50 kHz: the reader needs so long for the files of a program that starts.  It
 * costs 2 % of the target's time at 100 kHz, because it does not fit into caches. */
#define FASTER_COPIES (16 * MIB)
/* 2 s of 8 KiB at 999 Hz, for callers that may drain only at the end. */
#define SELDOM_READ (16 * MIB)

#define LEAST (128 * KIB)

/* From this size on, half a ring is reserve enough for a reader that is late, if the rate is known
 * and not so high that a ring fills within some 20 ms. */
#define LARGE (8 * MIB)

static bool is_fast(uint64_t rate_hz)
{
	return rate_hz >= FAST_HZ_MIN && rate_hz <= FAST_HZ_MAX;
}

uint64_t ringsize_choose(const struct ringsize *z)
{
	uint64_t bytes = !z->has_copies ? WITHOUT_COPIES
		       : z->rate_hz > FAST_HZ_MAX ? FASTER_COPIES
		       : is_fast(z->rate_hz) ? FAST_COPIES : WITH_COPIES;
	if (z->is_seldom_read && z->has_copies)
		bytes = SELDOM_READ;
	while (bytes > LEAST && z->budget_bytes && bytes * z->n_rings > z->budget_bytes)
		bytes /= 2;
	return bytes;
}

uint64_t ringsize_wakeup(uint64_t n_bytes, uint64_t rate_hz)
{
	return n_bytes >= LARGE && is_fast(rate_hz) ? n_bytes / 2 : n_bytes / 4;
}
