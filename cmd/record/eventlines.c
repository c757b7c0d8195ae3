/*
 * Prints the same lines as perf's evlist: "NAME", "NAME: sample_freq=HZ", "NAME: field: value,
 * ...".  Fields have their names in <linux/perf_event.h>.
 */
#include "cmd/record/eventlines.h"

#include "cprof.h"

#include <linux/perf_event.h>
#include <stdint.h>
#include <string.h>

static void print_field(FILE *to, const char **before, const char *name, uint64_t value)
{
	if (!value)
		return;
	fprintf(to, "%s%s: %llu", *before, name, (unsigned long long)value);
	*before = ", ";
}

static void print_hex_field(FILE *to, const char **before, const char *name, uint64_t value)
{
	if (!value)
		return;
	fprintf(to, "%s%s: %#llx", *before, name, (unsigned long long)value);
	*before = ", ";
}

static void print_bits_field(FILE *to, const char **before, const char *name, uint64_t value,
			     const char *const *bit, size_t n_bits)
{
	const char *bar = "";
	if (!value)
		return;
	fprintf(to, "%s%s: ", *before, name);
	for (size_t i = 0; i < n_bits; i++) {
		if (!(value >> i & 1))
			continue;
		fprintf(to, "%s%s", bar, bit[i]);
		bar = "|";
	}
	*before = ", ";
}

static void print_fields(const struct perf_event_attr *a, FILE *to)
{
	static const char *const sample[] = {
		"IP", "TID", "TIME", "ADDR", "READ", "CALLCHAIN", "ID", "CPU", "PERIOD",
		"STREAM_ID", "RAW", "BRANCH_STACK", "REGS_USER", "STACK_USER", "WEIGHT",
		"DATA_SRC", "IDENTIFIER", "TRANSACTION", "REGS_INTR", "PHYS_ADDR", "AUX",
		"CGROUP", "DATA_PAGE_SIZE", "CODE_PAGE_SIZE", "WEIGHT_STRUCT",
	};
	static const char *const read[] = {
		"TOTAL_TIME_ENABLED", "TOTAL_TIME_RUNNING", "ID", "GROUP", "LOST",
	};
	const char *before = " ";
	print_field(to, &before, "type", a->type);
	print_field(to, &before, "size", a->size);
	print_hex_field(to, &before, "config", a->config);
	print_field(to, &before, "{ sample_period, sample_freq }", a->sample_period);
	print_bits_field(to, &before, "sample_type", a->sample_type, sample,
			 sizeof(sample) / sizeof(*sample));
	print_bits_field(to, &before, "read_format", a->read_format, read,
			 sizeof(read) / sizeof(*read));
#define FIELD(name) print_field(to, &before, #name, a->name)
#define HEX_FIELD(name) print_hex_field(to, &before, #name, a->name)
	FIELD(disabled);
	FIELD(inherit);
	FIELD(pinned);
	FIELD(exclusive);
	FIELD(exclude_user);
	FIELD(exclude_kernel);
	FIELD(exclude_hv);
	FIELD(exclude_idle);
	FIELD(mmap);
	FIELD(comm);
	FIELD(freq);
	FIELD(inherit_stat);
	FIELD(enable_on_exec);
	FIELD(task);
	FIELD(watermark);
	FIELD(precise_ip);
	FIELD(mmap_data);
	FIELD(sample_id_all);
	FIELD(exclude_host);
	FIELD(exclude_guest);
	FIELD(exclude_callchain_kernel);
	FIELD(exclude_callchain_user);
	FIELD(mmap2);
	FIELD(comm_exec);
	FIELD(use_clockid);
	FIELD(context_switch);
	FIELD(namespaces);
	FIELD(ksymbol);
	FIELD(bpf_event);
	print_field(to, &before, "{ wakeup_events, wakeup_watermark }", a->wakeup_events);
	FIELD(bp_type);
	print_hex_field(to, &before, "{ bp_addr, config1 }", a->config1);
	print_hex_field(to, &before, "{ bp_len, config2 }", a->config2);
	HEX_FIELD(branch_sample_type);
	HEX_FIELD(sample_regs_user);
	FIELD(sample_stack_user);
	print_field(to, &before, "clockid", (uint64_t)(int64_t)a->clockid);
	HEX_FIELD(sample_regs_intr);
	FIELD(sample_max_stack);
#undef FIELD
#undef HEX_FIELD
}

/* Groups in braces: "{a,b}".  The members of a group are adjacent. */
static void print_groups(struct cprof_recorder *r, FILE *to)
{
	uint32_t open = 0;
	for (size_t i = 0; i < cprof_recorder_n_events(r); i++) {
		struct cprof_event_stats ev;
		cprof_recorder_event_stats(r, i, &ev);
		if (open && ev.group == open)
			fputc(',', to);
		else
			fprintf(to, "%s%s%s", open ? "}" : "", i ? "\n" : "",
				ev.group ? "{" : "");
		fprintf(to, "%s", ev.name);
		open = ev.group;
	}
	fprintf(to, "%s\n", open ? "}" : "");
}

bool eventlines_print(struct cprof_recorder *r, const char *options, FILE *to)
{
	bool rate = strcmp(options, " -F") == 0, fields = strcmp(options, " -v") == 0;
	bool groups = strcmp(options, " -g") == 0;
	if (*options && !rate && !fields && !groups)
		return false;
	if (groups) {
		print_groups(r, to);
		return true;
	}
	for (size_t i = 0; i < cprof_recorder_n_events(r); i++) {
		struct cprof_event_stats ev;
		const struct perf_event_attr *a = cprof_recorder_attr(r, i);
		cprof_recorder_event_stats(r, i, &ev);
		fprintf(to, "%s", ev.name);
		if (rate)
			fprintf(to, ": %s=%llu", a->freq ? "sample_freq" : "sample_period",
				(unsigned long long)a->sample_freq);
		if (fields) {
			fputc(':', to);
			print_fields(a, to);
		}
		fputc('\n', to);
	}
	return true;
}
