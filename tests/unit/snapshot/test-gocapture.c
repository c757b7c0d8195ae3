/* Copies of goroutines that move, end and run while they are read. */

#include "snapshot/gocapture.h"
#include "symbolize/runtime/go-program.h"
#include "tests/unit/symbolize/golist.h"
#include "tests/unit/tap.h"

static struct golist list;
static struct go_program program;

/* What happens at each reading. */
static void (*event)(unsigned int n);
static unsigned int n_reads;

/* Stacks contain their own addresses. */
static long read_all(void *ctx, const struct iovec *local, size_t n_local,
		     const struct iovec *remote, size_t n_remote)
{
	long done = 0;
	n_reads++;
	if (event)
		event(n_reads);
	for (size_t i = 0; i < n_remote; i++) {
		uint64_t at = (uintptr_t)remote[i].iov_base;
		if (at < GOLIST_STACK(0) || at >= GOLIST_STACK(GOLIST_N)) {
			long n = gomemory_read(ctx, local + i, 1, remote + i, 1);
			if (n < (long)remote[i].iov_len)
				return done ? done : n;
		}
		for (size_t k = 0; at >= GOLIST_STACK(0) && k + 8 <= remote[i].iov_len; k += 8) {
			uint64_t word = at + k;
			memcpy((char *)local[i].iov_base + k, &word, 8);
		}
		done += (long)remote[i].iov_len;
	}
	(void)n_local;
	return done;
}

static struct runtime_memory memory = { .read = read_all };

static void field(unsigned int i, unsigned int off, uint64_t value)
{
	gomemory_word(&list.memory, GOLIST_G(i) + off, value);
}

static void start(struct gocapture *c, void (*what)(unsigned int n))
{
	golist_close(&list);
	if (!golist_open(&list, "go1.27.3", GOLIST_SYMBOLS))
		abort();
	memory.ctx = &list.memory;
	program = (struct go_program){ .layout = *go_layout_known(0), .allgs = GOLIST_ALLGS };
	event = what;
	n_reads = 0;
	*c = (struct gocapture){ .n_windows = 0 };
}

static unsigned int count(const struct gocapture *c, enum gocapture_how how)
{
	unsigned int n = 0;
	for (size_t i = 0; i < c->goroutines.n; i++)
		n += c->goroutines.v[i].how == how;
	return n;
}

static bool has_stack(const struct gocapture *c, const struct gocapture_goroutine *r)
{
	uint64_t word;
	memcpy(&word, c->stacks.v + r->stack_off, sizeof(word));
	return r->n_stack_bytes == 0x100 && word == r->g.sp;
}

static void steady(void)
{
	struct gocapture c;
	start(&c, NULL);
	field(3, program.layout.status, GO_RUNNING);
	field(4, program.layout.status, GO_DEAD);
	tap_int(gocapture_begin(&c, &program, &memory), 0, "the list is read");
	tap_int(gocapture_next(&c), 1, "a window");
	tap_ok(c.goroutines.n == GOLIST_N - 1 && count(&c, GOCAPTURE_STEADY) == GOLIST_N - 2 &&
	       count(&c, GOCAPTURE_RUNNING) == 1, "all that live, and one that runs");
	tap_ok(has_stack(&c, &c.goroutines.v[0]) && has_stack(&c, &c.goroutines.v[37]),
	       "with their stacks");
	tap_ok(c.to_ns >= c.from_ns && c.n_windows == 1 && c.n_total == GOLIST_N,
	       "in one window");
	tap_int(gocapture_next(&c), 0, "there is no other one");
	gocapture_done(&c);
}

/* The list's two readings, all goroutines, the stacks. */
#define READ_STACKS 4u

static void move_once(unsigned int n)
{
	if (n == READ_STACKS)
		field(7, program.layout.switches, 1);
}

static void move_always(unsigned int n)
{
	field(7, program.layout.switches, n & 0xff);
}

static void end(unsigned int n)
{
	if (n == READ_STACKS)
		field(7, program.layout.status, GO_DEAD);
}

static void replace(unsigned int n)
{
	if (n == READ_STACKS)
		field(7, program.layout.goid, 1000);
}

static void run(unsigned int n)
{
	if (n == READ_STACKS)
		field(7, program.layout.status, GO_RUNNING);
}

static void moves(void (*what)(unsigned int n), enum gocapture_how want, const char *name)
{
	struct gocapture c;
	start(&c, what);
	int r = gocapture_begin(&c, &program, &memory);
	r = r < 0 ? r : gocapture_next(&c);
	const struct gocapture_goroutine *g = r == 1 ? &c.goroutines.v[7] : NULL;
	tap_ok(g && g->how == want && c.n_moved == 1 &&
	       count(&c, GOCAPTURE_STEADY) == GOLIST_N - 1 &&
	       (want != GOCAPTURE_AGAIN || has_stack(&c, g)) &&
	       (want != GOCAPTURE_MOVING || !g->n_stack_bytes), "%s: %d", name, g ? g->how : -1);
	gocapture_done(&c);
}

