/*
 * bpf_snprintf() formats %pS with the function that the kernel uses for its own messages
 * (sprint_symbol() in kernel/kallsyms.c).  bpf_kallsyms_lookup_name() is for programs of the type
 * "syscall", which run when bpf(2) is asked to (BPF_PROG_RUN), and refuses to answer if kallsyms
 * would hide addresses.
 *
 * A question and its answer are in an array of one element that is mapped into our memory; the
 * format must be in a map that nobody can change any more.
 */

#include "symbolize/kernel/symkask.h"

#include "base/bpfcall.h"
#include "base/cleanup.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* KSYM_SYMBOL_LEN is about 650 with the names of Rust. */
#define TEXT_BYTES 1024

struct exchange {
	uint64_t address;          /* asked, or found */
	char symbol[8];
	char text[TEXT_BYTES];
};

#define AT(member) ((int32_t)offsetof(struct exchange, member))

struct symkask {
	int name_prog, find_prog;
	struct exchange *exchange;
	size_t n_mapped_bytes;
};

/* ---- the programs ---------------------------------------------------------------------- */

#define SET(reg, value) { .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = (reg), .imm = (value) }
/* Two instructions: the address of a byte in the value of an array's only element. */
#define SET_VALUE(reg, map, at) \
	{ .code = BPF_LD | BPF_DW | BPF_IMM, .dst_reg = (reg), \
	  .src_reg = BPF_PSEUDO_MAP_VALUE, .imm = (map) }, { .imm = (at) }
#define CALL(function) { .code = BPF_JMP | BPF_CALL, .imm = (function) }
#define LEAVE { .code = BPF_JMP | BPF_EXIT }

static int load(const char *name, const struct bpf_insn *insn, size_t n)
{
	return bpfcall_load(&(struct bpfcall_prog){
		.name = name, .type = BPF_PROG_TYPE_SYSCALL, .flags = BPF_F_SLEEPABLE,
		.insn = insn, .n = n,
	});
}

/* bpf_snprintf(text, sizeof(text), "%pS", &address, 8) */
static int load_name(int exchange, int format)
{
	const struct bpf_insn insn[] = {
		SET_VALUE(BPF_REG_1, exchange, AT(text)), SET(BPF_REG_2, TEXT_BYTES),
		SET_VALUE(BPF_REG_3, format, 0), SET_VALUE(BPF_REG_4, exchange, AT(address)),
		SET(BPF_REG_5, 8), CALL(BPF_FUNC_snprintf), LEAVE,
	};
	return load("cprof_name", insn, sizeof(insn) / sizeof(*insn));
}

/* bpf_kallsyms_lookup_name(symbol, sizeof(symbol), 0, &address) */
static int load_find(int exchange)
{
	const struct bpf_insn insn[] = {
		SET_VALUE(BPF_REG_1, exchange, AT(symbol)), SET(BPF_REG_2, 8), SET(BPF_REG_3, 0),
		SET_VALUE(BPF_REG_4, exchange, AT(address)), CALL(BPF_FUNC_kallsyms_lookup_name),
		LEAVE,
	};
	return load("cprof_find", insn, sizeof(insn) / sizeof(*insn));
}

static int new_format(void)
{
	const uint32_t key = 0;
	const char value[8] = "%pS";
	union bpf_attr a;
	CLEANUP_CLOSE int map = bpfcall_map(&(struct bpfcall_map){
		.name = "cprof_format", .type = BPF_MAP_TYPE_ARRAY, .key_bytes = sizeof(key),
		.value_bytes = sizeof(value), .n_entries = 1, .flags = BPF_F_RDONLY_PROG,
	});
	if (map < 0)
		return map;
	memset(&a, 0, sizeof(a));
	a.map_fd = (uint32_t)map;
	a.key = (uintptr_t)&key;
	a.value = (uintptr_t)value;
	int r = bpfcall(BPF_MAP_UPDATE_ELEM, &a);
	if (r < 0)
		return r;
	memset(&a, 0, sizeof(a));
	a.map_fd = (uint32_t)map;
	r = bpfcall(BPF_MAP_FREEZE, &a);
	return r < 0 ? r : TAKE_FD(map);
}

