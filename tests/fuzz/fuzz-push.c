/*
 * What cprof push reads: its state, headers of answers, OTLP's answers, labels of the spool.  The
 * first byte says which.
 */

#include "cmd/push/push-answer.h"
#include "cmd/push/push-labels.h"
#include "cmd/push/push-state.h"

#include "base/utf8.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void check(bool ok)
{
	if (!ok)
		abort();
}

static void fuzz_state(const char *text, size_t n)
{
	static char again[PUSH_STATE_SLOT];
	struct push_state s = { .fd = -1 }, t = { .fd = -1 };
	if (!push_state_parse(&s, text, n))
		return;
	check(s.n_files <= PUSH_BATCH_MAX && s.n_losses <= PUSH_LOSSES_MAX);
	check(push_state_print(&s, again) > 0 && push_state_parse(&t, again, sizeof(again)));
	check(t.generation == s.generation && t.n_files == s.n_files && t.batch == s.batch);
}

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
	switch (data[0] % 5) {
	case 0: fuzz_state(text, size - 1); break;
	case 1: check(push_answer_retry_after(text, 1700000000) <= UINT64_C(3600000000000)); break;
	case 2: push_answer_rejected(&a, PUSH_OTLP); break;
	case 3: fuzz_labels(text, size - 1, PUSH_OTLP); break;
	default: fuzz_labels(text, size - 1, PUSH_PARCA); break;
	}
	free(text);
	return 0;
}
