package level1;

import azkaban.executor.ExecutableFlow;
import azkaban.executor.ExecutableNode;
import azkaban.flow.FlowProps;
import azkaban.flow.FlowUtils;
import azkaban.project.FlowLoaderUtils;
import azkaban.utils.Props;
import java.io.File;
import java.io.IOException;
import java.util.HashMap;
import java.util.Map;

/**
 * The properties that FlowRunner gives a step. Its own override the outputs of the steps before it, these override the
 * flow's, and these override the shared files of the old format. JobTypeManager adds the job type's below all of them.
 */
final class StepProperties {
  private final ExecutableFlow flow;
  private final File folder;
  private final boolean yaml;
  private final Map<String, Props> shared = new HashMap<>();

  @SuppressWarnings("unchecked") // of a generic array that Azkaban's constructor makes of its argument
  StepProperties(ExecutableFlow flow, File folder) throws IOException {
    this.flow = flow;
    this.folder = folder;
    this.yaml = FlowLoaderUtils.isAzkabanFlowVersion20(flow.getAzkabanFlowVersion());
    Props common = FlowUtils.addCommonFlowProperties(null, flow);
    Props ofFlow = yaml ? over(fromYaml(flow.getId()), common) : common;
    flow.setInputProps(new Props(ofFlow, flow.getExecutionOptions().getFlowParameters()));
    for (FlowProps file : flow.getFlowProps()) {
      shared.put(file.getSource(), new Props(null, new File(folder, file.getSource())));
    }
    for (FlowProps file : flow.getFlowProps()) {
      if (file.getInheritedSource() != null) {
        shared.get(file.getSource()).setParent(shared.get(file.getInheritedSource()));
      }
    }
  }

  /** Returns the properties of a step, computed for each attempt, or of an embedded flow. */
  Props of(ExecutableNode node) throws IOException {
    Props props = yaml || node.getPropsSource() == null ? null : shared.get(node.getPropsSource());
    Props ofFlow = Props.clone(node.getParentFlow().getInputProps());
    ofFlow.setEarliestAncestor(props);
    props = ofFlow;
    for (String before : node.getInNodes()) {
      Props outputs = node.getParentFlow().getExecutableNode(before).getOutputProps();
      if (outputs != null) {
        props = over(Props.clone(outputs), props);
      }
    }
    return over(ofItsOwn(node), props);
  }

  /** The working folder of a step, unless the step sets another one. */
  File workingFolder(ExecutableNode node) {
    return yaml ? folder : new File(folder, node.getJobSource()).getParentFile();
  }

  private Props ofItsOwn(ExecutableNode node) throws IOException {
    return yaml
        ? fromYaml(flow.getId() + ":" + node.getNestedId())
        : new Props(null, new File(folder, node.getJobSource()));
  }

  private Props fromYaml(String path) {
    return FlowLoaderUtils.getPropsFromYamlFile(path, new File(folder, flow.getId() + ".flow"));
  }

  private static Props over(Props props, Props below) {
    props.setEarliestAncestor(below);
    return props;
  }
}
