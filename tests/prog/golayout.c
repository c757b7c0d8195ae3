/* A program that compares the layout of goroutines in a Go program's debug information with the one
 * that is known for a version: golayout FILE VERSION.  Prints the fields that differ. */

#include "symbolize/runtime/go-dwarf.h"
#include "symbolize/runtime/go-layout.h"
#include "symbolize/runtime/go-version.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#define FIELD(name) { #name, offsetof(struct go_layout, name) }
static const struct { const char *name; size_t at; } fields[] = {
	FIELD(stack), FIELD(m), FIELD(sched), FIELD(syscall_sp), FIELD(syscall_pc),
	FIELD(syscall_bp), FIELD(status), FIELD(goid), FIELD(wait_since), FIELD(wait_reason),
	FIELD(switches), FIELD(locked_m), FIELD(parent), FIELD(go_pc), FIELD(start_pc),
	FIELD(labels), FIELD(bubble), FIELD(gobuf_lr), FIELD(gobuf_bp), FIELD(m_proc_id),
	FIELD(m_curg), FIELD(bubble_id), FIELD(label_format), FIELD(waiting),
	FIELD(sudog_link), FIELD(sudog_chan), FIELD(chan_receivers),
};
#define N_FIELDS (sizeof(fields) / sizeof(*fields))

static unsigned int get(const struct go_layout *l, size_t i)
{
	uint16_t x;
	memcpy(&x, (const uint8_t *)l + fields[i].at, sizeof(x));
	return x;
}

int main(int argc, char **argv)
{
	struct go_version v;
	struct go_layout debug;
	const struct go_layout *known;
	int n_different = 0;
	_Static_assert(N_FIELDS * sizeof(uint16_t) == sizeof(struct go_layout), "all fields");
	if (argc < 3 || !go_version_parse(argv[2], strlen(argv[2]), &v))
		return 2;
	int fd = open(argv[1], O_RDONLY | O_CLOEXEC);
	elf_version(EV_CURRENT);
	Elf *elf = fd < 0 ? NULL : elf_begin(fd, ELF_C_READ_MMAP, NULL);
	known = go_layout_of(&v);
	if (!elf || !known || !go_dwarf_layout(elf, fd, NULL, &debug)) {
		puts(known ? "no layout in the file" : "no known layout");
		return 1;
	}
	for (size_t i = 0; i < N_FIELDS; i++) {
		if (get(known, i) == get(&debug, i))
			continue;
		printf("%s: known %u, in the file %u\n", fields[i].name, get(known, i),
		       get(&debug, i));
		n_different++;
	}
	printf("%d of %zu fields differ\n", n_different, N_FIELDS);
	elf_end(elf);
	return n_different != 0;
}
