/* Names, lines and inlined methods in the memory of JVMs of three versions, whole and damaged. */

#include "symbolize/runtime/hotspot-code.h"
#include "symbolize/runtime/hotspot-layout.h"
#include "symbolize/runtime/hotspot-scopes.h"
#include "symbolize/runtime/runtime-memory.h"
#include "tap.h"
#include "tests/unit/symbolize/hotspotvm.h"

#include <stdio.h>
#include <stdlib.h>

static struct hotspotvm vm;
static const struct runtime_memory memory = { hotspotvm_read, &vm };
static struct runtime_code_source from = { .memory = &memory };
static struct runtime_code_program program;

static enum runtime_code_result start(unsigned int version, const char *without)
{
	vm.version = version;
	vm.without = without;
	if (!hotspotvm_init(&vm))
		abort();
	from.cfi = vm.cfi;
	return hotspot_code_ops.open(&from, &program);
}

static void stop(void)
{
	hotspot_code_ops.close(program.data);
	hotspotvm_done(&vm);
	program.data = NULL;
}

static void write_calls(struct runtime_code *code, uint64_t pc, char *text, size_t n_text)
{
	struct runtime_call call[RUNTIME_CALLS_MAX];
	size_t n = 0, n_calls = hotspot_code_ops.calls(program.data, &from, code, pc, call);
	for (size_t i = 0; i < n_calls; i++)
		n += (size_t)snprintf(text + n, n_text - n, "%s%s %s:%u", i ? "; " : "",
				      call[i].name, call[i].file ? call[i].file : "-",
				      call[i].line);
}

/* "-": no code there */
static void has(uint64_t pc, const char *want, const char *what)
{
	char got[256] = "-";
	struct runtime_code code;
	if (hotspot_code_ops.find(program.data, &from, pc, &code)) {
		write_calls(&code, pc, got, sizeof(got));
		hotspot_code_ops.release(&code);
	}
	tap_str(got, want, what);
}

static void all_names(unsigned int version)
{
	char what[64];
	snprintf(what, sizeof(what), "the tables of JDK %u can be read", version);
	tap_ok(start(version, NULL) == RUNTIME_CODE_OK, "%s", what);
	snprintf(what, sizeof(what), "%u", version);
	tap_str(program.version, what, "with its version");
	has(HOTSPOTVM_CODE + 0x40,
	    "pack.Inner.step Inner.java:12; pack.Outer.run Outer.java:1012",
	    "an inlined method and its caller");
	has(HOTSPOTVM_CODE + 0x3f,
	    "pack.Inner.step Inner.java:12; pack.Outer.run Outer.java:1012",
	    "the address before a return address means the same");
	has(HOTSPOTVM_CODE + 0x41, "pack.Outer.run Outer.java:10", "the method itself");
	has(HOTSPOTVM_CODE + 0x81, "pack.Outer.run Outer.java:0", "code without a line");
	has(HOTSPOTVM_STUB_CODE, "StubRoutines (1) -:0", "a stub");
	has(HOTSPOTVM_CODE + HOTSPOTVM_CODE_BYTES, "-", "data after code");
	has(HOTSPOTVM_HEAP, "-", "free memory of the code cache");
	has(HOTSPOTVM_HEAP + 0x2000, "-", "an address outside");
	stop();
}

static bool is_witness(const struct runtime_code *code, uint64_t at)
{
	for (unsigned int i = 0; i < RUNTIME_CODE_WITNESSES; i++)
		if (code->witness[i].n_bytes && code->witness[i].at == at)
			return true;
	return false;
}

/* The number of unloaded classes; -1: unknown. */
static long long unloads(void)
{
	uint64_t n;
	return hotspot_code_ops.epoch(program.data, &from, &n) ? (long long)n : -1;
}

static void epochs(unsigned int version)
{
	start(version, NULL);
	tap_int(unloads(), 0, "no class has been unloaded");
	hotspotvm_put(&vm, HOTSPOTVM_UNLOADED, 7, 8);
	hotspotvm_put(&vm, HOTSPOTVM_SHARED_UNLOADED, 2, 8);
	tap_int(unloads(), 9, "later some, of both kinds");
	vm.is_gone = true;
	tap_int(unloads(), -1, "a JVM that is gone does not count");
	stop();
	start(version, "_start");
	tap_int(unloads(), -1, "nor does one without counters");
	stop();
	start(version, NULL);
	hotspotvm_put(&vm, HOTSPOTVM_COUNTERS + 28, 0, 4);
	tap_int(unloads(), -1, "nor one that only starts");
	hotspotvm_put(&vm, HOTSPOTVM_COUNTERS + 28, 3, 4);
	tap_int(unloads(), 0, "until it has the counters");
	stop();
}

