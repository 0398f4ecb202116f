import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Collectors;
import org.apache.hadoop.yarn.api.pb.PlacementConstraintToProtoConverter;
import org.apache.hadoop.yarn.proto.YarnProtos.CompositePlacementConstraintProto;
import org.apache.hadoop.yarn.proto.YarnProtos.PlacementConstraintProto;
import org.apache.hadoop.yarn.proto.YarnProtos.SimplePlacementConstraintProto;
import org.apache.hadoop.yarn.util.constraint.PlacementConstraintParser;

/** Compares placement_constraints.txt (argument 1) with the messages that Hadoop's own parser and client make. */
class PlacementPeer {
  static String simple(SimplePlacementConstraintProto constraint) {
    List<String> targets = constraint.getTargetExpressionsList().stream()
        .map(target -> target.getTargetType() + " " + target.getTargetKey() + " "
            + target.getTargetValuesList().stream().sorted().collect(Collectors.joining("+")))
        .sorted().toList();
    return constraint.getScope() + " " + constraint.getMinCardinality() + ".." + constraint.getMaxCardinality() + " "
        + constraint.getAttributeOpCode() + " " + String.join(", ", targets);
  }

  static String text(PlacementConstraintProto constraint) {
    if (constraint.hasSimpleConstraint()) return simple(constraint.getSimpleConstraint());
    CompositePlacementConstraintProto composite = constraint.getCompositeConstraint();
    return composite.getCompositeType() + composite.getChildConstraintsList().stream()
        .map(PlacementPeer::text).collect(Collectors.joining("; ", "(", ")"));
  }

  static String parsed(String expression) {
    try {
      return text(new PlacementConstraintToProtoConverter(
          PlacementConstraintParser.parseExpression(expression).build()).convert());
    } catch (Exception refusal) {
      return "refused";
    }
  }

  public static void main(String[] words) throws Exception {
    int lines = 0;
    int differences = 0;
    for (String line : Files.readAllLines(Path.of(words[0]))) {
      if (line.startsWith("#")) continue;
      String[] columns = line.split(" \\| ", -1);
      String found = parsed(columns[0]);
      lines++;
      if (found.trim().equals(columns[columns.length - 1])) continue;
      differences++;
      System.out.println("FAILED wire: placement constraint \"" + columns[0] + "\": Hadoop's is " + found);
    }
    if (lines > 0 && differences == 0) System.out.println("ok wire: " + lines + " placement constraints");
  }
}
