/*
 * A DSO is a device, an inode and a generation, and its serial is never used again, so files of the
 * same path in different mount namespaces are different ones.  Whoever owns a file can write it
 * again in place, though, and what was read before is then of no use for new processes: the file is
 * taken only as long as its size and its ctime are the same.
 */

#include "interp/interp-file.h"

#include "base/hash.h"
#include "symbolize/elf/dso.h"
#include "symbolize/elf/dsokeep.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static void free_file(struct interp_file *file)
{
	if (file->has_elf)
		symelf_close(&file->elf);
	free(file->of_language);
	free(file);
}

/* False: the file cannot be opened again. */
static bool identify(const struct dso *d, struct interp_file_id *ret)
{
	struct stat st;
	int fd = dsokeep_hold(d);
	if (fd < 0)
		return false;
	bool is_ok = fstat(fd, &st) == 0;
	dsokeep_release(d);
	if (is_ok)
		*ret = (struct interp_file_id){
			.dev = st.st_dev, .ino = st.st_ino, .n_bytes = st.st_size,
			.changed = st.st_ctim,
		};
	return is_ok;
}

static bool is_same(const struct interp_file_id *a, const struct interp_file_id *b)
{
	return a->dev == b->dev && a->ino == b->ino && a->n_bytes == b->n_bytes &&
	       a->changed.tv_sec == b->changed.tv_sec && a->changed.tv_nsec == b->changed.tv_nsec;
}

struct interp_file *interp_files_take(struct interp_files *f, const struct dso *d,
				      uint32_t languages)
{
	struct interp_file_id now;
	for (size_t i = 0; f && i < f->v.n; i++) {
		struct interp_file *file = f->v.v[i];
		if (file->serial != d->serial || file->languages != languages)
			continue;
		if (identify(d, &now) && is_same(&file->id, &now)) {
			file->n_users++;
			file->is_recent = true;
			return file;
		}
		/* those that use it keep it */
		file->is_listed = false;
		f->v.v[i] = f->v.v[--f->v.n];
		if (file->n_users == 0)
			free_file(file);
		return NULL;
	}
	return NULL;
}

struct interp_file *interp_files_add(struct interp_files *f, const struct dso *d,
				     uint32_t languages, const struct interp_language *l,
				     const struct runtime_symbol symbol[INTERP_FILE_SYMBOLS_MAX])
{
	static const struct symdebug_place no_debug_files = { .host = NULL };
	struct interp_file *file = calloc(1, sizeof(*file));
	if (!file)
		return NULL;
	file->serial = d->serial;
	file->languages = languages;
	file->language = l;
	memcpy(file->symbol, symbol, sizeof(file->symbol));
	interp_saved_name(d, file->saved_name);
	file->has_elf = symelf_open(&file->elf, d, &no_debug_files) == 0;
	file->n_users = 1;
	file->is_recent = true;
	file->is_listed = f && f->v.n < INTERP_FILES_MAX && identify(d, &file->id) &&
			  VEC_PUSH(&f->v, file);
	return file;
}

void interp_file_release(struct interp_file *file)
{
	file->n_users--;
	if (!file->is_listed && file->n_users == 0)
		free_file(file);
}

void interp_files_trim(struct interp_files *f)
{
	for (size_t i = f->v.n; i-- > 0;) {
		struct interp_file *file = f->v.v[i];
		if (file->n_users == 0 && !file->is_recent) {
			free_file(file);
			f->v.v[i] = f->v.v[--f->v.n];
			continue;
		}
		file->is_recent = file->n_users > 0;
	}
}

void interp_files_done(struct interp_files *f)
{
	for (size_t i = 0; i < f->v.n; i++)
		free_file(f->v.v[i]);
	VEC_FREE(&f->v);
}

bool interp_file_is_glue(struct interp_file *file, uint64_t vaddr,
			 bool (*is_name)(const char *name))
{
	if (!file->has_elf)
		return false;
	uint64_t *known = &file->glue[hash_u64(vaddr) % INTERP_FILE_GLUE];
	if (*known && *known >> 1 == vaddr)
		return *known & 1;
	const char *name;
	bool is_glue = !symelf_find(&file->elf, vaddr, &name) || is_name(name);
	*known = vaddr >> 63 ? 0 : vaddr << 1 | is_glue;
	return is_glue;
}
