/* CFI of JIT code: that of the recorded machine, whichever machine runs this test. */

#include "tests/unit/symbolize/cfibuild.h"
#include "tests/unit/tap.h"

#include "proc/jitcfi.h"
#include "symbolize/jit/jitcode.h"

#define CODE_BYTES 0x100u
#define START 0x7f0000001000u

static uint8_t bytes[4096];

/* A function at base that has pushed the frame pointer: .eh_frame, then .eh_frame_hdr. */
static struct jitcode_entry build(const struct arch *a, uint8_t ra, uint64_t base, uint8_t enc)
{
	static struct cfibuild section, hdr, *const b = &section;
	*b = (struct cfibuild){ .is_eh = true, .vaddr = base + CODE_BYTES, .enc = enc };
	cfibuild_cie(b, 1, "zR", 1, -8, ra);
	CFIBUILD(b, DW_CFA_def_cfa, a->sp, 16, (uint8_t)(DW_CFA_offset | a->fp), 2,
		 (uint8_t)(DW_CFA_offset | ra), 1);
	cfibuild_end(b);
	const uint64_t table[][2] = { { base, cfibuild_fde(b, base, CODE_BYTES) } };
	cfibuild_end(b);
	hdr = (struct cfibuild){ .vaddr = b->vaddr + b->n };
	cfibuild_hdr(&hdr, b, DW_EH_PE_datarel | DW_EH_PE_sdata4, table, 1);
	memcpy(bytes, b->v, b->n);
	memcpy(bytes + b->n, hdr.v, hdr.n);
	return (struct jitcode_entry){ .start = START, .n_bytes = CODE_BYTES,
		.unwind = { bytes, (uint32_t)(b->n + hdr.n), (uint32_t)hdr.n } };
}

static void check(const struct arch *a, uint8_t ra)
{
	struct cfi_rule r;
	struct jitcode_entry e = build(a, ra, 0, DW_EH_PE_pcrel | DW_EH_PE_sdata4);
	struct cfi *c = jitcfi_open(a, &e, 0);
	if (!tap_ok(c, "%s: relative pointers", a->name))
		return;
	tap_ok(c->arch == a, "%s: the CFI is of that architecture", a->name);
	cfi_rule_at(c, 0x10, &r);
	tap_ok(r.kind == CFI_PLAIN && r.cfa_off8 == 2 && r.ra_off8 == -1 && r.fp_off8 == -2,
	       "%s: a rule", a->name);
	cfi_close(c);
	e = build(a, ra, START, DW_EH_PE_udata8);
	tap_ok(!jitcfi_open(a, &e, 0), "%s: absolute pointers are not relative", a->name);
	c = jitcfi_open(a, &e, START);
	tap_ok(c, "%s: absolute pointers", a->name);
	cfi_close(c);
	e.unwind.n_bytes = e.unwind.n_hdr_bytes;
	tap_ok(!jitcfi_open(a, &e, 0), "%s: no CFI", a->name);
}

int main(void)
{
	check(&arch_x86_64, arch_x86_64.pc);
	check(&arch_arm64, arch_arm64.link);
	return tap_done();
}
