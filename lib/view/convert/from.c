#include "view/convert/from.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "base/hash.h"
#include "proto/gzip.h"
#include "proto/pprof.h"
#include "proto/pprof-read.h"
#include "view/convert/format.h"
#include "view/convert/from-dhat.h"
#include "view/convert/from-gperftools.h"
#include "view/convert/from-heaptrack.h"
#include "view/convert/from-jemalloc.h"
#include "view/convert/from-script.h"
#include "view/convert/frompacked.h"

#include <errno.h>
#include <string.h>

#define DETECT_BYTES 65536u

/* ---- builder -------------------------------------------------------------- */

int from_begin(struct from *f, struct err *e)
{
	*f = (struct from){ 0 };
	int r = strtab_init(&f->names, NULL);
	if (r < 0)
		return err_errno(e, ENOMEM, "cannot hold the profile");
	return pprof_new(membuf_write, &f->out, 1, &f->p, e);
}

void from_done(struct from *f)
{
	pprof_free(f->p);
	strtab_done(&f->names);
	VEC_FREE(&f->out.bytes);
	VEC_FREE(&f->function_of);
	VEC_FREE(&f->mapping_of);
	VEC_FREE(&f->places);
	VEC_FREE(&f->place_names);
	hashindex_done(&f->by_place);
	VEC_FREE(&f->functions);
	VEC_FREE(&f->function_ids);
	hashindex_done(&f->by_function);
}

/* Makes *of have an element for every name. */
#define COVER_NAMES(f, of) \
	({ \
		bool fits_ = true; \
		while (fits_ && (of)->n < (f)->names.n) \
			fits_ = VEC_PUSH(of, 0); \
		fits_; \
	})

static uint32_t function_id(struct from *f, uint32_t name)
{
	if (!COVER_NAMES(f, &f->function_of))
		return 0;
	uint32_t *id = &f->function_of.v[name];
	const char *text = strtab_get(&f->names, name);
	if (*id == 0)
		*id = (uint32_t)pprof_function(f->p, &(struct pprof_function){ text, text, "", 0 });
	return *id;
}

static uint32_t mapping_id(struct from *f, uint32_t name)
{
	if (name == 0)
		return 0;
	if (!COVER_NAMES(f, &f->mapping_of))
		return 0;
	uint32_t *id = &f->mapping_of.v[name];
	if (*id == 0)
		*id = (uint32_t)pprof_mapping(f->p, &(struct pprof_mapping){
			.filename = strtab_get(&f->names, name), .build_id = "",
			.has_functions = true });
	return *id;
}

uint64_t from_module(struct from *f, const char *name)
{
	uint32_t id = strtab_add_cstr(&f->names, name);
	return id ? mapping_id(f, id) : 0;
}

uint64_t from_function(struct from *f, const char *name, const char *file)
{
	struct from_function key = { strtab_add_cstr(&f->names, name),
				     strtab_add_cstr(&f->names, file) };
	uint64_t hash = hash_pair(key.name, key.file);
	if (!key.name || (*file && !key.file))
		return 0;
	uint32_t k = HASHINDEX_FIND(&f->by_function, hash, i, f->functions.v[i].name == key.name &&
				    f->functions.v[i].file == key.file);
	if (k != HASHINDEX_NONE)
		return f->function_ids.v[k];
	k = (uint32_t)f->functions.n;
	uint64_t id = pprof_function(f->p, &(struct pprof_function){ name, name, file, 0 });
	return VEC_PUSH(&f->functions, key) && VEC_PUSH(&f->function_ids, id) &&
	       hashindex_add(&f->by_function, hash, k) ? id : 0;
}

static bool write_location(struct from *f, uint32_t module, uint64_t address, const uint32_t *name,
			   size_t n)
{
	VEC(struct pprof_line) lines = { 0 };
	uint32_t map = mapping_id(f, module);
	bool fits = map != 0 || module == 0;
	for (size_t i = 0; i < n && fits; i++) {
		struct pprof_line line = { function_id(f, name[i]), 0, 0 };
		fits = line.function_id != 0 && VEC_PUSH(&lines, line);
	}
	if (fits)
		pprof_location(f->p, map, address, lines.v, n, false);
	VEC_FREE(&lines);
	return fits;
}

static bool same_place(const struct from *f, const struct from_place *x, uint32_t module,
		       uint64_t address, const uint32_t *name, size_t n)
{
	return x->module == module && x->address == address && x->n == n &&
	       (n == 0 || memcmp(f->place_names.v + x->first, name, n * sizeof(*name)) == 0);
}

uint64_t from_location(struct from *f, uint32_t module, uint64_t address, const uint32_t *name,
		       size_t n)
{
	uint64_t hash = hash_pair(hash_bytes(n > 0 ? (const void *)name : "", n * sizeof(*name)),
				  hash_pair(address, module));
	uint32_t k = HASHINDEX_FIND(&f->by_place, hash, i,
				    same_place(f, &f->places.v[i], module, address, name, n));
	if (k != HASHINDEX_NONE)
		return (uint64_t)k + 1;
	struct from_place place = { module, address, f->place_names.n, n };
	k = (uint32_t)f->places.n;
	if (k >= HASHINDEX_NONE - 1 || !write_location(f, module, address, name, n) ||
	    !VEC_RESERVE(&f->place_names, n) || !VEC_PUSH(&f->places, place) ||
	    !hashindex_add(&f->by_place, hash, k))
		return 0;
	if (n > 0)
		memcpy(f->place_names.v + f->place_names.n, name, n * sizeof(*name));
	f->place_names.n += n;
	return (uint64_t)k + 1;
}

