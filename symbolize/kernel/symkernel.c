/*
 * One pass over the text in pieces of 256 KiB, so that its 5 to 15 MB are never in memory at once.
 * The kernel needs 350 ns to format a symbol, 40 ms for 120,000, and this parser a fifth of that.
 * It formats all symbols up to the last one that is read, even for pread(2).
 *
 * The result is an array sorted by address, 16 bytes per symbol, and the names back to back.
 * kallsyms has no sizes: a symbol ends where the next one begins.  After the last one of the kernel
 * or of a module, there is a gap entry without a name (at _etext, _einittext, or the module's end
 * by /proc/modules), and no symbol extends further than LAST_BYTES_MAX into the unknown.
 *
 * The text is almost sorted (the kernel proper, then each module): the sorted head stays as it is,
 * the tail is sorted, and both are merged.
 */

#include "symbolize/kernel/symkernel-private.h"

#include "base/bytes.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/host.h"
#include "base/search.h"
#include "symbolize/kernel/symklink.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define READ_BYTES (256u << 10)
#define LAST_BYTES_MAX (64u << 10)  /* of a symbol that is the last one of its module */
#define MODULES_MAX UINT16_MAX

/* ---- reading --------------------------------------------------------------- */

int symkernel_add_module(struct symkernel *k, const char *name, size_t n, uint32_t *ret)
{
	/* Symbols of a module are next to each other. */
	for (size_t i = k->module.n; i-- > 0;) {
		if (strncmp(k->module.v[i].name, name, n) == 0 &&
		    k->module.v[i].name[n] == '\0') {
			*ret = (uint32_t)i;
			return 0;
		}
	}
	if (k->module.n == MODULES_MAX)
		return -ENOSPC;
	CLEANUP_FREE char *copy = strndup(name, n);
	if (!copy || !VEC_PUSH(&k->module, (struct symkernel_module){ .name = copy }))
		return -ENOMEM;
	copy = NULL;
	*ret = (uint32_t)(k->module.n - 1);
	return 0;
}

static int add_sym(struct symkernel *k, struct symkernel_sym s)
{
	if (k->n_sorted == k->sym.n &&
	    (k->sym.n == 0 || k->sym.v[k->sym.n - 1].address <= s.address))
		k->n_sorted++;
	return VEC_PUSH(&k->sym, s) ? 0 : -ENOMEM;
}

int symkernel_add_gap(struct symkernel *k, uint64_t address, uint32_t module)
{
	return add_sym(k, (struct symkernel_sym){ .address = address, .name = SYMKERNEL_NO_NAME,
						  .module = module });
}

int symkernel_add_symbol(struct symkernel *k, uint64_t address, uint32_t module, const char *name,
			 size_t n)
{
	struct symkernel_sym s = { .address = address, .module = module };
	if (k->names.n + n + 1 >= SYMKERNEL_NO_NAME || !VEC_RESERVE(&k->names, n + 1))
		return -ENOMEM;
	s.name = (uint32_t)k->names.n;
	memcpy(k->names.v + k->names.n, name, n);
	k->names.n += n;
	k->names.v[k->names.n++] = '\0';
	return add_sym(k, s);
}

static bool is_name(const char *name, size_t n, const char *want)
{
	return strlen(want) == n && memcmp(name, want, n) == 0;
}

static int take_symbol(struct symkernel *k, uint64_t address, char type, const char *name,
		       size_t n, const char *module, size_t n_module)
{
	/* The end of text counts whatever its type: on arm64, _etext belongs to the data after
	 * it. */
	bool is_end = n_module == 0 &&
		      (is_name(name, n, "_etext") || is_name(name, n, "_einittext"));
	if (type != 't' && type != 'T' && type != 'w' && type != 'W' && !is_end)
		return 0;
	if (address == 0) {
		k->n_hidden++;
		return 0;
	}
	/* The kernel never prints a NUL; names are C strings from here on. */
	if (memchr(name, '\0', n) || memchr(module, '\0', n_module))
		return 0;
	uint32_t in = 0;
	if (n_module) {
		int r = symkernel_add_module(k, module, n_module, &in);
		if (r < 0)
			return r == -ENOSPC ? 0 : r;
		/* until symkernel_add_modules knows better */
		uint64_t *start = &k->module.v[in].start;
		*start = *start && *start < address ? *start : address;
	} else if (is_name(name, n, "_stext")) {
		k->text_start = address;
	} else if (is_name(name, n, "_text")) {
		k->base = address;
	} else if (is_name(name, n, "_etext")) {
		k->text_end = address;
		return symkernel_add_gap(k, address, 0);
	} else if (is_name(name, n, "_einittext")) {
		return symkernel_add_gap(k, address, 0);
	}
	/* Mapping symbols of arm64 and riscv ($x, $d), and labels of the assembler. */
	if (n == 0 || name[0] == '$' || (n > 1 && name[0] == '.' && name[1] == 'L'))
		return 0;
	return symkernel_add_symbol(k, address, in, name, n);
}

