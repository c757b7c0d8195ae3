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
	hostile();
	golist_close(&l);
	return tap_done();
}
