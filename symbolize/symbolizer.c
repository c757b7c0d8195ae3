#include "symbolize/symbolizer.h"

#include "base/log.h"
#include "base/strtab.h"
#include "base/vec.h"
#include "symbolize/cfi.h"
#include "symbolize/demangle.h"
#include "symbolize/dso.h"
#include "symbolize/jitcode.h"
#include "symbolize/symdebug.h"
#include "symbolize/symdwarf.h"
#include "symbolize/symelf.h"
#include "symbolize/symgo.h"
#include "symbolize/symkdebug.h"
#include "symbolize/symkept.h"
#include "symbolize/symkernel.h"
#include "symbolize/sympackage.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <time.h>

/*
 * Which source wins, for code from a file: the functions of DWARF, for they alone know inlined
 * calls; then .symtab or .dynsym; then the linker's stubs; then a made-up name.  The line may
 * come from DWARF where the function does not (assembler, -gline-tables-only).
 *
 * DWARF gives C++ functions of one file (static, anonymous namespace) no linkage name when gcc
 * wrote it; there the symbol's name is taken, if it is the mangled form of the same name.
 */

#define FILE_MEMO 64            /* power of two */
#define GO_FRAMES_MAX 64

/* One DSO's addresses at work. */
struct batch {
	const struct symbolizer_options *o;
	const struct dso *d;
	struct symlines *lines;
	struct strtab *strings;
	struct symbolizer_has has;
	struct cfi *cfi;            /* where functions begin, for what has no name; may be NULL */
	bool cfi_tried;
	uint32_t *demangled;        /* by linkage id: name id, 0 when not yet known */
	size_t n_demangled;
	struct {
		const char *dir, *file;
		uint32_t id;
	} memo[FILE_MEMO];          /* file names come again and again, as the same pointers */
};

/* ---- names --------------------------------------------------------------- */

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash && slash[1] ? slash + 1 : path;
}

/*
 * Where the function around vaddr begins, by its CFI, which stripped files have, too; else vaddr
 * itself.  So all addresses of one function get one name.
 */
static uint64_t function_start(struct batch *b, uint64_t vaddr)
{
	struct cfi_fde fde;
	uint32_t off;
	bool is_debug;
	const struct dso *d = b->d;
	if (!b->cfi_tried) {
		b->cfi_tried = true;
		if (d->image ? cfi_open_image(d->image, d->n_image_bytes, &b->cfi)
			     : d->fd < 0 || cfi_open_file(d->fd, &b->cfi))
			b->cfi = NULL;
	}
	if (!b->cfi || cfi_find_fde(b->cfi, vaddr, &fde, &off, &is_debug) != CFI_UNUSUAL)
		return vaddr;
	return fde.start <= vaddr ? fde.start : vaddr;
}

/* "[libfoo.so]+0x1234", "[vdso]+0x10" */
static uint32_t made_up_name(struct batch *b, uint64_t vaddr)
{
	char text[512];
	if (b->d->key.kind == DSO_ELF || b->d->key.kind == DSO_VDSO)
		vaddr = function_start(b, vaddr);
	const char *base = *b->d->path ? base_name(b->d->path) : "unknown";
	bool has_brackets = base[0] == '[';
	snprintf(text, sizeof(text), "%s%.400s%s+0x%" PRIx64, has_brackets ? "" : "[", base,
		 has_brackets ? "" : "]", vaddr);
	return strtab_add_cstr(b->strings, text);
}

/* The slot for the demangled form of that linkage name, or NULL when memory is out. */
static uint32_t *demangled_slot(struct batch *b, uint32_t linkage)
{
	if (linkage >= b->n_demangled) {
		size_t n = b->n_demangled ? b->n_demangled : 1024;
		while (n <= linkage)
			n *= 2;
		uint32_t *p = reallocarray(b->demangled, n, sizeof(*p));
		if (!p)
			return NULL;
		memset(p + b->n_demangled, 0, (n - b->n_demangled) * sizeof(*p));
		b->demangled = p;
		b->n_demangled = n;
	}
	return &b->demangled[linkage];
}

