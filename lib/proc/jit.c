/*
 * Generations.  A frame is (DSO, pc), and which code was at a pc is decided when names are looked
 * up, so frames of different code at one pc must differ.  They differ by DSO: there is one for each
 * generation of a process's code.  A new generation begins only when code is replaced, since
 * nothing else changes the meaning of an address; so most processes have one.  Generations begin no
 * more often than each 1/64 of the time since the start, so that their number grows with the
 * logarithm of time.
 *
 * V8 writes its jitdump through a buffer of 2 MiB, and replacements become known only when that is
 * flushed.  So while a file lags behind, a generation begins each 1/16 of the time.
 */

#include "proc/jit.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/path.h"
#include "proc/jitcfi.h"
#include "proc/jitfile.h"
#include "proc/jitlive.h"
#include "proc/livecode.h"
#include "proc/procs.h"
#include "proc/jitread.h"
#include "source/record.h"
#include "symbolize/cfi/cfi.h"
#include "symbolize/runtime/module.h"
#include "symbolize/runtime/runtime-code.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define POLL_NS 5000000u
#define POLL_NS_EACH 200000u           /* added for each process */
#define GENERATION_NS 10000000u        /* minimum between generations, too */
#define GENERATION_PART 64u
#define LATE_GENERATION_NS 250000000u
#define LATE_GENERATION_PART 16u
#define GENERATIONS_MAX (1u << 20)
#define PROCESS_SHIFT 24               /* in the key of a DSO, above the generation */
#define LAYER_BIT (1u << 23)           /* in the key: not a generation, but a layer */
#define OPEN_MAX 256u                  /* processes whose files are kept open */

/* At once, for all processes together: the rings fill meanwhile. */
#define READ_BYTES_MAX (8u << 20)
#define READ_NS_MAX 20000000u
#define STOP_NS_MAX 1000000000u        /* at the end of the recording */

struct jit_generation {
	uint64_t start_ns;
	uint32_t dso;
};

/* The CFI of an entry of the code. */
struct jit_cfi {
	struct cfi *cfi;               /* NULL: none that can be read */
	bool is_tried, is_absolute;
};

struct jit_process {
	uint32_t pid;
	uint32_t number;               /* index in jit.process, plus one */
	uint32_t serial;               /* never reused */
	bool is_used;                  /* set in jit_forget */
	uint32_t parent;               /* number; 0: no parent */
	uint64_t fork_ns;
	uint64_t start_ns;             /* when it was first seen */
	struct jitread read;
	VEC(struct jit_generation) generation;
	VEC(struct jit_cfi) cfi;       /* by entry of the code; opened on demand */
	struct jitlive live;
	bool has_ended;                /* only the rest of its files is still read */
	bool is_closed;
	bool is_unread;                /* counted as such */
};

void jit_init(struct jit *j, struct budget *budget, struct dso_table *dsos,
	      const struct host *host)
{
	*j = (struct jit){ .budget = budget, .dsos = dsos, .host = host };
}

static void process_free(struct jit_process *x)
{
	for (size_t i = 0; i < x->cfi.n; i++)
		cfi_close(x->cfi.v[i].cfi);
	VEC_FREE(&x->cfi);
	jitread_done(&x->read);
	VEC_FREE(&x->generation);
	jitlive_done(&x->live);
	free(x);
}

void jit_done(struct jit *j)
{
	for (size_t i = 0; i < j->process.n; i++)
		if (j->process.v[i])
			process_free(j->process.v[i]);
	VEC_FREE(&j->process);
	*j = (struct jit){ 0 };
}

/* ---- generations ----------------------------------------------------------- */

static void add_generation(struct jit *j, struct jit_process *x, uint64_t start_ns)
{
	if (x->generation.n >= GENERATIONS_MAX)
		return;
	struct dso_key key = {
		.kind = DSO_ANON, .pid = x->pid,
		.ino = (uint64_t)x->number << PROCESS_SHIFT | x->generation.n,
	};
	const struct dso *d = dso_table_add(j->dsos, &key, "[jit]");
	struct jit_generation g = { .start_ns = start_ns, .dso = d ? d->id : 0 };
	if (d && !VEC_PUSH(&x->generation, g))
		return;
}

