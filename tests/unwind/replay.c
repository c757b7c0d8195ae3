/*
 * replay FILE...: unwinds saved samples of real programs (gzipped output of tests/tools/stackpack)
 * and compares the stacks with the expected ones: from the whole copy, with a memo, and from
 * truncated copies.  Nothing of the recorded machine is needed.
 */

#include "symbolize/cfi/cfi.h"
#include "symbolize/unwind/unwind.h"
#include "tests/tools/stackcap.h"
#include "tests/unit/tap.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <zlib.h>

#define MODULES_MAX 64
#define MAPS_MAX 512
#define CHUNKS_MAX 4096
#define FRAMES_MAX 1024

struct bytes { uint64_t vaddr; uint8_t *p; size_t n_bytes; };

struct saved {
	char name[128];
	struct bytes hdr, eh;
	struct cfi *cfi;                /* NULL: none */
	struct bytes code[CHUNKS_MAX];
	size_t n_code;
	uint8_t *image;                 /* all code, at its vaddr; the rest is 0 */
	size_t n_image_bytes;
};

struct map { uint64_t start, end, bias; int module; };

struct sample {
	int end;
	size_t n_stack_bytes, n_peer;   /* n_peer: frames that libdwfl finds, too */
	struct unwind_regs regs;
	uint64_t *stack;
	uint64_t pc[FRAMES_MAX];
	uint32_t n;
};

struct corpus {
	struct saved module[MODULES_MAX];
	int n_modules;
	struct map map[MAPS_MAX];
	size_t n_maps;
	uint64_t space;                 /* counts address spaces */
};

static struct corpus corpus;
static struct unwind *u, *with_memo;
static struct unwind_memo memo;
static char line[1 << 20];

/* Totals of a file. */
static size_t n_samples, n_wrong, n_wrong_memo, n_wrong_cut, n_peer_same, n_frames, n_guessed;

static bool find_module(void *ctx, uint64_t pc, struct module *ret)
{
	(void)ctx;
	for (size_t i = 0; i < corpus.n_maps; i++) {
		const struct map *m = &corpus.map[i];
		if (pc < m->start || pc >= m->end)
			continue;
		*ret = (struct module){ .cfi = corpus.module[m->module].cfi,
			.bias = m->bias, .id = (uint64_t)m->module + 1 };
		return true;
	}
	return false;
}

static void give_up(const char *why)
{
	printf("Bail out! %s: %.60s\n", why, line);
	exit(1);
}

static uint64_t hex(char **p)
{
	char *end;
	uint64_t x = strtoull(*p, &end, 16);
	if (end == *p)
		give_up("not a number");
	*p = end;
	return x;
}

static size_t hex_bytes(const char *p, uint8_t *to, size_t room)
{
	size_t n = 0;
	unsigned int b;
	while (*p == ' ')
		p++;
	for (; n < room && sscanf(p, "%2x", &b) == 1; p += 2)
		to[n++] = (uint8_t)b;
	return n;
}

static struct saved *last_module(void)
{
	if (!corpus.n_modules)
		give_up("no module yet");
	return &corpus.module[corpus.n_modules - 1];
}

static void add_section(struct bytes *b, char *p)
{
	b->vaddr = hex(&p);
	b->n_bytes = strtoul(p, NULL, 10);
	b->p = calloc(b->n_bytes ? b->n_bytes : 1, 1);
	if (!b->p)
		give_up("memory");
}

static void fill_section(struct bytes *b, char *p)
{
	uint64_t off = hex(&p);
	if (off >= b->n_bytes || !hex_bytes(p, b->p + off, b->n_bytes - off))
		give_up("no such section");
}

static void add_code(struct saved *m, char *p)
{
	if (m->n_code == CHUNKS_MAX)
		give_up("too much code");
	struct bytes *b = &m->code[m->n_code++];
	b->vaddr = hex(&p);
	b->p = malloc(strlen(p) / 2 + 1);
	if (!b->p)
		give_up("memory");
	b->n_bytes = hex_bytes(p, b->p, strlen(p) / 2);
}

