/* Loads captures: replays the mapping records and gives each sample a snapshot of its address
 * space. */

#include "tests/bench/unwind.h"

#include "symbolize/cfi/cfi.h"
#include "symbolize/runtime/runtime-file.h"
#include "tests/tools/stackcap.h"

#include <elf.h>
#include <err.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct proc {
	uint32_t pid;
	bool changed;
	struct bench_map *map;
	size_t n, cap;
	struct bench_space *space;
};

struct load {
	struct bench_capture *c;
	struct proc *proc;
	size_t n_procs, cap_procs;
};

#define PUSH(v, n, cap) ({ \
	if ((n) == (cap)) { \
		(cap) = (cap) ? (cap) * 2 : 64; \
		(v) = reallocarray((v), (cap), sizeof(*(v))); \
		if (!(v)) \
			err(1, "memory"); \
	} \
	&(v)[(n)++]; })

static struct proc *load_proc(struct load *l, uint32_t pid)
{
	for (size_t i = 0; i < l->n_procs; i++)
		if (l->proc[i].pid == pid)
			return &l->proc[i];
	struct proc *p = PUSH(l->proc, l->n_procs, l->cap_procs);
	*p = (struct proc){ .pid = pid, .changed = true };
	return p;
}

static void file_open(struct bench_capture *c, struct bench_file *f)
{
	struct stat st;
	if (!strcmp(f->path, "[vdso]") && c->vdso) {
		f->bytes = c->vdso;
		f->n_bytes = c->n_vdso_bytes;
		cfi_open_image(f->bytes, f->n_bytes, &f->cfi);
		return;
	}
	if (f->path[0] != '/' || f->path[1] == '/')
		return;
	f->fd = open(f->path, O_RDONLY | O_CLOEXEC);
	if (f->fd < 0 || fstat(f->fd, &st) < 0 || !S_ISREG(st.st_mode))
		return;
	if (cfi_open_file(f->fd, &f->cfi) < 0)
		return;
	f->runtime = runtime_file_new(f->cfi);
	void *p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, f->fd, 0);
	f->bytes = p == MAP_FAILED ? NULL : p;
	f->n_bytes = (size_t)st.st_size;
}

static struct bench_file *load_file(struct bench_capture *c, const char *path)
{
	for (size_t i = 0; i < c->n_files; i++)
		if (!strcmp(c->file[i]->path, path))
			return c->file[i];
	struct bench_file *f = calloc(1, sizeof(*f));
	if (!f)
		err(1, "memory");
	*f = (struct bench_file){ .path = strdup(path), .id = c->n_files + 1, .fd = -1 };
	file_open(c, f);
	*PUSH(c->file, c->n_files, c->cap_files) = f;
	return f;
}

/* The difference of pc and vaddr, by the executable segment that holds pgoff. */
static uint64_t file_bias(const struct bench_file *f, uint64_t start, uint64_t pgoff)
{
	Elf64_Ehdr h;
	if (!f->bytes || f->n_bytes < sizeof(h))
		return start - pgoff;
	memcpy(&h, f->bytes, sizeof(h));
	for (unsigned int i = 0; i < h.e_phnum; i++) {
		Elf64_Phdr p;
		memcpy(&p, f->bytes + h.e_phoff + i * sizeof(p), sizeof(p));
		uint64_t off = p.p_offset & ~4095ull;
		if (p.p_type == PT_LOAD && p.p_flags & PF_X && pgoff >= off &&
		    pgoff < p.p_offset + p.p_filesz)
			return start - (pgoff + (p.p_vaddr - p.p_offset));
	}
	return start - pgoff;
}

/* Removes [start, end) from the mappings, then adds the new one. */
static void proc_map(struct proc *p, struct bench_map m)
{
	size_t n = p->n;
	for (size_t i = 0; i < n; i++) {
		struct bench_map *o = &p->map[i];
		if (o->end <= m.start || o->start >= m.end)
			continue;
		struct bench_map rest = *o;
		rest.start = m.end;
		if (o->start < m.start)
			o->end = m.start;
		else
			o->end = o->start;
		if (rest.start < rest.end)
			*PUSH(p->map, p->n, p->cap) = rest;
	}
	*PUSH(p->map, p->n, p->cap) = m;
	p->changed = true;
}

static int map_cmp(const void *a, const void *b)
{
	const struct bench_map *x = a, *y = b;
	return x->start < y->start ? -1 : x->start > y->start;
}

