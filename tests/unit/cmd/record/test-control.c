#include "base/err.h"
#include "cmd/record/control.h"
#include "tests/unit/tap.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct err e;

static void words(void)
{
	static const struct {
		const char *line, *argument;
		enum control_verb verb;
	} c[] = {
		{ "enable", "", CONTROL_ENABLE }, { "disable", "", CONTROL_DISABLE },
		{ "enable cpu-clock", " cpu-clock", CONTROL_ENABLE },
		{ "enable  x", "  x", CONTROL_ENABLE }, { "enablex", "x", CONTROL_ENABLE },
		{ "evlist -v", " -v", CONTROL_EVLIST }, { "snapshot", "", CONTROL_SNAPSHOT },
		{ "stop", "", CONTROL_STOP }, { "ping", "", CONTROL_PING },
		{ "ack", "", CONTROL_ACK }, { "", "", CONTROL_UNKNOWN },
		{ "enabl", "enabl", CONTROL_UNKNOWN }, { " enable", " enable", CONTROL_UNKNOWN },
		{ "Enable", "Enable", CONTROL_UNKNOWN },
	};
	for (size_t i = 0; i < sizeof(c) / sizeof(*c); i++) {
		struct control_command got = control_parse(c[i].line);
		tap_int(got.verb, c[i].verb, c[i].line);
		tap_str(got.argument, c[i].argument, "... and its argument");
	}
}

static void places(void)
{
	static const char *const wrong[] = {
		"", "fd", "fd:", "fd:x", "fd:7x", "fd:-1", "fd:7,", "fd:7,8,9", "fd:,8", "fifo:",
		"fifo:,a", "fd:99999999", "FD:7", "7,8",
	};
	struct control_place p;
	tap_int(control_parse_place("fd:7", &p), 0, "fd:7");
	tap_ok(!p.is_fifo && p.fd == 7 && p.ack_fd == -1, "... without acknowledgements");
	tap_int(control_parse_place("fd:0,12", &p), 0, "fd:0,12");
	tap_ok(!p.is_fifo && p.fd == 0 && p.ack_fd == 12, "... with acknowledgements");
	tap_int(control_parse_place("fifo:/tmp/a b,c,d", &p), 0, "fifo:/tmp/a b,c,d");
	tap_str(p.path, "/tmp/a b", "... FIFO of commands");
	tap_str(p.ack_path, "c,d", "... FIFO of acknowledgements: all after the first comma");
	control_place_done(&p);
	tap_int(control_parse_place("fifo:a,", &p), 0, "fifo:a,");
	tap_ok(p.is_fifo && !p.ack_path, "... no acknowledgements");
	control_place_done(&p);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
		tap_int(control_parse_place(wrong[i], &p), -EINVAL, wrong[i]);
}

static void put(int fd, const char *text, size_t n)
{
	tap_ok(write(fd, text, n) == (ssize_t)n, "bytes are written");
}

