/*
 * Method -> ConstMethod -> ConstantPool -> its class.  The ConstMethod has the indices of name and
 * signature in the pool; each slot of the pool after its header is a word.  A Symbol is a length
 * and bytes.  Bytecode and line table follow the ConstMethod's header.
 *
 * All of it goes on changing, and may be anything: each object is copied once, and names that are
 * no text are refused.
 */

#include "symbolize/runtime/hotspot-method.h"

#include "symbolize/runtime/hotspot-layout.h"
#include "symbolize/runtime/hotspot-scopes.h"
#include "symbolize/runtime/runtime-memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_BYTES_MAX 1024u            /* of a longer name this is the beginning */
#define OBJECT_BYTES_MAX 512u
#define SYMBOL_BYTES 64u                /* most texts and their header are shorter */
#define LINES_BYTES_MAX 8192u
#define PAGE_BYTES 4096u

static uint64_t word_at(const struct runtime_memory *m, uint64_t at)
{
	uint64_t word;
	return at % 8 == 0 && runtime_memory_read(m, at, &word, sizeof(word)) ? word : 0;
}

/* Reads n_bytes.  If the next page cannot be read, it reads up to the end of this one.  Returns how
 * many bytes it has read; 0 if it cannot read any. */
static size_t read_some(const struct runtime_memory *m, uint64_t at, void *buf, size_t n_bytes)
{
	size_t first = PAGE_BYTES - at % PAGE_BYTES;
	if (runtime_memory_read(m, at, buf, n_bytes))
		return n_bytes;
	return first < n_bytes && runtime_memory_read(m, at, buf, first) ? first : 0;
}

/* ---- texts ------------------------------------------------------------------------------- */

/* Control characters are in no name, and in much of what is no text. */
static bool is_text(const char *text, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if ((unsigned char)text[i] < ' ' || text[i] == 0x7f)
			return false;
	return n > 0;
}

/* The text of a Symbol; the lowest bit of its address may be a mark.  Returns its length, 0: no
 * text. */
static size_t read_symbol(const struct hotspot_layout *l, const struct runtime_memory *m,
			  uint64_t at, char text[TEXT_BYTES_MAX + 1])
{
	uint8_t b[SYMBOL_BYTES + TEXT_BYTES_MAX];
	size_t head = l->symbol_body.off;
	at &= ~(uint64_t)1;
	if (!at || at % 8 || head >= SYMBOL_BYTES || l->symbol_length.off + 8u > SYMBOL_BYTES)
		return 0;
	size_t n_read = read_some(m, at, b, SYMBOL_BYTES);
	if (n_read <= head || n_read < l->symbol_length.off + 2u)
		return 0;
	uint64_t n = hotspot_get(b, (struct hotspot_field){ l->symbol_length.off, 2 });
	if (n > TEXT_BYTES_MAX)
		n = TEXT_BYTES_MAX;
	if (head + n > n_read && !runtime_memory_read(m, at, b, head + n))
		return 0;
	memcpy(text, b + head, n);
	text[n] = '\0';
	return is_text(text, n) ? n : 0;
}

/* ---- methods ----------------------------------------------------------------------------- */

/* The address of a Symbol in the constant pool. */
static uint64_t in_pool(const struct hotspot_layout *l, const struct runtime_memory *m,
			uint64_t pool, uint64_t index)
{
	return index ? word_at(m, pool + l->pool_bytes + 8 * index) : 0;
}

/* Until JDK 16 the class has the name of the source file. */
static char *read_file(const struct hotspot_layout *l, const struct runtime_memory *m,
		       uint64_t pool, uint64_t holder)
{
	char text[TEXT_BYTES_MAX + 1];
	bool is_pool = l->pool_source.n_bytes == 2;
	uint16_t index;
	uint64_t at = is_pool ? pool + l->pool_source.off : holder + l->klass_source.off;
	if ((!is_pool && l->klass_source.n_bytes != 2) ||
	    !runtime_memory_read(m, at, &index, sizeof(index)) || !index ||
	    !read_symbol(l, m, in_pool(l, m, pool, index), text))
		return NULL;
	return strdup(text);
}