static void again(void)
{
	struct gocapture c;
	start(&c, run);
	int r = gocapture_begin(&c, &program, &memory);
	r = r < 0 ? r : gocapture_next(&c);
	event = NULL;
	field(7, program.layout.status, GO_RUNNABLE);
	r = r < 0 ? r : gocapture_again(&c, 7);
	tap_ok(r == 0 && c.goroutines.v[7].how == GOCAPTURE_AGAIN &&
	       has_stack(&c, &c.goroutines.v[7]), "one that ran, and does not any more");
	gocapture_done(&c);
}

static void windows(void)
{
	struct gocapture c;
	size_t n = 0;
	start(&c, NULL);
	c.max_window_bytes = 0x1000;
	int r = gocapture_begin(&c, &program, &memory);
	while (r == 0 && gocapture_next(&c) == 1)
		n += count(&c, GOCAPTURE_STEADY);
	tap_ok(n == GOLIST_N && c.n_windows == 3, "stacks in several windows");
	gocapture_done(&c);
	start(&c, NULL);
	c.max_goroutines = 5;
	c.max_stack_bytes = 0x40;
	r = gocapture_begin(&c, &program, &memory);
	tap_ok(r == 0 && gocapture_next(&c) == 1 && c.goroutines.n == 5 &&
	       c.n_left_out == GOLIST_N - 5 && c.goroutines.v[0].is_cut &&
	       c.goroutines.v[0].n_stack_bytes == 0x40, "limits");
	gocapture_done(&c);
}

static bool has_even_id(void *ctx, const struct go_g *g)
{
	++*(unsigned int *)ctx;
	return g->goid % 2 == 0;
}

static void some(void)
{
	struct gocapture c;
	unsigned int n_asked = 0, n_odd = 0;
	start(&c, NULL);
	field(4, program.layout.status, GO_DEAD);
	c.is_wanted = has_even_id;
	c.wanted_ctx = &n_asked;
	int r = gocapture_begin(&c, &program, &memory);
	r = r < 0 ? r : gocapture_next(&c);
	for (size_t i = 0; i < c.goroutines.n; i++)
		n_odd += c.goroutines.v[i].g.goid % 2;
	tap_ok(r == 1 && n_asked == GOLIST_N - 1 && !n_odd && c.goroutines.n >= GOLIST_N / 2 - 1,
	       "only those that are wanted, of those that live");
	gocapture_done(&c);
}

static void labels(void)
{
	struct gocapture c;
	const uint64_t set = GOMEMORY_HEAP + 0x1c000;
	start(&c, NULL);
	gomemory_word(&list.memory, set, set + 0x20);
	gomemory_word(&list.memory, set + 8, 1);
	gomemory_word(&list.memory, set + 16, 1);
	gomemory_string(&list.memory, set + 0x20, set + 0x80, "user");
	gomemory_string(&list.memory, set + 0x30, set + 0x90, "anna");
	field(3, program.layout.labels, set);
	field(9, program.layout.labels, set);
	field(11, program.layout.labels, 0x10);
	int r = gocapture_begin(&c, &program, &memory);
	r = r < 0 ? r : gocapture_next(&c);
	tap_ok(r == 1 && c.labels.n == 1 && c.goroutines.v[3].labels == 0 &&
	       c.goroutines.v[9].labels == 0 && c.goroutines.v[4].labels == GOCAPTURE_NO_LABELS,
	       "a set of labels is read once");
	tap_ok(c.labels.n && c.labels.v[0].n == 1 &&
	       memcmp(c.text.v + c.labels.v[0].off, "user\0anna", 10) == 0, "key and value");
	tap_ok(c.n_bad_labels == 1, "labels that cannot be read");
	gocapture_done(&c);
}

static void vanish(unsigned int n)
{
	list.memory.is_gone = n >= READ_STACKS;
}

static void gone(void)
{
	struct gocapture c;
	start(&c, NULL);
	program.allgs = 0x1000;
	tap_int(gocapture_begin(&c, &program, &memory), -EFAULT, "no list");
	gocapture_done(&c);
	start(&c, vanish);
	int r = gocapture_begin(&c, &program, &memory);
	tap_int(r < 0 ? r : gocapture_next(&c), -ESRCH, "a program that ends meanwhile");
	gocapture_done(&c);
}

int main(void)
{
	steady();
	moves(move_once, GOCAPTURE_AGAIN, "it moves, and is read again");
	moves(move_always, GOCAPTURE_MOVING, "it moves all the time");
	moves(end, GOCAPTURE_ENDED, "it ends");
	moves(replace, GOCAPTURE_ENDED, "another one takes its place");
	moves(run, GOCAPTURE_RUNNING, "it runs");
	again();
	windows();
	some();
	labels();
	gone();
	golist_close(&list);
	return tap_done();
}
