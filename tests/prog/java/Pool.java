/*
 * Usage: Pool SECONDS [MS]
 *
 * Four workers of a pool wait for tasks, of which there is one every MS milliseconds, or none.  The
 * main thread waits in rest() for the end.
 */
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;

public class Pool {
	static void rest(long ms) throws InterruptedException {
		Thread.sleep(ms);
	}

	public static void main(String[] args) throws Exception {
		ScheduledExecutorService pool = Executors.newScheduledThreadPool(4, work -> {
			Thread t = new Thread(work, "worker");
			t.setDaemon(true);
			return t;
		});
		if (args.length > 1)
			pool.scheduleAtFixedRate(() -> { }, 0, Long.parseLong(args[1]),
				TimeUnit.MILLISECONDS);
		for (int i = 0; i < 4; i++)
			pool.submit(() -> { });
		System.out.println("ready");
		rest(Long.parseLong(args[0]) * 1000);
	}
}
