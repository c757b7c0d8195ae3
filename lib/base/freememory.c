#include "base/freememory.h"

#include <malloc.h>

/* Other C libraries return memory by themselves. */
#if defined(__GLIBC__) && defined(__GLIBC_PREREQ)
#if __GLIBC_PREREQ(2, 33)
#define HAS_TRIM 1
#endif
#endif

bool freememory_is_kept(void)
{
#ifdef HAS_TRIM
	return mallinfo2().fordblks > FREEMEMORY_KEEP_BYTES;
#else
	return false;
#endif
}

void freememory_return(void)
{
#ifdef HAS_TRIM
	if (freememory_is_kept())
		malloc_trim(FREEMEMORY_KEEP_BYTES / 4);
#endif
}