static void broken_counters(void)
{
	static const struct { uint64_t at, value; size_t n_bytes; const char *what; } broken[] = {
		{ 0, 0xc0c0feca - 1, 4, "another magic number" },
		{ 4, 0, 1, "the other byte order" },
		{ 5, 3, 1, "a format that is not known" },
		{ 8, 0x41, 4, "an end within an entry" },
		{ 8, UINT32_MAX, 4, "a size that is too large" },
		{ 24, UINT32_MAX - 3, 4, "entries after the end" },
		{ 0x40, 0, 4, "an entry without bytes" },
		{ 0x40, UINT32_MAX, 4, "an endless entry" },
		{ 0x44, 0x30, 4, "a name that is cut" },
		{ 0x44, UINT32_MAX, 4, "a name outside of its entry" },
		{ 0x4c, 'B', 1, "a text instead of a number" },
		{ 0x50, 0x39, 4, "a value that is cut" },
	};
	for (size_t i = 0; i < sizeof(broken) / sizeof(*broken); i++) {
		start(17, NULL);
		hotspotvm_put(&vm, HOTSPOTVM_COUNTERS + broken[i].at, broken[i].value,
			      broken[i].n_bytes);
		tap_int(unloads(), -1, broken[i].what);
		stop();
	}
}

static void the_facts(void)
{
	struct runtime_code code;
	start(17, NULL);
	tap_ok(hotspot_code_ops.find(program.data, &from, HOTSPOTVM_CODE, &code),
	       "code is found");
	tap_int((long long)code.start, HOTSPOTVM_CODE, "with its start");
	tap_int((long long)code.n_bytes, HOTSPOTVM_CODE_BYTES, "and size");
	tap_int((long long)code.serial, 33, "the number of its compilation");
	tap_str(code.linkage, "pack.Outer.run(I)V", "a name with types");
	tap_int((long long)code.frame_words, 6, "the size of its frame");
	tap_int((long long)code.body_off, 0x18, "which is complete from there on");
	tap_ok(is_witness(&code, HOTSPOTVM_BLOB + 72), "it is the same while that number is");
	tap_ok(is_witness(&code, HOTSPOTVM_BLOB + 64), "and while it has that method");
	tap_ok(is_witness(&code, HOTSPOTVM_SEGMENTS + 2), "and while the block begins there");
	hotspot_code_ops.release(&code);
	hotspotvm_put(&vm, HOTSPOTVM_OUTER + 8, 0, 8);
	has(HOTSPOTVM_CODE, "-", "a method whose class is gone has no name");
	hotspotvm_put(&vm, HOTSPOTVM_OUTER + 8, HOTSPOTVM_OUTER + 0x20, 8);
	hotspotvm_put(&vm, HOTSPOTVM_INNER + 8, 0, 8);
	has(HOTSPOTVM_CODE + 0x40, "pack.Outer.run Outer.java:0",
	    "without an inlined method the compiled one has the time");
	/* a larger block was made of free ones: its segments are those of the old block, too */
	hotspotvm_put(&vm, HOTSPOTVM_SEGMENTS + 1, 0, 1);
	hotspotvm_put(&vm, HOTSPOTVM_SEGMENTS + 2, 1, 1);
	has(HOTSPOTVM_CODE, "-", "a header that is left over in another block");
	hotspotvm_put(&vm, HOTSPOTVM_SEGMENTS + 2, 0, 1);
	hotspotvm_put(&vm, HOTSPOTVM_OUTER + 0x146, '\n', 1);
	has(HOTSPOTVM_CODE, "-", "a text with a control character is not a name");
	vm.is_gone = true;
	has(HOTSPOTVM_CODE, "-", "a JVM that is gone has no names");
	stop();
}

static void other_versions(void)
{
	tap_ok(start(17, "_compile_id") == RUNTIME_CODE_UNSUPPORTED, "a needed field is missing");
	tap_str(program.missing, "_compile_id", "its name is known");
	hotspotvm_done(&vm);
	tap_ok(start(17, "_metadata_offset") == RUNTIME_CODE_OK, "one of inlined methods may be");
	has(HOTSPOTVM_CODE + 0x40, "pack.Outer.run Outer.java:0", "then there are no lines");
	stop();
	tap_ok(start(17, "_frame_complete_offset") == RUNTIME_CODE_OK, "one of frames, too");
	struct runtime_code code;
	tap_ok(hotspot_code_ops.find(program.data, &from, HOTSPOTVM_CODE, &code) &&
	       code.body_off == UINT32_MAX, "then frames are complete at calls only");
	hotspot_code_ops.release(&code);
	stop();
	start(17, NULL);
	hotspot_code_ops.close(program.data);
	hotspotvm_put(&vm, 0x14208, 7, 4);
	tap_ok(hotspot_code_ops.open(&from, &program) == RUNTIME_CODE_UNSUPPORTED,
	       "JDK 7 is not known");
	vm.is_gone = true;
	tap_ok(hotspot_code_ops.open(&from, &program) == RUNTIME_CODE_UNREADABLE,
	       "memory that cannot be read");
	hotspotvm_done(&vm);
}