static uint64_t last_start(const struct jit_process *x)
{
	return x->generation.n ? x->generation.v[x->generation.n - 1].start_ns : 0;
}

static uint64_t shortest(const struct jit_process *x, uint64_t now_ns, uint64_t least_ns,
			 uint64_t part)
{
	uint64_t age_ns = now_ns > x->start_ns ? now_ns - x->start_ns : 0;
	return age_ns / part > least_ns ? age_ns / part : least_ns;
}

/* Sorted times of replacements. */
static void add_replaced(struct jit *j, struct jit_process *x, const uint64_t *time_ns, size_t n,
			 uint64_t now_ns)
{
	uint64_t gap_ns = shortest(x, now_ns, GENERATION_NS, GENERATION_PART);
	for (size_t i = 0; i < n; i++) {
		uint64_t last = last_start(x), start = time_ns[i];
		/* Replacements before the process was first seen came before any sample. */
		if (start <= x->start_ns || start <= last)
			continue;
		if (x->generation.n > 1 && start < last + gap_ns)
			start = last + gap_ns;
		add_generation(j, x, start);
	}
}

void jit_at(struct jit *j, struct procs *procs, struct procs_process *p, uint64_t time_ns)
{
	struct procs_space *s = &p->space;
	j->now_ns = time_ns;
	j->procs = procs;
	j->at = p;
	if (!s->jit)
		return;
	struct jit_process *x = j->process.v[s->jit - 1];
	if (j->live && !x->has_ended) {
		jitlive_look(&x->live, j->live, j->dsos, s, x->pid, x->start_ns);
		if (x->live.process && jitlive_is_renewed(&x->live, time_ns))
			procs_renew(procs, p);
	}
	if (s->jit_n != x->read.code.n) {
		/* As far as anybody can tell, the CFI is new. */
		s->jit_n = x->read.code.n;
		s->n_changes++;
	}
	size_t i = x->generation.n;
	while (i > 1 && x->generation.v[i - 1].start_ns > time_ns)
		i--;
	if (i == 0 || x->generation.v[i - 1].dso == s->jit_dso)
		return;
	s->jit_dso = x->generation.v[i - 1].dso;
	procs_renew(procs, p);
}

bool jit_prove(struct jit *j, const struct procs_space *space, const uint64_t *pc, size_t n)
{
	struct jit_process *x = space->jit ? j->process.v[space->jit - 1] : NULL;
	if (!x || !x->live.process || x->has_ended || !j->at || space != &j->at->space ||
	    jitlive_prove(&x->live, pc, n))
		return true;
	procs_renew(j->procs, j->at);
	return false;
}

/* ---- layers ---------------------------------------------------------------- */

static uint32_t layer_dso(struct jit *j, struct jit_process *x, uint32_t layer)
{
	uint64_t ino = (uint64_t)x->number << PROCESS_SHIFT | LAYER_BIT | layer;
	return layer < LAYER_BIT ? jitlive_dso(&x->live, j->dsos, x->pid, ino, layer) :
				   UINT32_MAX;
}

/* For livecode.h. */
static uint64_t sample_ns(const struct jit *j)
{
	return j->is_alive ? UINT64_MAX : j->now_ns;
}

uint32_t jit_dso(struct jit *j, const struct procs_space *space, uint64_t pc)
{
	struct jit_process *x = j->process.v[space->jit - 1];
	struct livecode_place place;
	/* the user's files come first */
	if (!x->live.process || jitcode_find(&x->read.code, pc, j->now_ns) ||
	    !livecode_at(x->live.process, pc, sample_ns(j), &place) || place.layer == 0)
		return space->jit_dso;
	uint32_t dso = layer_dso(j, x, place.layer);
	return dso == UINT32_MAX ? space->jit_dso : dso;
}