/* Puts the code where cfi_read_code finds it. */
static void make_image(struct saved *m)
{
	for (size_t i = 0; i < m->n_code; i++)
		if (m->code[i].vaddr + m->code[i].n_bytes > m->n_image_bytes)
			m->n_image_bytes = m->code[i].vaddr + m->code[i].n_bytes;
	if (!m->n_image_bytes || !m->cfi)
		return;
	/* only touched pages cost memory */
	m->image = mmap(NULL, m->n_image_bytes, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (m->image == MAP_FAILED)
		give_up("memory");
	for (size_t i = 0; i < m->n_code; i++)
		memcpy(m->image + m->code[i].vaddr, m->code[i].p, m->code[i].n_bytes);
	m->cfi->image = m->image;
	m->cfi->n_image_bytes = m->n_image_bytes;
	m->cfi->n_loads = 1;
	m->cfi->load[0] = (struct cfi_load){ .n_file_bytes = m->n_image_bytes };
}

/* All modules precede the first address space. */
static void begin_space(void)
{
	for (int i = 0; i < corpus.n_modules && !corpus.space; i++) {
		struct saved *m = &corpus.module[i];
		struct cfi_bytes hdr = { m->hdr.p, m->hdr.n_bytes, m->hdr.vaddr };
		struct cfi_bytes eh = { m->eh.p, m->eh.n_bytes, m->eh.vaddr }, none = { 0 };
		if (m->eh.p && cfi_open_sections(&arch_x86_64, hdr, eh, none, &m->cfi) < 0)
			give_up("memory");
		make_image(m);
	}
	corpus.space++;
	corpus.n_maps = 0;
}

static void run(struct unwind *with, const struct sample *s, size_t n_bytes,
		struct unwind_memo *m, struct unwind_result *ret)
{
	struct unwind_input in = { .regs = &s->regs, .stack = (const uint8_t *)s->stack,
		.n_stack_bytes = n_bytes, .space = corpus.space };
	unwind_stack(with, &in, m, ret);
}

/* Are the first n frames as expected? */
static bool is_expected(const struct sample *s, const struct unwind_result *r, uint32_t n)
{
	if (n > s->n || n > r->n)
		return false;
	for (uint32_t i = 0; i < n; i++)
		if (r->frame[i].pc != s->pc[i])
			return false;
	return true;
}

static void show(const struct sample *s, const struct unwind_result *r)
{
	printf("# sample %zu: %s, %u frames, expected %s, %u\n", n_samples,
	       unwind_end_name(r->end), r->n, unwind_end_name((enum unwind_end)s->end), s->n);
	for (uint32_t i = 0; i < r->n && i < s->n; i++) {
		if (r->frame[i].pc == s->pc[i])
			continue;
		printf("#   frame %u: %#llx, expected %#llx\n", i,
		       (unsigned long long)r->frame[i].pc, (unsigned long long)s->pc[i]);
		break;
	}
}

static void judge(const struct sample *s)
{
	struct unwind_result r;
	n_samples++;
	run(u, s, s->n_stack_bytes, NULL, &r);
	bool ok = r.n == s->n && (int)r.end == s->end && is_expected(s, &r, s->n);
	if (!ok && n_wrong < 5)
		show(s, &r);
	n_wrong += !ok;
	n_frames += r.n;
	for (uint32_t i = 0; i < r.n; i++)
		n_guessed += (r.frame[i].flags & UNWIND_FRAME_HEURISTIC) != 0;
	n_peer_same += s->n_peer == s->n;

	run(with_memo, s, s->n_stack_bytes, &memo, &r);
	n_wrong_memo += !is_expected(s, &r, r.n - r.n_joined) || (!r.n_joined && r.n != s->n);
	for (uint32_t i = r.n_same; memo.caller_id && r.is_kept && i < r.n; i++)
		memo.caller_id[i] = i;

	/* A shorter copy gives the start of the stack, and reports that it is incomplete. */
	for (size_t n = s->n_stack_bytes / 2; n >= 64; n /= 2) {
		n &= ~7ull;
		run(u, s, n, NULL, &r);
		bool is_cut = r.n < s->n;
		n_wrong_cut += !is_expected(s, &r, r.n) || (is_cut && r.end == UNWIND_ROOT);
	}
}

static void read_line(struct sample *s, char *p)
{
	size_t i;
	if (!strncmp(p, "module ", 7)) {
		if (corpus.n_modules == MODULES_MAX)
			give_up("too many modules");
		corpus.n_modules++;
		snprintf(last_module()->name, sizeof(last_module()->name), "%.100s", p + 7);
	} else if (!strncmp(p, "hdr ", 4)) {
		add_section(&last_module()->hdr, p + 4);
	} else if (!strncmp(p, "eh ", 3)) {
		add_section(&last_module()->eh, p + 3);
	} else if (!strncmp(p, "space", 5)) {
		begin_space();
	} else if (!strncmp(p, "map ", 4)) {
		if (corpus.n_maps == MAPS_MAX)
			give_up("too many maps");
		struct map *m = &corpus.map[corpus.n_maps++];
		p += 4;
		m->start = hex(&p);
		m->end = hex(&p);
		m->bias = hex(&p);
		m->module = (int)strtol(p, NULL, 10);
		if (m->module < 0 || m->module >= corpus.n_modules)
			give_up("no such module");
	} else if (!strncmp(p, "sample ", 7)) {
		*s = (struct sample){ .stack = s->stack };
		if (sscanf(p, "sample %d %zu %zu", &s->end, &s->n_stack_bytes, &s->n_peer) != 3)
			give_up("sample");
		free(s->stack);
		s->stack = calloc(s->n_stack_bytes / 8 + 1, 8);
		if (!s->stack)
			give_up("memory");
	} else if (p[0] == '#' || p[0] == '\n') {
		return;
	} else if (p[1] != ' ') {
		give_up("unknown line");
	} else {
		char letter = *p++;
		uint64_t regs[STACKCAP_N_REGS_X86];
		switch (letter) {
		case 'h': fill_section(&last_module()->hdr, p); break;
		case 'e': fill_section(&last_module()->eh, p); break;
		case 'c': add_code(last_module(), p); break;
		case 'r':
			for (i = 0; i < STACKCAP_N_REGS_X86; i++)
				regs[i] = hex(&p);
			unwind_regs_from_perf(&arch_x86_64, STACKCAP_REGS_X86, regs, &s->regs);
			break;
		case 's':
			for (i = hex(&p); *p == ' '; i++) {
				if (i >= s->n_stack_bytes / 8)
					give_up("beyond the stack");
				s->stack[i] = hex(&p);
			}
			break;
		case 'f':
			for (s->n = 0; *p == ' ' && s->n < FRAMES_MAX;)
				s->pc[s->n++] = hex(&p);
			judge(s);
			break;
		default: give_up("unknown line");
		}
	}
}

static void forget(void)
{
	for (int i = 0; i < corpus.n_modules; i++) {
		struct saved *m = &corpus.module[i];
		cfi_close(m->cfi);
		if (m->image)
			munmap(m->image, m->n_image_bytes);
		free(m->hdr.p);
		free(m->eh.p);
		for (size_t j = 0; j < m->n_code; j++)
			free(m->code[j].p);
	}
	memset(&corpus, 0, sizeof(corpus));
	n_samples = n_wrong = n_wrong_memo = n_wrong_cut = n_peer_same = n_frames = n_guessed = 0;
}

static void replay(const char *path)
{
	static struct sample s;
	struct unwind_options o = { .arch = &arch_x86_64, .find_module = find_module };
	const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
	gzFile f = gzopen(path, "r");
	u = unwind_new(&o);
	with_memo = unwind_new(&o);
	if (!f || !u || !with_memo)
		give_up(path);
	while (gzgets(f, line, sizeof(line)))
		read_line(&s, line);
	tap_ok(gzclose(f) == Z_OK && n_samples >= 10, "%s: %zu samples, %zu frames", name,
	       n_samples, n_frames);
	tap_ok(!n_wrong, "%s: all stacks are as expected", name);
	tap_ok(!n_wrong_memo, "%s: the same with a memo", name);
	tap_ok(!n_wrong_cut,
	       "%s: truncated copies give the start of the stack, and report it", name);
	if (n_wrong || n_wrong_memo || n_wrong_cut)
		printf("# %zu, %zu, %zu are not\n", n_wrong, n_wrong_memo, n_wrong_cut);
	printf("# %zu are wholly libdwfl's; %zu frames by the code or the frame pointer\n",
	       n_peer_same, n_guessed);
	free(s.stack);
	s.stack = NULL;
	unwind_memo_done(&memo);
	unwind_free(u);
	unwind_free(with_memo);
	forget();
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		replay(argv[i]);
	return tap_done();
}