int from_finish(struct from *f, struct model **ret, struct err *e)
{
	int r = pprof_finish(f->p, e);
	return r < 0 ? r : model_read(f->out.bytes.v, f->out.bytes.n, ret, e);
}

/* ---- files ---------------------------------------------------------------- */

/* NULL: another one. */
static const struct format *detect_heap(const char *text, size_t n_bytes)
{
	return from_jemalloc_is(text, n_bytes) ? &from_jemalloc :
	       from_gperftools_is(text, n_bytes) ? &from_gperftools :
	       from_heaptrack_is(text, n_bytes) ? &from_heaptrack :
	       from_dhat_is(text, n_bytes) ? &from_dhat : NULL;
}

const struct format *from_detect(const char *data, size_t n_bytes)
{
	size_t n = n_bytes < DETECT_BYTES ? n_bytes : DETECT_BYTES;
	char begin[FROMPACKED_PEEK_BYTES];
	bool is_packed = frompacked_is(data, n_bytes);
	const struct format *heap = is_packed
		? detect_heap(begin, frompacked_peek(data, n_bytes, begin))
		: detect_heap(data, n_bytes);
	if (heap)
		return heap;
	if (is_packed)
		return &format_pprof;
	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)data[i];
		if (c < 0x20 && c != '\t' && c != '\n' && c != '\r' && c != '\f' && c != 0x1b)
			return &format_pprof;
	}
	return from_script_is(data, n) ? &from_script : &conv_folded;
}

struct input { uint8_t *data; size_t n, cap; };

static int read_input(const char *path, struct input *in, struct err *e)
{
	int r = profile_read_bytes(strcmp(path, "-") == 0 ? "/dev/stdin" : path, &in->data, &in->n);
	in->cap = in->n;
	return r < 0 ? err_errno(e, -r, "cannot read '%s'", path) : 0;
}

/* Several texts are read as one. */
static int read_texts(const char *const *path, struct input *in, size_t n,
		      const struct format *format, struct model **ret, struct err *e)
{
	for (size_t i = 1; i < n; i++) {
		if (!vec_grow((void **)&in[0].data, &in[0].cap, in[0].n, in[i].n + 2, 1))
			return err_errno(e, ENOMEM, "cannot read '%s'", path[i]);
		memcpy(in[0].data + in[0].n, "\n\n", 2);
		memcpy(in[0].data + in[0].n + 2, in[i].data, in[i].n);
		in[0].n += in[i].n + 2;
	}
	return format->read((const char *)in[0].data, in[0].n, ret, e);
}

/* Each file is a profile of its own. */
static int read_alone(struct input *in, struct model_part *file, size_t n,
		      const struct format *format, struct model **ret, struct err *e)
{
	if (n == 1)
		return format->read((const char *)in->data, in->n, ret, e);
	for (size_t i = 0; i < n; i++) {
		struct model *m = NULL;
		struct membuf out = { .bytes = { 0 } };
		int r = format->read((const char *)in[i].data, in[i].n, &m, e);
		if (r == 0)
			r = model_write(m, membuf_write, &out, 1, e);
		model_free(m);
		free(in[i].data);
		in[i] = (struct input){ (uint8_t *)out.bytes.v, out.bytes.n, out.bytes.cap };
		file[i] = (struct model_part){ in[i].data, in[i].n };
		if (r < 0)
			return r;
	}
	return model_read_parts(file, n, ret, e);
}

/* Only formats that are packed are unpacked. */
static int unpack(struct input *in, const char *path, struct err *e)
{
	uint8_t *data;
	if (!frompacked_is(in->data, in->n))
		return 0;
	int r = frompacked_read(in->data, in->n, &data, &in->cap, e);
	if (r < 0) {
		err_prefix(e, "cannot read '%s'", path);
		return r;
	}
	free(in->data);
	in->data = data;
	in->n = in->cap;
	return 0;
}

static int read_inputs(const char *const *path, struct input *in, struct model_part *file,
		       size_t n, const struct format **io_format, struct model **ret, struct err *e)
{
	const struct format *format = *io_format;
	bool detects = !format;
	for (size_t i = 0; i < n; i++) {
		int r = read_input(path[i], &in[i], e);
		if (r < 0)
			return r;
		file[i] = (struct model_part){ in[i].data, in[i].n };
		const struct format *is = from_detect((const char *)in[i].data, in[i].n);
		if (!format)
			format = is;
		else if (detects ? is != format : is->is_pprof && gzip_is(in[i].data, in[i].n))
			return err_set(e, EINVAL, "'%s' is %s, not %s", path[i],
				       is->contents, format->contents);
		r = format->is_alone ? unpack(&in[i], path[i], e) : 0;
		if (r < 0)
			return r;
	}
	*io_format = format;
	int r = format->is_pprof ? model_read_parts(file, n, ret, e) :
		format->is_alone ? read_alone(in, file, n, format, ret, e)
				 : read_texts(path, in, n, format, ret, e);
	if (r < 0)
		err_prefix(e, "cannot read '%s'%s", path[0], n > 1 ? " and the others" : "");
	return r;
}

int from_read_files(const char *const *path, size_t n_paths, const struct format **io_format,
		    struct model **ret, struct err *e)
{
	if (*io_format && (*io_format)->is_pprof)
		return model_read_files(path, n_paths, ret, e);
	struct input *in = calloc(n_paths, sizeof(*in));
	struct model_part *file = calloc(n_paths, sizeof(*file));
	int r = in && file ? read_inputs(path, in, file, n_paths, io_format, ret, e)
			   : err_errno(e, ENOMEM, "cannot read the files");
	for (size_t i = 0; in && i < n_paths; i++)
		free(in[i].data);
	free(in);
	free(file);
	return r;
}
