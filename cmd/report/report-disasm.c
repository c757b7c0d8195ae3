/*
 * Instructions with their costs.  The system's objdump disassembles the function's symbol or, if
 * the file has no such symbol, the range of addresses that have samples.  It is started without a
 * shell, since all names come from the profile.  A file with another build id is refused, since its
 * instructions are at other addresses.
 */

#include "cmd/report/report.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "base/vec.h"
#include "cmd/nofile.h"
#include "view/table/annotate.h"
#include "symbolize/elf/elfbias.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define NEAR 8          /* instructions shown around those with a cost */
#define MARGIN 16       /* bytes disassembled after the last one */

struct instruction { uint64_t vaddr; char *text; int64_t flat, cum; bool has_cost; };
struct listing { VEC(struct instruction) v; };

static void free_listing(struct listing *l)
{
	for (size_t i = 0; i < l->v.n; i++)
		free(l->v.v[i].text);
	VEC_FREE(&l->v);
}

/* "  401136:	push   %rbp" */
static bool parse_instruction(const char *line, struct instruction *ret)
{
	char *end;
	const char *p = line + strspn(line, " ");
	uint64_t vaddr = strtoull(p, &end, 16);
	if (end == p || *end != ':' || end[1] != '\t')
		return false;
	char *text = strdup(end + 2);
	if (!text)
		return false;
	text[strcspn(text, "\r\n")] = '\0';
	for (char *t = text; *t; t++)
		if (*t == '\t')
			*t = ' ';
	*ret = (struct instruction){ .vaddr = vaddr, .text = text };
	return true;
}

/* The file is open as this descriptor in objdump. */
#define FILE_FD 3
#define FILE_PATH "/proc/self/fd/3"

static int run_objdump(const char *const *argv, int file_fd, struct listing *out, struct err *e)
{
	int fd[2];
	pid_t pid;
	if (pipe2(fd, O_CLOEXEC) < 0)
		return err_errno(e, errno, "cannot start objdump");
	posix_spawn_file_actions_t actions;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, fd[1], STDOUT_FILENO);
	posix_spawn_file_actions_adddup2(&actions, file_fd, FILE_FD);
	posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
	nofile_restore();  /* a report needs few */
	int number = posix_spawnp(&pid, "objdump", &actions, NULL, (char *const *)argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	close(fd[1]);
	FILE *from = number ? NULL : fdopen(fd[0], "r");
	if (!from) {
		close(fd[0]);
		int r = err_errno(e, number ? number : errno, "cannot start objdump");
		err_hint(e, "it is in the package binutils");
		return r;
	}
	CLEANUP_FREE char *line = NULL;
	size_t cap = 0;
	struct instruction x;
	bool ok = true;
	while (ok && getline(&line, &cap, from) >= 0)
		if (parse_instruction(line, &x) && !(ok = VEC_PUSH(&out->v, x)))
			free(x.text);
	fclose(from);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	return ok ? 0 : err_errno(e, ENOMEM, "cannot hold the instructions");
}

/* Sets the cost of each instruction.  Returns the number of spots in the listing. */
static size_t add_costs(struct listing *l, const struct annotate *a,
			const struct annotate_function *fn, uint64_t delta)
{
	size_t n = 0;
	for (size_t i = 0; i < l->v.n; i++) {
		struct instruction *x = &l->v.v[i];
		/* Up to the next instruction, since a caller's address is within its call. */
		uint64_t next = i + 1 < l->v.n ? l->v.v[i + 1].vaddr : x->vaddr + MARGIN;
		size_t n_spots = annotate_sum(a, fn, x->vaddr - delta, next - delta, &x->flat,
					      &x->cum);
		x->has_cost = n_spots > 0;
		n += n_spots;
	}
	return n;
}

static void print_instruction(const struct report *r, const struct annotate *a,
			      const struct instruction *x)
{
	char f[SCALE_TEXT_MAX], c[SCALE_TEXT_MAX];
	term_color(&r->term, term_heat(a->total ? (double)x->cum / (double)a->total : 0));
	fprintf(r->term.out, "%10s %10s", x->flat ? scale_text(r->scale, x->flat, f) : ".",
		x->cum ? scale_text(r->scale, x->cum, c) : ".");
	term_color(&r->term, TERM_PLAIN);
	fprintf(r->term.out, " %10" PRIx64 "  ", x->vaddr);
	int room = r->term.width ? r->term.width - 34 : 0;
	term_print_name(&r->term, x->text, r->term.width && room < 8 ? 8 : room);
	fputc('\n', r->term.out);
}

