/*
 * The peer libunwind: remote unwinding with the same registers and stack copies, its global cache,
 * and one address space object for each process state.  Unwind tables are found as in perf:
 * .eh_frame_hdr by its program header, read through access_mem.
 */

#include "tests/bench/unwind.h"

#include <elf.h>
#include <err.h>
#include <libunwind.h>
#include <string.h>

/* Exported by the library but not declared in a header. */
int _Ux86_64_dwarf_search_unwind_table(unw_addr_space_t as, unw_word_t ip, unw_dyn_info_t *di,
				       unw_proc_info_t *pi, int need_unwind_info, void *arg);

static const struct bench_sample *current;

/* The file's bytes at address at, by its program headers. */
static const uint8_t *map_bytes(const struct bench_space *s, uint64_t at, size_t n)
{
	/* usually the same segment as last time; the search must not count as libunwind's cost */
	static const struct bench_space *last_space;
	static const uint8_t *last;
	static uint64_t last_at, last_n;
	if (s == last_space && at - last_at < last_n && last_n - (at - last_at) >= n)
		return last + (at - last_at);
	for (uint32_t i = 0; i < s->n; i++) {
		const struct bench_map *m = &s->map[i];
		Elf64_Ehdr h;
		if (!m->file->bytes)
			continue;
		memcpy(&h, m->file->bytes, sizeof(h));
		for (unsigned int j = 0; j < h.e_phnum; j++) {
			Elf64_Phdr p;
			memcpy(&p, m->file->bytes + h.e_phoff + j * sizeof(p), sizeof(p));
			uint64_t in = at - m->bias - p.p_vaddr;
			if (p.p_type != PT_LOAD || in >= p.p_filesz || p.p_filesz - in < n ||
			    p.p_offset + p.p_filesz > m->file->n_bytes)
				continue;
			last_space = s;
			last = m->file->bytes + p.p_offset;
			last_at = at - in;
			last_n = p.p_filesz;
			return last + in;
		}
	}
	return NULL;
}

static int access_mem(unw_addr_space_t as, unw_word_t at, unw_word_t *val, int write, void *arg)
{
	(void)as, (void)arg;
	uint64_t off = at - current->regs.r[arch_x86_64.sp];
	if (write)
		return -UNW_EINVAL;
	if (off < current->n_stack_bytes && current->n_stack_bytes - off >= 8) {
		memcpy(val, current->stack + off, 8);
		return 0;
	}
	const uint8_t *p = map_bytes(current->space, at, 8);
	if (!p)
		return -UNW_EINVAL;
	memcpy(val, p, 8);
	return 0;
}

static int access_reg(unw_addr_space_t as, unw_regnum_t reg, unw_word_t *val, int write, void *arg)
{
	(void)as, (void)arg;
	if (write || reg < 0 || reg > 16)
		return -UNW_EBADREG;
	*val = current->regs.r[reg]; /* libunwind uses DWARF's register numbers */
	return 0;
}

static int access_fpreg(unw_addr_space_t as, unw_regnum_t reg, unw_fpreg_t *val, int write,
			void *arg)
{
	(void)as, (void)reg, (void)val, (void)write, (void)arg;
	return -UNW_EBADREG;
}

static int find_proc_info(unw_addr_space_t as, unw_word_t ip, unw_proc_info_t *pi, int need,
			  void *arg)
{
	const struct bench_map *m;
	Elf64_Ehdr h;
	if (!bench_find(current->space, ip, &m) || !m->file->bytes)
		return -UNW_ENOINFO;
	memcpy(&h, m->file->bytes, sizeof(h));
	for (unsigned int j = 0; j < h.e_phnum; j++) {
		Elf64_Phdr p;
		memcpy(&p, m->file->bytes + h.e_phoff + j * sizeof(p), sizeof(p));
		if (p.p_type != PT_GNU_EH_FRAME)
			continue;
		const uint8_t *hdr = m->file->bytes + p.p_offset;
		uint32_t n;
		if (hdr[0] != 1 || hdr[1] != 0x1b || hdr[2] != 0x03 || hdr[3] != 0x3b)
			return -UNW_ENOINFO;
		memcpy(&n, hdr + 8, 4);
		unw_dyn_info_t di = { .format = UNW_INFO_FORMAT_REMOTE_TABLE,
			.start_ip = m->start, .end_ip = m->end };
		di.u.rti.segbase = p.p_vaddr + m->bias;
		di.u.rti.table_data = p.p_vaddr + m->bias + 12;
		di.u.rti.table_len = n * 8ull / sizeof(unw_word_t);
		return _Ux86_64_dwarf_search_unwind_table(as, ip, &di, pi, need, arg);
	}
	return -UNW_ENOINFO;
}

static void put_unwind_info(unw_addr_space_t as, unw_proc_info_t *pi, void *arg)
{
	(void)as, (void)pi, (void)arg;
}

static int get_dyn_info(unw_addr_space_t as, unw_word_t *ret, void *arg)
{
	(void)as, (void)ret, (void)arg;
	return -UNW_ENOINFO;
}

static int resume(unw_addr_space_t as, unw_cursor_t *cu, void *arg)
{
	(void)as, (void)cu, (void)arg;
	return -UNW_EINVAL;
}

static int proc_name(unw_addr_space_t as, unw_word_t at, char *buf, size_t n, unw_word_t *off,
		     void *arg)
{
	(void)as, (void)at, (void)buf, (void)n, (void)off, (void)arg;
	return -UNW_EINVAL;
}

static unw_accessors_t accessors = { .find_proc_info = find_proc_info,
	.put_unwind_info = put_unwind_info, .get_dyn_info_list_addr = get_dyn_info,
	.access_mem = access_mem, .access_reg = access_reg, .access_fpreg = access_fpreg,
	.resume = resume, .get_proc_name = proc_name };

size_t bench_libunwind(struct bench_capture *c, const struct bench_sample *s, uint64_t *ret_pc)
{
	(void)c;
	unw_cursor_t cursor;
	size_t n = 0;
	current = s;
	if (!s->space->libunwind) {
		s->space->libunwind = unw_create_addr_space(&accessors, 0);
		unw_set_caching_policy(s->space->libunwind, UNW_CACHE_GLOBAL);
		unw_set_cache_size(s->space->libunwind, 16384, 0);
	}
	if (unw_init_remote(&cursor, s->space->libunwind, NULL))
		return 0;
	do {
		unw_word_t pc;
		if (unw_get_reg(&cursor, UNW_REG_IP, &pc) || !pc || n == BENCH_DEPTH_MAX)
			break;
		ret_pc[n++] = pc;
	} while (unw_step(&cursor) > 0);
	return n;
}