/* Sets both names from what stands in the object file. */
static bool set_names(struct batch *b, const char *linkage, struct symline *line)
{
	line->linkage = line->name = strtab_add_cstr(b->strings, linkage);
	if (!line->linkage)
		return false;
	if (!demangle_is_mangled(linkage)) {
		char *name = demangle_as(linkage, b->o->demangle);
		if (name)
			line->name = strtab_add_cstr(b->strings, name);
		free(name);
		return line->name != 0;
	}
	uint32_t *slot = demangled_slot(b, line->linkage);
	if (!slot)
		return false;
	if (!*slot) {
		char *name = demangle_as(linkage, b->o->demangle);
		*slot = name ? strtab_add_cstr(b->strings, name) : line->linkage;
		free(name);
	}
	line->name = *slot ? *slot : line->linkage;
	return true;
}

/* "foo@plt" for the stub that calls foo. */
static bool set_plt_names(struct batch *b, const char *target, struct symline *line)
{
	char *plain = demangle_as(target, b->o->demangle);
	char *name = NULL, *linkage = NULL;
	bool ok = asprintf(&linkage, "%s@plt", target) >= 0;
	if (ok) {
		line->linkage = line->name = strtab_add_cstr(b->strings, linkage);
		free(linkage);
	}
	if (ok && plain) {
		ok = asprintf(&name, "%s@plt", plain) >= 0;
		if (ok) {
			line->name = strtab_add_cstr(b->strings, name);
			free(name);
		}
	}
	free(plain);
	return ok && line->name;
}

static uint32_t file_id(struct batch *b, const char *dir, const char *file)
{
	if (!file)
		return 0;
	if (!dir)
		return strtab_add_cstr(b->strings, file);
	size_t i = ((uintptr_t)file >> 4 ^ (uintptr_t)file >> 10) & (FILE_MEMO - 1);
	if (b->memo[i].file == file && b->memo[i].dir == dir)
		return b->memo[i].id;
	char *path = NULL;
	if (asprintf(&path, "%s/%s", dir, file) < 0)
		return 0;
	uint32_t id = strtab_add_cstr(b->strings, path);
	free(path);
	b->memo[i].dir = dir;
	b->memo[i].file = file;
	b->memo[i].id = id;
	return id;
}

static bool add_line(struct batch *b, struct symaddr *a, const struct symline *line)
{
	if (a->n_lines == 0)
		a->first_line = (uint32_t)b->lines->n;
	if (!line->name || b->lines->n >= UINT32_MAX || !VEC_PUSH(b->lines, *line))
		return false;
	a->n_lines++;
	b->has.filenames |= line->file != 0;
	b->has.line_numbers |= line->line != 0;
	return true;
}

static bool add_made_up(struct batch *b, struct symaddr *a, struct symline line)
{
	line.name = line.linkage = made_up_name(b, a->vaddr);
	a->source = SYMBOLIZER_NONE;
	return add_line(b, a, &line);
}

static bool resolve_nameless(struct batch *b, struct symaddr *a)
{
	return add_made_up(b, a, (struct symline){0});
}

/* ---- what is no ELF file ------------------------------------------------- */

static bool resolve_pseudo(struct batch *b, struct symaddr *a)
{
	struct symline line = { .name = (uint32_t)a->vaddr, .linkage = (uint32_t)a->vaddr };
	if (a->vaddr == 0 || a->vaddr >= b->strings->n)
		return resolve_nameless(b, a);
	a->source = SYMBOLIZER_PSEUDO;
	return add_line(b, a, &line);
}

/*
 * V8 writes where a function stands behind its name: "JS:*add /srv/app.js:10:5", before its
 * version 11 "LazyCompile:*add ...".
 */
static uint32_t script_of(struct batch *b, const char *name, uint32_t *ret_line)
{
	bool is_script = strncmp(name, "JS:", 3) == 0 || strncmp(name, "LazyCompile:", 12) == 0 ||
			 strncmp(name, "Function:", 9) == 0;
	const char *space = is_script ? strrchr(name, ' ') : NULL;
	const char *column = space ? strrchr(space, ':') : NULL;
	const char *line = column ? memrchr(space, ':', (size_t)(column - space)) : NULL;
	char *end;
	if (!line || line == space + 1)
		return 0;
	unsigned long number = strtoul(line + 1, &end, 10);
	if (end != column || number == 0 || number > UINT32_MAX)
		return 0;
	*ret_line = (uint32_t)number;
	return strtab_add(b->strings, space + 1, (size_t)(line - space - 1));
}

