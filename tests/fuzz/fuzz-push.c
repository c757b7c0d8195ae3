/*
 * What cprof push reads: its state, headers of answers, OTLP's answers, labels of the spool, other
 * answers, the file of its state.  The first byte says which.
 */

#include "cmd/push/push-answer.h"
#include "cmd/push/push-labels.h"
#include "cmd/push/push-state.h"

#include "base/bytes.h"
#include "base/err.h"
#include "base/utf8.h"
#include "fuzzdir.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static void check(bool ok)
{
	if (!ok)
		abort();
}

/* ---- the state ------------------------------------------------------------------------------ */

static void check_same(const struct push_state *s, const struct push_state *t)
{
	check(s->n_files <= PUSH_BATCH_MAX && s->n_losses <= PUSH_LOSSES_MAX);
	check(t->n_files == s->n_files && t->n_losses == s->n_losses && t->batch == s->batch &&
	      t->has_report == s->has_report && t->delivered == s->delivered &&
	      t->reported_at_ns == s->reported_at_ns);
	check(memcmp(t->file, s->file, s->n_files * sizeof(*s->file)) == 0);
	check(push_state_unreported(t) == push_state_unreported(s));
}

static void fuzz_state(const char *text, size_t n)
{
	static char again[PUSH_STATE_SLOT];
	struct push_state s = { .fd = -1 }, t = { .fd = -1 };
	if (!push_state_parse(&s, text, n))
		return;
	check(push_state_print(&s, again) > 0 && push_state_parse(&t, again, sizeof(again)));
	check(t.generation == s.generation);
	check_same(&s, &t);
	push_state_lose(&s, PUSH_LOST_UNSURE, 3);
	push_state_lost_by_recorder(&s, "profiles_lost", s.requests);
	check(s.n_losses <= PUSH_LOSSES_MAX);
}

/* What a slot has before its checksum, with one that is right: FNV-1a. */
static size_t make_slot(struct bytes b, char ret[PUSH_STATE_SLOT])
{
	size_t n = bytes_left(&b) < PUSH_STATE_SLOT - 64 ? bytes_left(&b) : PUSH_STATE_SLOT - 64;
	uint64_t h = 0xcbf29ce484222325u;
	memset(ret, 0, PUSH_STATE_SLOT);
	memcpy(ret, b.p, n);
	const char *end = memmem(ret, n, "\nchecksum=", 10);
	if (end)
		n = (size_t)(end - ret) + 1;
	for (size_t i = 0; i < n; i++)
		h = (h ^ (unsigned char)ret[i]) * 0x100000001b3u;
	return n + (size_t)snprintf(ret + n, PUSH_STATE_SLOT - n, "checksum=%016" PRIx64 "\n", h);
}

static void fuzz_right_state(struct bytes b)
{
	static char slot[PUSH_STATE_SLOT];
	size_t n = make_slot(b, slot);
	char *text = malloc(n);
	check(text != NULL);
	memcpy(text, slot, n);
	fuzz_state(text, n);
	free(text);
}

enum { FILE_IS_EMPTY = 1, FILE_IS_SHORT = 2, FIRST_IS_RIGHT = 4, SECOND_IS_RIGHT = 8 };

static void write_slots(uint8_t choices, struct bytes first, struct bytes second)
{
	static char text[2 * PUSH_STATE_SLOT];
	size_t n = sizeof(text);
	memset(text, 0, sizeof(text));
	if (choices & FIRST_IS_RIGHT)
		make_slot(first, text);
	else
		memcpy(text, first.p, bytes_left(&first));
	if (choices & SECOND_IS_RIGHT)
		make_slot(second, text + PUSH_STATE_SLOT);
	else
		memcpy(text + PUSH_STATE_SLOT, second.p, bytes_left(&second));
	if (choices & FILE_IS_SHORT)
		n = PUSH_STATE_SLOT + bytes_left(&second);
	fuzzdir_put("state", bytes_of(text, choices & FILE_IS_EMPTY ? 0 : n));
}

static bool is_a_slot(struct bytes b, uint64_t *ret_generation)
{
	static char text[PUSH_STATE_SLOT];
	struct push_state s = { .fd = -1 };
	memset(text, 0, sizeof(text));
	memcpy(text, b.p, bytes_left(&b));
	bool ok = push_state_parse(&s, text, sizeof(text));
	*ret_generation = ok ? s.generation : 0;
	return ok;
}

/* A file with the state of an earlier run: the newer slot counts, and what is written is read
 * again. */
