#include "symbolize/runtime/go-version.h"

#include "symbolize/runtime/runtime-memory.h"

#include <string.h>

#define INFO_MAGIC "\xff Go buildinf:"
#define INFO_MAGIC_BYTES 14u
#define INFO_PTR_BYTES 14u              /* where the size of pointers is */
#define INFO_FLAGS 15u
#define INFO_BIG_ENDIAN 1u
#define INFO_INLINE 2u                  /* the texts follow, each after its length */
#define INFO_HEADER_BYTES 32u
#define LENGTH_BYTES_MAX 4u
#define NUMBER_MAX 9999u

/* Reads a number without a sign; false: there is none. */
static bool take_number(const char **at, const char *end, unsigned int *ret)
{
	const char *p = *at;
	unsigned int x = 0;
	for (; p < end && *p >= '0' && *p <= '9' && x <= NUMBER_MAX; p++)
		x = 10 * x + (unsigned int)(*p - '0');
	bool is_number = p > *at && x <= NUMBER_MAX;
	*at = p;
	*ret = x;
	return is_number;
}

bool go_version_parse(const char *text, size_t n_bytes, struct go_version *ret)
{
	static const char devel[] = "devel ";
	const char *at = text, *end = text + n_bytes;
	struct go_version v = { 0 };
	if (n_bytes >= sizeof(devel) - 1 && memcmp(at, devel, sizeof(devel) - 1) == 0)
		at += sizeof(devel) - 1;
	if (end - at < 2 || at[0] != 'g' || at[1] != 'o')
		return false;
	at += 2;
	if (!take_number(&at, end, &v.major) || at == end || *at != '.')
		return false;
	at++;
	if (!take_number(&at, end, &v.minor))
		return false;
	for (size_t i = 0; i < n_bytes && i < sizeof(v.text) - 1; i++)
		v.text[i] = text[i] >= ' ' && text[i] <= '~' ? text[i] : '?';
	*ret = v;
	return true;
}

/* The text whose length precedes it, in at most n bytes. */
static bool read_inline(const uint8_t *p, size_t n, struct go_version *ret)
{
	size_t length = 0, i = 0;
	do {
		if (i == n || i == LENGTH_BYTES_MAX)
			return false;
		length |= (size_t)(p[i] & 0x7f) << (7 * i);
	} while (p[i++] & 0x80);
	return go_version_parse((const char *)p + i, length < n - i ? length : n - i, ret);
}

bool go_version_read(const struct runtime_memory *m, uint64_t at, size_t n_bytes,
		     struct go_version *ret)
{
	uint8_t info[INFO_HEADER_BYTES + 2 * GO_VERSION_BYTES_MAX];
	uint64_t header, text[2];
	char old[GO_VERSION_BYTES_MAX];
	size_t n = n_bytes < sizeof(info) ? n_bytes : sizeof(info);
	if (n < INFO_HEADER_BYTES || !runtime_memory_read(m, at, info, n) ||
	    memcmp(info, INFO_MAGIC, INFO_MAGIC_BYTES) != 0 || info[INFO_FLAGS] & INFO_BIG_ENDIAN)
		return false;
	if (info[INFO_FLAGS] & INFO_INLINE)
		return read_inline(info + INFO_HEADER_BYTES, n - INFO_HEADER_BYTES, ret);
	/* the address of a string's header */
	memcpy(&header, info + 16, sizeof(header));
	if (info[INFO_PTR_BYTES] != 8 || !runtime_memory_read(m, header, text, sizeof(text)))
		return false;
	n = text[1] < sizeof(old) ? text[1] : sizeof(old);
	return runtime_memory_read(m, text[0], old, n) && go_version_parse(old, n, ret);
}
