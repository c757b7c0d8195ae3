/* The version of Go in .go.buildinfo, in both of its layouts, and in damaged ones. */

#include "symbolize/runtime/go-version.h"
#include "tap.h"
#include "tests/unit/symbolize/gomemory.h"

static struct gomemory memory;
static const struct runtime_memory from = { gomemory_read, &memory };

static void parses(const char *text, unsigned int major, unsigned int minor)
{
	struct go_version v = { 0 };
	bool is_version = go_version_parse(text, strlen(text), &v);
	tap_ok(is_version == (major != 0) && v.major == major && v.minor == minor,
	       "'%s': %u.%u", text, v.major, v.minor);
}

/* The section at GOMEMORY_DATA: flags, then what follows its header. */
static void put_info(unsigned int flags, const void *p, size_t n)
{
	memset(memory.data, 0, sizeof(memory.data));
	memcpy(memory.data, "\xff Go buildinf:\x8", 15);
	memory.data[15] = (uint8_t)flags;
	memcpy(memory.data + (flags & 2 ? 32 : 16), p, n);
}

int main(void)
{
	struct go_version v;
	parses("go1.26.10", 1, 26);
	parses("go1.27rc1", 1, 27);
	parses("go1.24.4 X:nocoverageredesign", 1, 24);
	parses("devel go1.28-0123abcd Mon", 1, 28);
	parses("go2.0", 2, 0);
	parses("go1", 0, 0);
	parses("go1.", 0, 0);
	parses("go1.99999999999", 0, 0);
	parses("devel +0123abcd", 0, 0);
	parses("", 0, 0);
	go_version_parse("go1.21\x1b[2J", 10, &v);
	tap_str(v.text, "go1.21?[2J", "control characters do not get into messages");
	static const char long_text[] = "go1.21-0123456789012345678901234567890123456789012345678";
	go_version_parse(long_text, sizeof(long_text) - 1, &v);
	tap_int(strlen(v.text), GO_VERSION_BYTES_MAX - 1, "a long version is cut");

	put_info(2, "\x09go1.26.10\x03mod", 14);
	tap_ok(go_version_read(&from, GOMEMORY_DATA, 100, &v) && v.minor == 26 &&
	       strcmp(v.text, "go1.26.10") == 0, "texts in the section");
	tap_ok(!go_version_read(&from, GOMEMORY_DATA, 31, &v), "the section is too short");
	tap_ok(!go_version_read(&from, 0x1000, 100, &v), "it cannot be read");
	put_info(2, "\xff\xff\xff\xff\xff\xff", 6);
	tap_ok(!go_version_read(&from, GOMEMORY_DATA, 100, &v), "an endless length");
	put_info(2, "\xff\xff\x7fgo1.21", 9);
	tap_ok(go_version_read(&from, GOMEMORY_DATA, 100, &v) && v.minor == 21,
	       "a length beyond the section");
	put_info(3, "\x06go1.21", 7);
	tap_ok(!go_version_read(&from, GOMEMORY_DATA, 100, &v), "big endian");

	uint64_t header = GOMEMORY_DATA + 0x100;
	put_info(0, &header, sizeof(header));
	gomemory_string(&memory, header, GOMEMORY_HEAP, "go1.17.13");
	tap_ok(go_version_read(&from, GOMEMORY_DATA, 32, &v) && v.minor == 17,
	       "until Go 1.17 the section has the address of a string");
	gomemory_word(&memory, header, 0x1000);
	tap_ok(!go_version_read(&from, GOMEMORY_DATA, 32, &v), "of one that cannot be read");
	put_info(0, &header, sizeof(header));
	memory.data[14] = 4;
	tap_ok(!go_version_read(&from, GOMEMORY_DATA, 32, &v), "32-bit pointers");
	return tap_done();
}