/* Asks for the function of a frame of the interpreter, with a Method, the bytecode in its slot, and
 * that in its register. */
static void interprets(uint64_t method, uint64_t slot, uint64_t leaf, const char *want,
		       const char *what)
{
	uint64_t reg[32] = { [13] = leaf }, pc = 0;
	struct runtime_frame f = { .pc = HOTSPOTVM_INTERPRETER + 0x10, .reg = reg,
				   .reg_valid = leaf ? 1u << 13 : 0 };
	f.below[2] = method;
	f.below[vm.version == 8 ? 6 : 7] = slot;
	if (hotspot_code_ops.frame(program.data, &from, &f, &pc))
		has(pc, want, what);
	else
		tap_str("-", want, what);
}

static void interpreted(unsigned int version)
{
	const uint64_t outer = HOTSPOTVM_BYTECODE(HOTSPOTVM_OUTER);
	uint64_t pc;
	start(version, NULL);
	interprets(HOTSPOTVM_OUTER, outer + 4, 0, "pack.Outer.run Outer.java:12",
		   "an interpreted method, and its line");
	interprets(HOTSPOTVM_OUTER, outer, outer + 9, "pack.Outer.run Outer.java:1012",
		   "the register of the innermost frame comes first");
	interprets(HOTSPOTVM_OUTER, outer, 0x1234, "pack.Outer.run Outer.java:10",
		   "unless it is something else");
	interprets(HOTSPOTVM_INNER, outer + 4, 0, "-", "another method's bytecode");
	interprets(HOTSPOTVM_OUTER, outer + 10, 0, "-", "an address after the bytecode");
	interprets(HOTSPOTVM_OUTER + 4, outer, 0, "-", "no Method");
	const struct runtime_frame native = { .pc = HOTSPOTVM_CODE };
	tap_ok(!hotspot_code_ops.frame(program.data, &from, &native, &pc),
	       "compiled code is not interpreted");
	hotspotvm_put(&vm, HOTSPOTVM_INNER + 0x20 + 20, 0, 2);
	interprets(HOTSPOTVM_INNER, 0, 0, "pack.Inner.step Inner.java:0", "a native method");
	hotspotvm_put(&vm, HOTSPOTVM_OUTER + 8, 0, 8);
	interprets(HOTSPOTVM_OUTER, outer + 4, 0, "-", "a method whose class is gone");
	stop();
	start(version, "_stub_buffer");
	interprets(HOTSPOTVM_OUTER, outer + 4, 0, "-", "a JVM that does not tell where it is");
	stop();
}

static void endless(void)
{
	start(17, NULL);
	for (unsigned int i = 0; i < 32; i++)
		hotspotvm_put(&vm, HOTSPOTVM_SEGMENTS + i, 1, 1);
	has(HOTSPOTVM_CODE, "-", "a segment map that leads before its start");
	stop();
	/* a scope whose caller is itself, then one after it */
	start(17, NULL);
	hotspotvm_put(&vm, HOTSPOTVM_BLOB + 0x314, 4, 1);
	has(HOTSPOTVM_CODE + 0x40, "pack.Outer.run Outer.java:0", "a scope that is its caller");
	hotspotvm_put(&vm, HOTSPOTVM_BLOB + 0x314, 7, 1);
	has(HOTSPOTVM_CODE + 0x40, "pack.Outer.run Outer.java:0", "a caller after its callee");
	hotspotvm_put(&vm, HOTSPOTVM_BLOB + 0x314, 1, 1);
	hotspotvm_put(&vm, HOTSPOTVM_BLOB + 0x315, 3, 1);
	has(HOTSPOTVM_CODE + 0x40, "pack.Outer.run Outer.java:0", "a number of no method");
	stop();
}

int main(void)
{
	all_names(8);
	all_names(17);
	all_names(25);
	the_facts();
	epochs(8);
	epochs(25);
	broken_counters();
	other_versions();
	interpreted(8);
	interpreted(17);
	interpreted(25);
	endless();
	return tap_done();
}
