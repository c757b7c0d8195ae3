#include "symbolize/runtime/go-dwarf.h"

#include "symbolize/dwarf/dwmember.h"
#include "symbolize/runtime/go-layout.h"

#include <dwarf.h>
#include <string.h>

#define FIELD(name) offsetof(struct go_layout, name)

/* src/runtime/{runtime2,chan,synctest}.go, src/runtime/pprof/label.go. */
static const struct field {
	const char *type, *name;
	size_t to;              /* the field of struct go_layout */
	bool is_optional;       /* some version lacks it */
} fields[] = {
	{ "runtime.g", "stack", FIELD(stack), false },
	{ "runtime.g", "m", FIELD(m), false },
	{ "runtime.g", "sched", FIELD(sched), false },
	{ "runtime.g", "syscallsp", FIELD(syscall_sp), false },
	{ "runtime.g", "syscallpc", FIELD(syscall_pc), false },
	{ "runtime.g", "syscallbp", FIELD(syscall_bp), true },
	{ "runtime.g", "atomicstatus", FIELD(status), false },
	{ "runtime.g", "goid", FIELD(goid), false },
	{ "runtime.g", "waitsince", FIELD(wait_since), false },
	{ "runtime.g", "waitreason", FIELD(wait_reason), false },
	{ "runtime.g", "trackingSeq", FIELD(switches), true },
	{ "runtime.g", "lockedm", FIELD(locked_m), false },
	{ "runtime.g", "parentGoid", FIELD(parent), true },
	{ "runtime.g", "gopc", FIELD(go_pc), false },
	{ "runtime.g", "startpc", FIELD(start_pc), false },
	{ "runtime.g", "labels", FIELD(labels), false },
	{ "runtime.g", "bubble", FIELD(bubble), true },
	{ "runtime.g", "waiting", FIELD(waiting), true },
	{ "runtime.sudog", "waitlink", FIELD(sudog_link), true },
	{ "runtime.sudog", "c", FIELD(sudog_chan), true },
	{ "runtime.hchan", "recvq", FIELD(chan_receivers), true },
	{ "runtime.gobuf", "lr", FIELD(gobuf_lr), false },
	{ "runtime.gobuf", "bp", FIELD(gobuf_bp), false },
	{ "runtime.m", "procid", FIELD(m_proc_id), false },
	{ "runtime.m", "curg", FIELD(m_curg), false },
	{ "runtime.synctestBubble", "id", FIELD(bubble_id), true },
};

#define N_FIELDS (sizeof(fields) / sizeof(*fields))

/* Members whose place is the same in all versions. */
static const struct fixed {
	const char *type, *name;
	uint32_t off;
} fixed[] = {
	{ "runtime.stack", "lo", 0 }, { "runtime.stack", "hi", 8 },
	{ "runtime.gobuf", "sp", 0 }, { "runtime.gobuf", "pc", 8 },
	{ "runtime.m", "g0", 0 },
};

#define N_FIXED (sizeof(fixed) / sizeof(*fixed))

enum { LABELS_TYPE = N_FIELDS + N_FIXED, LABELS_1_24, LABELS_1_26, N_WANTED };

static bool is_right(const struct dwmember *m)
{
	for (size_t i = 0; i < N_FIELDS; i++)
		if (m[i].is_found ? m[i].off >= GO_LAYOUT_G_BYTES_MAX : !fields[i].is_optional)
			return false;
	for (size_t i = 0; i < N_FIXED; i++)
		if (!m[N_FIELDS + i].is_found || m[N_FIELDS + i].off != fixed[i].off)
			return false;
	return true;
}

/* Labels are a structure around a slice; before, they were a map.  A program without the type has
 * no labels. */
static enum go_label_format label_format(const struct dwmember *m)
{
	bool is_slice = m[LABELS_1_24].is_found || m[LABELS_1_26].is_found;
	return m[LABELS_TYPE].is_found && !is_slice ? GO_LABELS_MAP : GO_LABELS_SLICE;
}

bool go_dwarf_layout(Elf *elf, int fd, const struct symdebug_place *where, struct go_layout *ret)
{
	struct dwmember m[N_WANTED] = {
		[LABELS_TYPE] = { .type = "runtime/pprof.labelMap" },
		[LABELS_1_24] = { .type = "runtime/pprof.labelMap", .name = "LabelSet" },
		[LABELS_1_26] = { .type = "runtime/pprof.labelMap", .name = "Set" },
	};
	struct go_layout l = { 0 };
	for (size_t i = 0; i < N_FIELDS; i++)
		m[i] = (struct dwmember){ .type = fields[i].type, .name = fields[i].name };
	for (size_t i = 0; i < N_FIXED; i++)
		m[N_FIELDS + i] = (struct dwmember){ .type = fixed[i].type, .name = fixed[i].name };
	if (dwmember_find_file(elf, fd, where, DW_LANG_Go, m, N_WANTED) < 0 || !is_right(m))
		return false;
	for (size_t i = 0; i < N_FIELDS; i++) {
		uint16_t off = m[i].is_found ? (uint16_t)m[i].off : 0;
		memcpy((uint8_t *)&l + fields[i].to, &off, sizeof(off));
	}
	l.label_format = label_format(m);
	if (go_layout_g_bytes(&l) > GO_LAYOUT_G_BYTES_MAX)
		return false;
	*ret = l;
	return true;
}