static struct bench_space *proc_space(struct bench_capture *c, struct proc *p)
{
	if (!p->changed)
		return p->space;
	struct bench_space *s = calloc(1, sizeof(*s));
	if (!s)
		err(1, "memory");
	s->serial = c->n_spaces + 1;
	s->pid = p->pid;
	s->map = calloc(p->n + 1, sizeof(*s->map));
	for (size_t i = 0; i < p->n; i++)
		if (p->map[i].start < p->map[i].end)
			s->map[s->n++] = p->map[i];
	qsort(s->map, s->n, sizeof(*s->map), map_cmp);
	*PUSH(c->space, c->n_spaces, c->cap_spaces) = s;
	p->space = s;
	p->changed = false;
	return s;
}

static uint32_t load_thread(struct bench_capture *c, uint32_t tid)
{
	for (size_t i = c->n_threads; i-- > 0;)
		if (c->tid[i] == tid)
			return (uint32_t)i;
	*PUSH(c->tid, c->n_threads, c->cap_threads) = tid;
	return (uint32_t)c->n_threads - 1;
}

static void load_sample(struct load *l, const struct stackcap_record *r, const uint8_t *body)
{
	struct stackcap_sample h;
	uint64_t regs[STACKCAP_N_REGS_X86];
	struct bench_sample *s = PUSH(l->c->sample, l->c->n_samples, l->c->cap_samples);
	memcpy(&h, body, sizeof(h));
	memcpy(regs, body + sizeof(h), sizeof(regs));
	*s = (struct bench_sample){ .stack = body + sizeof(h) + sizeof(regs),
		.n_stack_bytes = h.n_stack_bytes, .tid = r->tid,
		.thread = load_thread(l->c, r->tid) };
	unwind_regs_from_perf(&arch_x86_64, STACKCAP_REGS_X86, regs, &s->regs);
	s->space = proc_space(l->c, load_proc(l, r->pid));
}

static void load_record(struct load *l, const struct stackcap_record *r, const uint8_t *body)
{
	struct stackcap_map m;
	uint32_t parent;
	switch (r->type) {
	case STACKCAP_VDSO:
		l->c->vdso = body;
		l->c->n_vdso_bytes = r->n_bytes;
		break;
	case STACKCAP_EXEC:
		load_proc(l, r->pid)->n = 0;
		load_proc(l, r->pid)->changed = true;
		break;
	case STACKCAP_FORK: {
		memcpy(&parent, body, sizeof(parent));
		load_proc(l, r->pid);
		struct proc *from = load_proc(l, parent), *to = load_proc(l, r->pid);
		to->n = 0;
		for (size_t i = 0; i < from->n; i++)
			*PUSH(to->map, to->n, to->cap) = from->map[i];
		to->changed = true;
		break;
	}
	case STACKCAP_MAP: {
		memcpy(&m, body, sizeof(m));
		struct bench_file *f = load_file(l->c, (const char *)body + sizeof(m));
		proc_map(load_proc(l, r->pid), (struct bench_map){ .start = m.start,
			.end = m.start + m.len, .file = f,
			.bias = file_bias(f, m.start, m.pgoff) });
		break;
	}
	case STACKCAP_SAMPLE:
		load_sample(l, r, body);
		break;
	}
}

void bench_load(const char *path, struct bench_capture *ret)
{
	struct stat st;
	struct stackcap_head h;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		err(1, "%s", path);
	size_t n = (size_t)st.st_size;
	uint8_t *p = mmap(NULL, n, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd, 0);
	close(fd);
	if (p == MAP_FAILED || n < sizeof(h))
		errx(1, "%s: cannot be read", path);
	memcpy(&h, p, sizeof(h));
	if (memcmp(h.magic, STACKCAP_MAGIC, 8) || h.machine != EM_X86_64)
		errx(1, "%s: not a capture", path);
	*ret = (struct bench_capture){ .bytes = p };
	struct load l = { .c = ret };
	for (size_t at = sizeof(h); at + sizeof(struct stackcap_record) <= n;) {
		struct stackcap_record r;
		memcpy(&r, p + at, sizeof(r));
		at += sizeof(r);
		if (r.n_bytes > n - at)
			errx(1, "%s: truncated in a record", path);
		load_record(&l, &r, p + at);
		at += r.n_bytes;
	}
}

bool bench_find(const struct bench_space *s, uint64_t pc, const struct bench_map **ret)
{
	uint32_t lo = 0, hi = s->n;
	while (lo < hi) {
		uint32_t mid = (lo + hi) / 2;
		if (s->map[mid].start <= pc)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (!lo || pc >= s->map[lo - 1].end)
		return false;
	*ret = &s->map[lo - 1];
	return true;
}
