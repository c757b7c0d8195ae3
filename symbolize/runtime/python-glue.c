#include "symbolize/runtime/python-glue.h"

#include <stddef.h>
#include <string.h>

/* Beginnings of names: Objects/call.c, descrobject.c, classobject.c, methodobject.c, typeobject.c,
 * genobject.c, and Python/ceval.c, of 3.8 to 3.14. */
static const char *const glue[] = {
	"_PyEval_", "PyEval_Eval", "_PyFunction_", "function_code_fastcall",
	"_PyObject_Call", "PyObject_Call", "_PyObject_FastCall", "_PyObject_Vectorcall",
	"PyObject_Vectorcall", "_PyObject_MakeTpCall", "_PyObject_FunctionStr", "object_vacall",
	"_PyVectorcall_Call", "PyVectorcall_", "_PyStack_", "_PyCFunction_", "PyCFunction_Call",
	"cfunction_", "method_vectorcall", "method_call", "_PyMethodDe", "classmethoddescr_call",
	"wrapperdescr_", "wrapper_call", "slot_", "vectorcall_", "call_method", "call_function",
	"call_unbound", "do_call_core", "type_call", "type_vectorcall", "gen_send_ex",
	"gen_iternext", "_PyGen_Send", "py_trampoline_evaluator",
};

bool python_glue_is(const char *name)
{
	for (size_t i = 0; i < sizeof(glue) / sizeof(*glue); i++)
		if (strncmp(name, glue[i], strlen(glue[i])) == 0)
			return true;
	return false;
}
