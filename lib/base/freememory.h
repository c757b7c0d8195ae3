#ifndef CPROF_BASE_FREEMEMORY_H
#define CPROF_BASE_FREEMEMORY_H

#include <stdbool.h>

/*
 * Programs that run for weeks: what they need for a moment, such as the symbols of a large file, is
 * freed between blocks that stay, and malloc keeps it.  Returns it to the kernel if it is more than
 * FREEMEMORY_KEEP_BYTES.
 */
#define FREEMEMORY_KEEP_BYTES (4u << 20)
bool freememory_is_kept(void);
void freememory_return(void);

#endif
