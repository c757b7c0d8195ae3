/* Whose labels a moment has, from readings and reported changes; and how many may be wrong. */
#include "labels/gotimes.h"
#include "labels/lateness.h"
#include "tests/unit/tap.h"

#include <stdio.h>

#define MS 1000000u

static struct gotimes t;

static enum gotimes_check read_as(uint64_t ms, uint64_t who, uint32_t set, uint64_t reported_ms)
{
	return gotimes_read(&t, &(struct gotimes_reading){
		.before_ns = ms * MS, .after_ns = ms * MS + 1000, .who = who, .set = set,
		.reported_ns = reported_ms * MS }, 0);
}

static void read_dead(uint64_t ms, uint64_t who, uint64_t reported_ms)
{
	gotimes_read(&t, &(struct gotimes_reading){
		.before_ns = ms * MS, .after_ns = ms * MS, .who = who, .is_dead = true,
		.set = GOTIMES_UNKNOWN, .reported_ns = reported_ms * MS }, 0);
}

static void change(uint64_t ms, uint32_t set)
{
	gotimes_change(&t, &(struct gotimes_changed){ .time_ns = ms * MS, .set = set }, 0);
}

static void at(uint64_t ms, const char *want, const char *what)
{
	static const char *const how[] = { "nothing", "exact", "late" };
	struct gotimes_answer a;
	char text[64];
	enum gotimes_how h = gotimes_at(&t, ms * MS, &a);
	snprintf(text, sizeof(text), "%s", how[h]);
	if (h != GOTIMES_NOTHING)
		snprintf(text, sizeof(text), "%s %u of %u%s", how[h], a.set, (unsigned)a.who,
			 a.has_changed ? " changed" : "");
	tap_str(text, want, what);
}

/* By pprof.Do. */
static void enter(uint64_t ms, uint32_t set)
{
	gotimes_change(&t, &(struct gotimes_changed){ .time_ns = ms * MS, .set = set,
						      .slot = 0x1000 }, 0);
}

/* Goroutine 7 has the labels 1, and all changes are reported. */
static void begin(void)
{
	gotimes_done(&t);
	read_as(10, 7, 1, 1);
}

static void late(void)
{
	gotimes_done(&t);
	at(5, "nothing", "before anything was read");
	read_as(10, 7, 1, 0);
	read_as(20, 7, 1, 0);
	read_as(30, 7, 2, 0);
	at(5, "late 1 of 7", "before the first reading: that one");
	at(15, "late 1 of 7", "between equal readings");
	at(25, "late 2 of 7 changed", "between different ones: the later one");
	at(35, "nothing", "after the last reading");
	read_as(40, 8, 3, 0);
	at(35, "nothing", "the place was another goroutine's then");
	read_as(50, 8, 3, 0);
	read_dead(60, 8, 0);
	at(55, "late 3 of 8", "a goroutine that has ended since: what it had before");
	read_as(70, 0, GOTIMES_UNKNOWN, 0);
	at(65, "nothing", "memory that could not be read");
}

static void exact(void)
{
	begin();
	change(15, 2);
	change(18, 3);
	read_as(30, 7, 3, 1);
	at(12, "exact 1 of 7", "before a change");
	at(15, "exact 2 of 7", "at a change");
	at(17, "exact 2 of 7", "after a change");
	at(25, "exact 3 of 7", "after two changes");
	at(9, "late 1 of 7", "before the first reading it is not exact");
	read_as(40, 7, 3, 35);
	at(38, "late 3 of 7", "reports that began after the reading before");
	tap_int(read_as(50, 7, 5, 35), GOTIMES_MISSED, "a change that was not reported");
	at(45, "late 3 of 7", "what nobody reported is not exact");
	read_as(60, 7, 5, 35);
	at(55, "late 5 of 7", "nor what follows");
	read_as(62, 7, 5, 35);
	at(61, "exact 5 of 7", "then it is exact again");
	change(65, 6);
	read_dead(70, 7, 35);
	at(68, "exact 6 of 7", "up to the goroutine's end");
	change(75, 9);
	read_as(80, 8, 9, 35);
	at(78, "nothing", "a change of an unknown goroutine");
	read_as(90, 8, 9, 35);
	at(85, "exact 9 of 8", "its successor");
}

