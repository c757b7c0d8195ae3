#ifndef CPROF_SOURCE_PERFDATA_PERFDATA_FORMAT_H
#define CPROF_SOURCE_PERFDATA_PERFDATA_FORMAT_H

/* Constants of the format: tools/perf/Documentation/perf.data-file-format.txt of the kernel. */

/* Records of perf itself (enum perf_user_event_type). */
enum perfdata_user {
	PERFDATA_HEADER_ATTR = 64, PERFDATA_EVENT_TYPE = 65, PERFDATA_TRACING_DATA = 66,
	PERFDATA_BUILD_ID = 67, PERFDATA_FINISHED_ROUND = 68, PERFDATA_AUXTRACE = 71,
	PERFDATA_EVENT_UPDATE = 78, PERFDATA_FEATURE = 80, PERFDATA_COMPRESSED = 81,
	PERFDATA_COMPRESSED2 = 83, PERFDATA_USER_END = 85,
};

/*
 * Records of Android's simpleperf (system/extras/simpleperf/record.h); misc is the high half of a
 * 32-bit size.
 */
enum perfdata_simpleperf {
	PERFDATA_SIMPLEPERF = 32768, PERFDATA_SIMPLEPERF_EVENT_ID = 32774,
	PERFDATA_SIMPLEPERF_END = 65536,
};

/* Header features (enum in tools/perf/util/header.h). */
enum perfdata_feature {
	PERFDATA_F_TRACING_DATA = 1, PERFDATA_F_BUILD_ID = 2, PERFDATA_F_HOSTNAME = 3,
	PERFDATA_F_OSRELEASE = 4, PERFDATA_F_VERSION = 5, PERFDATA_F_ARCH = 6,
	PERFDATA_F_NRCPUS = 7, PERFDATA_F_CMDLINE = 11, PERFDATA_F_EVENT_DESC = 12,
	PERFDATA_F_SAMPLE_TIME = 21, PERFDATA_F_DIR_FORMAT = 24, PERFDATA_F_COMPRESSED = 27,
	PERFDATA_F_CPU_PMU_CAPS = 28, PERFDATA_F_CLOCK_DATA = 29, PERFDATA_F_END = 33,
	/* simpleperf's files, symbols, and settings */
	PERFDATA_F_SIMPLEPERF = 128, PERFDATA_F_SIMPLEPERF_END = 136,
};

#endif
