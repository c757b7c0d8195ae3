/* Where a program has its goroutines: with and without symbols, of known and unknown versions. */

#include "symbolize/runtime/go-program.h"
#include "tap.h"
#include "tests/unit/symbolize/golist.h"

static struct golist l;
static struct go_program g;

static void open_list(const char *version, unsigned int flags)
{
	golist_close(&l);
	if (!golist_open(&l, version, flags))
		abort();
}

static void opens(enum go_program_result want, enum go_place place, const char *what)
{
	enum go_program_result r = go_program_open(&l.places, &g);
	bool is_right = r == want && g.place == place;
	if (r == GO_PROGRAM_OK)
		is_right &= g.allgs == GOLIST_ALLGS;
	tap_ok(is_right, "%s: result %d, place %d", what, r, g.place);
}

static void reasons(const char *what)
{
	tap_ok(g.reasons.n == 3 && strcmp(g.reasons.text[2], "chan receive") == 0 &&
	       !g.reasons.text[0][0], "%s: %u reasons", what, g.reasons.n);
}

static void found(void)
{
	open_list("go1.27.3", GOLIST_SYMBOLS);
	opens(GO_PROGRAM_OK, GO_PLACE_SYMBOL, "with symbols");
	reasons("with symbols");
	open_list("go1.27.3", 0);
	opens(GO_PROGRAM_OK, GO_PLACE_CODE, "stripped");
	reasons("stripped");
	open_list("go1.27.3", GOLIST_ARM64);
	opens(GO_PROGRAM_OK, GO_PLACE_CODE, "stripped, arm64");
	open_list("go1.27.3", GOLIST_NO_CODE);
	opens(GO_PROGRAM_OK, GO_PLACE_DATA, "without runtime.allgadd");
	/* a shorter list, as that of the runtime's processors, is another one */
	gomemory_word(&l.memory, GOLIST_ALLGS - 64, GOLIST_SLICE);
	gomemory_word(&l.memory, GOLIST_ALLGS - 56, 4);
	gomemory_word(&l.memory, GOLIST_ALLGS - 48, 4);
	opens(GO_PROGRAM_OK, GO_PLACE_DATA, "the longest list");
}

static void versions(void)
{
	open_list("go1.28", GOLIST_SYMBOLS);
	opens(GO_PROGRAM_OK, GO_PLACE_SYMBOL, "a later version with the same layout");
	tap_ok(g.layout_from == GO_PROGRAM_PROVEN, "which was proven");
	gomemory_word(&l.memory, GOLIST_G(0) + g.layout.start_pc, GOPROGRAM_OUTER);
	opens(GO_PROGRAM_UNSUPPORTED, GO_PLACE_NONE, "one whose first goroutine is another");
	tap_str(g.version.text, "go1.28", "it is named");
	open_list("go1.16.15", GOLIST_SYMBOLS);
	opens(GO_PROGRAM_UNSUPPORTED, GO_PLACE_NONE, "an earlier version");
	open_list("go1.23", GOLIST_SYMBOLS);
	opens(GO_PROGRAM_NO_LIST, GO_PLACE_NONE, "a version whose layout does not fit");
}

static bool shows_newest(void *ctx, struct go_layout *ret)
{
	++*(unsigned int *)ctx;
	*ret = *go_layout_known(0);
	return true;
}

static bool shows_nothing(void *ctx, struct go_layout *ret)
{
	(void)ret;
	++*(unsigned int *)ctx;
	return false;
}

static void debug_information(void)
{
	unsigned int n = 0;
	open_list("go1.28", GOLIST_SYMBOLS);
	l.places.debug_layout = shows_newest;
	l.places.debug_ctx = &n;
	opens(GO_PROGRAM_OK, GO_PLACE_SYMBOL, "a later version with debug information");
	tap_ok(n == 1 && g.layout_from == GO_PROGRAM_DEBUG, "which shows its layout");
	gomemory_word(&l.memory, GOLIST_G(0) + g.layout.start_pc, GOPROGRAM_OUTER);
	opens(GO_PROGRAM_NO_LIST, GO_PLACE_NONE, "a layout that does not fit");
	open_list("go1.28", GOLIST_SYMBOLS);
	l.places.debug_layout = shows_nothing;
	l.places.debug_ctx = &n;
	opens(GO_PROGRAM_OK, GO_PLACE_SYMBOL, "debug information without a layout");
	tap_ok(n == 3 && g.layout_from == GO_PROGRAM_PROVEN, "an earlier one is proven");
	open_list("go1.27.3", GOLIST_SYMBOLS);
	l.places.debug_layout = shows_newest;
	l.places.debug_ctx = &n;
	opens(GO_PROGRAM_OK, GO_PLACE_SYMBOL, "a version whose layout is known");
	tap_ok(n == 3 && g.layout_from == GO_PROGRAM_KNOWN, "needs no debug information");
}

/* A field of a goroutine that waits has that value: is the layout refused for a later version? */
static void refutes(unsigned int off, uint64_t value, const char *what)
{
	open_list("go1.28", GOLIST_SYMBOLS);
	gomemory_word(&l.memory, GOLIST_G(1) + off, value);
	opens(GO_PROGRAM_UNSUPPORTED, GO_PLACE_NONE, what);
}

static void proof(void)
{
	const struct go_layout *o = go_layout_known(0);
	refutes(o->start_pc, GOPROGRAM_OUTER + 1, "it begins within a function");
	refutes(o->go_pc, 0x10, "its go statement is not in the code");
	refutes(o->sched + 8u, 0x10, "it will go on outside of the code");
	refutes(o->wait_reason, 200, "it waits for an unknown reason");
	refutes(o->parent, UINT64_MAX, "its parent has no number");
	refutes(o->m, 0x10, "its thread is nowhere");
	refutes(o->locked_m, GOLIST_STACK(1), "it is bound to a thread that cannot be read");
	refutes(o->labels, GOLIST_G(1), "its labels are not labels");
	refutes(o->bubble, 8, "its bubble is nowhere");
}

static void hostile(void)
{
	open_list("gox", GOLIST_SYMBOLS);
	opens(GO_PROGRAM_NOT_GO, GO_PLACE_NONE, "no version");
	open_list("go1.27.3", GOLIST_SYMBOLS);
	l.memory.is_gone = true;
	opens(GO_PROGRAM_UNREADABLE, GO_PLACE_NONE, "memory that cannot be read");
	l.memory.is_gone = false;
	gomemory_word(&l.memory, GOLIST_ALLGS + 8, 1ull << 40);
	opens(GO_PROGRAM_NO_LIST, GO_PLACE_NONE, "a list longer than its capacity");
	gomemory_word(&l.memory, GOLIST_ALLGS + 16, 1ull << 40);
	opens(GO_PROGRAM_NO_LIST, GO_PLACE_NONE, "an endless list");
	gomemory_word(&l.memory, GOLIST_ALLGS, 0x1001);
	opens(GO_PROGRAM_NO_LIST, GO_PLACE_NONE, "a list elsewhere");
	l.places.table = NULL;
	opens(GO_PROGRAM_NOT_GO, GO_PLACE_NONE, "no table of functions");
}

int main(void)
{
	found();
	versions();
	debug_information();
	proof();
	hostile();
	golist_close(&l);
	return tap_done();
}
