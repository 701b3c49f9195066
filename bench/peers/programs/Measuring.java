import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;

/** What the peers in Java share: the words, CPU time of the virtual machine, and the line that is printed. */
final class Measuring {
    /** The words of the block; equal words are one object, as a source that interns them would have it. */
    static String[] words;
    static long first;
    static long last;
    private static long[] wall = new long[2];
    private static double[] cpu = new double[2];
    private static long counted, distinct, squares, weighted;

    static void begin(String[] arguments) throws Exception {
        ByteBuffer numbers = ByteBuffer.wrap(Files.readAllBytes(Path.of(arguments[0]))).order(ByteOrder.LITTLE_ENDIAN);
        words = new String[numbers.remaining() / 4];
        String[] known = new String[words.length + 1];
        for (int at = 0; at < words.length; at++) {
            int number = numbers.getInt();
            if (known[number] == null) {
                known[number] = "word" + number;
            }
            words[at] = known[number];
        }
        first = Long.parseLong(arguments[1]);
        last = Long.parseLong(arguments[2]);
    }

    static void mark(int which) {
        wall[which] = System.nanoTime();
        var system = (com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
        cpu[which] = system.getProcessCpuTime() / 1e9;
    }

    static synchronized void tally(String word, long count) {
        counted += count;
        distinct++;
        squares += count * count;
        weighted += Long.parseLong(word.substring(4)) * count;
    }

    /** For an engine that gives every count on its way: the sums that a step from count - 1 to count changes. */
    static synchronized void step(String word, long count) {
        counted++;
        distinct += count == 1 ? 1 : 0;
        squares += 2 * count - 1;
        weighted += Long.parseLong(word.substring(4));
    }

    static void forget() {
        counted = distinct = squares = weighted = 0;
    }

    static void report(String name, String version) {
        System.out.printf(
            "{\"words\": %d, \"seconds\": %f, \"cpu_seconds\": %f, \"tally\": {\"words\": %d, \"distinct\": %d,"
                + " \"squares\": %d, \"weighted\": %d}, \"versions\": {\"%s\": \"%s\", \"java\": \"%s\"}}%n",
            last - first, (wall[1] - wall[0]) / 1e9, cpu[1] - cpu[0], counted, distinct, squares, weighted,
            name, version, System.getProperty("java.version"));
        System.out.flush();
    }

    private Measuring() {
    }
}