static bool add_jit_entry(struct batch *b, struct symaddr *a, const struct jitcode_entry *e)
{
	const struct jitcode_line *source = jitcode_find_line(e, a->vaddr);
	struct symline line = { 0 };
	line.file = script_of(b, e->name, &line.start_line);
	if (source) {
		line.line = source->line;
		if (source->file)
			line.file = strtab_add_cstr(b->strings, source->file);
	}
	a->source = SYMBOLIZER_JIT;
	return set_names(b, e->name, &line) && add_line(b, a, &line);
}

/* What is in memory without a file: by what its maker tells, else by the region that it lies in. */
static bool resolve_memory(struct batch *b, struct symaddr *a)
{
	const struct jitcode_region *region = NULL;
	for (size_t i = 0; i < b->o->n_jit; i++) {
		const struct symbolizer_jit *jit = &b->o->jit[i];
		const struct jitcode_entry *e = jitcode_find(jit->code, a->vaddr, jit->at_ns);
		if (e)
			return add_jit_entry(b, a, e);
		if (!region)
			region = jitcode_find_region(jit->code, a->vaddr);
	}
	if (!region)
		return resolve_nameless(b, a);
	char text[64];
	snprintf(text, sizeof(text), "[jit] 0x%" PRIx64 "-0x%" PRIx64, region->start, region->end);
	struct symline line = { 0 };
	line.name = line.linkage = strtab_add_cstr(b->strings, text);
	return add_line(b, a, &line);
}

/* Names it as the kernel does; the line of the source that it stands in is added, where known. */
static bool add_kernel_symbol(struct batch *b, struct symaddr *a, struct symline line)
{
	const char *name, *module;
	uint64_t start;
	/* What came and went while it was recorded: BPF programs, trampolines. */
	const struct jitcode_entry *e =
		b->o->kernel_code ? jitcode_find(b->o->kernel_code, a->vaddr, UINT64_MAX) : NULL;
	if (e) {
		line.name = line.linkage = strtab_add_cstr(b->strings, e->name);
		a->source = SYMBOLIZER_KALLSYMS;
		return add_line(b, a, &line);
	}
	if (!b->o->kernel || !symkernel_find(b->o->kernel, a->vaddr, &name, &module, &start))
		return add_made_up(b, a, line);
	line.name = line.linkage = strtab_add_cstr(b->strings, name);
	a->source = SYMBOLIZER_KALLSYMS;
	return add_line(b, a, &line);
}

static bool resolve_kernel(struct batch *b, struct symaddr *a)
{
	return add_kernel_symbol(b, a, (struct symline){0});
}

static int resolve_each(struct batch *b, struct symaddr *addr, size_t n,
			bool (*resolve)(struct batch *, struct symaddr *))
{
	for (size_t i = 0; i < n; i++)
		if (!resolve(b, &addr[i]))
			return -ENOMEM;
	return 0;
}

/* ---- ELF ----------------------------------------------------------------- */

/* True when symbol, "_ZL3fooIiEvv.part.0", can be the mangled form of what DWARF calls name,
 * "foo<int>". */
static bool is_mangled_form(const char *symbol, const char *name)
{
	if (!demangle_is_mangled(symbol))
		return false;
	if (!name || strncmp(name, "operator", 8) == 0)
		return true;
	char plain[256];
	name += *name == '~';
	size_t n = strcspn(name, "<");
	if (n == 0 || n >= sizeof(plain))
		return true;
	snprintf(plain, sizeof(plain), "%.*s", (int)n, name);
	return strstr(symbol, plain) != NULL;
}

/* Names of the outermost function, for which DWARF has no linkage name.  The clone
 * suffix of an outlined part is cut off: the DIE is that of the whole function. */
static bool set_names_of_outermost(struct batch *b, struct symelf *elf, uint64_t vaddr,
				   const struct symdwarf_frame *f, struct symline *line)
{
	const struct symtab_symbol *symbol = elf ? symelf_find(elf, vaddr) : NULL;
	if (!symbol || !is_mangled_form(symbol->name, f->name))
		return !f->name || set_names(b, f->name, line);
	size_t n = strcspn(symbol->name, ".");
	char *linkage = strndup(symbol->name, n);
	bool ok = linkage && set_names(b, linkage, line);
	free(linkage);
	return ok;
}

