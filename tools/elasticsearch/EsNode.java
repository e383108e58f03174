import java.nio.file.Path;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import org.elasticsearch.common.logging.LogConfigurator;
import org.elasticsearch.common.settings.Settings;
import org.elasticsearch.env.Environment;
import org.elasticsearch.node.InternalSettingsPreparer;
import org.elasticsearch.node.Node;
import org.elasticsearch.plugins.PluginsLoader;

/** A genuine Elasticsearch node from Maven's artifacts: EsNode HOME HTTP_PORT TRANSPORT_PORT. */
public final class EsNode {
    public static void main(String[] args) throws Exception {
        Path home = Path.of(args[0]).toAbsolutePath();
        Path config = home.resolve("config");
        String name = "searchsim";
        Settings settings = Settings.builder()
            .put("path.home", home)
            .put("path.data", home.resolve("data"))
            .put("path.logs", home.resolve("logs"))
            .put("node.name", name)
            .put("cluster.name", name)
            .put("discovery.type", "single-node")
            .put("http.port", args[1])
            .put("transport.port", args[2])
            .put("network.host", "127.0.0.1")
            // A development machine's disk may be fuller than a cluster's should be.
            .put("cluster.routing.allocation.disk.threshold_enabled", false)
            .build();
        LogConfigurator.registerErrorListener();
        LogConfigurator.configureESLogging();
        LogConfigurator.setNodeName(name);
        LogConfigurator.configure(new Environment(settings, config), true);
        Environment environment =
            InternalSettingsPreparer.prepareEnvironment(settings, Map.of(), config, () -> name);
        PluginsLoader loader = PluginsLoader.createPluginsLoader(
            PluginsLoader.loadModulesBundles(environment.modulesDir(), false), Set.of(), Map.of());
        Node node = new Node(environment, loader);
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            try {
                node.close();
            } catch (Exception error) {
                error.printStackTrace();
            }
        }));
        node.start();
        // Elasticsearch's own threads are daemons.
        new CountDownLatch(1).await();
    }
}
