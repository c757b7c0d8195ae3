#include "cmd/push/push-labels.h"

#include "base/err.h"
#include "tests/unit/tap.h"

#include <stdlib.h>

static const char *value(const struct push_labels *l, const char *name)
{
	for (size_t i = 0; i < l->label.n; i++)
		if (strcmp(l->label.v[i].key, name) == 0)
			return l->label.v[i].value;
	return NULL;
}

static struct push_labels make(const char *text, enum push_format format)
{
	static const struct keyvalue extra[] = { { "region", "north" }, { "host", "other" } };
	struct keyvalues k;
	struct push_labels l = { .arena = NULL };
	tap_ok(keyvalues_parse(text, strlen(text), &k) == 0 &&
	       push_labels_make(&k, extra, 2, format, &l), "labels are made");
	keyvalues_done(&k);
	return l;
}

static const char meta[] = "label.service_name=shop\nlabel.host=h1\nlabel.exe_build_id=ab\n"
	"label.9a-b.c=x\nlabel.__name__=evil\nlabel.__own__=mine\nlabel.empty=\n"
	"label.bad=a%0A\xff\n"
	"window_ns=10\nsample_type=cpu\n";

static void test_plain(void)
{
	struct push_labels l = make(meta, PUSH_PYROSCOPE);
	tap_str(value(&l, "service_name"), "shop", "the service");
	tap_str(value(&l, "__name__"), "process_cpu", "the kind of profile");
	tap_str(value(&l, "hostname"), "other", "labels of the command line come first");
	tap_str(value(&l, "region"), "north", "more of them");
	tap_str(value(&l, "_a_b_c"), "x", "names that servers take");
	tap_str(value(&l, "x_own__"), "mine", "no names of the server's own");
	tap_str(value(&l, "bad"), "a?\xef\xbf\xbd", "values are printable");
	tap_ok(!value(&l, "empty") && !value(&l, "window_ns"), "nothing else");
	push_labels_done(&l);
	l = make("sample_type=cache-misses\n", PUSH_PARCA);
	tap_str(value(&l, "__name__"), "cache_misses", "another kind");
	tap_str(value(&l, "service_name"), "unknown_service", "there is always a service");
	push_labels_done(&l);
	l = make("sample_type=wall\n", PUSH_PARCA);
	tap_str(value(&l, "__name__"), "wall", "wall-clock time");
	push_labels_done(&l);
}

static void test_otlp(void)
{
	struct push_labels l = make(meta, PUSH_OTLP);
	tap_str(value(&l, "service.name"), "shop", "the service");
	tap_str(value(&l, "host.name"), "other", "the host");
	tap_str(value(&l, "process.executable.build_id.gnu"), "ab", "the build id");
	tap_str(value(&l, "9a-b.c"), "x", "attributes may have any name");
	push_labels_done(&l);
}

static void test_many(void)
{
	static char text[65536];
	size_t n = 0;
	for (int i = 0; i < 200; i++)
		n += (size_t)sprintf(text + n, "label.l%d=%0200d\n", i % 100, i);
	struct push_labels l = make(text, PUSH_PYROSCOPE);
	tap_int((long long)l.label.n, PUSH_LABELS_MAX, "no more than servers take");
	tap_ok(value(&l, "service_name") && value(&l, "__name__"), "with those that they need");
	push_labels_done(&l);
	static char big[8000];
	memset(big, 'x', sizeof(big) - 1);
	memcpy(big, "label.service_name=", 19);
	l = make(big, PUSH_OTLP);
	tap_int((long long)strlen(value(&l, "service.name")), PUSH_LABEL_VALUE_MAX,
		"long values are cut");
	push_labels_done(&l);
}

int main(void)
{
	test_plain();
	test_otlp();
	test_many();
	return tap_done();
}
