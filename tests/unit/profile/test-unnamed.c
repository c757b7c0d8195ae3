/* Which language's functions are missing in a profile. */
#include "profile/unnamed.h"

#include "base/host.h"
#include "tests/unit/engine/engine-feed.h"
#include "tests/unit/profile/profile-text.h"
#include "tests/unit/tap.h"

#include <linux/perf_event.h>
#include <math.h>

#define PROG 0x400000
#define LIB 0x7f0000000000
#define JIT 0x7e0000000000

/* How functions of interpreters were read. */
static bool is_off;
static const char *version = "";

/* Samples with the given values of `lib` below JIT code, of `lib` alone, and of the program.
 * function: the name that the library's frames get; NULL: none. */
static struct cprof_unnamed missing_of(const uint8_t *waits, const char *lib, const char *function,
				       unsigned in_jit, unsigned in_lib, unsigned in_prog)
{
	struct engine g;
	struct names names = { 0 };
	struct err e;
	struct names_options o = { .symbols = { .no_inlines = false } };
	feed_open(&g, 0);
	feed_comm(&g, 7, 7, "prog", true);
	feed_mmap(&g, 7, PROG, 0x1000, 0x1000, "/nowhere/bin/prog");
	feed_mmap(&g, 7, LIB, 0x2000, 0x5000, lib);
	feed_mmap(&g, 7, JIT, 0x1000, 0, "");
	if (in_jit)
		feed_sample(&g, 7, 7, 0, in_jit,
			    FEED_CHAIN(PERF_CONTEXT_USER, JIT + 0x10, LIB + 0x21, PROG + 0x21));
	if (in_lib)
		feed_sample(&g, 7, 7, 0, in_lib,
			    FEED_CHAIN(PERF_CONTEXT_USER, LIB + 0x21, PROG + 0x21));
	feed_sample(&g, 7, 7, 0, in_prog, FEED_CHAIN(PERF_CONTEXT_USER, PROG + 0x10));
	tap_ok(names_resolve(&g, &o, &names, &e) == 0, "%s: names are looked up", lib);
	for (uint32_t i = 0; function && i < names.frames.n; i++) {
		const struct dso *d = dso_get(&g.dsos, g.frames.v[i].dso);
		const struct names_frame *f = &names.frames.v[i];
		if (f->n_lines && strcmp(d->path, lib) == 0)
			names.functions.v[names.line_functions.v[f->first_line]].name =
				strtab_add_cstr(&g.strings, function);
	}
	g.options.waits = waits;
	static struct host live;
	g.options.host = is_off ? &live : NULL;
	g.options.interpreter = is_off ? INTERP_NONE : INTERP_AUTO;
	snprintf(g.functions.version, sizeof(g.functions.version), "%s", version);
	struct cprof_unnamed u = unnamed_find(&g, &names, 0);
	names_done(&names);
	engine_done(&g);
	return u;
}

static struct cprof_unnamed missing(const char *lib, const char *function, unsigned in_jit,
				    unsigned in_lib, unsigned in_prog)
{
	return missing_of(NULL, lib, function, in_jit, in_lib, in_prog);
}

static void is(struct cprof_unnamed u, double percent, const char *what, const char *title)
{
	tap_ok(fabs(u.percent - percent) < 0.01 &&
	       (percent > 0 ? strstr(u.what, what) != NULL : !u.what), "%s", title);
}

int main(void)
{
	is(missing("/nowhere/libx.so", NULL, 40, 0, 60), 40, "JIT code", "JIT code of any program");
	is(missing("/nowhere/libjvm.so", NULL, 40, 10, 50), 40, "Java",
	   "JIT code called by the JVM; the JVM itself is not counted");
	is(missing("/usr/bin/node", NULL, 70, 0, 30), 70, "JavaScript", "JIT code called by node");
	is(missing("/nowhere/libnode.so.108", NULL, 70, 0, 30), 70, "JavaScript",
	   "JIT code called by node's library");
	is(missing("/nowhere/libx.so", NULL, 4, 0, 96), 0, "", "less than 5 %");
	is(missing("/nowhere/libx.so", NULL, 0, 50, 50), 0, "", "a library without names");
	is(missing("/nowhere/libpython3.so", "_PyEval_EvalFrameDefault", 0, 30, 70), 30, "Python",
	   "Python's interpreter");
	is(missing("/nowhere/libpython2.7.so", "PyEval_EvalFrameEx", 0, 30, 70), 30, "Python",
	   "the interpreter of Python 2");
	is(missing("/nowhere/libpython3.so", "py::main:/x.py", 0, 30, 70), 0, "",
	   "named Python functions");
	is(missing("/nowhere/libruby-3.1.so.3.1", NULL, 0, 30, 70), 30, "Ruby",
	   "Ruby's library without symbols");
	is(missing("/nowhere/libperl.so", "Perl_runops_standard", 0, 30, 70), 30, "Perl",
	   "Perl's interpreter");
	struct cprof_unnamed u = missing("/nowhere/libperl.so", "Perl_runops_standard", 0, 30, 70);
	tap_ok(strstr(u.remedy, "Devel::NYTProf") != NULL, "Perl: another tool has its functions");
	u = missing("/usr/bin/php", "execute_ex", 0, 30, 70);
	tap_ok(strstr(u.remedy, "0.1 s or more") != NULL, "PHP: too short a recording has none");
	static const uint8_t waits[] = { WAITS_OFF }, none[] = { 0 };
	u = missing_of(none, "/nowhere/libpython3.so", "_PyEval_EvalFrameDefault", 0, 30, 70);
	tap_ok(strstr(u.remedy, "-X perf") != NULL, "Python: its option names functions that run");
	u = missing_of(waits, "/nowhere/libpython3.so", "_PyEval_EvalFrameDefault", 0, 30, 70);
	tap_ok(strstr(u.remedy, "cprof snapshot --repeat") != NULL,
	       "snapshots show functions of short waits");
	version = "python 3.11.2";
	u = missing("/nowhere/libpython3.so", "_PyEval_EvalFrameDefault", 0, 30, 70);
	tap_ok(strstr(u.remedy, "How sure is it?") != NULL, "other stacks have functions");
	version = "";
	is_off = true;
	u = missing("/nowhere/libpython3.so", "_PyEval_EvalFrameDefault", 0, 30, 70);
	tap_ok(strstr(u.remedy, "--interpreter=auto") != NULL, "they were not to be read");
	return tap_done();
}
