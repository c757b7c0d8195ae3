/*
 * A first walk over the file counts, so that every array is allocated once at its final size.  Then
 * each kind of message is read in an order in which references point backwards: strings, mappings
 * and functions, locations, samples.  Each of these walks covers the range from the first message
 * of its kind to the last, and reads only the headers of other messages in between.
 *
 * All results are in one arena and refer to nothing outside it.
 */

#include "proto/pprof-read.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "base/vec.h"
#include "proto/gzip.h"
#include "proto/pprof-message.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_BYTES_DEFAULT ((size_t)4 << 30)
#define MAX_ITEMS (1u << 30)

static int count_all(struct pprof_reader *r)
{
	struct bytes b = r->all;
	struct wire_field f;
	int got;
	for (const uint8_t *at = b.p; (got = pprof_field_next(r, &b, &f)) > 0; at = b.p) {
		if (f.number >= PPROF_PROFILE_N_TAGS)
			continue;
		int code = 0;
		if (!r->range[f.number].p)
			r->range[f.number].p = at;
		r->range[f.number].end = b.p;
		if (f.number == PPROF_PROFILE_COMMENT)
			code = pprof_field_count(r, &b, &f, &r->count[f.number]);
		else
			r->count[f.number]++;
		if (code < 0)
			return code;
		if (r->count[f.number] > MAX_ITEMS)
			return err_set(r->e, E2BIG, "a profile of more than %u items", MAX_ITEMS);
	}
	return got;
}

static int read_kind(struct pprof_reader *r, unsigned int field, pprof_message_fn *read_message)
{
	struct bytes b = r->range[field];
	struct wire_field f;
	int got;
	if (!b.p)
		return 0;
	while ((got = pprof_field_next(r, &b, &f)) > 0) {
		if (f.number != field)
			continue;
		struct bytes body;
		int code = pprof_field_body(r, &b, &f, &body);
		if (code == 0)
			code = read_message(r, body, r->done[field]++);
		if (code < 0)
			return code;
	}
	return got;
}

static int read_scalars(struct pprof_reader *r)
{
	struct profile *p = r->p;
	struct bytes b = r->all;
	struct wire_field f;
	int got;
	while ((got = pprof_field_next(r, &b, &f)) > 0) {
		int code = 0;
		struct pprof_numbers numbers = { 0 };
		switch (f.number) {
		case PPROF_PROFILE_DROP_FRAMES:
			code = pprof_field_string(r, &b, &f, &p->drop_frames);
			break;
		case PPROF_PROFILE_KEEP_FRAMES:
			code = pprof_field_string(r, &b, &f, &p->keep_frames);
			break;
		case PPROF_PROFILE_DOC_URL:
			code = pprof_field_string(r, &b, &f, &p->doc_url);
			break;
		case PPROF_PROFILE_TIME_NANOS:
			code = pprof_field_int(r, &b, &f, &p->time_nanos);
			break;
		case PPROF_PROFILE_DURATION_NANOS:
			code = pprof_field_int(r, &b, &f, &p->duration_nanos);
			break;
		case PPROF_PROFILE_PERIOD: code = pprof_field_int(r, &b, &f, &p->period); break;
		case PPROF_PROFILE_DEFAULT_SAMPLE_TYPE:
			code = pprof_field_string(r, &b, &f, &p->default_sample_type);
			break;
		case PPROF_PROFILE_COMMENT: {
			struct wire_field one = { .type = WIRE_VARINT };
			while (code == 0 &&
			       (got = pprof_field_number(r, &f, &numbers, &one.value)) != 0)
				code = got < 0 ? got : pprof_field_string(r, &b, &one,
								  &p->comment[p->n_comments++]);
			break;
		}
		}
		if (code < 0)
			return code;
	}
	return got;
}

static int allocate(struct pprof_reader *r)
{
	struct profile *p = r->p;
	p->n_strings = r->n_strings = r->count[PPROF_PROFILE_STRING_TABLE];
	p->n_sample_types = r->count[PPROF_PROFILE_SAMPLE_TYPE];
	p->n_samples = r->count[PPROF_PROFILE_SAMPLE];
	p->n_mappings = r->count[PPROF_PROFILE_MAPPING];
	p->n_locations = r->count[PPROF_PROFILE_LOCATION];
	p->n_functions = r->count[PPROF_PROFILE_FUNCTION];
	p->string = r->string = ARENA_NEW(&r->arena, const char *, p->n_strings);
	p->sample_type = ARENA_NEW(&r->arena, struct profile_value_type, p->n_sample_types);
	p->mapping = ARENA_NEW(&r->arena, struct profile_mapping, p->n_mappings);
	p->location = ARENA_NEW(&r->arena, struct profile_location, p->n_locations);
	p->function = ARENA_NEW(&r->arena, struct profile_function, p->n_functions);
	p->comment = ARENA_NEW(&r->arena, const char *, r->count[PPROF_PROFILE_COMMENT]);
	if (!p->string || !p->sample_type || !p->mapping || !p->location || !p->function ||
	    !p->comment)
		return pprof_field_no_memory(r);
	return 0;
}