static int hex_digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* "ffffffff81000000 T name" or "ffffffffc0201000 t name\t[module]", from line up to end.  Other
 * lines are ignored. */
static int take_line(struct symkernel *k, const char *line, const char *end)
{
	uint64_t address = 0;
	const char *p = line;
	for (int digit; p < end && (digit = hex_digit(*p)) >= 0; p++)
		address = address << 4 | (uint64_t)digit;
	if (p == line || p - line > 16 || end - p < 4 || p[0] != ' ' || p[2] != ' ')
		return 0;
	/* Names at the end of the text itself still belong to it. */
	k->is_complete = k->last && address > k->text_end && k->text_start <= k->first &&
			 k->text_start && k->last < k->text_end;
	if (k->is_complete)
		return 0;
	const char *name = p + 3;
	const char *tab = memchr(name, '\t', (size_t)(end - name));
	const char *module = end, *module_end = end;
	if (tab && end - tab > 3 && tab[1] == '[' && end[-1] == ']') {
		module = tab + 2;
		module_end = end - 1;
	}
	return take_symbol(k, address, p[1], name, (size_t)((tab ? tab : end) - name), module,
			   (size_t)(module_end - module));
}

/* Parses all complete lines of the text; *ret_n is their size in bytes. */
static int take_lines(struct symkernel *k, const char *text, size_t n, size_t *ret_n)
{
	const char *line = text, *text_end = text + n, *end;
	while ((end = memchr(line, '\n', (size_t)(text_end - line)))) {
		int r = take_line(k, line, end);
		if (r < 0)
			return r;
		line = end + 1;
		if (k->is_complete)
			break;
	}
	*ret_n = (size_t)(line - text);
	return 0;
}

static int read_kallsyms(struct symkernel *k, int fd)
{
	CLEANUP_FREE char *buf = malloc(READ_BYTES);
	size_t n = 0;
	if (!buf)
		return -ENOMEM;
	for (;;) {
		ssize_t got = read(fd, buf + n, READ_BYTES - n);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (got == 0)
			return n ? take_line(k, buf, buf + n) : 0;
		n += (size_t)got;
		size_t done;
		int r = take_lines(k, buf, n, &done);
		if (r < 0 || k->is_complete)
			return r;
		/* The kernel prints no line that fills the whole buffer. */
		if (done == 0 && n == READ_BYTES)
			done = n;
		n -= done;
		memmove(buf, buf + done, n);
	}
}

/* /proc/modules has where each module ends: "ext4 1122304 2 - Live 0xffffffffc0ab0000". */
int symkernel_add_modules(struct symkernel *k, const struct host *h)
{
	CLEANUP_FREE char *text = NULL;
	if (host_read_file(h, HOST_PROC, &text, NULL, "modules") < 0)
		return 0;  /* a kernel without modules */
	for (char *line = text, *end; *line; line = end) {
		char name[64];
		unsigned long long n_bytes, start;
		end = strchrnul(line, '\n');
		end += *end == '\n';
		if (sscanf(line, "%63s %llu %*s %*s %*s 0x%llx", name, &n_bytes, &start) != 3 ||
		    start == 0 || start + n_bytes < start)
			continue;
		uint32_t module;
		int r = symkernel_add_module(k, name, strlen(name), &module);
		if (r < 0 && r != -ENOMEM)
			continue;
		if (r < 0 || symkernel_add_gap(k, start + n_bytes, module) < 0)
			return -ENOMEM;
		k->module.v[module].start = start;
	}
	return 0;
}

/* ---- order ----------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
	const struct symkernel_sym *x = a, *y = b;
	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	return x->name < y->name ? -1 : x->name > y->name;
}

static int sort_tail(struct symkernel *k)
{
	size_t n_tail = k->sym.n - k->n_sorted;
	if (n_tail == 0)
		return 0;
	struct symkernel_sym *tail = k->sym.v + k->n_sorted;
	qsort(tail, n_tail, sizeof(*tail), compare);
	if (k->n_sorted == 0 || tail[-1].address <= tail[0].address)
		return 0;

	/* Merges from the back, with a copy of the tail. */
	CLEANUP_FREE struct symkernel_sym *copy = malloc(n_tail * sizeof(*copy));
	if (!copy)
		return -ENOMEM;
	memcpy(copy, tail, n_tail * sizeof(*copy));
	size_t i = k->n_sorted, j = n_tail;
	for (struct symkernel_sym *to = k->sym.v + k->sym.n; j > 0;) {
		if (i > 0 && k->sym.v[i - 1].address > copy[j - 1].address)
			*--to = k->sym.v[--i];
		else
			*--to = copy[--j];
	}
	return 0;
}

