package level1;

import azkaban.executor.ExecutableFlow;
import azkaban.executor.ExecutableNode;
import azkaban.executor.Status;
import azkaban.flow.CommonJobProperties;
import azkaban.jobExecutor.Job;
import azkaban.jobExecutor.utils.process.ProcessFailureException;
import azkaban.jobtype.JobTypeManager;
import azkaban.utils.JSONUtils;
import azkaban.utils.Props;
import java.io.File;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.log4j.FileAppender;
import org.apache.log4j.Logger;
import org.apache.log4j.PatternLayout;

/** One step of an execution with all its attempts, as Azkaban's JobRunner runs it. */
final class Step {
  private final ExecutableFlow flow;
  private final ExecutableNode node;
  private final StepProperties properties;
  private final JobTypeManager types;
  private final Events events;
  private Job job;
  private boolean cancelled;

  Step(ExecutableFlow flow, ExecutableNode node, StepProperties properties, JobTypeManager types, Events events) {
    this.flow = flow;
    this.node = node;
    this.properties = properties;
    this.types = types;
    this.events = events;
  }

  boolean isOf(ExecutableNode other) {
    return node == other;
  }

  /** Returns when the last attempt has ended. */
  void run() {
    attempt();
    while (node.getStatus() == Status.FAILED && node.getAttempt() < node.getRetries() && mayTryAgain()) {
      node.resetForRetry();
      attempt();
    }
  }

  /** Returns when the running attempt has ended; no attempt follows. */
  void cancel() {
    Job running;
    synchronized (this) {
      cancelled = true;
      running = job;
      notifyAll();
    }
    tell("KILLING");
    if (running == null) {
      return;
    }
    try {
      running.cancel();
    } catch (Exception error) {
      Logger.getRootLogger().error("cancelling " + node.getId(), error);
    }
  }

  private synchronized boolean mayTryAgain() {
    long end = System.currentTimeMillis() + node.getRetryBackoff();
    try {
      for (long left = node.getRetryBackoff(); left > 0 && !cancelled; left = end - System.currentTimeMillis()) {
        wait(left);
      }
    } catch (InterruptedException error) {
      Thread.currentThread().interrupt();
      return false;
    }
    return !cancelled;
  }

  private void attempt() {
    String name = "_job." + flow.getExecutionId() + (node.getAttempt() > 0 ? "." + node.getAttempt() : "") + "."
        + node.getNestedId();
    File log = new File(flow.getExecutionPath(), name + ".log").getAbsoluteFile();
    File attachment = new File(flow.getExecutionPath(), name + ".attach").getAbsoluteFile();
    node.setStatus(Status.RUNNING);
    tell("RUNNING", "log", log.getPath(), "attachment_file", attachment.getPath());
    Throwable failure = performLogged(log, attachment);
    boolean killed;
    synchronized (this) {
      job = null;
      killed = cancelled;
    }
    node.setStatus(killed ? Status.KILLED : failure != null ? Status.FAILED : Status.SUCCEEDED);
    tell(node.getStatus().toString(), "exit", exitCode(failure), "outputs", outputs(), "attachment",
        attached(attachment));
  }

  private Throwable performLogged(File log, File attachment) {
    Logger logger = Logger.getLogger(System.nanoTime() + "." + node.getId());
    logger.setAdditivity(false);
    try {
      logger.addAppender(
          new FileAppender(new PatternLayout("%d{dd-MM-yyyy HH:mm:ss z} %c{1} %p - %m\n"), log.getPath()));
      return perform(attachment, logger);
    } catch (IOException error) {
      return error;
    } finally {
      logger.removeAllAppenders();
    }
  }

  private Throwable perform(File attachment, Logger logger) {
    try {
      Props props = properties.of(node);
      node.setInputProps(props); // Azkaban reads the number of retries there
      addWhatAJobIsTold(props, attachment);
      Job built = types.buildJobExecutor(node.getId(), props, logger);
      synchronized (this) {
        if (cancelled) {
          return null;
        }
        job = built;
      }
      built.run();
      node.setOutputProps(built.getJobGeneratedProperties());
      return null;
    } catch (Throwable error) {
      logger.error("Job run failed!", error);
      return error;
    }
  }

  private void addWhatAJobIsTold(Props props, File attachment) {
    props.put(CommonJobProperties.JOB_ID, node.getId());
    props.put(CommonJobProperties.JOB_ATTEMPT, node.getAttempt());
    props.put(CommonJobProperties.JOB_METADATA_FILE, attachment.getName().replace(".attach", ".meta"));
    props.put(CommonJobProperties.JOB_ATTACHMENT_FILE, attachment.getPath());
    props.put(CommonJobProperties.IN_NODES, String.join(",", node.getInNodes()));
    props.put(CommonJobProperties.OUT_NODES, String.join(",", node.getOutNodes()));
    if (node.getParentFlow() != flow) {
      props.put(CommonJobProperties.NESTED_FLOW_PATH, node.getNestedId());
    }
    if (!props.containsKey("user.to.proxy")) {
      props.put("user.to.proxy", flow.getSubmitUser());
    }
    if (!props.containsKey("working.dir")) {
      props.put("working.dir", properties.workingFolder(node).getAbsolutePath());
    }
  }

  private static Integer exitCode(Throwable failure) {
    if (failure == null) {
      return 0;
    }
    for (Throwable error = failure; error != null; error = error.getCause()) {
      if (error instanceof ProcessFailureException) {
        return ((ProcessFailureException) error).getExitCode();
      }
    }
    return null;
  }

  private Object outputs() {
    return node.getOutputProps() == null ? null : node.getOutputProps().getFlattened();
  }

  /** Returns what Azkaban would store: it parses the file after a job has ended. */
  private static Object attached(File file) {
    try {
      return file.exists() ? JSONUtils.parseJSONFromFile(file) : null;
    } catch (IOException error) {
      return "not JSON: " + error.getMessage();
    }
  }

  private void tell(String status, Object... more) {
    List<Object> fields = new ArrayList<>(Arrays.asList("execution", flow.getExecutionId(), "job", node.getNestedId(),
        "attempt", node.getAttempt(), "status", status));
    fields.addAll(Arrays.asList(more));
    events.tell("job", fields.toArray());
  }
}
