/*
 * One line for each DSO.  No text is built unless it is logged.
 */

#include "symbolize/name/symbolizer-private.h"

#include "base/foreign.h"
#include "base/log.h"
#include "symbolize/elf/dso.h"
#include "symbolize/elf/symdebug.h"
#include "symbolize/elf/symelf.h"
#include "symbolize/elf/debugpackage.h"

#include <stdio.h>
#include <string.h>

void symbolizer_explain(const struct symbolizer_batch *b, const struct symaddr *addr, size_t n,
			const char *dwarf_from, const char *why_not)
{
	static const char *const word[SYMBOLIZER_N_SOURCES] = {
		"unnamed", "by .dynsym", "by .symtab", "linker stubs", "by DWARF",
		"by kallsyms", "by JIT map", "by the runtime's table", "made by cprof",
	};
	size_t count[SYMBOLIZER_N_SOURCES] = {0};
	char text[256] = "";
	size_t len = 0;
	if (!b->o->log || b->o->log->max < LOG_EXPLAIN)
		return;
	for (size_t i = 0; i < n; i++)
		count[addr[i].source]++;
	for (int s = SYMBOLIZER_N_SOURCES - 1; s >= 0; s--)
		if (count[s])
			len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%zu %s",
						len ? ", " : "", count[s], word[s]);
	log_line(b->o->log, LOG_EXPLAIN, "symbols of '%s': %s%s%s%s%s", b->d->path, text,
		 dwarf_from ? "; debug information from " : "", dwarf_from ? dwarf_from : "",
		 why_not ? "; " : "", why_not ? why_not : "");
}

/* What would give more names. */
void symbolizer_explain_lack(const struct symbolizer_batch *b, bool is_open, char *buf,
			     size_t n_bytes)
{
	const struct dso *d = b->d;
	char id[DSO_BUILD_ID_TEXT_MAX], package[128];
	if (!b->o->log || b->o->log->max < LOG_EXPLAIN)
		return;
	if (!is_open && (foreign_is_lost(-d->open_errno) ||
			 foreign_lacks_descriptor(-d->open_errno) || dsokeep_is_lost(d)))
		*buf = '\0';  /* symbolizer_note_unread explains it */
	else if (!is_open && !dsokeep_has_file(d) && !d->image)
		snprintf(buf, n_bytes, "the file could not be opened: %s",
			 d->open_errno ? strerror(d->open_errno) : "not tried");
	else if (!is_open)
		snprintf(buf, n_bytes, "not a usable ELF file");
	else if (d->n_build_id && b->o->host && d->key.kind == DSO_ELF &&
		 debugpackage_of(b->o->host, d->path, package, sizeof(package)))
		snprintf(buf, n_bytes, "no debug file for build id %s: Debian package %s has it, "
			 "or --debuginfod", dso_build_id_text(d, id), package);
	else if (d->n_build_id)
		snprintf(buf, n_bytes, "no debug information for build id %s: compile it with -g, "
			 "or put its debug file below /usr/lib/debug/.build-id",
			 dso_build_id_text(d, id));
	else
		snprintf(buf, n_bytes, "no debug information, and no build id to search for");
}

/* Counts problems with debug files, and appends their description to buf. */
void symbolizer_note_lack(struct symbolizer_batch *b, const struct symelf *elf,
			  const struct symdwarf *dwarf, char *buf, size_t n_bytes)
{
	struct symbolizer_counts *c = b->o->counts;
	bool was_late = dwarf && symdwarf_was_late(dwarf);
	const char *lost_part = dwarf ? symdwarf_lost_part(dwarf) : NULL;
	size_t n = strlen(buf);
	if (elf->misfit.path)
		snprintf(buf + n, n_bytes - n, "%s'%s' was not used: %s", n ? "; " : "",
			 elf->misfit.path, elf->misfit.why);
	n = strlen(buf);
	if (lost_part)
		snprintf(buf + n, n_bytes - n, "%sa part of its debug information, '%s', is "
			 "missing or has another build id", n ? "; " : "", lost_part);
	n = strlen(buf);
	if (was_late)
		snprintf(buf + n, n_bytes - n, "%sits debug information took too long to read "
			 "(--symbol-timeout)", n ? "; " : "");
	if (c) {
		c->n_misfits += elf->misfit.path != NULL;
		c->n_timeouts += was_late;
	}
}

void symbolizer_note_unread(struct symbolizer_batch *b, const struct symdebug_unread *unread,
			    char *buf, size_t n_bytes)
{
	size_t n = strlen(buf);
	if (unread->n_lost)
		snprintf(buf + n, n_bytes - n, "%s%u of its files were not read: their file system "
			 "did not answer in time, or they are too large to copy from there",
			 n ? "; " : "", unread->n_lost);
	n = strlen(buf);
	if (unread->n_no_descriptor)
		snprintf(buf + n, n_bytes - n, "%sits file or debug file was not read for lack of "
			 "descriptors (ulimit -n)", n ? "; " : "");
	if (b->o->counts) {
		b->o->counts->n_lost += unread->n_lost != 0;
		b->o->counts->n_no_descriptor += unread->n_no_descriptor != 0;
	}
}
