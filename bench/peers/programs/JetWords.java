import com.hazelcast.config.Config;
import com.hazelcast.core.Hazelcast;
import com.hazelcast.core.HazelcastInstance;
import com.hazelcast.function.FunctionEx;
import com.hazelcast.function.SupplierEx;
import com.hazelcast.jet.aggregate.AggregateOperations;
import com.hazelcast.jet.core.AbstractProcessor;
import com.hazelcast.jet.core.DAG;
import com.hazelcast.jet.core.Edge;
import com.hazelcast.jet.core.Partitioner;
import com.hazelcast.jet.core.Processor;
import com.hazelcast.jet.core.ProcessorMetaSupplier;
import com.hazelcast.jet.core.Vertex;
import com.hazelcast.jet.pipeline.Pipeline;
import com.hazelcast.jet.pipeline.Sinks;
import com.hazelcast.jet.pipeline.Sources;
import java.util.HashMap;
import java.util.Map;

/** Hazelcast Jet: BLOCK FIRST LAST core|pipeline. One job to warm up, then one of LAST - FIRST words; FIRST is 0. */
public class JetWords {
    static final class Words extends AbstractProcessor {
        private int tasks;
        private long next;
        private String pending;

        @Override
        protected void init(Context context) {
            tasks = context.totalParallelism();
            next = context.globalProcessorIndex();
        }

        @Override
        public boolean complete() {
            String[] words = Measuring.words;
            if (pending != null && !tryEmit(pending)) {
                return false;
            }
            pending = null;
            while (next < Measuring.last) {
                String word = words[(int) (next % words.length)];
                next += tasks;
                if (!tryEmit(word)) {
                    pending = word;
                    return false;
                }
            }
            return true;
        }
    }

    static final class Count extends AbstractProcessor {
        private final HashMap<String, long[]> counts = new HashMap<>();

        @Override
        protected boolean tryProcess(int ordinal, Object word) {
            counts.computeIfAbsent((String) word, key -> new long[1])[0]++;
            return true;
        }

        @Override
        public boolean complete() {
            counts.forEach((word, count) -> Measuring.tally(word, count[0]));
            return true;
        }
    }

    static final class Steps extends AbstractProcessor {
        @Override
        protected boolean tryProcess(int ordinal, Object entry) {
            @SuppressWarnings("unchecked")
            var counted = (Map.Entry<String, Long>) entry;
            Measuring.step(counted.getKey(), counted.getValue());
            return true;
        }
    }

    static DAG core() {
        DAG dag = new DAG();
        Vertex words = dag.newVertex("words", (SupplierEx<Processor>) Words::new);
        Vertex count = dag.newVertex("count", (SupplierEx<Processor>) Count::new);
        dag.edge(Edge.between(words, count).partitioned(FunctionEx.identity(), Partitioner.HASH_CODE));
        return dag;
    }

    static Pipeline pipeline() {
        Pipeline pipeline = Pipeline.create();
        pipeline.readFrom(Sources.<String>streamFromProcessor(
                "words", ProcessorMetaSupplier.of((SupplierEx<Processor>) Words::new)))
            .withoutTimestamps()
            .groupingKey(FunctionEx.identity())
            .rollingAggregate(AggregateOperations.counting())
            .writeTo(Sinks.fromProcessor(
                "steps", ProcessorMetaSupplier.of((SupplierEx<Processor>) Steps::new)));
        return pipeline;
    }

    public static void main(String[] arguments) throws Exception {
        Measuring.begin(arguments);
        Config config = new Config();
        config.setProperty("hazelcast.phone.home.enabled", "false");
        config.setProperty("hazelcast.logging.type", "none");
        config.setProperty("hazelcast.socket.bind.any", "false");
        config.getJetConfig().setEnabled(true).setCooperativeThreadCount(2);
        config.getNetworkConfig().getJoin().getMulticastConfig().setEnabled(false);
        config.getNetworkConfig().getJoin().getAutoDetectionConfig().setEnabled(false);
        config.getNetworkConfig().getInterfaces().setEnabled(true).addInterface("127.0.0.1");
        HazelcastInstance member = Hazelcast.newHazelcastInstance(config);
        for (int job = 0; job < 2; job++) {
            Measuring.forget();
            Measuring.mark(0);
            if (arguments[3].equals("core")) {
                member.getJet().newJob(core()).join();
            } else {
                member.getJet().newJob(pipeline()).join();
            }
            Measuring.mark(1);
        }
        Measuring.report("jet", member.getCluster().getLocalMember().getVersion().toString());
        member.shutdown();
        System.exit(0);
    }
}