static void fuzz_file(struct bytes b)
{
	struct push_state s, again, second;
	struct err e = { 0 };
	uint8_t choices = bytes_u8(&b);
	struct bytes first = fuzzdir_part(&b), rest = bytes_of(b.p, bytes_left(&b));
	uint64_t generation[2];
	if (bytes_left(&first) >= PUSH_STATE_SLOT || bytes_left(&rest) >= PUSH_STATE_SLOT)
		return;
	fuzzdir_make("/dev/shm");
	write_slots(choices, first, rest);
	int r = push_state_open(&s, fuzzdir, &e);
	check(r == 0 || (r == -EINVAL && e.what[0]));
	if (!(choices & (FILE_IS_EMPTY | FIRST_IS_RIGHT | SECOND_IS_RIGHT))) {
		bool has_first = is_a_slot(first, &generation[0]);
		bool has_second = is_a_slot(rest, &generation[1]);
		if (has_first || has_second)
			check(r == 0 && s.generation == generation[generation[1] > generation[0]]);
	}
	if (r < 0)
		return;
	check(push_state_open(&second, fuzzdir, &e) == -EBUSY);
	uint64_t before = s.generation;
	check(push_state_write(&s, &e) == 0 && s.generation == before + 1);
	push_state_close(&s);
	check(push_state_open(&again, fuzzdir, &e) == 0);
	check(again.generation == s.generation || s.generation == 0);
	if (s.generation)
		check_same(&s, &again);
	push_state_close(&again);
}

/* ---- answers -------------------------------------------------------------------------------- */

static void check_verdict(const struct push_answer *a, enum push_format format)
{
	enum push_verdict v = push_answer_verdict(a, format);
	bool is_grpc = format == PUSH_PARCA;
	bool is_answered = is_grpc ? a->grpc_status >= 0 || a->http_status >= 300
				   : a->http_status >= 200;
	check(v >= PUSH_TAKEN && v <= PUSH_UNSURE);
	if (v == PUSH_TAKEN)
		check(is_grpc ? a->grpc_status == 0 : is_answered && a->http_status < 300);
	if (!is_answered)
		check(v == PUSH_UNSURE ? a->is_connected && a->is_sent
				       : v == PUSH_UNREACHED || a->is_bad_server);
	uint64_t n = push_answer_rejected(a, format);
	check(n <= INT64_MAX && (n == 0 || format == PUSH_OTLP));
}

/* The statuses, what happened, and the text, which is also the body. */
static void fuzz_answer(struct bytes b)
{
	struct push_answer a = { .http_status = bytes_u16(&b) % 1000 };
	a.grpc_status = (int)(bytes_u8(&b) % 24) - 1;
	uint8_t flags = bytes_u8(&b);
	a.is_connected = flags & 1;
	a.is_sent = flags & 2;
	a.is_bad_server = flags & 4;
	a.body = b.p;
	a.n_body_bytes = bytes_left(&b);
	char *text = strndup(a.body, a.n_body_bytes);
	check(text != NULL);
	a.text = text;
	for (enum push_format f = PUSH_PYROSCOPE; f <= PUSH_OTLP; f++)
		check_verdict(&a, f);
	free(text);
}

/* ---- labels --------------------------------------------------------------------------------- */

static void fuzz_labels(const char *text, size_t n, enum push_format format)
{
	static const struct keyvalue extra[] = { { "region", "north" } };
	struct keyvalues k;
	struct push_labels l;
	if (keyvalues_parse(text, n, &k) < 0)
		return;
	check(push_labels_make(&k, extra, 1, format, &l));
	check(l.label.n >= 2 && l.label.n <= PUSH_LABELS_MAX);
	for (size_t i = 0; i < l.label.n; i++) {
		const char *value = l.label.v[i].value;
		check(*value && strlen(value) <= PUSH_LABEL_VALUE_MAX);
		check(utf8_valid_prefix(value, strlen(value)) == strlen(value));
		for (size_t j = 0; j < i; j++)
			check(strcmp(l.label.v[i].key, l.label.v[j].key) != 0);
	}
	push_labels_done(&l);
	keyvalues_done(&k);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size == 0)
		return 0;
	char *text = malloc(size);
	check(text != NULL);
	memcpy(text, data + 1, size - 1);
	text[size - 1] = '\0';
	struct push_answer a = {
		.grpc_status = -1, .text = text, .body = text, .n_body_bytes = size - 1,
	};
	const struct bytes rest = bytes_of(text, size - 1);
	switch (data[0] % 8) {
	case 0: fuzz_state(text, size - 1); break;
	case 1: check(push_answer_retry_after(text, 1700000000) <= UINT64_C(3600000000000)); break;
	case 2: push_answer_rejected(&a, PUSH_OTLP); break;
	case 3: fuzz_labels(text, size - 1, PUSH_OTLP); break;
	case 4: fuzz_labels(text, size - 1, PUSH_PARCA); break;
	case 5: fuzz_answer(rest); break;
	case 6: fuzz_right_state(rest); break;
	default: fuzz_file(rest); break;
	}
	free(text);
	return 0;
}
