#ifndef CPROF_SYMBOLIZE_RUNTIME_GO_LAYOUT_H
#define CPROF_SYMBOLIZE_RUNTIME_GO_LAYOUT_H

/*
 * Where the fields of the runtime's structures are: of a goroutine (g), its saved registers
 * (gobuf), its thread (m) and what it waits for (sudog), in src/runtime/runtime2.go of Go, and of a
 * channel (hchan), in chan.go.  64-bit programs only; x86-64 and arm64 have the same layout.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct go_version;

/* How a goroutine's profiler labels are stored (src/runtime/pprof/label.go). */
enum go_label_format { GO_LABELS_MAP, GO_LABELS_SLICE };

/* Offsets in bytes.  0: the version has no such field, unless it is the first one. */
struct go_layout {
	/* of g */
	uint16_t stack, m, sched, syscall_sp, syscall_pc, syscall_bp;
	uint16_t status, goid, wait_since, wait_reason, switches, locked_m;
	uint16_t parent, go_pc, start_pc, labels, bubble, waiting;
	uint16_t gobuf_lr, gobuf_bp;            /* in sched */
	uint16_t m_proc_id, m_curg;             /* in m; m.g0 is its first field */
	uint16_t bubble_id;                     /* in synctestBubble */
	uint16_t sudog_link, sudog_chan;        /* in sudog; sudog.g is its first field */
	uint16_t chan_receivers;                /* in hchan; the queue of senders follows */
	uint16_t label_format;                  /* enum go_label_format */
};

#define GO_LAYOUT_G_BYTES_MAX 512u

/* The layout of that version; NULL: unknown. */
const struct go_layout *go_layout_of(const struct go_version *v);
/* All known ones, newest first, which is that of Go 1.27; NULL after the last. */
#define GO_LAYOUT_NEWEST 27u
const struct go_layout *go_layout_known(unsigned int i);

/* How many bytes of a g contain all fields. */
size_t go_layout_g_bytes(const struct go_layout *l);

/* The register with the address of the running goroutine's g, by its DWARF number. */
#define GO_G_REG_X86_64 14u
#define GO_G_REG_ARM64 28u

/* g.atomicstatus without its scan bit. */
enum go_status {
	GO_IDLE, GO_RUNNABLE, GO_RUNNING, GO_SYSCALL, GO_WAITING, GO_MORIBUND, GO_DEAD, GO_ENQUEUE,
	GO_COPYSTACK, GO_PREEMPTED, GO_LEAKED, GO_DEADEXTRA, GO_N_STATUS,
};
/* As the runtime prints it; "???" for others. */
const char *go_status_name(uint32_t status);

/* A goroutine as it was read.  Addresses are the process's; 0: none, or unknown. */
struct go_g {
	uint64_t lo, hi;                /* its stack */
	uint64_t m;
	/* Where it goes on: after the system call that it is in, or as saved when it was last taken
	 * off its thread.  Meaningless while it runs. */
	uint64_t sp, pc, lr, bp;
	uint64_t sched_sp, sched_pc, syscall_sp, syscall_pc;
	uint64_t goid, parent, go_pc, start_pc;
	uint64_t wait_since;            /* ns of CLOCK_MONOTONIC, by the garbage collector */
	uint64_t labels, locked_m, bubble;
	uint64_t waiting;               /* the first sudog of what it waits for */
	uint32_t status;                /* enum go_status, if the bytes are those of a g */
	uint8_t wait_reason;
	uint8_t switches;               /* counts how often it left a thread (trackingSeq) */
	bool is_scanned;                /* the garbage collector is reading its stack */
};

/* Decodes go_layout_g_bytes(l) bytes. */
void go_g_decode(const struct go_layout *l, const uint8_t *bytes, struct go_g *ret);

/* Has it a stack that shows what it is doing? */
bool go_g_is_alive(const struct go_g *g);

/* Do the fields that depend on each other agree, so that this can be a goroutine? */
bool go_g_is_plausible(const struct go_g *g);

/* Has it not moved between the two readings? */
bool go_g_is_same(const struct go_g *a, const struct go_g *b);

#endif
