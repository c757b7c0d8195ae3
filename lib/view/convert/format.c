#include "view/convert/format.h"

#include <string.h>

const struct format format_pprof = {
	.name = "pprof",
	.contents = "a pprof profile",
	.ending = { ".pb.gz", ".pprof", ".prof", ".pb" },
	.is_pprof = true,
};

#define ENTRY(name) &name,
static const struct format *const formats[] = { FORMATS(ENTRY) };
#define N_FORMATS (sizeof(formats) / sizeof(*formats))

static bool has_use(const struct format *f, enum format_use use)
{
	return f->is_pprof || (use == FORMAT_INPUT ? f->read != NULL : f->write != NULL);
}

const struct format *format_at(enum format_use use, size_t i)
{
	for (size_t k = 0; k < N_FORMATS; k++)
		if (has_use(formats[k], use) && i-- == 0)
			return formats[k];
	return NULL;
}

const char *format_output_name(size_t i)
{
	const struct format *f = format_at(FORMAT_OUTPUT, i);
	return f ? f->name : NULL;
}

const char *format_input_name(size_t i)
{
	const struct format *f = format_at(FORMAT_INPUT, i);
	return f ? f->name : NULL;
}

const struct format *format_find(enum format_use use, const char *name)
{
	const struct format *f;
	for (size_t i = 0; (f = format_at(use, i)); i++)
		if (strcmp(f->name, name) == 0 || (f->alias && strcmp(f->alias, name) == 0))
			return f;
	return NULL;
}

const struct format *format_of_path(const char *path)
{
	const struct format *f;
	size_t n = strlen(path);
	for (size_t i = 0; (f = format_at(FORMAT_OUTPUT, i)); i++) {
		for (const char *const *ending = f->ending; *ending; ending++) {
			size_t len = strlen(*ending);
			if (n > len && strcmp(path + n - len, *ending) == 0)
				return f;
		}
	}
	return NULL;
}
