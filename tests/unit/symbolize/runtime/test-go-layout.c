/* The layout of goroutines by version, and what makes bytes plausible. */

#include "symbolize/runtime/go-layout.h"
#include "symbolize/runtime/go-version.h"
#include "tap.h"

#define LO 0xc000100000u
#define HI 0xc000100800u

static const struct go_layout *layout_of(const char *text)
{
	struct go_version v;
	return go_version_parse(text, strlen(text), &v) ? go_layout_of(&v) : NULL;
}

static void put(uint8_t *b, unsigned int off, uint64_t x)
{
	memcpy(b + off, &x, sizeof(x));
}

/* A goroutine in that state, whose fields have values that no other field has. */
static void make(const struct go_layout *l, uint32_t status, uint8_t *b)
{
	bool is_away = (status & 0xff) == GO_SYSCALL;
	memset(b, 0, GO_LAYOUT_G_BYTES_MAX);
	put(b, 0, LO);
	put(b, 8, HI);
	put(b, l->m, 0xc000200000);
	put(b, l->sched, LO + 0x700);
	put(b, l->sched + 8u, 0x401100);
	put(b, l->sched + (unsigned int)l->gobuf_bp, LO + 0x720);
	put(b, l->syscall_sp, is_away ? LO + 0x600 : 0);
	put(b, l->syscall_pc, is_away ? 0x401200 : 0);
	put(b, l->status, status);
	put(b, l->goid, 17);
	put(b, l->wait_since, 123456789);
	b[l->wait_reason] = 14;
	b[l->switches] = 201;
	if (l->parent)
		put(b, l->parent, 5);
	put(b, l->go_pc, 0x401300);
	put(b, l->start_pc, 0x401400);
	put(b, l->labels, 0xc000300000);
}

static void decodes(const char *version)
{
	const struct go_layout *l = layout_of(version);
	uint8_t b[GO_LAYOUT_G_BYTES_MAX];
	struct go_g g;
	make(l, GO_WAITING, b);
	go_g_decode(l, b, &g);
	tap_ok(g.sp == LO + 0x700 && g.pc == 0x401100 && g.bp == LO + 0x720 && g.goid == 17 &&
	       g.parent == (l->parent ? 5 : 0) && g.go_pc == 0x401300 && g.start_pc == 0x401400 &&
	       g.wait_since == 123456789 && g.wait_reason == 14 && g.switches == 201 &&
	       g.labels == 0xc000300000 &&
	       g.m == 0xc000200000 && !g.is_scanned && go_g_is_plausible(&g) && go_g_is_alive(&g),
	       "%s: a goroutine that waits", version);
	make(l, GO_SYSCALL | 0x1000, b);
	go_g_decode(l, b, &g);
	tap_ok(g.sp == LO + 0x600 && g.pc == 0x401200 && g.status == GO_SYSCALL && g.is_scanned &&
	       go_g_is_plausible(&g), "%s: one in a system call, with its scan bit", version);
	tap_ok(go_layout_g_bytes(l) <= GO_LAYOUT_G_BYTES_MAX, "%s: its size", version);
}

static void plausible(void)
{
	const struct go_layout *l = layout_of("go1.27");
	uint8_t b[GO_LAYOUT_G_BYTES_MAX];
	struct go_g g, other;
	make(l, GO_WAITING, b);
	go_g_decode(l, b, &g);
	other = g;
	other.hi = LO + (2ull << 30);
	tap_ok(!go_g_is_plausible(&other), "a stack of 2 GiB");
	other.hi = LO;
	tap_ok(!go_g_is_plausible(&other), "an empty stack");
	other = g;
	other.sp = HI + 8;
	tap_ok(!go_g_is_plausible(&other), "a stack pointer beyond the stack");
	other.status = GO_RUNNING;
	tap_ok(go_g_is_plausible(&other), "which is meaningless while it runs");
	other = g;
	other.status = GO_N_STATUS;
	tap_ok(!go_g_is_plausible(&other), "an unknown state");
	other.status = GO_MORIBUND;
	tap_ok(!go_g_is_plausible(&other), "a state that is not used");
	other = g;
	other.goid = 0;
	tap_ok(!go_g_is_plausible(&other), "no number");
	other.status = GO_DEAD;
	other.lo = other.hi = 0;
	tap_ok(go_g_is_plausible(&other) && !go_g_is_alive(&other), "a dead one has neither");
	other = g;
	tap_ok(go_g_is_same(&g, &other), "it has not moved");
	other.sched_sp -= 8;
	tap_ok(!go_g_is_same(&g, &other), "it has moved");
	other = g;
	other.switches++;
	tap_ok(!go_g_is_same(&g, &other), "it has come back to the same place");
	other = g;
	other.goid = 18;
	tap_ok(!go_g_is_same(&g, &other), "another one took its place");
}

int main(void)
{
	static const char *const version[] = {
		"go1.17", "go1.18", "go1.19.8", "go1.20", "go1.21.13", "go1.22.12", "go1.23.5",
		"go1.24.4", "go1.25", "go1.26.10", "go1.27.3",
	};
	for (size_t i = 0; i < sizeof(version) / sizeof(*version); i++)
		decodes(version[i]);
	tap_ok(!layout_of("go1.16.15") && !layout_of("go1.28") && !layout_of("go2.20"),
	       "other versions are unknown");
	plausible();
	tap_str(go_status_name(GO_LEAKED), "leaked", "the name of a state");
	tap_str(go_status_name(99), "???", "as the runtime prints unknown ones");
	return tap_done();
}
