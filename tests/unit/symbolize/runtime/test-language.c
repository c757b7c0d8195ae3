/* Languages that frames belong to, and which is missing in a stack. */
#include "symbolize/runtime/language.h"
#include "tests/unit/tap.h"

#include <string.h>

static void missing(uint32_t bits, const char *want, const char *title)
{
	enum language l = language_missing(bits);
	tap_ok(want ? l < LANGUAGE_N && strstr(language_text(l)->what, want) != NULL :
		      l == LANGUAGE_N, "%s", title);
}

int main(void)
{
	const uint32_t jit = LANGUAGE_BIT_JIT;
	uint32_t java = language_of_file("/usr/lib/jvm/lib/server/libjvm.so");
	uint32_t node = language_of_file("/usr/bin/node");
	uint32_t python = language_of_function("_PyEval_EvalFrameDefault");
	tap_ok(language_of_file("/usr/bin/nodeinfo") == 0, "another program with a similar name");
	tap_ok(language_of_file("node") == node, "a path without a folder");
	tap_ok(language_of_file("") == 0 && language_of_function("") == 0, "empty names");
	tap_ok(language_of_function("vm_exec_core") == 0, "a function whose name begins alike");
	missing(0, NULL, "a stack of another language");
	missing(java, NULL, "the JVM's own threads");
	missing(java | jit, "Java", "JIT code in the JVM");
	missing(node | jit, "JavaScript", "JIT code in node");
	missing(jit, "JIT code", "JIT code in another program");
	missing(python, "Python", "Python's interpreter");
	missing(python | language_of_function("py::f:/x.py"), NULL, "with a Python function");
	missing(language_of_function("execute_ex"), "PHP", "PHP's interpreter");
	missing(language_of_function("execute_ex") | language_of_function("php::{main}"), NULL,
		"with a PHP function");
	missing(language_of_file("/lib/libruby-3.1.so") | language_of_function("rb::run"), NULL,
		"Ruby's library with a Ruby function");
	missing(language_of_function("lua_pcallk"), "Lua", "a stripped interpreter of Lua");
	missing(python | jit, "Python", "Python's interpreter with code made by a library");
	for (enum language l = 0; l < LANGUAGE_N; l++)
		tap_ok(language_text(l)->what && language_text(l)->remedy,
		       "language %u has a text and a remedy", (unsigned)l);
	return tap_done();
}
