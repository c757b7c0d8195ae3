/* The scenarios in C++; truth.h explains the notation of chains. */
#include "truth.h"

#include <stdexcept>

static uint64_t truth_limit_ms;

extern "C" {

TRUTH_FN static void leaf(void)
{
	prog_work(TRUTH_LEAF_STEPS);
}

TRUTH_FN static void cleanup(void)
{
	TRUTH_ROUNDS(200, leaf());
	TRUTH_END();
}

}

/* Its destructor runs while the exception is in flight. */
struct Guard {
	TRUTH_FN ~Guard()
	{
		cleanup();
		TRUTH_END();
	}
};

extern "C" {

TRUTH_FN static void throw3(int n)
{
	if (n >= 0)
		throw std::runtime_error("thrown");
	TRUTH_END();
}

TRUTH_FN static void throw2(int n)
{
	Guard guard;
	throw3(n);
	TRUTH_END();
}

TRUTH_FN static void throw1(int n)
{
	volatile int frames[20] = { n };
	try {
		throw2(frames[0]);
	} catch (const std::exception &e) {
		cleanup();
		frames[1] = e.what()[0];
	}
}

TRUTH_FN static void throws(void)
{
	TRUTH_ROUNDS(4, throw1(round_));
	TRUTH_END();
}

/* Only the throw itself, through frames without handlers. */
TRUTH_FN static void fast4(int n)
{
	throw n;
}

TRUTH_FN static void fast3(int n)
{
	fast4(n);
	TRUTH_END();
}

TRUTH_FN static void fast2(int n)
{
	volatile char frame[200];
	frame[0] = 1;
	fast3(n);
	frame[1] = frame[0];
}

TRUTH_FN static void fast1(int n)
{
	try {
		fast2(n);
	} catch (int caught) {
		n = caught;
	}
	TRUTH_END();
}

TRUTH_FN static void fast(void)
{
	TRUTH_ROUNDS(50, fast1(round_));
	TRUTH_END();
}

/* The same exception is thrown again on its way, after the cleanup of some frames. */
struct Light {
	volatile int n = 0;
	~Light() { n = 1; }
};

TRUTH_FN static void again4(int n)
{
	Light light;
	if (n >= 0)
		throw n;
	TRUTH_END();
}

TRUTH_FN static void again3(int n)
{
	Light light;
	again4(n);
	TRUTH_END();
}

TRUTH_FN static void again2(int n)
{
	try {
		again3(n);
	} catch (...) {
		throw;
	}
	TRUTH_END();
}

TRUTH_FN static void again1(int n)
{
	try {
		again2(n);
	} catch (int caught) {
		n = caught;
	}
	TRUTH_END();
}

TRUTH_FN static void again(void)
{
	TRUTH_ROUNDS(50, again1(round_));
	TRUTH_END();
}

}

static const struct truth_scenario scenarios[] = {
	{ "throws", throws, { "main throws throw1 throw2 throw3 ~",
		"main throws throw1 throw2 Guard::~Guard cleanup leaf",
		"main throws throw1 cleanup leaf" } },
	{ "fast", fast, { "main fast fast1 fast2 fast3 fast4 ~" } },
	{ "again", again, { "main again again1 again2 again3 again4 ~",
		"main again again1 again2 again3 ~", "main again again1 again2 ~",
		"main again again1 ~" } },
};

int main(int argc, char **argv)
{
	volatile char wide[64] __attribute__((aligned(64), unused));
	wide[0] = 1;
	TRUTH_MAIN(scenarios, argc, argv);
}