static void read_lines(const struct hotspot_layout *l, const struct runtime_memory *m, uint64_t at,
		       struct hotspot_method *ret)
{
	uint8_t b[LINES_BYTES_MAX];
	bool has_no_zeros = l->version >= 20;
	size_t n = read_some(m, at, b, 256), end = hotspot_scopes_lines_end(b, n, has_no_zeros);
	if (n && end == n) {
		n = read_some(m, at, b, sizeof(b));
		end = hotspot_scopes_lines_end(b, n, has_no_zeros);
	}
	ret->lines = n ? malloc(end) : NULL;
	if (!ret->lines)
		return;
	memcpy(ret->lines, b, end);
	ret->n_lines_bytes = (uint32_t)end;
}

/* Packages have slashes; so has the number of a hidden class, after a plus sign. */
static void write_class(char *name)
{
	for (; *name; name++)
		if (*name == '/')
			*name = '.';
		else if (*name == '+')
			*name = '/';
}

static bool set_names(struct hotspot_method *ret, char *class, const char *name,
		      const char *signature)
{
	write_class(class);
	if (asprintf(&ret->name, "%s.%s", class, name) < 0)
		ret->name = NULL;
	if (asprintf(&ret->linkage, "%s.%s%s", class, name, signature) < 0)
		ret->linkage = NULL;
	return ret->name && ret->linkage;
}

bool hotspot_method_read(const struct hotspot_layout *l, const struct runtime_memory *memory,
			 uint64_t at, struct hotspot_method *ret,
			 struct hotspot_method_places *ret_places)
{
	char class[TEXT_BYTES_MAX + 1], name[TEXT_BYTES_MAX + 1], signature[TEXT_BYTES_MAX + 1];
	uint8_t b[OBJECT_BYTES_MAX];
	*ret = (struct hotspot_method){ .name = NULL };
	uint64_t method = at % 8 == 0 ? word_at(memory, at + l->method_const.off) : 0;
	if (!method || method % 8 || l->const_bytes > sizeof(b) - 8 ||
	    !runtime_memory_read(memory, method, b, l->const_bytes))
		return false;
	memset(b + l->const_bytes, 0, sizeof(b) - l->const_bytes);
	const struct hotspot_field of[] = { l->const_pool, l->const_flags, l->const_code_size,
					    l->const_name, l->const_signature };
	uint64_t value[5];
	for (size_t i = 0; i < 5; i++) {
		if (of[i].off + 8u > sizeof(b))
			return false;
		value[i] = hotspot_get(b, of[i]);
	}
	uint64_t pool = value[0], holder = pool ? word_at(memory, pool + l->pool_holder.off) : 0;
	struct hotspot_method_places p = {
		.constant = method, .holder_at = pool + l->pool_holder.off,
		.class_at = holder + l->klass_name.off,
		.name_at = pool + l->pool_bytes + 8 * value[3],
	};
	if (!holder || !value[3])
		return false;
	p.class_text = word_at(memory, p.class_at);
	p.name_text = word_at(memory, p.name_at);
	if (!read_symbol(l, memory, p.class_text, class) ||
	    !read_symbol(l, memory, p.name_text, name) ||
	    !read_symbol(l, memory, in_pool(l, memory, pool, value[4]), signature))
		return false;
	ret->n_class_bytes = (uint32_t)strlen(class);
	ret->n_name_bytes = (uint32_t)strlen(name);
	if (!set_names(ret, class, name, signature)) {
		hotspot_method_done(ret);
		return false;
	}
	if (ret_places)
		*ret_places = p;
	ret->file = read_file(l, memory, pool, holder);
	if (l->has_lines && (value[1] & l->has_lines) && l->const_code_size.n_bytes == 2)
		read_lines(l, memory, method + l->const_bytes + value[2], ret);
	return true;
}

void hotspot_method_done(struct hotspot_method *m)
{
	free(m->name);
	free(m->linkage);
	free(m->file);
	free(m->lines);
	*m = (struct hotspot_method){ .name = NULL };
}

uint32_t hotspot_method_line(const struct hotspot_layout *l, const struct hotspot_method *m,
			     int32_t bci)
{
	return m->lines && bci >= 0 ?
		hotspot_scopes_line(m->lines, m->n_lines_bytes, l->version >= 20, bci) : 0;
}

uint64_t hotspot_method_bytes(const struct hotspot_method *m)
{
	return strlen(m->name) + strlen(m->linkage) + m->n_lines_bytes + 128;
}
