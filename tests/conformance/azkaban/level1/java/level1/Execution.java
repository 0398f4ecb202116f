package level1;

import azkaban.executor.ExecutableFlow;
import azkaban.executor.ExecutableFlowBase;
import azkaban.executor.ExecutableNode;
import azkaban.executor.Status;
import azkaban.flow.Flow;
import azkaban.jobtype.JobTypeManager;
import azkaban.project.FlowLoader;
import azkaban.project.FlowLoaderFactory;
import azkaban.project.Project;
import azkaban.utils.Props;
import java.io.File;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * One execution of a flow, in the order of Azkaban's FlowRunner: a step starts when all steps before it have succeeded;
 * after a failure no step starts; steps that are cancelled together are cancelled one after the other.
 */
final class Execution {
  private final ExecutableFlow flow;
  private final StepProperties properties;
  private final JobTypeManager types;
  private final Events events;
  private final List<Step> running = new ArrayList<>();
  private boolean cancelled;

  private Execution(ExecutableFlow flow, StepProperties properties, JobTypeManager types, Events events) {
    this.flow = flow;
    this.properties = properties;
    this.types = types;
    this.events = events;
  }

  /** The flow as Azkaban's loaders read it from the folder of a project, in either format. */
  @SuppressWarnings("unchecked")
  static Execution of(int id, Map<String, Object> command, JobTypeManager types, Events events) throws Exception {
    File folder = new File((String) command.get("folder"));
    Project project = new Project(1, (String) command.get("project"));
    FlowLoader loader = new FlowLoaderFactory(new Props()).createFlowLoader(folder);
    loader.loadProjectFlow(project, folder);
    if (!loader.getErrors().isEmpty()) {
      throw new IllegalArgumentException(loader.getErrors().toString());
    }
    project.setFlows(loader.getFlowMap());
    Flow loaded = project.getFlow((String) command.get("flow"));
    ExecutableFlow flow = new ExecutableFlow(project, loaded);
    flow.setExecutionId(id);
    flow.setExecutionPath(folder.getPath());
    flow.setSubmitUser("conformance");
    flow.setAzkabanFlowVersion(loaded.getAzkabanFlowVersion());
    flow.getExecutionOptions().addAllFlowParameters((Map<String, String>) command.get("overrides"));
    return new Execution(flow, new StepProperties(flow, folder), types, events);
  }

  /** Returns when all steps have ended. */
  synchronized void run() throws InterruptedException, IOException {
    events.tell("flow", "execution", flow.getExecutionId(), "status", Status.RUNNING.toString());
    for (startWhatCan(); !ended(flow); startWhatCan()) {
      wait();
    }
    Status end = cancelled ? Status.KILLED : any(flow, Status.FAILED) ? Status.FAILED : Status.SUCCEEDED;
    events.tell("flow", "execution", flow.getExecutionId(), "status", end.toString());
  }

  /** Returns when all steps that ran have ended. */
  void cancel() {
    List<Step> steps;
    synchronized (this) {
      cancelled = true;
      steps = new ArrayList<>(running);
      notifyAll();
    }
    for (Step step : steps) {
      step.cancel();
    }
  }

  private void startWhatCan() throws IOException {
    while (startIn(flow)) {
      // A cancelled step, or an embedded flow that has started or ended, may allow more steps to start.
    }
  }

  private boolean startIn(ExecutableFlowBase part) throws IOException {
    boolean changed = false;
    for (ExecutableNode node : part.getExecutableNodes()) {
      if (node.getStatus() == Status.READY && allBeforeHaveEnded(node)) {
        startOrCancel(node);
        changed = true;
      } else if (node instanceof ExecutableFlowBase && node.getStatus() == Status.RUNNING) {
        changed |= startIn((ExecutableFlowBase) node) | hasJustEnded((ExecutableFlowBase) node);
      }
    }
    return changed;
  }

  private void startOrCancel(ExecutableNode node) throws IOException {
    if (cancelled || any(flow, Status.FAILED)) {
      node.setStatus(Status.CANCELLED);
      events.tell("job", "execution", flow.getExecutionId(), "job", node.getNestedId(), "status", "CANCELLED");
      return;
    }
    if (node instanceof ExecutableFlowBase) {
      node.setInputProps(properties.of(node));
      node.setStatus(Status.RUNNING);
      return;
    }
    node.setStatus(Status.QUEUED);
    Step step = new Step(flow, node, properties, types, events);
    running.add(step);
    new Thread(() -> runToItsEnd(step), "step " + node.getNestedId()).start();
  }

  /** An embedded flow. Its outputs are those of its last steps. */
  private boolean hasJustEnded(ExecutableFlowBase part) {
    if (!ended(part)) {
      return false;
    }
    Props outputs = new Props();
    for (String last : part.getEndNodes()) {
      Props written = part.getExecutableNode(last).getOutputProps();
      if (written != null) {
        outputs.putAll(written);
      }
    }
    part.setOutputProps(outputs);
    part.setStatus(cancelled ? Status.KILLED : any(part, Status.FAILED) ? Status.FAILED : Status.SUCCEEDED);
    return true;
  }

  private void runToItsEnd(Step step) {
    step.run();
    synchronized (this) {
      running.remove(step);
      notifyAll();
    }
  }

  private boolean allBeforeHaveEnded(ExecutableNode node) {
    return node.getInNodes().stream().allMatch(before -> hasEnded(node.getParentFlow().getExecutableNode(before)));
  }

  private boolean hasEnded(ExecutableNode node) {
    return Status.isStatusFinished(node.getStatus()) && running.stream().noneMatch(step -> step.isOf(node));
  }

  private boolean ended(ExecutableFlowBase part) {
    return part.getExecutableNodes().stream().allMatch(this::hasEnded);
  }

  private boolean any(ExecutableFlowBase part, Status status) {
    for (ExecutableNode node : part.getExecutableNodes()) {
      boolean inside = node instanceof ExecutableFlowBase && any((ExecutableFlowBase) node, status);
      if (inside || (hasEnded(node) && node.getStatus() == status)) {
        return true;
      }
    }
    return false;
  }
}