/* A C function with an assembler name: abort is __GI_abort within glibc. */
static bool set_both_names(struct batch *b, const struct symdwarf_frame *f, struct symline *line)
{
	line->linkage = strtab_add_cstr(b->strings, f->linkage);
	line->name = strtab_add_cstr(b->strings, f->name);
	return line->linkage && line->name;
}

static bool add_dwarf_chain(struct batch *b, struct symelf *elf, struct symaddr *a,
			    const struct symdwarf_addr *da, const struct symdwarf_frame *frame)
{
	a->source = SYMBOLIZER_DWARF;
	for (uint32_t i = 0; i < da->n; i++) {
		const struct symdwarf_frame *f = &frame[da->first + i];
		struct symline line = {
			.file = file_id(b, f->dir, f->file),
			.line = f->line, .column = f->column, .start_line = f->start_line,
		};
		bool ok = true;
		if (f->linkage && f->name && !demangle_is_mangled(f->linkage))
			ok = set_both_names(b, f, &line);
		else if (f->linkage)
			ok = set_names(b, f->linkage, &line);
		else if (i + 1 == da->n && (!f->name || !da->is_plain))
			ok = set_names_of_outermost(b, elf, a->vaddr, f, &line);
		else if (f->name)
			ok = set_names(b, f->name, &line);
		if (ok && !line.name)
			line.name = line.linkage = made_up_name(b, a->vaddr);
		if (!ok || !add_line(b, a, &line))
			return false;
	}
	b->has.inline_frames = true;
	return true;
}

static bool add_symbol(struct batch *b, struct symelf *elf, struct symaddr *a, struct symline line)
{
	const struct symtab_symbol *symbol = symelf_find(elf, a->vaddr);
	if (symbol) {
		a->source = symbol->source;
		return set_names(b, symbol->name, &line) && add_line(b, a, &line);
	}
	const char *target = symelf_find_plt(elf, a->vaddr);
	if (target) {
		a->source = SYMBOLIZER_PLT;
		return set_plt_names(b, target, &line) && add_line(b, a, &line);
	}
	return add_made_up(b, a, line);
}

/* What Go's own table knows; *ret_done is set where it knows something. */
static bool add_go_chain(struct batch *b, const struct symgo *go, struct symaddr *a, bool *ret_done)
{
	struct symdwarf_frame frame[GO_FRAMES_MAX];
	size_t n = go ? symgo_find(go, a->vaddr, frame, GO_FRAMES_MAX) : 0;
	*ret_done = n > 0;
	a->source = SYMBOLIZER_GO;
	for (size_t i = 0; i < n; i++) {
		struct symline line = {
			.file = file_id(b, NULL, frame[i].file),
			.line = frame[i].line, .start_line = frame[i].start_line,
		};
		if (!set_names(b, frame[i].name, &line) || !add_line(b, a, &line))
			return false;
	}
	b->has.inline_frames |= n > 0;
	return true;
}

/* What DWARF knows of the addresses: one result each into *ret_addr, which the caller frees. */
static int ask_dwarf(struct symdwarf *dwarf, const struct symaddr *addr, size_t n,
		     struct symdwarf_addr **ret_addr)
{
	struct symdwarf_addr *da = calloc(n, sizeof(*da));
	if (!da)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		da[i].vaddr = addr[i].vaddr;
	int r = symdwarf_resolve(dwarf, da, n);
	if (r)
		free(da);
	else
		*ret_addr = da;
	return r;
}

static int resolve_open_elf(struct batch *b, struct symelf *elf, struct symdwarf *dwarf,
			    struct symaddr *addr, size_t n)
{
	struct symdwarf_addr *da = NULL;
	int r = dwarf ? ask_dwarf(dwarf, addr, n, &da) : 0;
	const struct symdwarf_frame *frame = dwarf ? symdwarf_frames(dwarf) : NULL;
	struct symgo *go = NULL;
	bool go_tried = false, done = false;
	for (size_t i = 0; i < n && r == 0; i++) {
		struct symline line = {0};
		bool ok;
		bool by_dwarf = da && da[i].has_function;
		if (!by_dwarf && !go_tried) {
			go_tried = true;
			symgo_open(elf->elf, &go);
		}
		if (by_dwarf) {
			ok = add_dwarf_chain(b, elf, &addr[i], &da[i], frame);
		} else if (!(ok = add_go_chain(b, go, &addr[i], &done)) || done) {
			;
		} else {
			if (da && da[i].n) {
				const struct symdwarf_frame *f = &frame[da[i].first];
				line.file = file_id(b, f->dir, f->file);
				line.line = f->line;
				line.column = f->column;
			}
			ok = add_symbol(b, elf, &addr[i], line);
		}
		r = ok ? 0 : -ENOMEM;
	}
	symgo_close(go);
	free(da);
	return r;
}

