/* Profiler labels as maps and as slices, whole and damaged. */

#include "symbolize/runtime/go-labels.h"
#include "tap.h"
#include "tests/unit/symbolize/gomemory.h"

#include <stdio.h>
#include <stdlib.h>

static struct gomemory memory;
static const struct runtime_memory from = { gomemory_read, &memory };
static uint64_t next;                   /* free in the heap */

static void start(void)
{
	memset(&memory, 0, sizeof(memory));
	next = GOMEMORY_HEAP + 0x100;
}

static uint64_t room(size_t n)
{
	next += (n + 15) & ~(size_t)15;
	return next - ((n + 15) & ~(size_t)15);
}

static void put_string(uint64_t at, const char *text)
{
	gomemory_string(&memory, at, room(strlen(text)), text);
}

static void reads(enum go_label_format format, uint64_t at, const char *want, const char *what)
{
	struct go_labels l = { 0 };
	char got[512] = "-";
	if (go_labels_read(&from, format, at, &l)) {
		size_t n = 0;
		got[0] = '\0';
		for (uint32_t i = 0; i < l.n && i < 16; i++)
			n += (size_t)snprintf(got + n, sizeof(got) - n, "%s=%.20s;",
					      go_labels_text(&l, l.label[i].key),
					      go_labels_text(&l, l.label[i].value));
		if (l.is_cut)
			snprintf(got + n, sizeof(got) - n, "cut");
	}
	tap_str(got, want, what);
	go_labels_done(&l);
}

/* ---- slices ------------------------------------------------------------------------------ */

static uint64_t slice(uint64_t n, uint64_t cap, uint64_t pairs)
{
	uint64_t at = room(24);
	gomemory_word(&memory, at, pairs);
	gomemory_word(&memory, at + 8, n);
	gomemory_word(&memory, at + 16, cap);
	return at;
}

static void slices(void)
{
	start();
	uint64_t p = room(64);
	put_string(p, "user");
	put_string(p + 16, "anna");
	put_string(p + 32, "path");
	put_string(p + 48, "/");
	reads(GO_LABELS_SLICE, slice(2, 2, p), "path=/;user=anna;", "slice: sorted by key");
	reads(GO_LABELS_SLICE, slice(0, 0, 0), "", "slice: no labels");
	reads(GO_LABELS_SLICE, slice(3, 2, p), "-", "slice: longer than its capacity");
	reads(GO_LABELS_SLICE, slice(2, 2, 0x10), "-", "slice: cannot be read");
	reads(GO_LABELS_SLICE, 0x10, "-", "slice: its header cannot be read");
	gomemory_word(&memory, p + 16, 0x10);
	reads(GO_LABELS_SLICE, slice(2, 2, p), "-", "slice: a value cannot be read");
	gomemory_word(&memory, p + 24, 0);
	reads(GO_LABELS_SLICE, slice(2, 2, p), "path=/;user=;", "slice: an empty value");

	uint64_t many = room(70 * 32);
	for (uint64_t i = 0; i < 140; i++)
		put_string(many + 16 * i, "x");
	struct go_labels l = { 0 };
	tap_ok(go_labels_read(&from, GO_LABELS_SLICE, slice(70, 70, many), &l) &&
	       l.n == GO_LABELS_MAX && l.is_cut, "slice: too many labels are cut");
	go_labels_done(&l);

	char *text = malloc(3001);
	memset(text, 'y', 3000);
	text[3000] = '\0';
	put_string(p + 16, text);
	tap_ok(go_labels_read(&from, GO_LABELS_SLICE, slice(1, 1, p), &l) && l.is_cut &&
	       strlen(go_labels_text(&l, l.label[0].value)) == GO_LABELS_TEXT_BYTES_MAX,
	       "slice: a long value is cut");
	free(text);
	go_labels_done(&l);
}

/* ---- maps -------------------------------------------------------------------------------- */

enum { BUCKET = 272 };

static void put_entry(uint64_t bucket, unsigned int i, unsigned int hash, const char *key,
		      const char *value)
{
	uint8_t byte = (uint8_t)hash;
	gomemory_put(&memory, bucket + i, &byte, 1);
	put_string(bucket + 8 + 16 * i, key);
	put_string(bucket + 136 + 16 * i, value);
}

static uint64_t map(uint64_t count, unsigned int flags, unsigned int log, uint64_t buckets,
		    uint64_t old)
{
	uint64_t at = room(8), head = room(48);
	gomemory_word(&memory, at, head);
	gomemory_word(&memory, head, count);
	gomemory_word(&memory, head + 8, flags | log << 8);
	gomemory_word(&memory, head + 16, buckets);
	gomemory_word(&memory, head + 24, old);
	return at;
}

static void maps(void)
{
	start();
	uint64_t b = room(2 * BUCKET), more = room(BUCKET), old = room(BUCKET);
	put_entry(b, 3, 77, "user", "anna");
	put_entry(b, 4, 4, "gone", "empty");
	put_entry(b, 5, 1, "gone", "empty");
	reads(GO_LABELS_MAP, map(1, 0, 0, b, 0), "user=anna;", "map: one bucket");
	put_entry(b + BUCKET, 0, 5, "path", "/");
	gomemory_word(&memory, b + BUCKET + 264, more);
	put_entry(more, 7, 255, "id", "3");
	reads(GO_LABELS_MAP, map(3, 0, 1, b, 0), "id=3;path=/;user=anna;",
	      "map: two buckets and one that overflows");
	put_entry(old, 0, 9, "old", "1");
	reads(GO_LABELS_MAP, map(4, 0, 1, b, old), "id=3;old=1;path=/;user=anna;",
	      "map: entries that were not moved yet");
	reads(GO_LABELS_MAP, map(2, 8, 0, b, old), "old=1;user=anna;",
	      "map: growing into as many buckets");
	reads(GO_LABELS_MAP, map(5, 0, 1, b, old), "-", "map: other number of entries");
	reads(GO_LABELS_MAP, map(0, 0, 0, 0, 0), "", "map: empty");
	reads(GO_LABELS_MAP, map(1, 0, 6, b, 0), "-", "map: too many buckets");
	reads(GO_LABELS_MAP, map(1, 0, 0, 0x10, 0), "-", "map: cannot be read");
	uint64_t none = room(8);
	reads(GO_LABELS_MAP, none, "", "map: nil");
	gomemory_word(&memory, more + 264, more);
	reads(GO_LABELS_MAP, map(3, 0, 1, b, 0), "-", "map: buckets in a circle");
}

int main(void)
{
	slices();
	maps();
	return tap_done();
}