static uint64_t vaddr_of(const struct jit *j, struct procs_space *space, uint64_t pc)
{
	const struct procs_map *m = procs_space_find(space, pc);
	const struct dso *d = m ? dso_get(j->dsos, m->dso) : NULL;
	uint64_t vaddr;
	return d && d->key.kind == DSO_ELF && dso_vaddr(d, pc - m->start + m->pgoff, &vaddr) ?
		vaddr : 0;
}

bool jit_has_frames(const struct jit *j, const struct procs_space *space)
{
	const struct jit_process *x = space->jit ? j->process.v[space->jit - 1] : NULL;
	return x && x->live.process && livecode_has_frames(x->live.process);
}

void jit_frames(struct jit *j, struct procs_space *space, struct runtime_frame *frame,
		size_t n)
{
	for (size_t i = 0; i < n; i++)
		frame[i].vaddr = vaddr_of(j, space, frame[i].pc);
	if (!livecode_frames(j->process.v[space->jit - 1]->live.process, sample_ns(j), frame, n) &&
	    j->at && space == &j->at->space)
		procs_renew(j->procs, j->at);
}

/* ---- processes ------------------------------------------------------------- */

static struct jit_process *find(struct jit *j, const struct procs_process *p)
{
	return p->space.jit ? j->process.v[p->space.jit - 1] : NULL;
}

/* Some names of its code will be missing. */
static void note_unread(struct jit *j, struct jit_process *x)
{
	j->n_unread += !x->is_unread;
	x->is_unread = true;
}

static struct jit_process *find_or_add(struct jit *j, struct procs_process *p, uint64_t time_ns)
{
	struct jit_process *x = find(j, p);
	if (x)
		return x;
	x = calloc(1, sizeof(*x));
	size_t at = j->n_known < j->process.n ? 0 : j->process.n;
	while (at < j->process.n && j->process.v[at])
		at++;
	if (!x || (at == j->process.n && !VEC_PUSH(&j->process, x))) {
		free(x);
		return NULL;
	}
	j->process.v[at] = x;
	j->n_known++;
	x->pid = p->pid;
	x->number = (uint32_t)at + 1;
	x->serial = ++j->n_ever;
	x->start_ns = time_ns;
	jitread_init(&x->read, j->budget);
	add_generation(j, x, 0);
	p->space.jit = x->number;
	x->is_closed = j->n_open == OPEN_MAX;
	if (x->is_closed) {
		note_unread(j, x);
	} else {
		jitread_open(&x->read, j->host, p->pid);
		j->n_open++;
	}
	return x;
}

static bool is_memory(const struct dso *d)
{
	return d->key.kind == DSO_ANON && d->key.pid;
}

/* "/any/where/jit-123.dump" */
static bool is_dump_name(const char *path)
{
	const char *name = path_base_name(path);
	if (strncmp(name, "jit-", 4) != 0)
		return false;
	size_t n = strspn(name + 4, "0123456789");
	return n > 0 && strcmp(name + 4 + n, ".dump") == 0;
}

static struct jitread_limit limit_from(uint64_t start_ns)
{
	return (struct jitread_limit){ .n_bytes = READ_BYTES_MAX,
				       .end_ns = start_ns + READ_NS_MAX };
}

static void close_process(struct jit *j, struct jit_process *x)
{
	if (x->is_closed)
		return;
	if (jitread_has_more(&x->read))
		note_unread(j, x);
	jitread_close(&x->read);
	j->n_open--;
	x->is_closed = true;
}

static void poll_process(struct jit *j, struct jit_process *x, uint64_t now_ns,
			 struct jitread_limit *limit)
{
	CLEANUP_FREE uint64_t *replaced = NULL;
	if (x->is_closed)
		return;
	long n = jitread_poll(&x->read, now_ns, limit, &replaced);
	if (n > 0)
		add_replaced(j, x, replaced, (size_t)n, now_ns);
	uint64_t gap_ns = shortest(x, now_ns, LATE_GENERATION_NS, LATE_GENERATION_PART);
	if (x->read.is_late && now_ns > last_start(x) + gap_ns)
		add_generation(j, x, now_ns);
	if (jitread_has_unread(&x->read))
		note_unread(j, x);
	if (x->has_ended && !jitread_has_more(&x->read))
		close_process(j, x);
}