static uint64_t deadline_after(uint64_t timeout_ns)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	uint64_t now_ns = (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
	return timeout_ns && timeout_ns < UINT64_MAX - now_ns ? now_ns + timeout_ns : 0;
}

/* ---- the kernel, with debug information ------------------------------------ */

/* The part of the kernel that address lies in: a module's name, "" for the kernel proper, NULL for
 * what no file has: BPF programs and trampolines. */
static const char *kernel_part(const struct batch *b, uint64_t address)
{
	const char *name, *module = "";
	uint64_t start;
	if (b->o->kernel_code && jitcode_find(b->o->kernel_code, address, UINT64_MAX))
		return NULL;
	if (b->o->kernel && !symkernel_find(b->o->kernel, address, &name, &module, &start))
		return NULL;
	return strcmp(module, "bpf") == 0 || strncmp(module, "__builtin__", 11) == 0 ? NULL
										      : module;
}

/* What is no function in the debug information (assembler): as the kernel names it, or, where that
 * kernel does not run here, as vmlinux does. */
static bool add_kernel_or_vmlinux_symbol(struct batch *b, const struct symtab *vmlinux,
					 uint64_t shift, struct symaddr *a, struct symline line)
{
	const struct symtab_symbol *symbol =
		b->o->kernel ? NULL : symtab_find(vmlinux, a->vaddr - shift);
	if (!symbol)
		return add_kernel_symbol(b, a, line);
	a->source = SYMBOLIZER_SYMTAB;
	return set_names(b, symbol->name, &line) && add_line(b, a, &line);
}

/* All n addresses lie in the part that debug is of. */
static int resolve_by_kernel_debug(struct batch *b, const struct symkdebug *debug,
				   struct symdwarf *dwarf, struct symaddr *addr, size_t n)
{
	struct symdwarf_addr *da = NULL;
	struct symtab vmlinux = {0};
	if (!b->o->kernel && symtab_add_code(&vmlinux, debug->elf) &&
	    symtab_add(&vmlinux, debug->elf, SHT_SYMTAB, SYMBOLIZER_SYMTAB) > 0)
		symtab_finish(&vmlinux);
	for (size_t i = 0; i < n; i++)
		addr[i].vaddr -= debug->shift;
	int r = ask_dwarf(dwarf, addr, n, &da);
	const struct symdwarf_frame *frame = symdwarf_frames(dwarf);
	for (size_t i = 0; i < n; i++)
		addr[i].vaddr += debug->shift;
	for (size_t i = 0; i < n && r == 0; i++) {
		struct symline line = {0};
		bool ok;
		if (da[i].has_function) {
			ok = add_dwarf_chain(b, NULL, &addr[i], &da[i], frame);
		} else {
			if (da[i].n) {
				const struct symdwarf_frame *f = &frame[da[i].first];
				line.file = file_id(b, f->dir, f->file);
				line.line = f->line;
				line.column = f->column;
			}
			ok = add_kernel_or_vmlinux_symbol(b, &vmlinux, debug->shift, &addr[i],
							  line);
		}
		r = ok ? 0 : -ENOMEM;
	}
	symtab_done(&vmlinux);
	free(da);
	return r;
}

