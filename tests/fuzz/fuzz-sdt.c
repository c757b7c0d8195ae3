/*
 * Arbitrary bytes as an ELF file with notes of USDT probes, as the notes alone, and as the text of
 * arguments.  Checks that places are in the file's segments' order, and that an argument that is
 * accepted is one that a sample can answer.
 *
 * The seeds are libraries of one page that an assembler and a linker have made of notes.
 */

#include "event/evarg.h"
#include "event/evnote.h"
#include "event/evsdt.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void check(bool ok)
{
	if (!ok)
		abort();
}

static void check_args(const char *text)
{
	static const struct arch_probe *const archs[] = { &x86probe_arch, &arm64probe_arch };
	unsigned n_args = evarg_count(text);
	check(n_args <= EVARG_MAX);
	for (unsigned n = 0; n <= n_args + 1; n++)
		for (unsigned i = 0; i < 2; i++) {
			struct evarg a;
			int r = evarg_find(text, n, archs[i], &a);
			check(r <= 0 && (r < 0 || (n >= 1 && n <= n_args)));
			if (r < 0)
				continue;
			check(a.n_bytes && a.n_bytes <= 8 && !(a.n_bytes & (a.n_bytes - 1)));
			check(a.from.index_shift <= 4 && a.from.low_bit <= 8);
			check(a.from.kind != ARCHPROBE_REG || a.from.reg < 33);
		}
}

static void check_file(const uint8_t *data, size_t size)
{
	struct evsdt s = { 0 };
	char near[64];
	int fd = memfd_create("sdt", MFD_CLOEXEC);
	check(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	if (evsdt_read(fd, "x", &s, NULL) == 0) {
		for (size_t i = 0; i < s.locations.n; i++) {
			const struct evsdt_location *l = &s.locations.v[i];
			size_t first, n = evsdt_find(&s, l->provider, l->name, &first);
			check(n && first <= i && i < first + n);
			check_args(l->args);
			if (i == 16)
				break;
		}
		evsdt_nearest(&s, "shop", "order", near, sizeof(near));
		check(strlen(near) < sizeof(near) && (!s.locations.n || near[0]));
		evsdt_done(&s);
	}
	close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char text[256];
	struct bytes notes = bytes_of(data, size);
	struct evnote note;
	while (evnote_next(&notes, &note))
		check(*note.provider && *note.name);
	size_t n = size < sizeof(text) - 1 ? size : sizeof(text) - 1;
	memcpy(text, data, n);
	text[n] = '\0';
	check_args(text);
	check_file(data, size);
	for (unsigned i = 0; i < 2; i++)
		(i ? arm64probe_arch : x86probe_arch).is_stepped(data, size < 15 ? size : 15);
	return 0;
}
