/*
 * A runtime is recognised by its frames: a stack with unnamed JIT code belongs to the language
 * whose library or executable is in the same stack, and an interpreter is known by the function
 * that runs its code.  Frames that a perf map or a jitdump names are not unnamed.
 */
#include "symbolize/runtime/language.h"

#include <stddef.h>
#include <string.h>

#define SWITCHED_OFF "--interpreter=auto, the default, reads them"
#define UNREADABLE \
	"they changed before they could be read, as they do more in short runs: " \
	"see 'How sure is it?' in cprof-languages(7)"
/* The interpreter of a new process is looked at a moment after its first sample. */
#define LIVE(versions) "a live recording of 0.1 s or more has those of " versions

static const struct language_text text_of[LANGUAGE_N] = {
	[LANGUAGE_JAVA] = {
		"in Java code without names",
		"cprof reads the names from a JVM that runs; see JAVA in cprof-languages(7)" },
	[LANGUAGE_NODE] = {
		"in JavaScript code without names", "'node --perf-basic-prof' names it" },
	[LANGUAGE_DOTNET] = {
		"in .NET code without names",
		"DOTNET_PerfMapEnabled=1 in the environment of the program names it" },
	[LANGUAGE_OTHER_JIT] = {
		"in JIT code without names",
		"a perf map or a jitdump names it: see JIT CODE in cprof-record(1)" },
	[LANGUAGE_PYTHON] = {
		"in Python's interpreter, without Python functions",
		LIVE("Python 3.8 to 3.14") "; else 'python3 -X perf' adds them (3.12 or later)",
		"'cprof snapshot --repeat' shows those of waits shorter than 10 ms, too",
		SWITCHED_OFF, UNREADABLE },
	[LANGUAGE_RUBY] = {
		"in Ruby's interpreter, without Ruby functions",
		LIVE("Ruby 3.1 to 3.4"), NULL, SWITCHED_OFF, UNREADABLE },
	[LANGUAGE_PHP] = {
		"in PHP's interpreter, without PHP functions",
		LIVE("PHP 8.1 to 8.4"), NULL, SWITCHED_OFF, UNREADABLE },
	[LANGUAGE_PERL] = {
		"in Perl's interpreter, without Perl functions",
		"cprof cannot read them; Devel::NYTProf profiles them" },
	[LANGUAGE_LUA] = {
		"in Lua's interpreter, without Lua functions",
		"cprof cannot read them; Lua's debug.sethook can sample them" },
};

uint32_t language_of_file(const char *path)
{
	static const struct {
		const char *begin;
		uint32_t bits;
	} files[] = {
		{ "libjvm.so", 1 << LANGUAGE_JAVA },
		{ "libcoreclr.so", 1 << LANGUAGE_DOTNET },
		{ "libnode.so", 1 << LANGUAGE_NODE },
		{ "libruby", 1 << LANGUAGE_RUBY },
	};
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	if (strcmp(name, "node") == 0 || strcmp(name, "nodejs") == 0)
		return 1 << LANGUAGE_NODE;
	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++)
		if (strncmp(name, files[i].begin, strlen(files[i].begin)) == 0)
			return files[i].bits;
	return 0;
}

uint32_t language_of_function(const char *name)
{
	static const char *const prefix[] = { "py::", "php::", "rb::" };
	static const struct {
		const char *name;
		uint32_t bits;
	} functions[] = {
		{ "_PyEval_EvalFrameDefault", 1 << LANGUAGE_PYTHON },
		{ "PyEval_EvalFrameEx", 1 << LANGUAGE_PYTHON },         /* 2.7 to 3.5 */
		{ "rb_vm_exec", 1 << LANGUAGE_RUBY },
		{ "vm_exec", 1 << LANGUAGE_RUBY },
		{ "execute_ex", 1 << LANGUAGE_PHP },
		{ "Perl_runops_standard", 1 << LANGUAGE_PERL },
		{ "luaV_execute", 1 << LANGUAGE_LUA },
		/* what calls it from outside, for stripped programs */
		{ "lua_pcallk", 1 << LANGUAGE_LUA }, { "lua_pcall", 1 << LANGUAGE_LUA },
	};
	for (size_t i = 0; i < sizeof(prefix) / sizeof(*prefix); i++)
		if (strncmp(name, prefix[i], strlen(prefix[i])) == 0)
			return LANGUAGE_BIT_NAMED;
	for (size_t i = 0; i < sizeof(functions) / sizeof(*functions); i++)
		if (strcmp(name, functions[i].name) == 0)
			return functions[i].bits;
	return 0;
}

enum language language_missing(uint32_t bits)
{
	if (bits & LANGUAGE_BIT_JIT) {
		for (enum language l = LANGUAGE_JAVA; l < LANGUAGE_OTHER_JIT; l++)
			if (bits & 1u << l)
				return l;
		if (!(bits & 1u << LANGUAGE_PYTHON))
			return LANGUAGE_OTHER_JIT;
	}
	for (enum language l = LANGUAGE_PYTHON; l < LANGUAGE_N; l++)
		if (bits & 1u << l)
			return bits & LANGUAGE_BIT_NAMED ? LANGUAGE_N : l;
	return LANGUAGE_N;
}

const struct language_text *language_text(enum language l)
{
	return &text_of[l];
}
