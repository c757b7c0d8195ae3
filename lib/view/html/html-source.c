#include "view/html/html-source.h"

#include "base/cleanup.h"
#include "base/path.h"

#include <stdlib.h>
#include <string.h>

#define CONTEXT 6                       /* lines around the named ones */
#define LINE_MAX_BYTES 400
#define TEXT_MAX ((size_t)2 << 20)

void html_source_done(struct html_source *s)
{
	VEC_FREE(&s->wanted);
	VEC_FREE(&s->files);
	VEC_FREE(&s->lines);
}

bool html_source_want(struct html_source *s, uint32_t file, uint64_t line)
{
	return VEC_PUSH(&s->wanted, ((struct html_source_line){ line, file }));
}

bool html_source_is_name(const char *path)
{
	static const char *const suffix[] = {
		"c", "h", "cc", "cpp", "cxx", "c++", "hh", "hpp", "hxx", "h++", "inc", "inl",
		"ipp", "tcc", "s", "S", "asm", "go", "rs", "zig", "d", "nim", "swift", "m", "mm",
		"f", "f90", "ada", "adb", "py", "pyx", "rb", "pl", "pm", "lua", "js", "mjs",
		"cjs", "ts", "jsx", "tsx", "java", "kt", "scala", "cs", "fs", "php", "hs", "ml",
		"ex", "erl", "clj", "jl", "r", "R", "cu", "y", "l", "rl", "re",
	};
	const char *base = path_base_name(path);
	const char *dot = strrchr(base, '.');
	for (size_t i = 0; dot && dot != base && i < sizeof(suffix) / sizeof(*suffix); i++)
		if (strcmp(dot + 1, suffix[i]) == 0)
			return true;
	return false;
}

static int by_file(const void *va, const void *vb)
{
	const struct html_source_line *a = va, *b = vb;
	if (a->text != b->text)
		return (a->text > b->text) - (a->text < b->text);
	return (a->number > b->number) - (a->number < b->number);
}

/* w: the n wanted lines of one file, ascending. */
static bool read_file(struct html_source *s, struct strtab *strings,
		      const struct html_source_line *w, size_t n, FILE *f)
{
	struct html_source_file file = { .file = w->text, .first = s->lines.n };
	CLEANUP_FREE char *text = NULL;
	size_t cap = 0, at = 0;
	ssize_t got;
	for (uint64_t number = 1; at < n && s->n_bytes < TEXT_MAX; number++) {
		if ((got = getline(&text, &cap, f)) < 0)
			break;
		while (at < n && w[at].number + CONTEXT < number)
			at++;
		if (at == n || number + CONTEXT < w[at].number)
			continue;
		while (got > 0 && (text[got - 1] == '\n' || text[got - 1] == '\r'))
			got--;
		got = got > LINE_MAX_BYTES ? LINE_MAX_BYTES : got;
		size_t len = strnlen(text, (size_t)got);
		uint32_t id = strtab_add(strings, text, len);
		if ((len > 0 && id == 0) ||
		    !VEC_PUSH(&s->lines, ((struct html_source_line){ number, id })))
			return false;
		s->n_bytes += len + 4;
		file.n++;
	}
	return file.n == 0 || VEC_PUSH(&s->files, file);
}

bool html_source_read(struct html_source *s, struct strtab *strings,
		      FILE *(*open_source)(void *ctx, const char *path), void *ctx)
{
	if (s->wanted.n > 1)
		qsort(s->wanted.v, s->wanted.n, sizeof(*s->wanted.v), by_file);
	for (size_t i = 0, end; i < s->wanted.n && s->n_bytes < TEXT_MAX; i = end) {
		uint32_t file = s->wanted.v[i].text;
		for (end = i; end < s->wanted.n && s->wanted.v[end].text == file;)
			end++;
		const char *path = strtab_get(strings, file);
		FILE *f = html_source_is_name(path) ? open_source(ctx, path) : NULL;
		if (!f)
			continue;
		bool ok = read_file(s, strings, s->wanted.v + i, end - i, f);
		fclose(f);
		if (!ok)
			return false;
	}
	return true;
}
