// A benchmark that records its timed region only, in the manner of google-benchmark's PauseTiming
// and ResumeTiming: loop FILE.pb.gz
#include <cprof.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <vector>

namespace {

class state {
public:
	explicit state(int rounds) : left_(rounds)
	{
		cprof_config config = {};
		config.self = CPROF_SELF_THREAD;
		config.start_paused = true;
		config.freq = "997";
		if (cprof_recorder_new(&config, &recorder_, &error_) < 0 ||
		    cprof_recorder_start(recorder_, &error_) < 0)
			fail();
	}
	~state() { cprof_recorder_free(recorder_); }
	bool keep_running() { return left_-- > 0; }
	void resume_timing()
	{
		if (cprof_recorder_resume(recorder_, CPROF_ALL_EVENTS, &error_) < 0)
			fail();
	}
	void pause_timing()
	{
		if (cprof_recorder_pause(recorder_, CPROF_ALL_EVENTS, &error_) < 0 ||
		    cprof_recorder_step(recorder_, 0, nullptr, 0, nullptr, &error_) < 0)
			fail();
	}
	void write(const char *path)
	{
		if (cprof_recorder_stop(recorder_, &error_) < 0 ||
		    cprof_recorder_write_file(recorder_, 0, path, &error_) < 0)
			fail();
	}

private:
	[[noreturn]] void fail()
	{
		std::fprintf(stderr, "%s\n%s\n", error_.what, error_.hint);
		std::exit(1);
	}
	int left_;
	cprof_recorder *recorder_ = nullptr;
	cprof_error error_;
};

// At least this long on the CPU, on any machine.
template <typename F> void for_ms(double ms, F f)
{
	std::clock_t end = std::clock() + std::clock_t(ms / 1000 * CLOCKS_PER_SEC);
	while (std::clock() < end)
		f();
}

__attribute__((noinline)) void make_input(std::vector<int> &v)
{
	for_ms(10, [&v] {
		for (int &x : v)
			x = std::rand();
	});
}

__attribute__((noinline)) void benchmark_sort(std::vector<int> &v)
{
	for_ms(10, [&v] {
		std::vector<int> w(v);
		std::sort(w.begin(), w.end());
	});
}

}

int main(int argc, char **argv)
{
	if (argc != 2)
		return 64;
	state s(60);
	std::vector<int> v(20000);
	while (s.keep_running()) {
		make_input(v);
		s.resume_timing();
		benchmark_sort(v);
		s.pause_timing();
	}
	s.write(argv[1]);

	// The same for one block, where nothing is to be left out.
	cprof::recording recording(nullptr);
	return recording.end() ? 0 : 1;
}