/* A reading that nobody knows to be before or after a change. */
static void close(void)
{
	begin();
	gotimes_change(&t, &(struct gotimes_changed){ .time_ns = 20 * MS - 1000, .set = 2 }, 0);
	tap_int(read_as(20, 7, 1, 1), GOTIMES_FINE, "a change shortly before a reading");
	read_as(30, 7, 2, 1);
	at(15, "exact 1 of 7", "before it");
	at(25, "exact 2 of 7", "after it");
	gotimes_change(&t, &(struct gotimes_changed){ .time_ns = 40 * MS + 500, .set = 3 }, 0);
	tap_int(read_as(40, 7, 3, 1), GOTIMES_FINE, "a change during a reading");
	read_as(50, 7, 3, 1);
	at(40, "exact 2 of 7", "until then it had others");
	at(45, "exact 3 of 7", "since then it has these");
	gotimes_change(&t, &(struct gotimes_changed){ .time_ns = 60 * MS - 1000, .set = 4 }, 0);
	read_as(60, 8, 4, 1);
	read_as(70, 8, 4, 1);
	at(65, "late 4 of 8", "a change close to the first reading of a goroutine");
}

/* A report that came after the reading that follows the change. */
static void delayed(void)
{
	begin();
	read_as(20, 7, 1, 1);
	change(15, 2);
	read_as(30, 7, 2, 1);
	at(12, "exact 1 of 7", "before a change that is reported late");
	at(17, "exact 2 of 7", "after it");
	at(25, "exact 2 of 7", "after the next reading");
	read_as(40, 8, 3, 1);
	change(35, 4);
	read_as(50, 8, 3, 1);
	at(45, "nothing", "whose change it was is not known");
}

/* A thread that lost its CPU between the report of a change and the change. */
static void preempted(void)
{
	begin();
	change(15, 2);
	tap_int(read_as(20, 7, 1, 1), GOTIMES_FINE, "a change that was not made yet");
	read_as(30, 7, 2, 1);
	at(25, "late 2 of 7", "until it is made nothing is exact");
	read_as(40, 7, 2, 1);
	at(35, "exact 2 of 7", "then it is");
	change(45, 3);
	read_as(50, 7, 2, 1);
	read_as(51, 7, 2, 1);
	change(55, 4);
	read_as(60, 7, 4, 1);
	at(52, "late 4 of 7", "before the next change it is not");
	at(57, "exact 4 of 7", "after that it is");
}

/* The same, with a reading shortly after the report, and a second report. */
static void preempted_at_once(void)
{
	begin();
	change(15, 2);
	gotimes_read(&t, &(struct gotimes_reading){ .before_ns = 15 * MS + 1000,
		.after_ns = 15 * MS + 2000, .who = 7, .set = 1, .reported_ns = MS }, 0);
	tap_int(read_as(20, 7, 1, 1), GOTIMES_FINE, "a reading just after the report");
	tap_int(read_as(22, 7, 1, 1), GOTIMES_FINE, "and others before the change");
	read_as(30, 7, 2, 1);
	at(25, "late 2 of 7", "before the change they have proven nothing");
	change(35, 3);
	tap_int(read_as(40, 7, 2, 1), GOTIMES_FINE, "another one that was not made yet");
	change(45, 3);
	tap_int(read_as(50, 7, 2, 1), GOTIMES_FINE, "nor after its second report");
	read_as(60, 7, 3, 1);
	at(55, "late 3 of 7", "until it is made");
	tap_int(read_as(70, 7, 2, 1), GOTIMES_MISSED, "a change back that was not reported");
}

/* The reader has lost its CPU between its clock and the memory. */
static void slow_reading(void)
{
	begin();
	gotimes_read(&t, &(struct gotimes_reading){ .before_ns = 20 * MS, .after_ns = 30 * MS,
		.who = 8, .set = 2, .reported_ns = MS }, 0);
	read_as(40, 8, 2, 1);
	at(19, "nothing", "before a reading that took long");
	at(25, "nothing", "during it the place may have been another one's");
	at(35, "exact 2 of 8", "after it");
	gotimes_read(&t, &(struct gotimes_reading){ .before_ns = 50 * MS, .after_ns = 60 * MS,
		.who = 8, .set = 2, .reported_ns = MS }, 0);
	change(55, 3);
	read_as(70, 8, 3, 1);
	at(52, "exact 2 of 8", "during one, by those around it");
	at(57, "exact 3 of 8", "after a change during it");
}

static void first_sight(void)
{
	gotimes_done(&t);
	change(10, 4);
	read_as(20, 7, 4, 1);
	at(15, "late 4 of 7", "a change before the first reading");
	at(5, "nothing", "before that change");
	gotimes_done(&t);
	change(10, GOTIMES_UNKNOWN);
	read_as(20, 7, 4, 1);
	at(15, "nothing", "a change to labels that cannot be read");
}

static uint32_t sum;

static void add(void *ctx, uint32_t *set)
{
	(void)ctx;
	sum += (*set)++;
}