/* ---- questions ------------------------------------------------------------------------- */

CLEANUP_DEFINE(struct symkask, symkask_close)

int symkask_open(struct symkask **ret)
{
	CLEANUP(symkask_closep) struct symkask *a = calloc(1, sizeof(*a));
	if (!a)
		return -ENOMEM;
	a->name_prog = a->find_prog = -1;
	CLEANUP_CLOSE int exchange = bpfcall_map(&(struct bpfcall_map){
		.name = "cprof_exchange", .type = BPF_MAP_TYPE_ARRAY, .key_bytes = 4,
		.value_bytes = sizeof(struct exchange), .n_entries = 1, .flags = BPF_F_MMAPABLE,
	});
	if (exchange < 0)
		return exchange;
	CLEANUP_CLOSE int format = new_format();
	if (format < 0)
		return format;
	a->name_prog = load_name(exchange, format);
	if (a->name_prog < 0)
		return a->name_prog;
	a->find_prog = load_find(exchange);
	if (a->find_prog < 0)
		return a->find_prog;
	size_t n_page_bytes = (size_t)sysconf(_SC_PAGESIZE);
	a->n_mapped_bytes = (sizeof(struct exchange) + n_page_bytes - 1) & ~(n_page_bytes - 1);
	void *p = mmap(NULL, a->n_mapped_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, exchange, 0);
	if (p == MAP_FAILED)
		return -errno;
	a->exchange = p;
	*ret = TAKE_PTR(a);
	return 0;
}

void symkask_close(struct symkask *a)
{
	if (!a)
		return;
	if (a->exchange)
		munmap(a->exchange, a->n_mapped_bytes);
	if (a->name_prog >= 0)
		close(a->name_prog);
	if (a->find_prog >= 0)
		close(a->find_prog);
	free(a);
}

static int run(int prog)
{
	union bpf_attr a;
	memset(&a, 0, sizeof(a));
	a.test.prog_fd = (uint32_t)prog;
	return bpfcall(BPF_PROG_TEST_RUN, &a);
}

int symkask_name(struct symkask *a, uint64_t address, struct symkask_answer *ret)
{
	a->exchange->address = address;
	a->exchange->text[0] = '\0';
	int r = run(a->name_prog);
	return r < 0 ? r : symkask_parse(a->exchange->text, TEXT_BYTES, ret);
}

uint64_t symkask_find(struct symkask *a, const char *symbol)
{
	strncpy(a->exchange->symbol, symbol, sizeof(a->exchange->symbol) - 1);
	a->exchange->address = 0;
	return run(a->find_prog) < 0 ? 0 : a->exchange->address;
}

/* ---- answers --------------------------------------------------------------------------- */

/* "0x1f", from *at up to end, with what comes before it. */
static bool take_number(const char **at, const char *end, char before, uint64_t *ret)
{
	const char *p = *at;
	if (end - p < 4 || p[0] != before || p[1] != '0' || p[2] != 'x')
		return false;
	uint64_t value = 0;
	for (p += 3; p < end; p++) {
		int digit = *p >= '0' && *p <= '9' ? *p - '0'
			  : *p >= 'a' && *p <= 'f' ? *p - 'a' + 10 : -1;
		if (digit < 0)
			break;
		if (value >> 60)
			return false;
		value = value << 4 | (uint64_t)digit;
	}
	*ret = value;
	*at = p;
	return true;
}

bool symkask_parse(const char *text, size_t n, struct symkask_answer *ret)
{
	const char *end = text + strnlen(text, n);
	const char *plus = memrchr(text, '+', (size_t)(end - text));
	struct symkask_answer got = { .name = text };
	if (!plus || plus == text)
		return false;
	got.n_name = (size_t)(plus - text);
	const char *at = plus;
	if (!take_number(&at, end, '+', &got.offset) || !take_number(&at, end, '/', &got.n_bytes) ||
	    got.offset >= got.n_bytes)
		return false;
	if (at < end) {
		if (end - at < 4 || at[0] != ' ' || at[1] != '[' || end[-1] != ']')
			return false;
		got.module = at + 2;
		got.n_module = (size_t)(end - 1 - got.module);
	}
	*ret = got;
	return true;
}