/*
 * Keeps the first of several names for one address, as the kernel does in its own messages: it
 * lists the best one first (compare_symbols() in scripts/kallsyms.c).  A name is better than a gap.
 * Since Linux 6.4, a module's size includes parts at other addresses, so its end may be inside
 * another module: such a gap is dropped, too.
 */
static void drop_aliases(struct symkernel *k)
{
	size_t n = 0;
	for (size_t i = 0; i < k->sym.n; i++) {
		const struct symkernel_sym *s = &k->sym.v[i];
		struct symkernel_sym *last = n ? &k->sym.v[n - 1] : NULL;
		if (s->name == SYMKERNEL_NO_NAME && (!last || last->module != s->module))
			continue;
		if (!last || last->address != s->address)
			k->sym.v[n++] = *s;
		else if (last->name == SYMKERNEL_NO_NAME)
			*last = *s;
	}
	k->sym.n = n;
}

int symkernel_sort(struct symkernel *k)
{
	int r = sort_tail(k);
	if (r == 0)
		drop_aliases(k);
	return r;
}

/* ---- interface ------------------------------------------------------------- */

int symkernel_new(struct symkernel **ret)
{
	struct symkernel *k = calloc(1, sizeof(*k));
	uint32_t module;
	if (!k)
		return -ENOMEM;
	int r = symkernel_add_module(k, "", 0, &module);
	if (r < 0) {
		symkernel_close(k);
		return r;
	}
	*ret = k;
	return 0;
}

static void cleanup_symkernel(struct symkernel **k)
{
	symkernel_close(*k);
}

static int finish(struct symkernel *k, struct err *e)
{
	if (k->sym.n == 0 && k->n_hidden) {
		err_set(e, EPERM, "the kernel hides its addresses in /proc/kallsyms");
		err_hint(e, "kernel.kptr_restrict and kernel.perf_event_paranoid forbid them; "
			    "set both to 0, or grant CAP_SYSLOG");
		return -EPERM;
	}
	int r = symkernel_sort(k);
	return r < 0 ? err_errno(e, -r, "cannot sort kernel symbols") : 0;
}

/* With 2 they are hidden from everyone (kallsyms_show_value() in kernel/ksyms_common.c). */
static void explain_hidden(const struct host *h, struct err *e)
{
	long level = 0;
	host_read_long(h, HOST_PROC, &level, "sys/kernel/kptr_restrict");
	if (level >= 2)
		err_hint(e, "kernel.kptr_restrict is 2, which hides them from root as well; set it "
			    "to 1 or 0");
}

static int read_proc(struct symkernel *k, const struct host *h)
{
	CLEANUP_CLOSE int fd = host_open_file(h, HOST_PROC, O_RDONLY, "kallsyms");
	if (fd < 0)
		return fd;
	int r = read_kallsyms(k, fd);
	if (r < 0)
		return r;
	return k->sym.n && !k->is_complete ? symkernel_add_modules(k, h) : 0;
}

int symkernel_open(const struct host *h, struct symkernel **ret_kernel, struct err *e)
{
	return symkernel_open_for(h, 0, 0, ret_kernel, e);
}

int symkernel_open_for(const struct host *h, uint64_t first, uint64_t last,
		       struct symkernel **ret_kernel, struct err *e)
{
	__attribute__((cleanup(cleanup_symkernel))) struct symkernel *k = NULL;
	int r = symkernel_new(&k);
	if (r == 0) {
		k->first = first;
		k->last = last;
		r = read_proc(k, h);
	}
	if (r < 0)
		return err_errno(e, -r, "cannot read '%s/kallsyms'", h->path[HOST_PROC]);
	r = finish(k, e);
	if (r == -EPERM)
		explain_hidden(h, e);
	if (r < 0)
		return r;
	k->shift = symklink_running(h, (struct symklink_first){ symkernel_base(k, ""), !k->base });
	*ret_kernel = TAKE_PTR(k);
	return 0;
}

int symkernel_open_text(const char *text, size_t n_bytes, struct symkernel **ret_kernel,
			struct err *e)
{
	__attribute__((cleanup(cleanup_symkernel))) struct symkernel *k = NULL;
	size_t done;
	int r = symkernel_new(&k);
	/* the last line may lack its newline */
	if (r < 0 || (r = take_lines(k, text, n_bytes, &done)) < 0 ||
	    (done < n_bytes && (r = take_line(k, text + done, text + n_bytes)) < 0))
		return err_errno(e, -r, "cannot read kernel symbols");
	r = finish(k, e);
	if (r < 0)
		return r;
	*ret_kernel = TAKE_PTR(k);
	return 0;
}

