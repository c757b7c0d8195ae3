/*
 * objdump disassembles the function's symbol or, if the file has no such symbol, the range of
 * addresses that have samples, from the begin of the function on.  It is started without a shell,
 * since all names come from the profile.  A file with another build id is refused, since its
 * instructions are at other addresses.  A hostile file may keep objdump busy, so it has a deadline.
 */

#include "cmd/report/objdump.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "cmd/nofile.h"
#include "cmd/report/report.h"
#include "symbolize/cfi/cfi.h"
#include "symbolize/elf/elfbias.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define NEAR 8          /* instructions around those with a cost */
#define MARGIN 16       /* bytes disassembled after the last one; no instruction has more */
/* Of a line, which names a symbol of any length. */
#define LINE_BYTES_MAX 4096u
/* A function has less, unless its file is hostile. */
#define INSTRUCTIONS_MAX 1000000u

#define STUB_BYTES 16   /* of a stub that calls a function of another file */

/* The file is open as this descriptor in objdump. */
#define FILE_FD 3
#define FILE_PATH "/proc/self/fd/3"

void objdump_done(struct objdump *o)
{
	for (size_t i = 0; i < o->instructions.n; i++)
		free(o->instructions.v[i].text);
	VEC_FREE(&o->instructions);
}

/* ---- its output ------------------------------------------------------------------------------ */

/* Where a file has no symbol, objdump names an address by the closest symbol before it, often that
 * of a call stub: "1267 <rand@plt+0x1b7>".  Such a name is left out if the place is after the stub,
 * or, in code without a symbol, if it has any distance. */
static void drop_wrong_name(char *text, bool has_symbol)
{
	size_t n = strlen(text);
	char *name = strrchr(text, '<'), *plus = name ? strstr(name, "+0x") : NULL;
	if (!plus || text[n - 1] != '>' || name - text < 2 || name[-1] != ' ')
		return;
	bool is_stub = plus - name > 4 && memcmp(plus - 4, "@plt", 4) == 0;
	if (!has_symbol || (is_stub && strtoull(plus + 1, NULL, 16) >= STUB_BYTES))
		name[-1] = '\0';
}

/* "  401136:	push   %rbp" */
static int add_line(struct objdump *o, char *line)
{
	char *end, *p = line + strspn(line, " ");
	uint64_t vaddr = strtoull(p, &end, 16);
	if (end == p || *end != ':' || end[1] != '\t')
		return 0;
	if (o->instructions.n == INSTRUCTIONS_MAX)
		return -E2BIG;
	struct objdump_instruction x = { .vaddr = vaddr, .text = strdup(end + 2) };
	for (char *t = x.text; t && *t; t++)
		if (*t == '\t')
			*t = ' ';
	if (x.text)
		drop_wrong_name(x.text, o->has_symbol);
	if (x.text && VEC_PUSH(&o->instructions, x))
		return 0;
	free(x.text);
	return -ENOMEM;
}

struct reader {
	char text[LINE_BYTES_MAX + 1];
	size_t n;                   /* of a line that is not complete */
	bool is_added;              /* it was too long, and its beginning was added */
};

static int end_line(struct objdump *o, struct reader *r, char *line)
{
	bool is_new = !r->is_added;
	r->is_added = false;
	return is_new ? add_line(o, line) : 0;
}

/* Adds the complete lines; the rest moves to the beginning. */
static int add_lines(struct objdump *o, struct reader *r)
{
	char *line = r->text, *end;
	int result = 0;
	while (result == 0 && (end = memchr(line, '\n', r->n))) {
		*end = '\0';
		result = end_line(o, r, line);
		r->n -= (size_t)(end - line) + 1;
		line = end + 1;
	}
	memmove(r->text, line, r->n);
	if (result == 0 && r->n == LINE_BYTES_MAX) {
		r->text[r->n] = '\0';
		result = end_line(o, r, r->text);
		r->is_added = true;
		r->n = 0;
	}
	return result;
}

static int read_lines(struct objdump *o, int fd, uint64_t deadline_ns)
{
	struct reader reader = { .n = 0 };
	for (;;) {
		struct pollfd p = { .fd = fd, .events = POLLIN };
		uint64_t now_ns = clock_monotonic_ns();
		int ms = now_ns < deadline_ns ? (int)((deadline_ns - now_ns) / 1000000) + 1 : 0;
		int r = ms ? poll(&p, 1, ms) : 0;
		if (r < 0 && errno == EINTR)
			continue;
		if (r <= 0)
			return r < 0 ? -errno : -ETIMEDOUT;
		ssize_t got = read(fd, reader.text + reader.n, LINE_BYTES_MAX - reader.n);
		if (got <= 0)
			return got < 0 ? -errno : 0;
		reader.n += (size_t)got;
		r = add_lines(o, &reader);
		if (r < 0)
			return r;
	}
}

static int spawn(const char *const *argv, int file_fd, int out_fd, pid_t *ret_pid)
{
	posix_spawn_file_actions_t actions;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, out_fd, STDOUT_FILENO);
	posix_spawn_file_actions_adddup2(&actions, file_fd, FILE_FD);
	posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
	nofile_restore();  /* a report needs few */
	int number = posix_spawnp(ret_pid, "objdump", &actions, NULL, (char *const *)argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	return -number;
}

