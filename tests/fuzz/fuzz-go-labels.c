/* Labels of a hostile Go program: a byte for the format, then the memory. */

#include "symbolize/runtime/go-labels.h"
#include "tests/fuzz/gohostile.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 9)
		return 0;
	struct gohostile memory = { .data = data + 1, .size = size - 1, .base = 0x1000 };
	const struct runtime_memory m = { gohostile_read, &memory };
	struct go_labels l = { 0 };
	for (uint64_t at = 0x1000; at < 0x1020; at += 8) {
		if (!go_labels_read(&m, data[0] & 1 ? GO_LABELS_SLICE : GO_LABELS_MAP, at, &l))
			continue;
		if (l.n > GO_LABELS_MAX)
			abort();
		for (uint32_t i = 0; i < l.n; i++)
			if (strlen(go_labels_text(&l, l.label[i].key)) > GO_LABELS_TEXT_BYTES_MAX ||
			    strlen(go_labels_text(&l, l.label[i].value)) > GO_LABELS_TEXT_BYTES_MAX)
				abort();
	}
	go_labels_done(&l);
	return 0;
}
