/*
 * A goroutine at work waits in some function that it has called.  One that receives in the very
 * function that it was started with, from a channel or by select, has nothing to do until something
 * comes: a loop over events or jobs, a watcher, a timer.  One that sends there has done its work
 * and waits for somebody else.
 *
 * The main goroutine has no such function: it may well wait for a result.
 */

#include "snapshot/goidle.h"

#include "symbolize/runtime/go-layout.h"
#include "symbolize/runtime/go-table.h"
#include "symbolize/runtime/runtime-memory.h"

#include <stdbool.h>
#include <string.h>

#define CASES_MAX 64u
#define SUDOG_BYTES 128u

struct name { char text[GO_TABLE_NAME_BYTES_MAX]; };

static bool name_at(const struct goidle *x, uint64_t vaddr, struct name *ret, bool *ret_is_wrapper)
{
	struct go_table_function f;
	if (!go_table_find(x->table, vaddr, &f) ||
	    !go_table_name(x->table, &f, ret->text, sizeof(ret->text)))
		return false;
	*ret_is_wrapper = go_table_is_wrapper(x->table, &f);
	return true;
}

/* The call in which the goroutine's own function waits; false: another function does. */
static bool own_call(const struct goidle *x, const uint64_t *vaddr, size_t n, struct name *ret)
{
	struct name root;
	bool is_wrapper;
	if (n < 3 || n > GOIDLE_FRAMES_MAX || !name_at(x, vaddr[n - 1], &root, &is_wrapper) ||
	    strncmp(root.text, "runtime.goexit", strlen("runtime.goexit")) != 0)
		return false;
	size_t own = n - 2;
	if (!name_at(x, vaddr[own], &root, &is_wrapper))
		return false;
	/* `go f(x)` is a call of f in a function that the compiler has made. */
	own -= is_wrapper && own > 0;
	return own > 0 && name_at(x, vaddr[own - 1], ret, &is_wrapper);
}

/* Only receivers wait for a channel that it receives from. */
static bool is_receiving(const struct goidle *x, uint64_t channel)
{
	/* first and last, of both queues */
	uint64_t queue[4];
	return channel &&
	       runtime_memory_read(x->memory, channel + x->layout->chan_receivers, queue,
				   sizeof(queue)) &&
	       queue[0] && !queue[2];
}

/* Does it receive only, in all cases of its select? */
static bool receives(const struct goidle *x, uint64_t sudog, uint64_t at)
{
	const struct go_layout *l = x->layout;
	unsigned int n = 0;
	if (!l->sudog_link || !l->sudog_chan || !l->chan_receivers)
		return false;
	for (; sudog && n < CASES_MAX; n++) {
		uint8_t b[SUDOG_BYTES];
		uint64_t of, channel;
		if (!runtime_memory_read(x->memory, sudog, b, l->sudog_chan + 8u))
			return false;
		memcpy(&of, b, sizeof(of));
		memcpy(&channel, b + l->sudog_chan, sizeof(channel));
		memcpy(&sudog, b + l->sudog_link, sizeof(sudog));
		if (of != at || !is_receiving(x, channel))
			return false;
	}
	return n > 0 && !sudog;
}

/* The goroutine has not run since g was read. */
static bool is_unchanged(const struct goidle *x, const struct go_g *g, uint64_t at)
{
	uint8_t b[GO_LAYOUT_G_BYTES_MAX];
	struct go_g now;
	if (!runtime_memory_read(x->memory, at, b, go_layout_g_bytes(x->layout)))
		return false;
	go_g_decode(x->layout, b, &now);
	return go_g_is_same(&now, g);
}

const char *goidle_label(const struct goidle *x, const struct go_g *g, uint64_t at,
			 const uint64_t *vaddr, size_t n)
{
	struct name call;
	if (!own_call(x, vaddr, n, &call))
		return NULL;
	bool is_loop = strcmp(call.text, "runtime.selectgo") == 0;
	bool is_worker = strcmp(call.text, "runtime.chanrecv1") == 0 ||
			 strcmp(call.text, "runtime.chanrecv2") == 0;
	if (is_worker)
		return "pool";
	return is_loop && receives(x, g->waiting, at) && is_unchanged(x, g, at) ? "event-loop"
										: NULL;
}
