/*
 * A record is an array of 64-bit words: the kernel aligns every field group, pads every string, and
 * rounds every size up to 8 bytes.  A cursor moves over the words.  A read beyond the end gives
 * zero and sets `bad`, so the decoders read straight on and check once.
 *
 * The order of the fields is that of perf_output_sample() and of the comments in
 * <linux/perf_event.h>.  Other records have the sample id fields at their end; they are found by
 * counting back from the last word, since a newer kernel may make the body longer.
 *
 * A sample may be longer than its known fields: new fields come last.
 */

#include "source/record.h"

#include <linux/perf_event.h>
#include <string.h>

/* Older headers lack these enum constants, and #ifdef cannot test for them. */
#define BRANCH_COUNTERS (UINT64_C(1) << 19)    /* PERF_SAMPLE_BRANCH_COUNTERS, Linux 6.8 */
#define FIRST_TYPE_OF_TOOLS 64u                /* PERF_RECORD_USER_TYPE_START of perf.data */

#define WORDS_MAX (RECORD_BYTES_MAX / 8)
#define KSYMBOL_WORDS 3u                       /* before its name */
#define WORDS_PER_BRANCH (sizeof(struct perf_branch_entry) / 8)

struct cursor {
	const uint64_t *p, *end;
	bool bad;
};

static inline uint64_t word(struct cursor *c)
{
	if (__builtin_expect(c->p == c->end, 0)) {
		c->bad = true;
		return 0;
	}
	return *c->p++;
}

/* A word that holds two numbers, the first at the lower address. */
static inline void halves(struct cursor *c, uint32_t *ret_first, uint32_t *ret_second)
{
	uint64_t w = word(c);
	memcpy(ret_first, &w, 4);
	memcpy(ret_second, (const char *)&w + 4, 4);
}

/* n items of some words each; NULL if they are not all present. */
static inline const uint64_t *items(struct cursor *c, uint64_t n, size_t words_each)
{
	if (n > WORDS_MAX || n * words_each > (uint64_t)(c->end - c->p)) {
		c->bad = true;
		c->p = c->end;
		return NULL;
	}
	const uint64_t *p = c->p;
	c->p += n * words_each;
	return p;
}

/* A string up to the end of the body, including the kernel's padding. */
static const char *string(struct cursor *c)
{
	size_t n_bytes = (size_t)(c->end - c->p) * 8;
	const char *s = (const char *)c->p;
	if (!n_bytes || !memchr(s, '\0', n_bytes)) {
		c->bad = true;
		return "";
	}
	c->p = c->end;
	return s;
}

static unsigned count_bits(uint64_t mask)
{
	return (unsigned)__builtin_popcountll(mask);
}

/* A counter's value (PERF_SAMPLE_READ, PERF_RECORD_READ); for a group, the first counter's. */
static void read_values(const struct record_format *f, struct cursor *c, struct record_read *ret)
{
	bool has_id = f->read_format & PERF_FORMAT_ID;
	bool has_lost = f->read_format & (1u << 4); /* PERF_FORMAT_LOST, Linux 6.0 */
	uint64_t n = 1;
	bool is_group = f->read_format & PERF_FORMAT_GROUP;
	if (is_group)
		n = word(c);
	else
		ret->value = word(c);
	if (f->read_format & PERF_FORMAT_TOTAL_TIME_ENABLED)
		ret->time_enabled_ns = word(c);
	if (f->read_format & PERF_FORMAT_TOTAL_TIME_RUNNING)
		ret->time_running_ns = word(c);
	if (is_group) {
		const uint64_t *v = items(c, n, 1u + has_id + has_lost);
		if (!n)
			c->bad = true;
		if (!v || !n)
			return;
		ret->value = v[0];
		ret->id = has_id ? v[1] : 0;
		ret->lost = has_lost ? v[1 + has_id] : 0;
		ret->group = v;
		ret->n_group = n;
		return;
	}
	if (has_id)
		ret->id = word(c);
	if (has_lost)
		ret->lost = word(c);
}

/* PERF_SAMPLE_RAW starts with a 32-bit size, and size and data together fill whole words. */
static void read_raw(struct cursor *c, struct record_sample *s)
{
	if (c->p == c->end) {
		c->bad = true;
		return;
	}
	uint32_t n_bytes;
	memcpy(&n_bytes, c->p, sizeof(n_bytes));
	const char *at = (const char *)c->p + sizeof(n_bytes);
	if ((n_bytes + UINT64_C(4)) % 8)
		c->bad = true;
	if (items(c, (n_bytes + UINT64_C(4)) / 8, 1)) {
		s->raw = at;
		s->n_raw_bytes = n_bytes;
	}
}