static void print_listing(const struct report *r, const struct annotate *a,
			  const struct listing *l)
{
	size_t last = SIZE_MAX;  /* index of the last instruction with a cost */
	bool in_gap = false;
	for (size_t i = 0; i < l->v.n; i++) {
		bool near = last != SIZE_MAX && i <= last + NEAR;
		for (size_t k = i; !near && k < l->v.n && k <= i + NEAR; k++)
			near = l->v.v[k].has_cost;
		if (!near) {
			if (!in_gap)
				fprintf(r->term.out, "%10s %10s %10s\n", "", "", "...");
			in_gap = true;
			continue;
		}
		in_gap = false;
		print_instruction(r, a, &l->v.v[i]);
		if (l->v.v[i].has_cost)
			last = i;
	}
}

static int disassemble(int fd, const char *path, const struct annotate *a,
		       const struct annotate_function *fn, uint64_t delta, struct listing *l,
		       struct err *e)
{
	CLEANUP_FREE char *symbol = NULL;
	char from[60], to[60];
	const char *name = fn->system_name[0] ? fn->system_name : fn->name;
	if (asprintf(&symbol, "--disassemble=%s", name) < 0) {
		symbol = NULL;
		return err_errno(e, ENOMEM, "cannot start objdump");
	}
	const char *by_symbol[] = { "objdump", "--no-show-raw-insn", symbol, "--", FILE_PATH,
				    NULL };
	int r = run_objdump(by_symbol, fd, l, e);
	if (r < 0 || add_costs(l, a, fn, delta) > 0)
		return r;
	free_listing(l);
	snprintf(from, sizeof(from), "--start-address=0x%" PRIx64, a->spot[fn->first].at + delta);
	snprintf(to, sizeof(to), "--stop-address=0x%" PRIx64,
		 a->spot[fn->first + fn->n - 1].at + delta + MARGIN);
	const char *by_range[] = { "objdump", "-d", "--no-show-raw-insn", from, to, "--",
				   FILE_PATH, NULL };
	r = run_objdump(by_range, fd, l, e);
	if (r < 0 || add_costs(l, a, fn, delta) > 0)
		return r;
	return err_set(e, ENOENT, "objdump shows no instructions of '%s' at these addresses", path);
}

static int print_function(const struct report *report, const struct annotate *a,
			  const struct annotate_function *fn, struct err *e)
{
	const struct model *m = report->view.m;
	if (fn->mapping == MODEL_NONE)
		return err_set(e, ENOENT, "the profile does not say which file contains '%s'",
			       fn->name);
	const struct model_mapping *map = &m->mapping[fn->mapping];
	const char *path = model_string(m, map->filename);
	uint64_t bias = 0;
	CLEANUP(free_listing) struct listing l = { 0 };
	CLEANUP_CLOSE int fd = report_source_open_program(report->source, path, e);
	if (fd < 0)
		return fd;
	int r = elfbias_find(fd, path, model_string(m, map->build_id), map->memory_start,
			     map->file_offset, &bias, e);
	if (r < 0)
		return r;
	r = disassemble(fd, path, a, fn, bias, &l, e);
	if (r < 0)
		return r;
	char pct[SCALE_TEXT_MAX], flat[SCALE_TEXT_MAX], cum[SCALE_TEXT_MAX];
	term_color(&report->term, TERM_BOLD);
	term_print_name(&report->term, fn->name, report->term.width);
	term_color(&report->term, TERM_PLAIN);
	fputs("\n  ", report->term.out);
	term_print_name(&report->term, path, report->term.width ? report->term.width - 4 : 0);
	fprintf(report->term.out, "\n%10s %10s %10s  total (%s of all)\n",
		scale_text(report->scale, fn->flat, flat), scale_text(report->scale, fn->cum, cum),
		"", scale_percent(fn->cum, a->total, pct));
	print_listing(report, a, &l);
	fputc('\n', report->term.out);
	return 0;
}

int report_disasm_print(const struct report *report, struct err *e)
{
	CLEANUP(annotate_freep) struct annotate *a = NULL;
	const struct report_view *v = &report->view;
	int r = annotate_new(v->m, v->f, v->type, report->o->list, true, &a, e);
	if (r < 0)
		return r;
	uint64_t limit = report->o->limit ? report->o->limit : UINT64_MAX;
	uint32_t n_shown = 0;
	term_color(&report->term, TERM_BOLD);
	fprintf(report->term.out, "%10s %10s %10s  %s\n", "flat", "cum", "address", "instruction");
	term_color(&report->term, TERM_PLAIN);
	for (uint32_t i = 0; i < a->n_functions && i < limit; i++) {
		struct err one = { 0 };
		r = print_function(report, a, &a->function[i], &one);
		n_shown += r == 0;
		/* The file of another function may be available. */
		if (r < 0 && (n_shown == 0 || i + 1 == a->n_functions))
			*e = one;
		if (r < 0) {
			fprintf(report->term.out, "%34s(", "");
			term_print_name(&report->term, one.what, 0);
			fputs(")\n\n", report->term.out);
		}
	}
	return n_shown > 0 ? 0 : r;
}
