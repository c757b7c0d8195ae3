/* What was learned of an interpreter's loop is there in the next recording, if nobody else can have
 * written it. */

#include "interp/interp-saved.h"
#include "symbolize/elf/dso.h"
#include "tests/unit/interp/interptable.h"

#include "tap.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAME "interpreter-00ff"

static char dir[] = "/tmp/cprof-test-XXXXXX";
static struct interp_frames frames;

static const char *path(void)
{
	static char text[100];
	snprintf(text, sizeof(text), "%s/%s", dir, NAME);
	return text;
}

static void write_learned(void)
{
	struct interp_samples s;
	interptable_begin(&s);
	interp_saved_write(dir, NAME, s.learn);
	tap_ok(access(path(), F_OK) != 0, "nothing is kept before it is known");
	interptable_learn(&s, &frames);
	interp_saved_write(dir, NAME, s.learn);
	struct stat st;
	tap_ok(stat(path(), &st) == 0 && (st.st_mode & 0777) == 0600, "then it is, for us alone");
	interptable_end(&s);
}

static void read_learned(void)
{
	struct interp_samples s;
	struct interp_learn l;
	interp_learn_init(&l, &interptable);
	tap_int(interp_saved_read(dir, NAME, &l), 0, "it is read");
	tap_int(l.instruction, R15, "the place of the instruction");
	tap_int(l.frame, RBX, "that of the frame");
	interp_samples_init(&s, &l, NULL);
	interptable_execute("0123");
	tap_int(interptable_sample(&s, &frames, 3, 10, 3, 1000), INTERP_QUALITY_EXACT,
		"the first sample has its functions");
	interptable_is_calling = true;
	tap_int(interptable_sample(&s, &frames, 3, 10, 3, 20000000), INTERP_QUALITY_EXACT,
		"and so has the first one at a call, although it is read late");
	interptable_is_calling = false;
	interp_samples_done(&s);
	interp_learn_done(&l);
}

static void check_read(int want, const char *name)
{
	struct interp_learn l;
	interp_learn_init(&l, &interptable);
	tap_int(interp_saved_read(dir, NAME, &l), want, name);
	tap_int(interp_learn_has_places(&l), want == 0, "are places known?");
	interp_learn_done(&l);
}

static void put_at(off_t at, uint8_t value)
{
	int fd = open(path(), O_WRONLY);
	if (pwrite(fd, &value, 1, at) != 1)
		tap_ok(false, "the file can be written");
	close(fd);
}

static void read_damaged(void)
{
	struct stat st;
	chmod(path(), 0644);
	check_read(-EPERM, "a file that others may read");
	chmod(path(), 0600);
	check_read(0, "that file, with its mode again");
	put_at(8, 77);
	check_read(-EINVAL, "another version");
	put_at(8, 1);
	put_at(18, 77);
	check_read(-EINVAL, "a place that does not exist");
	put_at(18, 0);
	check_read(0, "the undamaged file");
	if (stat(path(), &st) == 0 && truncate(path(), st.st_size - 1) == 0)
		check_read(-EINVAL, "a truncated file");
}

static void name_files(void)
{
	char name[INTERP_SAVED_NAME_MAX], file[] = "/tmp/cprof-test-XXXXXX";
	struct dso d = { .fd = mkstemp(file), .n_build_id = 2, .build_id = { 0x00, 0xff } };
	unlink(file);
	interp_saved_name(&d, name);
	tap_str(name, NAME, "a file's name is its build id");
	fchmod(d.fd, 0666);
	interp_saved_name(&d, name);
	tap_str(name, "", "not that of a file that everybody can write");
	fchmod(d.fd, 0644);
	if (fchown(d.fd, 65534, 65534) == 0) {
		interp_saved_name(&d, name);
		tap_str(name, "", "nor that of another user's file");
	} else {
		tap_skip("nor that of another user's file", "needs root");
	}
	d.n_build_id = 0;
	interp_saved_name(&d, name);
	tap_str(name, "", "nor that of a file without a build id");
	close(d.fd);
}

int main(void)
{
	if (!mkdtemp(dir)) {
		puts("Bail out! no temporary folder");
		return 1;
	}
	write_learned();
	read_learned();
	read_damaged();
	name_files();
	unlink(path());
	rmdir(dir);
	interp_frames_done(&frames);
	return tap_done();
}
