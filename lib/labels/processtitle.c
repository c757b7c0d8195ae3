#include "labels/processtitle.h"

#include "base/host.h"
#include "base/strtab.h"
#include "proc/procs.h"

static bool continues_character(char c)
{
	return ((unsigned char)c & 0xc0) == 0x80;
}

size_t processtitle_tidy(char *text, size_t n)
{
	if (n > PROCESSTITLE_BYTES_MAX) {
		n = PROCESSTITLE_BYTES_MAX;
		while (n && continues_character(text[n]))
			n--;
	}
	while (n && (text[n - 1] == '\0' || text[n - 1] == ' '))
		n--;
	for (size_t i = 0; i < n; i++)
		if (text[i] == '\0')
			text[i] = ' ';
	return n;
}

uint32_t processtitle_at(const struct host *h, struct strtab *strings, struct procs_process *p,
			 uint64_t now_ns)
{
	char text[PROCESSTITLE_BYTES_MAX + 8];
	uint64_t age_ns = now_ns > p->title_ns ? now_ns - p->title_ns : p->title_ns - now_ns;
	if (!h || (p->title_ns && age_ns < PROCESSTITLE_EVERY_NS))
		return p->title;
	p->title_ns = now_ns ? now_ns : 1;
	long n = host_read_process_line(h, p->pid, "cmdline", text, sizeof(text));
	size_t n_bytes = n > 0 ? processtitle_tidy(text, (size_t)n) : 0;
	if (n_bytes)
		p->title = strtab_add(strings, text, n_bytes);
	return p->title;
}
