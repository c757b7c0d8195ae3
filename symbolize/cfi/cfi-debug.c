/*
 * The .debug_frame of a stripped program is in its separate debug file.  It matters where the
 * program has no .eh_frame (-fno-asynchronous-unwind-tables).  The debug file is found as for
 * symbols (symdebug.c), once per module, and only when no other CFI covers a pc.
 */

#include "symbolize/cfi/cfi.h"

#include "base/cleanup.h"
#include "symbolize/elf/dso.h"
#include "symbolize/elf/symdebug.h"

#include <libelf.h>
#include <stdlib.h>

void cfi_set_debug(struct cfi *c, const struct dso *d, const struct symdebug_place *where)
{
	c->dso = d;
	c->debug_place = where;
}

void cfi_seek_debug_file(struct cfi *c, int fd)
{
	if (!c->dso || !c->debug_place || !c->debug_place->host ||
	    elf_version(EV_CURRENT) == EV_NONE)
		return;
	Elf *elf = elf_begin(fd, ELF_C_READ, NULL);
	if (!elf)
		return;
	CLEANUP_FREE char *path = NULL;
	CLEANUP_CLOSE int debug_fd = symdebug_open(c->debug_place, c->dso, elf, &path, NULL);
	elf_end(elf);
	if (debug_fd >= 0)
		cfi_add_debug_file(c, debug_fd);
}