static void feed_map(struct jit *j, struct procs *procs, const struct record *r)
{
	struct procs_process *p = procs_find(procs, r->pid);
	const struct procs_map *m = p ? procs_space_find(&p->space, r->mmap.start) : NULL;
	if (!m)
		return;
	const struct dso *d = dso_get(j->dsos, m->dso);
	bool is_dump = d->key.kind == DSO_ELF && dsokeep_has_file(d) && is_dump_name(d->path);
	if (!is_dump && !is_memory(d))
		return;
	uint64_t time_ns = r->has_time ? r->time_ns : 0;
	struct jit_process *x = find_or_add(j, p, time_ns);
	if (x && is_memory(d))
		jitcode_add_region(&x->read.code, r->mmap.start, r->mmap.start + r->mmap.len);
	if (!x || !is_dump)
		return;
	int fd = dsokeep_hold(d);
	if (fd >= 0) {
		jitread_set_dump(&x->read, fd, d->path);
		dsokeep_release(d);
	}
	/* The very next sample needs its CFI. */
	uint64_t now_ns = clock_monotonic_ns();
	struct jitread_limit limit = limit_from(now_ns);
	poll_process(j, x, now_ns, &limit);
}

static void feed_fork(struct jit *j, struct procs *procs, const struct record *r)
{
	struct procs_process *child = procs_find(procs, r->pid);
	struct procs_process *parent = procs_find(procs, r->fork.ppid);
	if (r->pid == r->fork.ppid || !child || !parent || child->space.jit || !parent->space.jit)
		return;
	uint32_t number = parent->space.jit;
	struct jit_process *x = find_or_add(j, child, r->time_ns);
	if (!x)
		return;
	x->parent = number;
	x->fork_ns = r->time_ns;
}

void jit_feed(struct jit *j, struct procs *procs, const struct record *r)
{
	if (!j->host)
		return;
	switch (r->type) {
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
		feed_map(j, procs, r);
		return;
	case PERF_RECORD_FORK:
		feed_fork(j, procs, r);
		return;
	case PERF_RECORD_COMM:
	case PERF_RECORD_EXIT:
		break;
	default:
		return;
	}
	if (j->process.n == 0 || (r->type == PERF_RECORD_COMM && !r->comm.exec))
		return;
	struct procs_process *p = procs_find(procs, r->pid);
	struct jit_process *x = p ? find(j, p) : NULL;
	if (!x || (r->type == PERF_RECORD_EXIT && !p->exited))
		return;
	if (!x->is_closed) {
		uint64_t now_ns = clock_monotonic_ns();
		struct jitread_limit limit = limit_from(now_ns);
		jitread_end(&x->read);
		x->has_ended = true;
		if (x->live.process)
			livecode_end(x->live.process);
		poll_process(j, x, now_ns, &limit);
	}
	if (r->type == PERF_RECORD_COMM)
		p->space.jit = p->space.jit_dso = 0;
}

void jit_poll(struct jit *j, uint64_t now_ns, bool is_forced)
{
	if (!j->host || (!is_forced && now_ns - j->polled_ns < POLL_NS + j->n_open * POLL_NS_EACH))
		return;
	uint64_t start_ns = clock_monotonic_ns();
	struct jitread_limit limit = limit_from(start_ns);
	if (is_forced)
		limit = (struct jitread_limit){ UINT64_MAX, start_ns + STOP_NS_MAX };
	/* The limit reaches a part of the processes: each call begins with another one. */
	size_t n = j->process.n, first = n ? j->first_polled++ % n : 0;
	for (size_t i = 0; i < n; i++) {
		struct jit_process *x = j->process.v[(first + i) % n];
		if (!x)
			continue;
		if (is_forced)
			jitread_end(&x->read);
		poll_process(j, x, now_ns, &limit);
		if (is_forced && jitread_has_more(&x->read))
			note_unread(j, x);
	}
	/* At most half of the time is spent here. */
	j->polled_ns = now_ns + (clock_monotonic_ns() - start_ns);
}

