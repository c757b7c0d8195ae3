/*
 * A field that the versions have in common is named once, in a macro; the rest is in the table.  An
 * offset that is 0 although the field is not the first one stands for a field that a version lacks,
 * and is read as 0.
 */

#include "symbolize/runtime/go-layout.h"

#include "symbolize/runtime/go-version.h"

#include <string.h>

#define GO_SCAN 0x1000u
#define STACK_BYTES_MAX (1ull << 30)    /* runtime.maxstacksize */
#define GOID_MAX (1ull << 48)

#define WAITS_UP_TO_1_25 .sudog_link = 64, .sudog_chan = 80

#define LAYOUT_UP_TO_1_20                                                                   \
	.m = 48, .sched = 56, .syscall_sp = 112, .syscall_pc = 120, .status = 144,              \
	.goid = 152,                                                                            \
	.wait_since = 168, .wait_reason = 176, .switches = 189, .locked_m = 232,                \
	.go_pc = 296, .start_pc = 312, .labels = 360, .gobuf_lr = 40, .gobuf_bp = 48,           \
	.m_proc_id = 72, .m_curg = 192, .waiting = 328, WAITS_UP_TO_1_25, .chan_receivers = 56

#define LAYOUT_1_21                                                                         \
	.m = 48, .sched = 56, .syscall_sp = 112, .syscall_pc = 120, .status = 144,              \
	.goid = 152, .wait_since = 168, .wait_reason = 176, .locked_m = 208, .parent = 272,     \
	.go_pc = 280, .start_pc = 296, .labels = 344, .gobuf_lr = 40, .gobuf_bp = 48,           \
	.m_proc_id = 72, .m_curg = 192, .waiting = 312, WAITS_UP_TO_1_25, .chan_receivers = 56

#define LAYOUT_1_23                                                                         \
	.m = 48, .sched = 56, .syscall_sp = 112, .syscall_pc = 120, .syscall_bp = 128,          \
	.status = 152, .goid = 160, .wait_since = 176, .wait_reason = 184, .switches = 199,     \
	.locked_m = 216, .parent = 280, .go_pc = 288, .start_pc = 304, .labels = 352,           \
	.gobuf_lr = 40, .gobuf_bp = 48, .m_proc_id = 72, .m_curg = 192, .waiting = 320,         \
	WAITS_UP_TO_1_25, .chan_receivers = 64

/* Since 1.25 gobuf has no field ret, so all that follows it is 8 bytes further in front. */
#define LAYOUT_FROM_1_25                                                                    \
	.m = 48, .sched = 56, .syscall_sp = 104, .syscall_pc = 112, .syscall_bp = 120,          \
	.status = 144, .goid = 152, .wait_since = 168, .wait_reason = 176, .switches = 191,     \
	.locked_m = 208,                                                                        \
	.gobuf_lr = 32, .gobuf_bp = 40, .m_proc_id = 64, .m_curg = 184, .bubble_id = 72,        \
	.chan_receivers = 64,                                                                   \
	.label_format = GO_LABELS_SLICE

static const struct {
	unsigned int first, last;       /* minor versions of Go 1 */
	struct go_layout layout;
} known[] = {
	{ 26, 27, { LAYOUT_FROM_1_25, .parent = 280, .go_pc = 288, .start_pc = 304, .labels = 352,
		    .bubble = 392, .waiting = 320, .sudog_link = 72, .sudog_chan = 88 } },
	{ 25, 25, { LAYOUT_FROM_1_25, .parent = 272, .go_pc = 280, .start_pc = 296, .labels = 344,
		    .bubble = 384, .waiting = 312, WAITS_UP_TO_1_25 } },
	{ 24, 24, { LAYOUT_1_23, .label_format = GO_LABELS_SLICE } },
	{ 23, 23, { LAYOUT_1_23, .label_format = GO_LABELS_MAP } },
	{ 22, 22, { LAYOUT_1_21, .switches = 191 } },
	{ 21, 21, { LAYOUT_1_21, .switches = 188 } },
	{ 17, 20, { LAYOUT_UP_TO_1_20 } },
};

#define N_KNOWN (sizeof(known) / sizeof(*known))

const struct go_layout *go_layout_of(const struct go_version *v)
{
	for (size_t i = 0; i < N_KNOWN && v->major == 1; i++)
		if (v->minor >= known[i].first && v->minor <= known[i].last)
			return &known[i].layout;
	return NULL;
}

const struct go_layout *go_layout_known(unsigned int i)
{
	return i < N_KNOWN ? &known[i].layout : NULL;
}

