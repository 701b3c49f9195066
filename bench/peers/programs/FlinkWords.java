import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.runtime.util.EnvironmentInformation;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.KeyedProcessFunction;
import org.apache.flink.streaming.api.functions.sink.SinkFunction;
import org.apache.flink.streaming.api.functions.source.SourceFunction;
import org.apache.flink.util.Collector;

/** Flink's DataStream API: keyBy and a count in ValueState, one task each. BLOCK FIRST LAST. */
public class FlinkWords {
    /** Words that were counted; there is one task. */
    static long seen;

    static final class Words implements SourceFunction<String> {
        private volatile boolean running = true;

        @Override
        public void run(SourceContext<String> context) {
            String[] words = Measuring.words;
            long next = 0;
            while (running && next < Measuring.last) {
                synchronized (context.getCheckpointLock()) {
                    for (int burst = 0; burst < 256 && next < Measuring.last; burst++) {
                        context.collect(words[(int) (next++ % words.length)]);
                    }
                }
            }
        }

        @Override
        public void cancel() {
            running = false;
        }
    }

    static final class Count extends KeyedProcessFunction<String, String, Tuple2<String, Long>> {
        private transient ValueState<Long> count;

        @Override
        public void open(Configuration settings) {
            count = getRuntimeContext().getState(new ValueStateDescriptor<>("count", Long.class));
        }

        @Override
        public void processElement(String word, Context context, Collector<Tuple2<String, Long>> out) throws Exception {
            Long before = count.value();
            if (before == null) {
                before = 0L;
                // when the input has ended, time is at its end, too
                context.timerService().registerEventTimeTimer(Long.MAX_VALUE - 1);
            }
            count.update(before + 1);
            seen++;
            if (seen == Measuring.first) {
                Measuring.mark(0);
            }
            if (seen == Measuring.last) {
                Measuring.mark(1);
            }
        }

        @Override
        public void onTimer(long at, OnTimerContext context, Collector<Tuple2<String, Long>> out) throws Exception {
            out.collect(Tuple2.of(context.getCurrentKey(), count.value()));
        }
    }

    static final class Tally implements SinkFunction<Tuple2<String, Long>> {
        @Override
        public void invoke(Tuple2<String, Long> counted, Context context) {
            Measuring.tally(counted.f0, counted.f1);
        }
    }

    public static void main(String[] arguments) throws Exception {
        Measuring.begin(arguments);
        StreamExecutionEnvironment environment = StreamExecutionEnvironment.createLocalEnvironment(1);
        environment.getConfig().enableObjectReuse();
        environment.addSource(new Words())
            .returns(Types.STRING)
            .keyBy(word -> word)
            .process(new Count())
            .returns(Types.TUPLE(Types.STRING, Types.LONG))
            .addSink(new Tally());
        environment.execute();
        Measuring.report("flink", EnvironmentInformation.getVersion());
        System.exit(0);
    }
}