/* ---- unwinding ------------------------------------------------------------- */

void jit_find_frame(struct jit *j, const struct procs_space *space, uint64_t pc,
		    struct module *ret)
{
	struct jit_process *x = space->jit ? j->process.v[space->jit - 1] : NULL;
	struct livecode_place place;
	if (!x || !x->live.process || !livecode_find(x->live.process, pc, sample_ns(j), &place))
		return;
	ret->frame_words = place.frame_words;
	ret->is_body = pc - place.start >= place.body_off;
}

size_t jit_read(struct jit *j, const struct procs_space *space, uint64_t pc, void *buf,
		size_t n_bytes)
{
	struct jit_process *x = space->jit ? j->process.v[space->jit - 1] : NULL;
	return x && x->live.process ? livecode_read(x->live.process, pc, buf, n_bytes) : 0;
}

bool jit_find_module(struct jit *j, const struct arch *arch, const struct procs_space *space,
		     uint64_t pc, struct module *ret)
{
	struct jit_process *x = space->jit ? j->process.v[space->jit - 1] : NULL;
	const struct jitcode_entry *e = x ? jitcode_find(&x->read.code, pc, j->now_ns) : NULL;
	if (!e || !e->unwind.bytes)
		return false;
	size_t i = (size_t)(e - x->read.code.entry);
	if (!VEC_EXTEND(&x->cfi, i + 1))
		return false;
	struct jit_cfi *c = &x->cfi.v[i];
	if (!c->is_tried) {
		c->is_tried = true;
		c->cfi = jitcfi_open(arch, e, 0);
		if (!c->cfi) {
			c->cfi = jitcfi_open(arch, e, e->start);
			c->is_absolute = true;
		}
	}
	if (!c->cfi)
		return false;
	*ret = (struct module){
		.cfi = c->cfi, .bias = c->is_absolute ? 0 : e->start,
		.id = (uint64_t)x->serial << 32 | i,
	};
	return true;
}

/* ---- forgetting ------------------------------------------------------------ */

static bool has_used(const struct jit_process *x, const bool *used)
{
	for (size_t i = 0; i < x->generation.n; i++)
		if (used[x->generation.v[i].dso])
			return true;
	for (size_t i = 0; i < x->live.dso.n; i++)
		if (x->live.dso.v[i] != UINT32_MAX && used[x->live.dso.v[i]])
			return true;
	return false;
}

/* The child inherits the parent's code. */
static void mark_with_parents(struct jit *j, struct jit_process *x)
{
	while (x && !x->is_used) {
		x->is_used = true;
		x = x->parent ? j->process.v[x->parent - 1] : NULL;
	}
}

void jit_forget(struct jit *j, const struct procs *procs, bool *used)
{
	for (size_t i = 0; i < j->process.n; i++)
		if (j->process.v[i] && has_used(j->process.v[i], used))
			mark_with_parents(j, j->process.v[i]);
	for (size_t i = 0; i < procs->n_processes; i++) {
		uint32_t number = procs->process[i]->space.jit;
		if (number)
			mark_with_parents(j, j->process.v[number - 1]);
	}
	for (size_t i = 0; i < j->process.n; i++) {
		struct jit_process *x = j->process.v[i];
		for (size_t k = 0; x && x->is_used && k < x->generation.n; k++)
			used[x->generation.v[k].dso] = true;
		for (size_t k = 0; x && x->is_used && k < x->live.dso.n; k++)
			if (x->live.dso.v[k] != UINT32_MAX)
				used[x->live.dso.v[k]] = true;
		if (x && !x->is_used) {
			close_process(j, x);
			j->n_known--;
			process_free(x);
			j->process.v[i] = NULL;
		} else if (x) {
			x->is_used = false;
		}
	}
}

/* ---- names ----------------------------------------------------------------- */

