// google-benchmark: a profile of what its timers measure, and of nothing else, with the benchmark's
// name on each sample: example-benchmark FILE.pb.gz [OPTION OF GOOGLE-BENCHMARK ...]
#include <benchmark/benchmark.h>
#include <cprof-labels.h>
#include <cprof.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <unordered_map>
#include <vector>

namespace {

// One recorder for all benchmarks, of the thread that runs them; paused where nothing is timed.
cprof_recorder *recorder;

void check(int code, const cprof_error &e)
{
	if (code >= 0)
		return;
	std::fprintf(stderr, "%s\n%s\n", e.what, e.hint);
	std::exit(1);
}

// Around the timed loop of a benchmark.  Its pause and resume go beside those of the state, since
// google-benchmark tells nobody of them.
class timed {
public:
	timed(benchmark::State &state, const char *name) : state_(state)
	{
		cprof_label_set("benchmark", name);
		record();
	}
	~timed()
	{
		leave_out();
		cprof_error e;
		check(cprof_recorder_step(recorder, 0, nullptr, 0, nullptr, &e), e);
	}
	void pause()
	{
		leave_out();
		state_.PauseTiming();
	}
	void resume()
	{
		state_.ResumeTiming();
		record();
	}

private:
	void record()
	{
		cprof_error e;
		check(cprof_recorder_resume(recorder, CPROF_ALL_EVENTS, &e), e);
	}
	void leave_out()
	{
		cprof_error e;
		check(cprof_recorder_pause(recorder, CPROF_ALL_EVENTS, &e), e);
	}
	benchmark::State &state_;
};

__attribute__((noinline)) void make_input(std::vector<int> &v)
{
	static std::mt19937 random;
	for (int &x : v)
		x = static_cast<int>(random());
}

__attribute__((noinline)) void sorting_work(std::vector<int> &v)
{
	std::sort(v.begin(), v.end());
	benchmark::DoNotOptimize(v.data());
}

__attribute__((noinline)) void counting_work(const std::vector<int> &v)
{
	std::unordered_map<int, int> count;
	for (int x : v)
		count[x & 1023]++;
	benchmark::DoNotOptimize(count.size());
}

void sorting(benchmark::State &state)
{
	std::vector<int> v(5000);
	timed t(state, "sorting");
	for (auto _ : state) {
		t.pause();
		make_input(v);
		t.resume();
		sorting_work(v);
	}
}
BENCHMARK(sorting);

void counting(benchmark::State &state)
{
	std::vector<int> v(5000);
	make_input(v);
	timed t(state, "counting");
	for (auto _ : state)
		counting_work(v);
}
BENCHMARK(counting);

}

int main(int argc, char **argv)
{
	if (argc < 2)
		return 64;
	const char *path = argv[1];
	argv[1] = argv[0];
	argc--;
	argv++;
	benchmark::Initialize(&argc, argv);
	cprof_config config = {};
	cprof_error e;
	config.self = CPROF_SELF_THREAD;
	config.start_paused = true;
	check(cprof_recorder_new(&config, &recorder, &e), e);
	check(cprof_recorder_start(recorder, &e), e);
	benchmark::RunSpecifiedBenchmarks();
	check(cprof_recorder_stop(recorder, &e), e);
	check(cprof_recorder_write_file(recorder, 0, path, &e), e);
	cprof_recorder_free(recorder);
	return 0;
}