int pprof_read_head(struct pprof_reader *r)
{
	int code = count_all(r);
	if (code < 0)
		return code;
	if (r->count[PPROF_PROFILE_STRING_TABLE] == 0)
		return err_set(r->e, EINVAL, "not a valid profile: it has no string table");
	if (!(r->p = ARENA_NEW(&r->arena, struct profile, 1)))
		return pprof_field_no_memory(r);
	struct profile *p = r->p;
	p->default_sample_type = p->drop_frames = p->keep_frames = p->doc_url = "";
	p->period_type = (struct profile_value_type){ "", "" };
	if ((code = allocate(r)) < 0 ||
	    (code = read_kind(r, PPROF_PROFILE_STRING_TABLE, pprof_message_string)) < 0 ||
	    (code = read_kind(r, PPROF_PROFILE_SAMPLE_TYPE, pprof_message_sample_type)) < 0 ||
	    (code = read_kind(r, PPROF_PROFILE_PERIOD_TYPE, pprof_message_period_type)) < 0 ||
	    (code = read_scalars(r)) < 0 ||
	    (code = read_kind(r, PPROF_PROFILE_MAPPING, pprof_message_mapping)) < 0 ||
	    (code = pprof_ids_init(r, &r->mappings, p->mapping, sizeof(*p->mapping),
				p->n_mappings, "mapping")) < 0 ||
	    (code = read_kind(r, PPROF_PROFILE_FUNCTION, pprof_message_function)) < 0 ||
	    (code = pprof_ids_init(r, &r->functions, p->function, sizeof(*p->function),
				p->n_functions, "function")) < 0 ||
	    (code = read_kind(r, PPROF_PROFILE_LOCATION, pprof_message_location)) < 0 ||
	    (code = pprof_ids_init(r, &r->locations, p->location, sizeof(*p->location),
				p->n_locations, "location")) < 0)
		return code;
	return 0;
}

static int read_all(struct pprof_reader *r)
{
	int code = pprof_read_head(r);
	if (code < 0)
		return code;
	r->p->sample = ARENA_NEW(&r->arena, struct profile_sample, r->p->n_samples);
	if (!r->p->sample)
		return pprof_field_no_memory(r);
	return read_kind(r, PPROF_PROFILE_SAMPLE, pprof_message_sample);
}

int profile_read(const void *data, size_t n_bytes, size_t max_bytes, struct profile **ret_profile,
		 struct err *e)
{
	CLEANUP_FREE uint8_t *inflated = NULL;
	if (max_bytes == 0 || max_bytes > SIZE_MAX / 2)
		max_bytes = MAX_BYTES_DEFAULT;
	if (gzip_is(data, n_bytes)) {
		int code = gzip_inflate(data, n_bytes, max_bytes, &inflated, &n_bytes, e);
		if (code < 0)
			return code;
		data = inflated;
	} else if (n_bytes > max_bytes) {
		return err_set(e, E2BIG, "a profile of more than %zu bytes", max_bytes);
	}
	if (n_bytes == 0)
		data = "";  /* arithmetic on NULL is undefined */
	struct pprof_reader r = { .start = data, .all = bytes_of(data, n_bytes), .e = e };
	int code = read_all(&r);
	pprof_ids_done(&r);
	if (code < 0) {
		arena_free(r.arena);
		return code;
	}
	r.p->arena = r.arena;
	*ret_profile = r.p;
	return 0;
}

int profile_read_bytes(const char *path, uint8_t **ret_data, size_t *ret_n)
{
	CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (fd < 0)
		return -errno;
	CLEANUP_FREE uint8_t *data = NULL;
	struct stat st;
	size_t n = 0, cap = 0, want = 64 * 1024;
	/* One byte more finds the end of the file without another allocation. */
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0 &&
	    (uint64_t)st.st_size <= MAX_BYTES_DEFAULT)
		want = (size_t)st.st_size + 1;
	for (;;) {
		if (n > MAX_BYTES_DEFAULT)
			return -EFBIG;
		if (n == cap && !vec_grow((void **)&data, &cap, n, cap ? 1 : want, 1))
			return -ENOMEM;
		ssize_t got = read(fd, data + n, cap - n);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (got == 0)
			break;
		n += (size_t)got;
	}
	*ret_data = TAKE_PTR(data);
	*ret_n = n;
	return 0;
}

int profile_read_file(const char *path, struct profile **ret_profile, struct err *e)
{
	CLEANUP_FREE uint8_t *data = NULL;
	size_t n = 0;
	int code = profile_read_bytes(path, &data, &n);
	if (code < 0)
		return err_errno(e, -code, "cannot read '%s'", path);
	code = n > 0 ? profile_read(data, n, 0, ret_profile, e)
		     : err_set(e, EINVAL, "the file is empty");
	if (code < 0) {
		err_prefix(e, "cannot read '%s'", path);
		err_hint(e, "a pprof profile is expected (profile.proto, gzipped or not)");
	}
	return code;
}

void profile_free(struct profile *p)
{
	if (p)
		arena_free(p->arena);
}