size_t go_layout_g_bytes(const struct go_layout *l)
{
	const unsigned int end[] = {
		l->stack + 16, l->m + 8, l->sched + 16, l->sched + l->gobuf_lr + 8,
		l->sched + l->gobuf_bp + 8, l->syscall_sp + 8, l->syscall_pc + 8,
		l->syscall_bp + 8, l->status + 8, l->goid + 8, l->wait_since + 8,
		l->wait_reason + 8, l->switches + 8, l->locked_m + 8, l->parent + 8, l->go_pc + 8,
		l->start_pc + 8, l->labels + 8, l->bubble + 8, l->waiting + 8,
	};
	size_t n = 0;
	for (size_t i = 0; i < sizeof(end) / sizeof(*end); i++)
		n = end[i] > n ? end[i] : n;
	return n;
}

const char *go_status_name(uint32_t status)
{
	static const char *const name[GO_N_STATUS] = {
		"idle", "runnable", "running", "syscall", "waiting", "moribund", "dead", "enqueue",
		"copystack", "preempted", "leaked", "deadextra",
	};
	return status < GO_N_STATUS ? name[status] : "???";
}

/* ---- goroutines -------------------------------------------------------------------------- */

static uint64_t word(const uint8_t *bytes, unsigned int off)
{
	uint64_t x;
	memcpy(&x, bytes + off, sizeof(x));
	return x;
}

/* A field that not every version has. */
static uint64_t word_if(const uint8_t *bytes, unsigned int off)
{
	return off ? word(bytes, off) : 0;
}

void go_g_decode(const struct go_layout *l, const uint8_t *b, struct go_g *ret)
{
	uint32_t status = (uint32_t)word(b, l->status);
	*ret = (struct go_g){
		.lo = word(b, l->stack), .hi = word(b, l->stack + 8u), .m = word(b, l->m),
		.sched_sp = word(b, l->sched), .sched_pc = word(b, l->sched + 8u),
		.syscall_sp = word(b, l->syscall_sp), .syscall_pc = word(b, l->syscall_pc),
		.goid = word(b, l->goid), .parent = word_if(b, l->parent),
		.go_pc = word(b, l->go_pc), .start_pc = word(b, l->start_pc),
		.wait_since = word(b, l->wait_since), .labels = word_if(b, l->labels),
		.locked_m = word(b, l->locked_m), .bubble = word_if(b, l->bubble),
		.waiting = word_if(b, l->waiting),
		.status = status & ~GO_SCAN, .wait_reason = b[l->wait_reason],
		.switches = b[l->switches],
		.is_scanned = status & GO_SCAN,
	};
	if (ret->status == GO_SYSCALL && ret->syscall_sp) {
		ret->sp = ret->syscall_sp;
		ret->pc = ret->syscall_pc;
		ret->bp = word_if(b, l->syscall_bp);
	} else {
		ret->sp = ret->sched_sp;
		ret->pc = ret->sched_pc;
		ret->bp = word(b, l->sched + (unsigned int)l->gobuf_bp);
		ret->lr = word(b, l->sched + (unsigned int)l->gobuf_lr);
	}
}

bool go_g_is_alive(const struct go_g *g)
{
	switch (g->status) {
	case GO_RUNNABLE: case GO_RUNNING: case GO_SYSCALL: case GO_WAITING: case GO_COPYSTACK:
	case GO_PREEMPTED: case GO_LEAKED:
		return true;
	default:
		return false;
	}
}

static bool has_stack(const struct go_g *g)
{
	return g->lo && g->lo < g->hi && g->hi - g->lo <= STACK_BYTES_MAX &&
	       (g->lo | g->hi) % 8 == 0;
}

bool go_g_is_plausible(const struct go_g *g)
{
	if (g->status >= GO_N_STATUS || g->status == GO_MORIBUND || g->status == GO_ENQUEUE)
		return false;
	if (!go_g_is_alive(g))
		return (!g->lo && !g->hi) || has_stack(g);
	if (!has_stack(g) || !g->goid || g->goid >= GOID_MAX)
		return false;
	/* cleared while it runs; a stack may be exchanged for another meanwhile */
	return g->status == GO_RUNNING || g->status == GO_COPYSTACK ||
	       (g->sp >= g->lo && g->sp <= g->hi && g->pc);
}

bool go_g_is_same(const struct go_g *a, const struct go_g *b)
{
	return a->status == b->status && a->goid == b->goid && a->lo == b->lo && a->hi == b->hi &&
	       a->sched_sp == b->sched_sp && a->sched_pc == b->sched_pc &&
	       a->syscall_sp == b->syscall_sp && a->syscall_pc == b->syscall_pc &&
	       a->labels == b->labels && a->switches == b->switches;
}