static int resolve_kernel_part(struct batch *b, const char *module, struct symaddr *addr, size_t n)
{
	const struct symdebug_place where = {
		.host = b->o->host, .dirs = b->o->debug_dirs,
		.deadline_ns = deadline_after(b->o->timeout_ns), .cache_dir = b->o->cache_dir,
	};
	struct symkdebug debug = { .fd = -1 };
	struct symdwarf *dwarf = NULL;
	char why[1024];
	int r = symkdebug_open(b->o->kernel_debug, &where, module, &debug, why, sizeof(why));
	if (r == -ENOENT) {
		log_line(b->o->log, *module ? LOG_EXPLAIN : LOG_WARN,
			 "kernel functions of '%s' have no lines: %s",
			 *module ? module : b->d->path, why);
		return resolve_each(b, addr, n, resolve_kernel);
	}
	if (r == 0)
		r = symdwarf_open(debug.elf, debug.fd, debug.path, &where, &dwarf);
	if (r == 0) {
		r = resolve_by_kernel_debug(b, &debug, dwarf, addr, n);
		log_line(b->o->log, LOG_EXPLAIN, "debug information of '%s' from %s%s",
			 *module ? module : b->d->path, debug.path,
			 symdwarf_was_late(dwarf) ? ", which took too long to read "
						    "(--symbol-timeout)" : "");
		if (b->o->counts)
			b->o->counts->n_timeouts += symdwarf_was_late(dwarf);
	} else if (r != -ENOMEM) {
		r = resolve_each(b, addr, n, resolve_kernel);
	}
	symdwarf_close(dwarf);
	symkdebug_close(&debug);
	return r;
}

static int resolve_kernel_debug(struct batch *b, struct symaddr *addr, size_t n)
{
	for (size_t i = 0, end; i < n; i = end) {
		const char *part = kernel_part(b, addr[i].vaddr);
		for (end = i + 1; end < n; end++) {
			const char *other = kernel_part(b, addr[end].vaddr);
			if (!part != !other || (part && strcmp(part, other) != 0))
				break;
		}
		int r = part ? resolve_kernel_part(b, part, addr + i, end - i)
			     : resolve_each(b, addr + i, end - i, resolve_kernel);
		if (r < 0)
			return r;
	}
	return 0;
}

/* ---- what was done, for -v ----------------------------------------------- */

static void explain(const struct batch *b, const struct symaddr *addr, size_t n,
		    const char *dwarf_from, const char *why_not)
{
	static const char *const word[SYMBOLIZER_N_SOURCES] = {
		"unnamed", "by .dynsym", "by .symtab", "linker stubs", "by DWARF",
		"by kallsyms", "by JIT map", "by .gopclntab", "made by cprof",
	};
	size_t count[SYMBOLIZER_N_SOURCES] = {0};
	char text[256] = "";
	size_t len = 0;
	if (!b->o->log || b->o->log->max < LOG_EXPLAIN)
		return;
	for (size_t i = 0; i < n; i++)
		count[addr[i].source]++;
	for (int s = SYMBOLIZER_N_SOURCES - 1; s >= 0; s--)
		if (count[s])
			len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%zu %s",
						len ? ", " : "", count[s], word[s]);
	log_line(b->o->log, LOG_EXPLAIN, "symbols of '%s': %s%s%s%s%s", b->d->path, text,
		 dwarf_from ? "; debug information from " : "", dwarf_from ? dwarf_from : "",
		 why_not ? "; " : "", why_not ? why_not : "");
}

/* What would give more names. */
static void explain_lack(const struct batch *b, bool is_open, char *buf, size_t n_bytes)
{
	const struct dso *d = b->d;
	char id[DSO_BUILD_ID_TEXT_MAX], package[128];
	if (!b->o->log || b->o->log->max < LOG_EXPLAIN)
		return;
	if (!is_open && d->fd < 0 && !d->image)
		snprintf(buf, n_bytes, "the file could not be opened: %s",
			 d->open_errno ? strerror(d->open_errno) : "not tried");
	else if (!is_open)
		snprintf(buf, n_bytes, "not a usable ELF file");
	else if (d->n_build_id && b->o->host && d->key.kind == DSO_ELF &&
		 sympackage_of(b->o->host, d->path, package, sizeof(package)))
		snprintf(buf, n_bytes, "no debug file for build id %s: Debian package %s has it, "
			 "or --debuginfod", dso_build_id_text(d, id), package);
	else if (d->n_build_id)
		snprintf(buf, n_bytes, "no debug information for build id %s: compile it with -g, "
			 "or put its debug file below /usr/lib/debug/.build-id",
			 dso_build_id_text(d, id));
	else
		snprintf(buf, n_bytes, "no debug information, and no build id to find any by");
}

/* ---- all together -------------------------------------------------------- */

