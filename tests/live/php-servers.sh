#!/bin/sh
# PHP functions in the workers of php-fpm, which are processes of another user, and in a program that
# embeds PHP.
. "$CPROF_SOURCE_ROOT/tests/lib.sh"
need_perf
need_root
need cgi-fcgi
fpm=$(find /usr/sbin -name 'php-fpm8.[1234]' | head -n 1)
[ "$fpm" ] || skip_all 'needs php-fpm'

cat >page.keep.php <<'EOF'
<?php
function leaf($n) {
	$x = 0.0;
	for ($k = 0; $k < $n; $k++)
		$x += $k * 0.5;
	return $x;
}
class Shop {
	function total($n) {
		for ($i = 0; $i < 200; $i++)
			$x = leaf($n);
		return $x;
	}
}
echo (new Shop)->total(1500);
EOF
cat >fpm.keep <<EOF
[global]
error_log = $T/log.keep
daemonize = no
[www]
user = nobody
group = nogroup
listen = $T/socket.keep
pm = static
pm.max_children = 2
EOF
chmod 755 "$T"
chmod 644 page.keep.php
"$fpm" -n -F -y "$T/fpm.keep" 2>/dev/null &
master=$!
tap_pids="$tap_pids $master"
wait_for 60 test -S socket.keep

while [ ! -e stop.keep ]; do
	SCRIPT_FILENAME=$T/page.keep.php REQUEST_METHOD=GET cgi-fcgi -bind -connect "$T/socket.keep" >/dev/null ||
		sleep 0.1
done &
tap_pids="$tap_pids $!"

workers() {
	run "$CPROF" record -e cpu-clock -F 999 --user --duration 2 --children -o fpm.pb.gz -p "$master"
	is "$status" 0 'php-fpm: recorded'
	profile 'php-fpm: functions of pages' fpm.pb.gz 'n > 100' "cum('php::leaf') > 0.4" \
		"through('^php::leaf', '^php::Shop::total') > 0.3" \
		"label_share('php::stack', 'unknown') < 0.4"
}
attempts 3 workers
touch stop.keep
kill -TERM "$master"
wait "$master"
finish