size_t jit_views(const struct jit *j, const struct dso *d,
		 struct jitcode_view view[JITCODE_VIEWS_MAX])
{
	size_t number = (size_t)(d->key.ino >> PROCESS_SHIFT), n = 0;
	size_t next = (size_t)(d->key.ino & ((1u << PROCESS_SHIFT) - 1)) + 1;
	uint32_t layer = d->key.ino & LAYER_BIT ? (uint32_t)(next - 1) & ~LAYER_BIT : 0;
	if (d->key.kind != DSO_ANON || !number || number > j->process.n ||
	    !j->process.v[number - 1])
		return 0;
	const struct jit_process *x = j->process.v[number - 1];
	/* what was read belongs to the process itself, even if it is a copy of its parent's */
	const struct jitcalls *calls = x->live.process ? livecode_calls(x->live.process) : NULL;
	uint64_t at_ns = next < x->generation.n ? x->generation.v[next].start_ns - 1 : UINT64_MAX;
	for (;;) {
		view[n++] = (struct jitcode_view){
			.code = &x->read.code, .at_ns = at_ns, .layer = layer, .calls = calls,
		};
		calls = NULL;
		if (!x->parent || n == JITCODE_VIEWS_MAX)
			return n;
		if (at_ns > x->fork_ns)
			at_ns = x->fork_ns;
		x = j->process.v[x->parent - 1];
	}
}

uint64_t jit_n_no_descriptor(const struct jit *j)
{
	uint64_t n = 0;
	for (size_t i = 0; i < j->process.n; i++)
		n += j->process.v[i] && jitread_lacks_descriptor(&j->process.v[i]->read);
	return n;
}

/* ---- several readers of the same processes ---------------------------------- */

uint64_t jit_start_ns(const struct jit *j, const struct procs_process *p)
{
	return p->space.jit ? j->process.v[p->space.jit - 1]->start_ns : 0;
}

/* The process that a DSO's key names, and its generation. */
static const struct jit_process *process_of(const struct jit *j, const struct dso *d,
					    size_t *ret_generation)
{
	size_t number = (size_t)(d->key.ino >> PROCESS_SHIFT);
	*ret_generation = (size_t)(d->key.ino & ((1u << PROCESS_SHIFT) - 1));
	if (d->key.kind != DSO_ANON || !number || number > j->process.n)
		return NULL;
	return j->process.v[number - 1];
}

/* The same layer: all readers have the same ones. */
static const struct dso *same_layer(struct jit *j, struct jit_process *x,
				    const struct jit_process *of, size_t layer)
{
	x->live.process = of->live.process;
	uint32_t dso = layer_dso(j, x, (uint32_t)layer);
	return dso == UINT32_MAX ? NULL : dso_get(j->dsos, dso);
}

const struct dso *jit_same(struct jit *j, const struct jit *other, const struct dso *d)
{
	size_t generation;
	const struct jit_process *of = process_of(other, d, &generation);
	struct jit_process *same = NULL;
	/* A process id has code anew after each exec, and when it is reused. */
	for (size_t i = 0; of && i < j->process.n; i++) {
		struct jit_process *x = j->process.v[i];
		if (x && x->pid == of->pid && x->start_ns <= of->start_ns &&
		    (!same || x->start_ns >= same->start_ns))
			same = x;
	}
	if (!same || !same->generation.n)
		return NULL;
	if (generation & LAYER_BIT)
		return same_layer(j, same, of, generation & ~LAYER_BIT);
	if (of->live.process)
		same->live.process = of->live.process;
	size_t i = same->generation.n, next = generation + 1;
	uint64_t at_ns = next < of->generation.n ? of->generation.v[next].start_ns - 1 : UINT64_MAX;
	while (i > 1 && same->generation.v[i - 1].start_ns > at_ns)
		i--;
	return dso_get(j->dsos, same->generation.v[i - 1].dso);
}

void jit_explain(const struct jit *j, const struct log *log)
{
	for (size_t i = 0; i < j->process.n; i++) {
		const struct jit_process *x = j->process.v[i];
		/* names that are read from memory make files unnecessary */
		if (x && (!x->live.process || x->read.code.n))
			jitread_explain(&x->read, x->pid, x->generation.n, log);
	}
	if (j->live)
		livecode_explain(j->live, log);
}