void symkernel_close(struct symkernel *k)
{
	if (!k)
		return;
	for (size_t i = 0; i < k->module.n; i++)
		free(k->module.v[i].name);
	VEC_FREE(&k->module);
	if (k->mapped) {
		munmap(k->mapped, k->n_mapped_bytes);
	} else {
		VEC_FREE(&k->names);
		VEC_FREE(&k->sym);
	}
	free(k);
}

bool symkernel_find(const struct symkernel *k, uint64_t address, const char **ret_name,
		    const char **ret_module, uint64_t *ret_start)
{
	size_t low = SEARCH_COUNT(k->sym.n, i, k->sym.v[i].address <= address);
	if (low == 0)
		return false;
	const struct symkernel_sym *s = &k->sym.v[low - 1];
	bool last = low == k->sym.n || s[1].module != s->module || s[1].name == SYMKERNEL_NO_NAME;
	/* A mapped table may have any contents. */
	if (s->name >= k->names.n || !k->names.v[s->name] || s->module >= k->module.n ||
	    (last && address - s->address >= LAST_BYTES_MAX))
		return false;
	*ret_name = k->names.v + s->name;
	*ret_module = k->module.v[s->module].name;
	*ret_start = s->address;
	return true;
}

void symkernel_text(const struct symkernel *k, uint64_t *ret_start, uint64_t *ret_end)
{
	*ret_start = k->text_start;
	*ret_end = k->text_end;
}

uint64_t symkernel_base(const struct symkernel *k, const char *module)
{
	if (!*module)
		return k->base ? k->base : k->text_start;
	for (size_t i = 1; i < k->module.n; i++)
		if (strcmp(k->module.v[i].name, module) == 0)
			return k->module.v[i].start;
	return 0;
}

uint64_t symkernel_shift(const struct symkernel *k)
{
	return k->shift;
}

size_t symkernel_address(const struct symkernel *k, const char *name, const char *module,
			 uint64_t *ret_address)
{
	size_t n = 0;
	for (size_t i = 0; i < k->sym.n; i++) {
		const struct symkernel_sym *s = &k->sym.v[i];
		if (s->name >= k->names.n || s->module >= k->module.n ||
		    strcmp(k->module.v[s->module].name, module) != 0 ||
		    strcmp(k->names.v + s->name, name) != 0)
			continue;
		*ret_address = s->address;
		n++;
	}
	return n;
}

/* Far more than any function has. */
#define FUNCTION_BYTES_MAX 65536u

bool symkernel_code(const struct symkernel *k, const char *name, uint64_t *ret_start,
		    uint64_t *ret_end)
{
	uint64_t start;
	if (symkernel_address(k, name, "", &start) == 0)
		return false;
	size_t next = SEARCH_COUNT(k->sym.n, i, k->sym.v[i].address <= start);
	uint64_t end = next < k->sym.n ? k->sym.v[next].address : start + 1;
	*ret_start = start;
	*ret_end = end - start < FUNCTION_BYTES_MAX ? end : start + FUNCTION_BYTES_MAX;
	return true;
}

/* gABI, "Note Section"; names and descriptions are padded to 4 bytes. */
static size_t build_id_in(const char *notes, size_t n_bytes, uint8_t *id, size_t max)
{
	for (struct bytes b = bytes_of(notes, n_bytes); bytes_left(&b);) {
		uint32_t n_name = bytes_u32(&b), n_desc = bytes_u32(&b), type = bytes_u32(&b);
		const char *name = bytes_take(&b, ((size_t)n_name + 3) & ~(size_t)3);
		const void *desc = bytes_take(&b, n_desc);
		if (b.bad)
			break;
		if (type == NT_GNU_BUILD_ID && n_name == 4 && memcmp(name, "GNU", 4) == 0) {
			size_t n = n_desc < max ? n_desc : max;
			memcpy(id, desc, n);
			return n;
		}
		size_t padding = -(size_t)n_desc & 3;
		bytes_take(&b, padding < bytes_left(&b) ? padding : bytes_left(&b));
	}
	return 0;
}

size_t symkernel_build_id(const struct host *h, uint8_t *id, size_t max)
{
	CLEANUP_FREE char *notes = NULL;
	size_t n_bytes;
	if (host_read_file(h, HOST_SYS, &notes, &n_bytes, "kernel/notes") < 0)
		return 0;
	return build_id_in(notes, n_bytes, id, max);
}

size_t symkernel_module_build_id(const struct host *h, const char *module, uint8_t *id, size_t max)
{
	CLEANUP_FREE char *notes = NULL;
	size_t n_bytes;
	if (host_read_file(h, HOST_SYS, &notes, &n_bytes, "module/%s/notes/.note.gnu.build-id",
			   module) < 0)
		return 0;
	return build_id_in(notes, n_bytes, id, max);
}
