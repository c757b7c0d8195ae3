/* Goroutines that have nothing to do, and those that wait for somebody else. */

#include "snapshot/goidle.h"
#include "symbolize/cfi/cfi.h"
#include "symbolize/runtime/go-layout.h"
#include "symbolize/runtime/go-table.h"
#include "tests/unit/symbolize/gomemory.h"
#include "tests/unit/symbolize/goprogram.h"
#include "tests/unit/tap.h"

#include <stdlib.h>
#include <unistd.h>

enum {
	GOEXIT = GOCODE_TEXT + 1, SELECT = GOCODE_TEXT + 0x21, RECEIVE = GOCODE_TEXT + 0x41,
	OWN = GOCODE_TEXT + 0x61, WRAPPER = GOCODE_TEXT + 0x81,
};
#define PARK OWN                        /* any function */
#define G (GOMEMORY_HEAP + 0x1000)
#define SUDOG(i) (GOMEMORY_HEAP + 0x2000u + 0x100u * (i))
#define CHANNEL(i) (GOMEMORY_HEAP + 0x4000u + 0x100u * (i))

static struct gomemory memory;
static const struct runtime_memory from = { gomemory_read, &memory };
static const struct go_layout *layout;
static struct go_table *table;
static struct cfi *cfi;

static bool open_program(void)
{
	static const char *const names[GOPROGRAM_FUNCTIONS] = {
		"runtime.goexit", "runtime.selectgo", "runtime.chanrecv2", "main.loop",
		"main.main.gowrap1",
	};
	static struct goprogram program;
	goprogram_make_as(&program, GOPROGRAM_1_20, false, names);
	int fd = gocode_file(&(struct gocode){
		.machine = EM_X86_64, .table = { program.table, program.n_table },
		.text = { goprogram_code, sizeof(goprogram_code) } });
	return fd >= 0 && cfi_open_file(fd, &cfi) == 0 && (table = go_table_open(cfi));
}

/* Case i of a select; the queues of its channel have these first entries. */
static void put_case(unsigned int i, uint64_t receiver, uint64_t sender, bool is_last)
{
	gomemory_word(&memory, SUDOG(i), G);
	gomemory_word(&memory, SUDOG(i) + layout->sudog_chan, CHANNEL(i));
	gomemory_word(&memory, SUDOG(i) + layout->sudog_link, is_last ? 0 : SUDOG(i + 1));
	gomemory_word(&memory, CHANNEL(i) + layout->chan_receivers, receiver);
	gomemory_word(&memory, CHANNEL(i) + layout->chan_receivers + 16u, sender);
}

static struct go_g read_goroutine(void)
{
	uint8_t b[GO_LAYOUT_G_BYTES_MAX];
	struct go_g g;
	gomemory_word(&memory, G + layout->status, GO_WAITING);
	gomemory_word(&memory, G + layout->goid, 7);
	gomemory_word(&memory, G + layout->waiting, SUDOG(0));
	runtime_memory_read(&from, G, b, go_layout_g_bytes(layout));
	go_g_decode(layout, b, &g);
	return g;
}

static void is(const char *want, const char *name, const uint64_t *vaddr, size_t n)
{
	const struct goidle x = { table, layout, &from };
	struct go_g g = read_goroutine();
	const char *got = goidle_label(&x, &g, G, vaddr, n);
	tap_str(got ? got : "", want, name);
}

#define STACK(...) (const uint64_t[]){ __VA_ARGS__ }, sizeof((uint64_t[]){ __VA_ARGS__ }) / 8

static void test_stacks(void)
{
	put_case(0, SUDOG(0), 0, true);
	is("pool", "a loop over a channel", STACK(PARK, RECEIVE, OWN, GOEXIT));
	is("pool", "called with arguments", STACK(PARK, RECEIVE, OWN, WRAPPER, GOEXIT));
	is("event-loop", "a select", STACK(PARK, SELECT, OWN, GOEXIT));
	is("", "a function that the goroutine has called", STACK(PARK, RECEIVE, OWN, OWN, GOEXIT));
	is("", "and a select there", STACK(PARK, SELECT, OWN, OWN, GOEXIT));
	is("", "another call", STACK(PARK, OWN, GOEXIT));
	is("", "another root", STACK(PARK, RECEIVE, OWN));
	is("", "code without a function", STACK(PARK, RECEIVE, OWN, 0x10));
	is("", "a deep stack", STACK(PARK, PARK, PARK, PARK, PARK, PARK, RECEIVE, OWN, GOEXIT));
	is("", "no stack", NULL, 0);
}

static void test_selects(void)
{
	put_case(0, SUDOG(0), 0, false);
	put_case(1, SUDOG(9), 0, true);
	is("event-loop", "two channels", STACK(PARK, SELECT, OWN, GOEXIT));
	put_case(1, 0, SUDOG(1), true);
	is("", "it sends to one of them", STACK(PARK, SELECT, OWN, GOEXIT));
	put_case(1, 0, 0, true);
	is("", "nobody waits for that channel", STACK(PARK, SELECT, OWN, GOEXIT));
	put_case(1, SUDOG(1), 0, true);
	gomemory_word(&memory, SUDOG(1), G + 8);
	is("", "a case of another goroutine", STACK(PARK, SELECT, OWN, GOEXIT));
	put_case(1, SUDOG(1), 0, true);
	gomemory_word(&memory, SUDOG(1) + layout->sudog_link, SUDOG(0));
	is("", "cases without an end", STACK(PARK, SELECT, OWN, GOEXIT));
	gomemory_word(&memory, SUDOG(1) + layout->sudog_link, 16);
	is("", "a case that cannot be read", STACK(PARK, SELECT, OWN, GOEXIT));
}

static void test_moved(void)
{
	const struct goidle x = { table, layout, &from };
	put_case(0, SUDOG(0), 0, true);
	struct go_g g = read_goroutine();
	g.switches++;
	tap_ok(!goidle_label(&x, &g, G, STACK(PARK, SELECT, OWN, GOEXIT)),
	       "it has run since, so the cases may be others");
	memory.is_gone = true;
	tap_ok(!goidle_label(&x, &g, G, STACK(PARK, SELECT, OWN, GOEXIT)), "it has ended");
	memory.is_gone = false;
	struct go_layout unknown = *layout;
	unknown.sudog_chan = 0;
	const struct goidle y = { table, &unknown, &from };
	g = read_goroutine();
	tap_ok(!goidle_label(&y, &g, G, STACK(PARK, SELECT, OWN, GOEXIT)),
	       "a version whose channels are unknown");
}

int main(void)
{
	layout = go_layout_known(0);
	if (!open_program())
		return 1;
	test_stacks();
	test_selects();
	test_moved();
	int fd = cfi->fd;
	go_table_close(table);
	cfi_close(cfi);
	close(fd);
	return tap_done();
}
