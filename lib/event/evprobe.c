/*
 * Probes in the grammar of events:
 *
 *	"uprobe:" PATH ":" SYMBOL [ "+" OFFSET ] [ "%return" ]
 */
#include "event/evprobe.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "base/host.h"
#include "base/path.h"
#include "event/evcursor.h"
#include "event/evelf.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* The end of a symbol.  Go's names contain slashes, so terms begin at the last slash before a
 * '='. */
static size_t symbol_bytes(const char *text)
{
	size_t n = strcspn(text, ":,{}"), eq = strcspn(text, "=");
	for (size_t i = eq < n || text[n] == ',' ? eq : n; eq < strlen(text) && i-- > 0;)
		if (text[i] == '/' && i < n)
			return i;
	return n;
}

static int probe_offset(struct evcursor *p, struct evcursor_span at, uint64_t *ret)
{
	struct evcursor tail = *p;
	char shown[EVCURSOR_SHOWN_MAX + 1];
	tail.at = at.from;
	if (evcursor_number(&tail, "%/:,{}", ret) && tail.at == at.to)
		return 0;
	return evcursor_complain(p, EINVAL, at.from, "", "bad offset '%s'",
				evcursor_shown(p, at, shown));
}

int evprobe_type(const struct evcursor *p, long *ret_type)
{
	if (p->host && host_read_long(p->host, HOST_SYS, ret_type,
				      "bus/event_source/devices/uprobe/type") == 0)
		return 0;
	return evcursor_complain(p, ENODEV, p->at, "uprobes need Linux 4.17 with "
				 "CONFIG_UPROBE_EVENTS",
				 "this kernel has no uprobes for perf events");
}

static int add_probe(struct evcursor *p, struct evcursor_span path_at, struct evcursor_span
		     symbol_at)
{
	static const char advice[] = "write 'uprobe:/usr/bin/program:function'";
	char symbol[512];
	const char *begin = p->text + symbol_at.from;
	size_t n = symbol_at.to - symbol_at.from;
	bool is_return = n > 7 && memcmp(begin + n - 7, "%return", 7) == 0;
	if (is_return)
		n -= 7;
	const char *plus = memchr(begin, '+', n);
	size_t n_symbol = plus ? (size_t)(plus - begin) : n;
	uint64_t off = 0, file_off, n_bytes;
	int r;
	if (plus) {
		struct evcursor_span at = { symbol_at.from + n_symbol + 1, symbol_at.from + n };
		r = probe_offset(p, at, &off);
		if (r < 0)
			return r;
	}
	if (n_symbol == 0 || n_symbol >= sizeof(symbol))
		return evcursor_complain(p, EINVAL, symbol_at.from, advice, "name of a function "
					"missing");
	snprintf(symbol, sizeof(symbol), "%.*s", (int)n_symbol, begin);
	long type;
	r = evprobe_type(p, &type);
	if (r < 0)
		return r;
	struct evpmu pmu = { .name = (char *)"uprobe" };
	struct evpmu_bits bits = { 0, 1 };
	if (is_return)
		evpmu_format(p->host, &pmu, "retprobe", 8, &bits);
	CLEANUP_FREE char *path = strndup(p->text + path_at.from, path_at.to - path_at.from);
	if (!path)
		return err_errno(p->e, ENOMEM, "cannot store an event");
	struct err why = { 0 };
	r = evelf_find(path, symbol, &file_off, &n_bytes, &why);
	if (r < 0)
		return evcursor_complain(p, -r, r == -ENOENT && strstr(why.what, "function")
					? symbol_at.from : path_at.from, why.hint, "%s", why.what);
	if (off && n_bytes && off >= n_bytes)
		return evcursor_complain(p, EINVAL, symbol_at.from, "", "'%s' has only %llu bytes",
					symbol, (unsigned long long)n_bytes);
	struct evspec *s = evcursor_add(p, NULL, symbol_at);
	if (!s)
		return -ENOMEM;
	snprintf(s->name, sizeof(s->name), "uprobe:%.40s:%.*s", path_base_name(path),
		 (int)(symbol_at.to - symbol_at.from > 70 ? 70 : symbol_at.to - symbol_at.from),
		 begin);
	s->kind = EVSPEC_UPROBE;
	s->type = (uint32_t)type;
	s->config = is_return ? bits.mask : 0;
	s->config2 = file_off + off;
	s->path = TAKE_PTR(path);
	return 0;
}

int evprobe_parse(struct evcursor *p)
{
	size_t path = p->at + strlen("uprobe:"), n = strcspn(p->text + path, ":,");
	if (n == 0 || p->text[path + n] != ':')
		return evcursor_complain(p, EINVAL, path, "write "
					 "'uprobe:/usr/bin/program:function'",
					"a probe needs a path and a function");
	struct evcursor_span path_at = { path, path + n };
	size_t symbol = path + n + 1;
	struct evcursor_span symbol_at = { symbol, symbol + symbol_bytes(p->text + symbol) };
	int r = add_probe(p, path_at, symbol_at);
	p->at = symbol_at.to;
	return r;
}
