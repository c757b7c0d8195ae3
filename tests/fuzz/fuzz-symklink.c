/*
 * What a machine says about where its kernel is linked: a byte of choices, the address of the
 * kernel's first symbol, and parts, each preceded by its length (u16): /proc/kcore, System.map, and
 * the kernel's configuration.
 */

#include "symbolize/kernel/symklink.h"

#include "fuzzhost.h"

#include <string.h>

enum {
	CHOICE_STEXT = 1,
	CHOICE_PROC_CONFIG = 2,         /* /proc/config.gz, not /boot/config-RELEASE */
	CHOICE_NO_RELEASE = 4,
	CHOICE_RELEASE = 8,             /* the first of its values */
};

#define X86_ALIGN (UINT64_C(2) << 20)
#define X86_MAP UINT64_C(0xffffffff80000000)

static const char *const release[] = {
	"4.19.0-27-arm64", "5.0", "5.4", "5.10.0", "5.15.7", "6.1.0-18-amd64", "6.12", "x",
};
#define N_RELEASES (sizeof(release) / sizeof(*release))

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct host host;

static void make_machine(void)
{
	static const char *const folders[] = {
		"proc", "proc/sys", "proc/sys/kernel", "sys", "root", "root/boot",
	};
	if (fuzzdir[0])
		return;
	fuzzdir_make("/dev/shm");
	for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++)
		fuzzdir_folder(folders[i]);
	fuzzhost_open(&host);
}

/* Creates the file, or removes it if it would be empty. */
static void put(const char *folder, const char *name, struct bytes b)
{
	char path[128];
	snprintf(path, sizeof(path), "%s%s", folder, name);
	if (bytes_left(&b))
		fuzzdir_put(path, b);
	else
		unlink(fuzzdir_path(path));
}

/* A kernel that is where it is linked has not been moved. */
static void check_guess(const char *of, struct symklink_first first)
{
	uint64_t shift = symklink_guess(of, first);
	bool is_x86 = first.address >= X86_MAP;
	fuzzdir_check(!is_x86 || shift % X86_ALIGN == 0);
	first.address -= shift;
	fuzzdir_check((first.address >= X86_MAP) == is_x86 && symklink_guess(of, first) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bytes b = bytes_of(data, size);
	uint8_t choices = bytes_u8(&b);
	struct symklink_first first = { bytes_u64(&b), choices & CHOICE_STEXT };
	const char *name = release[choices / CHOICE_RELEASE % N_RELEASES];
	const struct bytes kcore = fuzzdir_part(&b), map = fuzzdir_part(&b);
	const struct bytes config = fuzzdir_part(&b), none = bytes_of("", 0);
	bool is_in_proc = choices & CHOICE_PROC_CONFIG;
	bool has_release = !(choices & CHOICE_NO_RELEASE);

	make_machine();
	put("proc/kcore", "", kcore);
	put("root/boot/System.map-", name, map);
	put("proc/config.gz", "", is_in_proc ? config : none);
	put("root/boot/config-", name, is_in_proc ? none : config);
	put("proc/sys/kernel/osrelease", "", has_release ? bytes_of(name, strlen(name)) : none);
	uint64_t shift = symklink_running(&host, first);
	if (!bytes_left(&kcore) && first.address >= X86_MAP)
		fuzzdir_check(shift % X86_ALIGN == 0);
	if (!bytes_left(&kcore) && !bytes_left(&map) && !bytes_left(&config))
		fuzzdir_check(shift == symklink_guess(has_release ? name : NULL, first));
	put("root/boot/System.map-", name, none);
	put("root/boot/config-", name, none);
	check_guess(NULL, first);
	for (size_t i = 0; i < N_RELEASES; i++)
		check_guess(release[i], first);
	return 0;
}