static void many(void)
{
	gotimes_done(&t);
	for (uint64_t i = 1; i <= 20000; i++)
		gotimes_read(&t, &(struct gotimes_reading){ .before_ns = i * MS, .after_ns = i * MS,
			.who = 7, .set = 1 }, i > 100 ? (i - 100) * MS : 0);
	tap_ok(t.event.cap <= 512, "old readings are dropped: room for %zu", t.event.cap);
	at(19950, "late 1 of 7", "the others are kept");
	gotimes_done(&t);
	read_as(10, 7, 3, 0);
	read_as(20, 7, GOTIMES_UNKNOWN, 0);
	change(30, 4);
	gotimes_each_set(&t, add, NULL);
	tap_int(sum, 7, "all sets are visited");
	read_as(40, 7, 5, 0);
	at(35, "late 5 of 7", "and can be renewed");
}

static void wrong(void)
{
	struct lateness l = { 0 };
	tap_ok(lateness_share(&l) == 1, "nothing is known: any may be wrong");
	l = (struct lateness){ 1000, 0, 1000 };
	double none = lateness_share(&l);
	tap_ok(none > 0.001 && none < 0.005, "no change in 1000 readings: %.4f", none);
	l.n_changed = 100;
	double tenth = lateness_share(&l);
	tap_ok(tenth > 0.11 && tenth < 0.14, "a tenth: %.4f", tenth);
	l.n_readings = 10;
	tap_ok(lateness_share(&l) > tenth + 0.1, "of few readings: less sure");
	l = (struct lateness){ 10, 10, 10 };
	tap_ok(lateness_share(&l) <= 1, "never more than all");
}

static void entered(void)
{
	gotimes_done(&t);
	read_as(5, 7, 1, 1);
	enter(10, 2);
	change(20, 1);
	read_dead(30, 8, 1);
	at(15, "exact 2 of 0", "who has entered must leave: it was there");
	at(25, "nothing", "when it has left, another one may be there");
	gotimes_done(&t);
	read_as(5, 7, 1, 1);
	enter(10, 2);
	at(15, "nothing", "what is reported until then is not known before a reading");
	read_dead(30, 8, 12);
	at(15, "nothing", "nor if reports were lost since it has entered");
}

static void born_read(uint64_t ms, uint64_t who, uint32_t set, enum gotimes_check want,
		      const char *what)
{
	tap_int(gotimes_read(&t, &(struct gotimes_reading){
		.before_ns = ms * MS, .after_ns = ms * MS + 1000, .who = who, .set = set,
		.reported_ns = 5 * MS, .births_ns = 10 * MS }, 0), want, what);
}

static void bear(uint64_t ms, uint32_t set)
{
	gotimes_change(&t, &(struct gotimes_changed){ .time_ns = ms * MS, .set = set,
						      .is_birth = true }, 0);
}

/* All creations since 10 ms are reported. */
static void births(void)
{
	gotimes_done(&t);
	read_as(8, 6, 9, 5);
	bear(20, 1);
	bear(30, 2);
	change(35, 3);
	bear(40, GOTIMES_UNKNOWN);
	born_read(50, 9, 4, GOTIMES_FINE, "a goroutine that inherited something unknown");
	at(15, "nothing", "before the first one");
	at(25, "exact 1 of 0", "a goroutine that is never read");
	at(32, "exact 2 of 0", "the next one in its place");
	at(37, "exact 3 of 0", "after its change");
	at(45, "nothing", "what it inherited is unknown");
	change(60, 5);
	bear(70, 6);
	born_read(80, 11, 6, GOTIMES_FINE, "a goroutine that has what it inherited");
	at(55, "exact 4 of 9", "after a reading, until it ended");
	at(65, "exact 5 of 0", "after a change, until it ended");
	at(75, "exact 6 of 0", "before it was read");
	bear(90, 7);
	born_read(100, 12, 8, GOTIMES_MISSED, "one that has not");
	born_read(110, 12, 8, GOTIMES_FINE, "and keeps it");
	at(105, "late 8 of 12", "nothing is proven then");
	bear(120, 1);
	read_as(130, 13, 1, 5);
	at(125, "nothing", "creations that are not reported any more prove nothing");
	gotimes_done(&t);
	bear(9, 1);
	born_read(30, 7, 1, GOTIMES_FINE, "a creation from before all were reported");
	at(20, "late 1 of 7", "proves nothing");
	tap_int(gotimes_owned(&t, 35 * MS, 10 * MS), 1, "a creator that was read");
	tap_int(gotimes_owned(&t, 35 * MS, 31 * MS), GOTIMES_UNKNOWN, "before a loss of reports");
}

int main(void)
{
	late();
	entered();
	exact();
	close();
	delayed();
	preempted();
	preempted_at_once();
	slow_reading();
	first_sight();
	many();
	wrong();
	gotimes_done(&t);
	births();
	return tap_done();
}