/* A kernel without branch data writes only a zero count, even if the hardware index was requested.
 * That happens only for events without a branch stack, which cannot be opened with one; so the
 * index is assumed to be present. */
static void read_branches(const struct record_format *f, struct cursor *c, struct record_sample *s)
{
	s->n_branches = word(c);
	if (f->branch_sample_type & PERF_SAMPLE_BRANCH_HW_INDEX)
		word(c);
	s->branches = items(c, s->n_branches, WORDS_PER_BRANCH);
	s->branches_are_calls = f->branch_sample_type & PERF_SAMPLE_BRANCH_CALL_STACK;
	if (f->branch_sample_type & BRANCH_COUNTERS)
		items(c, s->n_branches, 1);
}

static void read_user_stack(struct cursor *c, struct record_sample *s)
{
	uint64_t n_bytes = word(c);
	if (!n_bytes)
		return;
	const uint64_t *data = items(c, n_bytes / 8, 1);
	uint64_t n_copied = word(c);
	if (n_bytes % 8 || n_copied > n_bytes)
		c->bad = true;
	s->user_stack_size = n_bytes;
	s->n_user_stack_bytes = n_copied;
	s->user_stack = n_copied ? (const uint8_t *)data : NULL;
}

/* The fields after the call chain, which few events request. */
static void read_sample_rest(const struct record_format *f, struct cursor *c,
			     struct record_sample *s)
{
	uint64_t type = f->sample_type;
	if (type & PERF_SAMPLE_RAW)
		read_raw(c, s);
	if (type & PERF_SAMPLE_BRANCH_STACK)
		read_branches(f, c, s);
	if (type & PERF_SAMPLE_REGS_USER) {
		s->user_abi = word(c);
		s->user_regs_mask = f->sample_regs_user;
		if (s->user_abi)
			s->user_regs = items(c, count_bits(f->sample_regs_user), 1);
	}
	if (type & PERF_SAMPLE_STACK_USER)
		read_user_stack(c, s);
	if (type & PERF_SAMPLE_WEIGHT)
		s->weight = word(c);
	else if (type & PERF_SAMPLE_WEIGHT_STRUCT)
		s->weight = word(c) & UINT32_MAX; /* var1_dw: the latency, as in WEIGHT */
	if (type & PERF_SAMPLE_DATA_SRC)
		s->data_src = word(c);
	if (type & PERF_SAMPLE_TRANSACTION)
		s->transaction = word(c);
	if (type & PERF_SAMPLE_REGS_INTR) {
		if (word(c))
			items(c, count_bits(f->sample_regs_intr), 1);
	}
	if (type & PERF_SAMPLE_PHYS_ADDR)
		s->phys_addr = word(c);
	if (type & PERF_SAMPLE_CGROUP)
		s->cgroup = word(c);
	if (type & PERF_SAMPLE_DATA_PAGE_SIZE)
		s->data_page_size = word(c);
	if (type & PERF_SAMPLE_CODE_PAGE_SIZE)
		s->code_page_size = word(c);
	if (type & PERF_SAMPLE_AUX) {
		uint64_t n_bytes = word(c);
		if (n_bytes % 8)
			c->bad = true;
		items(c, n_bytes / 8, 1);
	}
}

#define SAMPLE_REST (~(uint64_t)(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | \
	PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR | PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID | \
	PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD | PERF_SAMPLE_READ | PERF_SAMPLE_CALLCHAIN))

