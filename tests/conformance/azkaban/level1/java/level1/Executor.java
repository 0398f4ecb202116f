package level1;

import azkaban.ServiceProvider;
import azkaban.jobtype.JobTypeManager;
import azkaban.utils.JSONUtils;
import com.google.inject.Guice;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.log4j.ConsoleAppender;
import org.apache.log4j.Level;
import org.apache.log4j.Logger;
import org.apache.log4j.PatternLayout;

/**
 * Azkaban's executor server without its network server. Commands are read from standard input, one JSON object per
 * line, and events are written to standard output. Its log is standard error. It exits at the end of its input.
 *
 * <pre>
 *   {"do": "run", "execution": 7, "folder": "a copy of it", "project": "its name", "flow": "deploy",
 *    "overrides": {"name": "value"}}
 *   {"do": "cancel", "execution": 7}
 * </pre>
 */
public final class Executor {
  private final Events events;
  private final JobTypeManager types;
  private final Map<Integer, Execution> executions = new ConcurrentHashMap<>();

  private Executor(String jobtypes, Events events) {
    this.events = events;
    this.types = new JobTypeManager(jobtypes, null, Executor.class.getClassLoader());
  }

  public static void main(String[] words) throws Exception {
    Logger.getRootLogger().setLevel(Level.INFO);
    Logger.getRootLogger().addAppender(new ConsoleAppender(new PatternLayout("%d %p %c{1} %m%n"), "System.err"));
    ServiceProvider.SERVICE_PROVIDER.setInjector(Guice.createInjector());
    Events events = new Events(System.out);
    Executor executor = new Executor(words[0], events);
    events.tell("ready");
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line = in.readLine(); line != null; line = in.readLine()) {
      executor.obey(line);
    }
    System.exit(0);
  }

  @SuppressWarnings("unchecked")
  private void obey(String line) throws Exception {
    Map<String, Object> command = (Map<String, Object>) JSONUtils.parseJSONFromString(line);
    int id = (Integer) command.get("execution");
    if (command.get("do").equals("run")) {
      new Thread(() -> run(id, command), "execution " + id).start();
    } else {
      new Thread(executions.get(id)::cancel, "cancel " + id).start();
    }
  }

  private void run(int id, Map<String, Object> command) {
    try {
      Execution execution = Execution.of(id, command, types, events);
      executions.put(id, execution);
      execution.run();
    } catch (Exception error) {
      Logger.getRootLogger().error("execution " + id, error);
      events.tell("error", "execution", id, "why", error.toString());
    }
  }
}
