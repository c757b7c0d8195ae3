#include "snapshot/gotarget.h"

#include "base/clock.h"
#include "base/err.h"
#include "engine/engine.h"
#include "snapshot/refusal.h"
#include "symbolize/elf/symelf.h"
#include "symbolize/runtime/go-dwarf.h"

#include <errno.h>

#define DEBUG_NS_MAX 2000000000u        /* for debug information of unknown versions */

void gotarget_close(struct gotarget *x)
{
	goprocess_close(&x->process);
}

/* What go_program_open found, as a message. */
static int explain(enum go_program_result r, const struct gotarget *x, struct err *e)
{
	const char *version = x->go.version.text;
	switch (r) {
	case GO_PROGRAM_OK:
		return 0;
	case GO_PROGRAM_UNREADABLE:
		if (x->process.code == -ETIMEDOUT)
			return err_set(e, ETIMEDOUT, "the memory of process %u does not answer",
				       x->pid);
		if (x->process.code != -EPERM && x->process.code != -EACCES)
			return err_set(e, ESRCH, "process %u has ended", x->pid);
		return refusal_explain(x->process.host, x->pid, x->process.code, false, e);
	case GO_PROGRAM_UNSUPPORTED:
		return err_set(e, ENOTSUP, "process %u: the layout of goroutines in %s is unknown; "
			       "known are Go 1.17 to 1.%u, and later versions in programs with "
			       "debug information", x->pid, version, GO_LAYOUT_NEWEST);
	case GO_PROGRAM_NO_LIST:
		return err_set(e, ENOTSUP, "process %u: the goroutines of this %s program were not "
			       "found", x->pid, version);
	case GO_PROGRAM_NOT_GO:
		break;
	}
	return -ENOENT;
}

/* Debug files are searched for in the usual places, but not fetched. */
static bool debug_layout(void *ctx, struct go_layout *ret)
{
	struct gotarget *x = ctx;
	struct symdebug_place where = x->engine->walk.user.debug;
	struct symelf elf;
	where.root_fd = x->process.dso->root_fd;
	where.deadline_ns = clock_monotonic_ns() + DEBUG_NS_MAX;
	if (symelf_open(&elf, x->process.dso, &where) < 0)
		return false;
	Elf *dwarf = symelf_dwarf(&elf);
	bool is_known = dwarf && go_dwarf_layout(dwarf, dwarf == elf.elf ? elf.fd : elf.debug_fd,
						 &where, ret);
	symelf_close(&elf);
	return is_known;
}

int gotarget_open(struct gotarget *ret, struct engine *g, const struct procs_process *p,
		  struct err *e)
{
	*ret = (struct gotarget){ .engine = g, .pid = p->pid };
	if (!goprocess_open(&ret->process, &g->dsos, &p->space))
		return -ENOENT;
	goprocess_attach(&ret->process, g->options.host, p->pid);
	ret->process.places.debug_layout = debug_layout;
	ret->process.places.debug_ctx = ret;
	return explain(go_program_open(&ret->process.places, &ret->go), ret, e);
}