static void read_sample(const struct record_format *f, struct cursor *c, struct record *r)
{
	uint64_t type = f->sample_type;
	struct record_sample *s = &r->sample;
	uint32_t unused;
	if (type & PERF_SAMPLE_IDENTIFIER)
		r->id = word(c);
	if (type & PERF_SAMPLE_IP)
		s->ip = word(c);
	if (type & PERF_SAMPLE_TID)
		halves(c, &r->pid, &r->tid);
	if (type & PERF_SAMPLE_TIME) {
		r->time_ns = word(c);
		r->has_time = true;
	}
	if (type & PERF_SAMPLE_ADDR)
		s->addr = word(c);
	if (type & PERF_SAMPLE_ID)
		r->id = word(c);
	if (type & PERF_SAMPLE_STREAM_ID)
		r->stream_id = word(c);
	if (type & PERF_SAMPLE_CPU)
		halves(c, &r->cpu, &unused);
	if (type & PERF_SAMPLE_PERIOD)
		s->period = word(c);
	if (type & PERF_SAMPLE_READ) {
		struct record_read values = { 0 };
		read_values(f, c, &values);
		s->count = values.value;
		s->group = values.group;
		s->n_group = values.n_group;
	}
	if (type & PERF_SAMPLE_CALLCHAIN) {
		s->n_callchain = word(c);
		s->callchain = items(c, s->n_callchain, 1);
	}
	if (type & SAMPLE_REST)
		read_sample_rest(f, c, s);
}

static unsigned trailer_words(const struct record_format *f)
{
	if (!f->sample_id_all)
		return 0;
	return count_bits(f->sample_type &
			  (PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID |
			   PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER));
}

/* Removes the trailer from the end of *c and reads it into r. */
static void read_trailer(const struct record_format *f, struct cursor *c, struct record *r)
{
	unsigned n = trailer_words(f);
	if (!n)
		return;
	if (n > (uint64_t)(c->end - c->p)) {
		c->bad = true;
		c->p = c->end;
		return;
	}
	c->end -= n;
	struct cursor t = { .p = c->end, .end = c->end + n };
	uint64_t type = f->sample_type;
	uint32_t unused;
	if (type & PERF_SAMPLE_TID)
		halves(&t, &r->pid, &r->tid);
	if (type & PERF_SAMPLE_TIME) {
		r->time_ns = word(&t);
		r->has_time = true;
	}
	if (type & PERF_SAMPLE_ID)
		r->id = word(&t);
	if (type & PERF_SAMPLE_STREAM_ID)
		r->stream_id = word(&t);
	if (type & PERF_SAMPLE_CPU)
		halves(&t, &r->cpu, &unused);
	if (type & PERF_SAMPLE_IDENTIFIER)
		r->id = word(&t);
}

static void read_mmap(struct cursor *c, struct record *r)
{
	struct record_mmap *m = &r->mmap;
	halves(c, &r->pid, &r->tid);
	m->start = word(c);
	m->len = word(c);
	m->pgoff = word(c);
	if (r->type == PERF_RECORD_MMAP) {
		m->prot = r->misc & PERF_RECORD_MISC_MMAP_DATA ? 0 : 4; /* PROT_EXEC */
	} else {
		if (r->misc & (1u << 14)) { /* PERF_RECORD_MISC_MMAP_BUILD_ID, Linux 5.12 */
			const uint8_t *b = (const uint8_t *)items(c, 3, 1);
			if (b && b[0] <= sizeof(m->build_id)) {
				m->n_build_id = b[0];
				memcpy(m->build_id, b + 4, b[0]);
			} else {
				c->bad = true;
			}
		} else {
			halves(c, &m->maj, &m->min);
			m->ino = word(c);
			m->ino_generation = word(c);
		}
		halves(c, &m->prot, &m->flags);
	}
	m->filename = string(c);
}

/* Uses the time in the body if no trailer has one. */
static void use_body_time(struct record *r, uint64_t time_ns)
{
	if (!r->has_time) {
		r->time_ns = time_ns;
		r->has_time = true;
	}
}

static void read_task(struct cursor *c, struct record *r)
{
	halves(c, &r->pid, &r->fork.ppid);
	halves(c, &r->tid, &r->fork.ptid);
	r->fork.time_ns = word(c);
	use_body_time(r, r->fork.time_ns);
}

static void read_throttle(struct cursor *c, struct record *r)
{
	r->throttle.time_ns = word(c);
	r->throttle.id = word(c);
	r->throttle.stream_id = word(c);
	use_body_time(r, r->throttle.time_ns);
	if (!r->id)
		r->id = r->throttle.id;
	if (!r->stream_id)
		r->stream_id = r->throttle.stream_id;
}

static void read_ksymbol(struct cursor *c, struct record *r)
{
	struct record_ksymbol *k = &r->ksymbol;
	k->vaddr = word(c);
	uint64_t w = word(c);
	memcpy(&k->n_bytes, &w, 4);
	memcpy(&k->ksym_type, (const char *)&w + 4, 2);
	memcpy(&k->flags, (const char *)&w + 6, 2);
	k->name = string(c);
}

