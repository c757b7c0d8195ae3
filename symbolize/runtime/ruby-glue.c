#include "symbolize/runtime/ruby-glue.h"

#include <stddef.h>
#include <string.h>

/* Beginnings of names: vm.c, vm_eval.c, vm_insnhelper.c, eval.c and proc.c of 3.1. */
static const char *const glue[] = {
	"vm_", "rb_vm_exec", "rb_vm_invoke", "rb_vm_call", "rb_yield", "rb_funcall", "rb_call",
	"rb_block_call", "rb_iterate", "rb_ensure", "rb_protect", "rb_rescue", "rb_catch",
	"rb_proc_call", "rb_check_funcall", "invoke_block", "yield_under",
};

bool ruby_glue_is(const char *name)
{
	for (size_t i = 0; i < sizeof(glue) / sizeof(*glue); i++)
		if (strncmp(name, glue[i], strlen(glue[i])) == 0)
			return true;
	return false;
}