static void streams(void)
{
	int ctl[2], ack[2];
	struct control c;
	struct control_command cmd;
	char buf[16], longest[CONTROL_LINE_MAX + 10];
	if (pipe(ctl) < 0 || pipe(ack) < 0)
		return;
	struct control_place p = { .fd = ctl[0], .ack_fd = ack[1] };
	tap_int(control_open(&c, &p, &e), 0, "two pipes");
	tap_ok(!control_next(&c, &cmd), "no command: does not wait");
	put(ctl[1], "ena", 3);
	tap_ok(!control_next(&c, &cmd), "an incomplete line");
	put(ctl[1], "ble\nping\0stop", 13);
	tap_ok(control_next(&c, &cmd) && cmd.verb == CONTROL_ENABLE, "... and the rest of it");
	tap_ok(control_next(&c, &cmd) && cmd.verb == CONTROL_PING, "a line that ends in NUL");
	tap_ok(!control_next(&c, &cmd), "the last line is incomplete");
	put(ctl[1], "\n\n", 2);
	tap_ok(control_next(&c, &cmd) && cmd.verb == CONTROL_STOP, "now it is complete");
	tap_ok(control_next(&c, &cmd) && cmd.verb == CONTROL_UNKNOWN, "an empty line");
	control_ack(&c);
	tap_int(read(ack[0], buf, sizeof(buf)), 5, "an acknowledgement has five bytes");
	tap_ok(memcmp(buf, "ack\n", 5) == 0, "... and the last is NUL");
	memset(longest, 'x', sizeof(longest));
	put(ctl[1], longest, sizeof(longest));
	put(ctl[1], "\nping\n", 6);
	tap_ok(control_next(&c, &cmd) && cmd.verb == CONTROL_UNKNOWN, "a line that is too long");
	tap_ok(control_next(&c, &cmd) && cmd.verb == CONTROL_UNKNOWN, "... and its rest");
	tap_ok(control_next(&c, &cmd) && cmd.verb == CONTROL_PING, "the line after it");
	fcntl(ack[1], F_SETFL, O_NONBLOCK);
	while (write(ack[1], longest, sizeof(longest)) > 0)
		;
	fcntl(ack[1], F_SETFL, 0);
	control_ack(&c);
	tap_ok(c.ack_fd >= 0, "nobody reads the acknowledgements: does not wait");
	close(ctl[1]);
	tap_ok(!control_next(&c, &cmd) && c.fd < 0, "the writer has left");
	tap_ok(!control_next(&c, &cmd), "... and does not come back");
	control_close(&c);
	tap_ok(fcntl(ctl[0], F_GETFD) >= 0, "descriptors that it does not own stay open");
	p = (struct control_place){ .fd = 1000, .ack_fd = -1 };
	tap_int(control_open(&c, &p, &e), -EBADF, "a descriptor that is not open");
}

static void fifos(void)
{
	char dir[] = "/tmp/test-control-XXXXXX";
	struct control c;
	struct control_place p = { .is_fifo = true, .path = (char *)"c", .ack_path = (char *)"a" };
	if (!mkdtemp(dir) || chdir(dir) < 0)
		return;
	tap_int(control_open(&c, &p, &e), -ENOENT, "a missing FIFO");
	tap_ok(mkfifo("c", 0600) == 0, "one of two FIFOs");
	tap_int(control_open(&c, &p, &e), -ENOENT, "... is not enough");
	tap_ok(mkfifo("a", 0600) == 0, "both FIFOs");
	tap_int(control_open(&c, &p, &e), 0, "... open, although nobody else has opened them");
	struct control_command cmd;
	tap_ok(!control_next(&c, &cmd) && c.fd >= 0, "... and stay open");
	control_close(&c);
	unlink("a");
	close(open("a", O_CREAT | O_WRONLY, 0600));
	tap_int(control_open(&c, &p, &e), -EINVAL, "a file is not a FIFO");
	unlink("a");
	unlink("c");
	rmdir(dir);
}

/* Another user waits in a folder like /tmp. */
static void foreign(void)
{
	char dir[] = "/tmp/test-control-XXXXXX";
	struct control c;
	struct control_place p = { .is_fifo = true, .path = (char *)"c" };
	if (!mkdtemp(dir) || chdir(dir) < 0)
		return;
	if (chmod(dir, 01777) < 0 || mkfifo("c", 0666) < 0 || mkfifo("own", 0600) < 0 ||
	    symlink("own", "link") < 0 || chown("c", 65534, 65534) < 0 ||
	    lchown("link", 65534, 65534) < 0) {
		tap_skip("FIFOs of another user", "needs root");
	} else {
		tap_int(control_open(&c, &p, &e), -EPERM, "another user's FIFO in a shared folder");
		tap_ok(strstr(e.what, "belongs to another user (uid 65534)"), "  says so");
		p.path = (char *)"link";
		tap_int(control_open(&c, &p, &e), -EPERM, "another user's link there");
		p.path = (char *)"own";
		tap_int(control_open(&c, &p, &e), 0, "our own FIFO there");
		control_close(&c);
		p.path = (char *)"c";
		tap_int(chown(dir, 65534, 65534) | control_open(&c, &p, &e), 0,
			"the FIFO of another user in that user's folder");
		control_close(&c);
	}
	unlink("c");
	unlink("own");
	unlink("link");
	rmdir(dir);
}

int main(void)
{
	words();
	places();
	streams();
	fifos();
	foreign();
	return tap_done();
}
