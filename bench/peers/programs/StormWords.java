import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import org.apache.storm.Config;
import org.apache.storm.LocalCluster;
import org.apache.storm.spout.SpoutOutputCollector;
import org.apache.storm.task.OutputCollector;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.topology.OutputFieldsDeclarer;
import org.apache.storm.topology.TopologyBuilder;
import org.apache.storm.topology.base.BaseRichBolt;
import org.apache.storm.topology.base.BaseRichSpout;
import org.apache.storm.tuple.Fields;
import org.apache.storm.tuple.Tuple;
import org.apache.storm.tuple.Values;
import org.apache.storm.utils.VersionInfo;

/** Storm's LocalCluster, one spout, one bolt, a fields grouping. BLOCK FIRST LAST [acked]. */
public class StormWords {
    static boolean acked;
    static final CountDownLatch DONE = new CountDownLatch(1);

    public static final class Words extends BaseRichSpout {
        private SpoutOutputCollector collector;
        private long next;

        @Override
        public void open(Map<String, Object> settings, TopologyContext context, SpoutOutputCollector collector) {
            this.collector = collector;
        }

        @Override
        public void nextTuple() {
            if (next >= Measuring.last) {
                return;
            }
            Values word = new Values(Measuring.words[(int) (next % Measuring.words.length)]);
            if (acked) {
                collector.emit(word, (Object) next);
            } else {
                collector.emit(word);
            }
            next++;
        }

        @Override
        public void declareOutputFields(OutputFieldsDeclarer declarer) {
            declarer.declare(new Fields("word"));
        }
    }

    public static final class Count extends BaseRichBolt {
        private final HashMap<String, Long> counts = new HashMap<>();
        private OutputCollector collector;
        private long seen;

        @Override
        public void prepare(Map<String, Object> settings, TopologyContext context, OutputCollector collector) {
            this.collector = collector;
        }

        @Override
        public void execute(Tuple tuple) {
            counts.merge(tuple.getString(0), 1L, Long::sum);
            if (acked) {
                collector.ack(tuple);
            }
            seen++;
            if (seen == Measuring.first) {
                Measuring.mark(0);
            }
            if (seen == Measuring.last) {
                Measuring.mark(1);
                counts.forEach(Measuring::tally);
                DONE.countDown();
            }
        }

        @Override
        public void declareOutputFields(OutputFieldsDeclarer declarer) {
        }
    }

    public static void main(String[] arguments) throws Exception {
        Measuring.begin(arguments);
        acked = arguments.length > 3 && arguments[3].equals("acked");
        LocalCluster cluster = new LocalCluster();
        TopologyBuilder builder = new TopologyBuilder();
        builder.setSpout("words", new Words(), 1);
        builder.setBolt("count", new Count(), 1).fieldsGrouping("words", new Fields("word"));
        Config config = new Config();
        config.setNumAckers(acked ? 1 : 0);
        config.setMaxSpoutPending(50_000);
        config.put("topology.disable.loadaware.messaging", true);
        cluster.submitTopology("words", config, builder.createTopology());
        DONE.await();
        Measuring.report("storm", VersionInfo.getVersion());
        System.exit(0);
    }
}
