/* An event that the grammar accepts is valid, both without a machine and on one with PMUs and
 * tracepoints.  Also reads formats of PMUs. */

#include "base/err.h"
#include "event/evpmu.h"
#include "event/evparse.h"
#include "event/evspec.h"
#include "event/evusdt.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "../unit/event/machine.h"

#define LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

static void check(bool ok)
{
	if (!ok)
		abort();
}

static bool made_of(const char *s, const char *letters)
{
	return *s && strspn(s, letters) == strlen(s);
}

static void check_event(const struct evspec_list *l, size_t i)
{
	const struct evspec *s = &l->v[i];
	char type[EVSPEC_NAME_MAX], part[EVSPEC_NAME_MAX];
	const char *unit;
	check(s->output < l->n_outputs && s->group <= l->n_groups);
	check(!(s->only_user && s->only_kernel && !s->with_hv) && s->precise_ip <= 3 &&
	      !s->by_default);
	check(!(s->only_user && evspec_in_kernel(s)));
	check(s->rate_kind == EVSPEC_RATE_FREQ || s->rate_kind == EVSPEC_RATE_PERIOD
	      ? s->rate > 0 && s->rate >> 63 == 0 : s->rate == 0);
	check(!s->group_sample || s->group);
	check(!s->group || !i || l->v[i - 1].group <= s->group);
	/* The file of a probe without one is found in the targets later. */
	check(s->kind != EVSPEC_UPROBE || s->path || (s->usdt && !s->usdt->is_located));
	check(s->n_plain && s->n_plain <= strlen(s->name));
	evspec_sample_type(s, type, &unit);
	check(made_of(type, "abcdefghijklmnopqrstuvwxyz0123456789_"));
	evspec_file_part(s, part);
	check(made_of(part, LETTERS "_.-"));
}

static void check_bits(const char *text)
{
	struct evpmu_bits bits;
	uint64_t config[4] = { 1, 2, 3, 4 };
	if (evpmu_parse_bits(text, &bits) < 0)
		return;
	check(bits.word < 4 && bits.mask);
	unsigned n = (unsigned)__builtin_popcountll(bits.mask);
	uint64_t most = n == 64 ? UINT64_MAX : (UINT64_C(1) << n) - 1;
	check(evpmu_spread(&bits, most, config));
	check((config[bits.word] & bits.mask) == bits.mask);
	check(n == 64 || !evpmu_spread(&bits, most + 1, config));
}

static struct machine the_machine;

static void remove_machine(void)
{
	machine_close(&the_machine);
}

/* Two kinds of cores, all kinds of fields, tracepoints. */
static const struct host *machine(void)
{
	struct machine *m = &the_machine;
	if (m->dir[0])
		return &m->host;
	machine_open(m);
	static const struct { const char *path, *text; } files[] = {
		{ "cpu_core/type", "4\n" }, { "cpu_core/cpus", "0-1\n" },
		{ "cpu_core/format/event", "config:0-7,32-35\n" },
		{ "cpu_core/format/ldlat", "config1:0-15\n" },
		{ "cpu_core/events/mem-loads", "event=0xcd,ldlat=3\n" },
		{ "cpu_core/events/odd", "event=?,what\n" },
		{ "cpu_atom/type", "10\n" }, { "cpu_atom/cpus", "2\n" },
		{ "cpu_atom/format/event", "config:0-7\n" },
		{ "uncore_imc_0/type", "20\n" }, { "uncore_imc_0/cpumask", "0\n" },
		{ "uprobe/type", "8\n" },
	};
	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
		char path[200];
		snprintf(path, sizeof(path), "sys/bus/event_source/devices/%s", files[i].path);
		machine_file(m, path, files[i].text);
	}
	machine_file(m, "sys/kernel/tracing/events/sched/sched_switch/id", "314\n");
	machine_file(m, "sys/kernel/tracing/events/sched/sched_wakeup/id", "315\n");
	atexit(remove_machine);
	return &m->host;
}

static void check_text(const struct host *h, const char *text)
{
	struct evspec_list l = { NULL, 0, 0, 0 };
	struct err e = { .code = 1 };
	int code = evparse_list(&l, h, text, &e);
	if (code < 0)
		check(e.code == code && e.what[0] && l.n == 0 && !l.n_outputs && !l.n_groups);
	else
		check(l.n >= l.n_outputs && l.n_outputs);
	for (size_t i = 0; i < l.n; i++)
		check_event(&l, i);
	evspec_list_done(&l);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct err e = { .code = 1 };
	char *text = malloc(size + 1);
	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	check_text(NULL, text);
	check_text(machine(), text);
	check_bits(text);
	enum evspec_rate kind;
	uint64_t rate;
	if (evparse_rate(text, true, &kind, &rate, &e) == 0)
		check(kind == EVSPEC_RATE_FREQ ? rate > 0 : kind == EVSPEC_RATE_FREQ_MAX);
	if (evparse_rate(text, false, &kind, &rate, NULL) == 0)
		check(kind == EVSPEC_RATE_PERIOD && rate > 0);
	free(text);
	return 0;
}
