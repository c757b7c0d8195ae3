/* Probes of an ELF file: places, semaphores, prelinked files, damaged ones. */
#include "base/err.h"
#include "event/evnote.h"
#include "event/evsdt.h"
#include "sdtelf.h"
#include "symbolize/arch/archprobe.h"
#include "tap.h"

#include <errno.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

static int read_bytes(const void *bytes, size_t n, struct evsdt *ret)
{
	int fd = memfd_create("sdt", MFD_CLOEXEC);
	if (write(fd, bytes, n) != (ssize_t)n)
		return -EIO;
	int r = evsdt_read(fd, "x", ret, NULL);
	close(fd);
	return r;
}

static void test_places(void)
{
	struct sdtelf f = { .n_notes = 0 };
	struct evsdt s = { 0 };
	size_t first = 99;
	sdtelf_add(&f, SDTELF_CODE + 0x20, 0x2000, 0, "shop", "order", "8@%rdi");
	sdtelf_add(&f, SDTELF_CODE + 0x10, 0x2000, SDTELF_DATA + 4, "shop", "order", "8@%rsi");
	sdtelf_add(&f, SDTELF_CODE + 0x10, 0x2000, SDTELF_DATA + 4, "shop", "order", "8@%rsi");
	sdtelf_add(&f, SDTELF_CODE + 0x30, 0x2000, 0, "bank", "order", "");
	sdtelf_add(&f, 0x9000, 0x2000, 0, "shop", "nowhere", "");
	sdtelf_add(&f, SDTELF_CODE, 0x2000, SDTELF_DATA + 0x90, "shop", "uncounted", "");
	sdtelf_finish(&f, EM_X86_64, 0x2000);
	tap_ok(read_bytes(&f.bytes, sizeof(f.bytes), &s) == 0, "a file with notes is read");
	tap_ok(s.locations.n == 3 && s.n_unusable == 2 && !s.is_cut && s.arch == &x86probe_arch,
	   "a note without code, one with a semaphore that is not in the file, and a second note "
	   "of one place are left out");
	tap_ok(evsdt_find(&s, "shop", "order", &first) == 2 && first == 1,
	       "a probe has two locations");
	tap_ok(s.locations.v[1].file_off == SDTELF_CODE_OFF + 0x10 &&
	   s.locations.v[1].semaphore_off == SDTELF_DATA_OFF + 4 &&
	   s.locations.v[2].file_off == SDTELF_CODE_OFF + 0x20 && !s.locations.v[2].semaphore_off &&
	   strcmp(s.locations.v[1].args, "8@%rsi") == 0,
	   "offsets in the file, semaphores and arguments are right");
	tap_ok(evsdt_find(&s, "shop", "orde", &first) == 0, "part of a name is no name");
	char near[100];
	evsdt_nearest(&s, "shop", "ordre", near, sizeof(near));
	tap_ok(strcmp(near, "shop:order, bank:order") == 0, "the nearest names, each once: %s",
	       near);
	evsdt_nearest(&s, "shop", "ordre", near, 8);
	tap_ok(strlen(near) == 7, "nearest names that do not fit are cut");
	evsdt_done(&s);
}

static void test_moved(void)
{
	struct sdtelf f = { .n_notes = 0 };
	struct evsdt s = { 0 };
	sdtelf_add(&f, 0x20, 0x40, 0, "shop", "order", "");
	sdtelf_finish(&f, EM_AARCH64, SDTELF_CODE + 0x40);
	tap_ok(read_bytes(&f.bytes, sizeof(f.bytes), &s) == 0 && s.locations.n == 1 &&
	   s.locations.v[0].file_off == SDTELF_CODE_OFF + 0x20 && s.arch == &arm64probe_arch,
	   "in a prelinked file, .stapsdt.base corrects addresses");
	evsdt_done(&s);
}

static void test_damaged(void)
{
	struct sdtelf f = { .n_notes = 0 };
	struct evsdt s = { 0 };
	char name[200];
	memset(name, 'n', sizeof(name));
	name[sizeof(name) - 1] = '\0';
	sdtelf_add(&f, SDTELF_CODE, 0, 0, "shop", "order", "");
	sdtelf_add(&f, SDTELF_CODE + 1, 0, 0, "shop", name, "");
	sdtelf_finish(&f, EM_X86_64, 0);
	tap_ok(read_bytes("#!/bin/sh", 9, &s) == -ENOEXEC, "a script is not an ELF file");
	int bad = 0;
	for (size_t n = 0; n < f.n_notes; n++) {
		/* The same notes, cut at each place. */
		struct bytes b = bytes_of(f.bytes + SDTELF_NOTES_OFF, n);
		struct evnote note;
		int found = 0;
		while (evnote_next(&b, &note))
			found++;
		bad += found > 2 || (found == 2 && n < f.n_notes - 3);
	}
	tap_ok(!bad, "notes that are cut anywhere are never read beyond their end");
	struct bytes whole = bytes_of(f.bytes + SDTELF_NOTES_OFF, f.n_notes);
	struct evnote note;
	tap_ok(evnote_next(&whole, &note) && evnote_next(&whole, &note) &&
	   strcmp(note.name, name) == 0 && !evnote_next(&whole, &note), "whole ones are all read");
}

int main(void)
{
	test_places();
	test_moved();
	test_damaged();
	return tap_done();
}