/* False for a type that is not decoded. */
static bool read_body(const struct record_format *f, struct cursor *c, struct record *r)
{
	switch (r->type) {
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
		read_mmap(c, r);
		return true;
	case PERF_RECORD_COMM:
		halves(c, &r->pid, &r->tid);
		r->comm.comm = string(c);
		r->comm.exec = r->misc & PERF_RECORD_MISC_COMM_EXEC;
		return true;
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
		read_task(c, r);
		return true;
	case PERF_RECORD_LOST:
		r->lost.id = word(c);
		r->lost.n_lost = word(c);
		if (!r->id)
			r->id = r->lost.id;
		return true;
	case PERF_RECORD_LOST_SAMPLES:
		r->lost.n_lost = word(c);
		return true;
	case PERF_RECORD_THROTTLE:
	case PERF_RECORD_UNTHROTTLE:
		read_throttle(c, r);
		return true;
	case PERF_RECORD_READ:
		halves(c, &r->pid, &r->tid);
		r->read.pid = r->pid;
		r->read.tid = r->tid;
		read_values(f, c, &r->read);
		if (!r->id)
			r->id = r->read.id;
		return true;
	case PERF_RECORD_SWITCH_CPU_WIDE:
		halves(c, &r->context_switch.other_pid, &r->context_switch.other_tid);
		/* fall through */
	case PERF_RECORD_SWITCH:
		r->context_switch.out = r->misc & PERF_RECORD_MISC_SWITCH_OUT;
		r->context_switch.preempt = r->misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT;
		return true;
	case PERF_RECORD_KSYMBOL:
		read_ksymbol(c, r);
		return true;
	case PERF_RECORD_CGROUP:
		r->cgroup.id = word(c);
		r->cgroup.path = string(c);
		return true;
	case PERF_RECORD_AUX:
		r->aux.offset = word(c);
		r->aux.n_bytes = word(c);
		r->aux.flags = word(c);
		return true;
	default:
		return false;
	}
}

	/* The header's size contradicts n_bytes only in hostile input. */
static inline bool size_fits(const struct perf_event_header *h, size_t n_bytes)
{
	return n_bytes >= RECORD_BYTES_MIN && h->size >= RECORD_BYTES_MIN && h->size % 8 == 0 &&
	       h->size <= n_bytes;
}

/* In pieces of a few vector stores each: compilers turn a single assignment into one of the slow
 * string instructions, which took half of the time of a small sample. */
static inline void clear_record(struct record *r)
{
	enum { PIECE = 64 };
	char *p = (char *)r;
	size_t at = 0;
	for (; at + PIECE <= sizeof(*r); at += PIECE) {
		memset(p + at, 0, PIECE);
		__asm__ volatile("" ::: "memory");
	}
	memset(p + at, 0, sizeof(*r) % PIECE);
}

/*
 * The words of a record.  If several recorders want records of kernel code, Linux adds the size of
 * the trailer once more for each of them (perf_event_ksymbol_output() in kernel/events/core.c, seen
 * with 6.18), and what follows the trailer is left from older records.
 */
static size_t words_of(const struct record_format *f, const void *raw)
{
	const struct perf_event_header *h = raw;
	size_t n_words = h->size / 8u;
	if (h->type != PERF_RECORD_KSYMBOL || n_words <= KSYMBOL_WORDS)
		return n_words;
	const char *name = (const char *)raw + KSYMBOL_WORDS * 8u;
	const char *nul = memchr(name, '\0', (n_words - KSYMBOL_WORDS) * 8u);
	size_t n_used = KSYMBOL_WORDS + (nul ? (size_t)(nul - name) / 8u + 1 : n_words) +
			trailer_words(f);
	return n_used < n_words ? n_used : n_words;
}

enum record_outcome record_decode(const struct record_format *f, const void *raw,
				  size_t n_bytes, struct record *ret)
{
	const struct perf_event_header *h = raw;
	if (!size_fits(h, n_bytes))
		return RECORD_BAD;
	const uint64_t *words = raw;
	struct cursor c = { .p = words + 1, .end = words + words_of(f, raw) };
	clear_record(ret);
	ret->type = h->type;
	ret->misc = h->misc;
	ret->event = RECORD_NO_EVENT;
	ret->cpu = UINT32_MAX;
	if (h->type == PERF_RECORD_SAMPLE) {
		read_sample(f, &c, ret);
		return c.bad ? RECORD_BAD : RECORD_OK;
	}
	if (h->type >= FIRST_TYPE_OF_TOOLS)
		return RECORD_UNKNOWN;
	read_trailer(f, &c, ret);
	if (!read_body(f, &c, ret))
		return RECORD_UNKNOWN;
	return c.bad ? RECORD_BAD : RECORD_OK;
}