/* Counts what went wrong, and says it with the lack. */
static void note_lack(struct batch *b, const struct symelf *elf, bool was_late, char *buf,
		      size_t n_bytes)
{
	struct symbolizer_counts *c = b->o->counts;
	size_t n = strlen(buf);
	if (elf->misfit.path)
		snprintf(buf + n, n_bytes - n, "%s'%s' was not used: %s", n ? "; " : "",
			 elf->misfit.path, elf->misfit.why);
	n = strlen(buf);
	if (was_late)
		snprintf(buf + n, n_bytes - n, "%sits debug information took too long to read "
			 "(--symbol-timeout)", n ? "; " : "");
	if (c) {
		c->n_misfits += elf->misfit.path != NULL;
		c->n_timeouts += was_late;
	}
}

static int resolve_elf(struct batch *b, struct symaddr *addr, size_t n)
{
	const struct symdebug_place where = {
		.host = b->o->host, .dirs = b->o->debug_dirs,
		.fetched_fd = b->o->fetched_fd, .fetched_path = b->o->fetched_path,
		.deadline_ns = deadline_after(b->o->timeout_ns), .cache_dir = b->o->cache_dir,
	};
	struct symelf *elf = NULL;
	struct symdwarf *dwarf = NULL;
	char lack[1024] = "";
	int r = symkept_get(b->o->kept, b->d, &where, &elf);
	if (r == -ENOMEM)
		return r;
	if (r) {
		r = resolve_each(b, addr, n, resolve_nameless);
		explain_lack(b, false, lack, sizeof(lack));
		explain(b, addr, n, NULL, lack);
		return r;
	}
	Elf *with_dwarf = b->o->no_inlines ? NULL : symelf_dwarf(elf);
	const char *from = b->d->path;
	if (with_dwarf && with_dwarf != elf->elf)
		from = elf->debug_path ? elf->debug_path : "its debug file";
	if (with_dwarf)
		r = symdwarf_open(with_dwarf,
				  with_dwarf == elf->elf ? elf->fd : elf->debug_fd, from, &where,
				  &dwarf);
	if (r != -ENOMEM)
		r = resolve_open_elf(b, elf, dwarf, addr, n);
	if (!dwarf && !b->o->no_inlines)
		explain_lack(b, true, lack, sizeof(lack));
	note_lack(b, elf, dwarf && symdwarf_was_late(dwarf), lack, sizeof(lack));
	if (r == 0)
		explain(b, addr, n, dwarf ? from : NULL, *lack ? lack : NULL);
	symdwarf_close(dwarf);
	symkept_put(b->o->kept, elf);
	return r;
}

static int compare_addr(const void *a, const void *b)
{
	const struct symaddr *x = a, *y = b;
	return x->vaddr < y->vaddr ? -1 : x->vaddr > y->vaddr;
}

static int resolve_by_kind(struct batch *b, struct symaddr *addr, size_t n)
{
	int r;
	switch (b->d->key.kind) {
	case DSO_PSEUDO:
		return resolve_each(b, addr, n, resolve_pseudo);
	case DSO_KERNEL:
	case DSO_MODULE:
		r = b->o->kernel_debug ? resolve_kernel_debug(b, addr, n)
				       : resolve_each(b, addr, n, resolve_kernel);
		explain(b, addr, n, NULL, b->o->kernel ? NULL : "no symbols of that kernel");
		return r;
	case DSO_ANON:
		return resolve_each(b, addr, n, resolve_memory);
	case DSO_ELF:
		if (b->o->only_addresses)
			return 0;
		break;
	case DSO_VDSO:
		break;
	}
	return resolve_elf(b, addr, n);
}

int symbolizer_resolve(const struct symbolizer_options *o, const struct dso *d,
		       struct symaddr *addr, size_t n, struct symlines *lines,
		       struct strtab *strings, struct symbolizer_has *ret_has)
{
	struct batch b = { .o = o, .d = d, .lines = lines, .strings = strings };
	if (n == 0) {
		*ret_has = b.has;
		return 0;
	}
	for (size_t i = 0; i < n; i++) {
		addr[i].first_line = addr[i].n_lines = 0;
		addr[i].source = SYMBOLIZER_NONE;
	}
	qsort(addr, n, sizeof(*addr), compare_addr);
	int r = resolve_by_kind(&b, addr, n);
	cfi_close(b.cfi);
	for (size_t i = 0; i < n; i++)
		b.has.functions |= addr[i].source != SYMBOLIZER_NONE &&
				   addr[i].source != SYMBOLIZER_PSEUDO;
	free(b.demangled);
	if (r == 0)
		*ret_has = b.has;
	return r;
}