static int run(const char *const *argv, int file_fd, uint64_t deadline_ns, struct objdump *out,
	       struct err *e)
{
	int fd[2];
	pid_t pid;
	if (pipe2(fd, O_CLOEXEC) < 0)
		return err_errno(e, errno, "cannot start objdump");
	int r = spawn(argv, file_fd, fd[1], &pid);
	close(fd[1]);
	if (r < 0) {
		close(fd[0]);
		r = err_errno(e, -r, "cannot start objdump");
		err_hint(e, "it is in the package binutils");
		return r;
	}
	r = read_lines(out, fd[0], deadline_ns);
	close(fd[0]);
	if (r < 0)
		kill(pid, SIGKILL);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	if (r == -ETIMEDOUT)
		return err_set(e, ETIMEDOUT, "objdump takes too long");
	return r < 0 ? err_errno(e, -r, "cannot hold the instructions") : 0;
}

/* ---- costs ----------------------------------------------------------------------------------- */

/* Up to the next instruction, since a caller's address is within its call. */
static uint64_t end_of(const struct objdump *o, size_t i)
{
	return i + 1 < o->instructions.n ? o->instructions.v[i + 1].vaddr
					 : o->instructions.v[i].vaddr + MARGIN;
}

/* Returns the number of spots in the list. */
static size_t add_costs(struct objdump *o, const struct annotate *a,
			const struct annotate_function *fn, uint64_t bias)
{
	const struct annotate_spot *spot = &a->spot[fn->first];
	size_t n = 0, k = 0;
	for (size_t i = 0; i < o->instructions.n; i++) {
		struct objdump_instruction *x = &o->instructions.v[i];
		uint64_t begin = x->vaddr - bias, end = end_of(o, i) - bias;
		size_t n_spots = annotate_sum(a, fn, begin, end, &x->flat, &x->cum);
		while (k < fn->n && spot[k].at < begin)
			k++;
		x->line = n_spots && k < fn->n ? spot[k].line : 0;
		x->has_cost = n_spots > 0;
		n += n_spots;
	}
	return n;
}

static void mark_near(struct objdump *o)
{
	size_t n = o->instructions.n;
	for (size_t i = 0, done = 0; i < n; i++) {
		if (!o->instructions.v[i].has_cost)
			continue;
		size_t k = i > NEAR ? i - NEAR : 0;
		for (k = k > done ? k : done; k < n && k <= i + NEAR; k++)
			o->instructions.v[k].is_near = true;
		done = k;
	}
}

/* ---- functions ------------------------------------------------------------------------------- */

/* A place at or before vaddr where an instruction begins: the address of a caller is within its
 * call.  vaddr itself if the file does not say where its functions begin. */
static uint64_t begin_of(int fd, uint64_t vaddr)
{
	struct cfi *c = NULL;
	struct cfi_fde fde;
	uint32_t off;
	bool is_debug;
	if (cfi_open_file(fd, &c) < 0)
		return vaddr;
	bool is_found = cfi_find_fde(c, vaddr, &fde, &off, &is_debug) == CFI_FOUND;
	cfi_close(c);
	return is_found ? fde.start : vaddr;
}

/* Of the instructions at the end of a range, the last one may not be complete. */
static void drop_end(struct objdump *o, uint64_t end)
{
	while (o->instructions.n && o->instructions.v[o->instructions.n - 1].vaddr >= end)
		free(o->instructions.v[--o->instructions.n].text);
}

static int disassemble(int fd, const char *path, const struct annotate *a,
		       const struct annotate_function *fn, uint64_t bias, uint64_t deadline_ns,
		       struct objdump *o, struct err *e)
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
	o->has_symbol = true;
	int r = run(by_symbol, fd, deadline_ns, o, e);
	if (r < 0 || add_costs(o, a, fn, bias) > 0)
		return r;
	objdump_done(o);
	o->has_symbol = false;
	uint64_t first = a->spot[fn->first].at + bias;
	uint64_t end = a->spot[fn->first + fn->n - 1].at + bias + MARGIN;
	snprintf(from, sizeof(from), "--start-address=0x%" PRIx64, begin_of(fd, first));
	snprintf(to, sizeof(to), "--stop-address=0x%" PRIx64, end + MARGIN);
	const char *by_range[] = { "objdump", "-d", "--no-show-raw-insn", from, to, "--",
				   FILE_PATH, NULL };
	r = run(by_range, fd, deadline_ns, o, e);
	drop_end(o, end);
	if (r < 0 || add_costs(o, a, fn, bias) > 0)
		return r;
	return err_set(e, ENOENT, "objdump shows no instructions of '%s' at these addresses", path);
}

int objdump_function(struct report_source *source, const struct model *m, const struct annotate *a,
		     const struct annotate_function *fn, uint64_t deadline_ns, struct objdump *ret,
		     struct err *e)
{
	if (fn->mapping == MODEL_NONE)
		return err_set(e, ENOENT, "the profile does not say which file contains '%s'",
			       fn->name);
	const struct model_mapping *map = &m->mapping[fn->mapping];
	const char *path = model_string(m, map->filename);
	uint64_t bias = 0;
	CLEANUP_CLOSE int fd = report_source_open_program(source, path, e);
	if (fd < 0)
		return fd;
	int r = elfbias_find(fd, path, model_string(m, map->build_id), map->memory_start,
			     map->file_offset, &bias, e);
	r = r < 0 ? r : disassemble(fd, path, a, fn, bias, deadline_ns, ret, e);
	if (r == 0)
		mark_near(ret);
	return r;
}