/* The word with the time, counted from the header; 0: none. */
static size_t time_at(const struct record_format *f, uint32_t type, size_t n_words)
{
	bool has_time = f->sample_type & PERF_SAMPLE_TIME;
	if (type == PERF_RECORD_SAMPLE)
		return has_time ? 1u + !!(f->sample_type & PERF_SAMPLE_IDENTIFIER) +
				  !!(f->sample_type & PERF_SAMPLE_IP) +
				  !!(f->sample_type & PERF_SAMPLE_TID) : 0;
	if (type >= FIRST_TYPE_OF_TOOLS)
		return 0;
	if (has_time && f->sample_id_all) {
		unsigned n_behind = trailer_words(f) - !!(f->sample_type & PERF_SAMPLE_TID);
		return n_words > trailer_words(f) ? n_words - n_behind : 0;
	}
	switch (type) {
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
		return 3;
	case PERF_RECORD_THROTTLE:
	case PERF_RECORD_UNTHROTTLE:
		return 1;
	default:
		return 0;
	}
}

bool record_peek_time(const struct record_format *f, const void *raw, size_t n_bytes,
		      uint64_t *ret_time_ns)
{
	const struct perf_event_header *h = raw;
	if (!size_fits(h, n_bytes))
		return false;
	size_t n_words = words_of(f, raw);
	size_t at = time_at(f, h->type, n_words);
	if (!at || at >= n_words)
		return false;
	*ret_time_ns = ((const uint64_t *)raw)[at];
	return true;
}

bool record_peek_tid(const struct record_format *f, const void *raw, size_t n_bytes,
		     uint32_t *ret_tid)
{
	const struct perf_event_header *h = raw;
	if (h->type != PERF_RECORD_SAMPLE || !(f->sample_type & PERF_SAMPLE_TID) ||
	    !size_fits(h, n_bytes))
		return false;
	size_t at = 1u + !!(f->sample_type & PERF_SAMPLE_IDENTIFIER) +
		    !!(f->sample_type & PERF_SAMPLE_IP);
	if (at >= h->size / 8u)
		return false;
	*ret_tid = ((const uint32_t *)raw)[2 * at + 1];
	return true;
}

const char *record_type_name(uint32_t type)
{
	static const char *const name[] = {
		[PERF_RECORD_MMAP] = "MMAP",
		[PERF_RECORD_LOST] = "LOST",
		[PERF_RECORD_COMM] = "COMM",
		[PERF_RECORD_EXIT] = "EXIT",
		[PERF_RECORD_THROTTLE] = "THROTTLE",
		[PERF_RECORD_UNTHROTTLE] = "UNTHROTTLE",
		[PERF_RECORD_FORK] = "FORK",
		[PERF_RECORD_READ] = "READ",
		[PERF_RECORD_SAMPLE] = "SAMPLE",
		[PERF_RECORD_MMAP2] = "MMAP2",
		[PERF_RECORD_AUX] = "AUX",
		[PERF_RECORD_ITRACE_START] = "ITRACE_START",
		[PERF_RECORD_LOST_SAMPLES] = "LOST_SAMPLES",
		[PERF_RECORD_SWITCH] = "SWITCH",
		[PERF_RECORD_SWITCH_CPU_WIDE] = "SWITCH_CPU_WIDE",
		[PERF_RECORD_NAMESPACES] = "NAMESPACES",
		[PERF_RECORD_KSYMBOL] = "KSYMBOL",
		[PERF_RECORD_BPF_EVENT] = "BPF_EVENT",
		[PERF_RECORD_CGROUP] = "CGROUP",
		[PERF_RECORD_TEXT_POKE] = "TEXT_POKE",
		[PERF_RECORD_AUX_OUTPUT_HW_ID] = "AUX_OUTPUT_HW_ID",
	};
	if (type < sizeof(name) / sizeof(*name) && name[type])
		return name[type];
	return "?";
}
