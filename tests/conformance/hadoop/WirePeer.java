import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.hadoop.hdfs.protocol.proto.AclProtos;
import org.apache.hadoop.hdfs.protocol.proto.ClientNamenodeProtocolProtos;
import org.apache.hadoop.hdfs.protocol.proto.DataTransferProtos;
import org.apache.hadoop.hdfs.protocol.proto.HdfsProtos;
import org.apache.hadoop.hdfs.protocol.proto.XAttrProtos;
import org.apache.hadoop.ipc.protobuf.IpcConnectionContextProtos;
import org.apache.hadoop.ipc.protobuf.ProtobufRpcEngine2Protos;
import org.apache.hadoop.ipc.protobuf.RpcHeaderProtos;
import org.apache.hadoop.security.proto.SecurityProtos;
import org.apache.hadoop.thirdparty.protobuf.DescriptorProtos.FileDescriptorProto;
import org.apache.hadoop.thirdparty.protobuf.DescriptorProtos.FileDescriptorSet;
import org.apache.hadoop.thirdparty.protobuf.Descriptors.Descriptor;
import org.apache.hadoop.thirdparty.protobuf.Descriptors.EnumDescriptor;
import org.apache.hadoop.thirdparty.protobuf.Descriptors.EnumValueDescriptor;
import org.apache.hadoop.thirdparty.protobuf.Descriptors.FieldDescriptor;
import org.apache.hadoop.thirdparty.protobuf.Descriptors.FileDescriptor;
import org.apache.hadoop.yarn.proto.YarnProtos;
import org.apache.hadoop.yarn.proto.YarnSecurityTokenProtos;
import org.apache.hadoop.yarn.proto.YarnServiceProtos;

/**
 * Compares our messages with the descriptors inside Hadoop's generated classes: "WirePeer FILE...", where each FILE is
 * the output of "protoc --include_imports --descriptor_set_out=FILE" for a file of runtime/hadoop/wire. Writes
 * "ok wire: ..." for each of our files, or "FAILED wire: ..." for each difference, to FILE.found.
 *
 * A message or enum X is Hadoop's XProto or X. Fields and values are found by name, so that a wrong number is reported.
 * Fields that only Hadoop has are not a difference, unless Hadoop requires them.
 */
public class WirePeer {
  private static final FileDescriptor[] THEIRS = {
    RpcHeaderProtos.getDescriptor(), ProtobufRpcEngine2Protos.getDescriptor(),
    IpcConnectionContextProtos.getDescriptor(), SecurityProtos.getDescriptor(), YarnProtos.getDescriptor(),
    YarnServiceProtos.getDescriptor(), YarnSecurityTokenProtos.getDescriptor(), AclProtos.getDescriptor(),
    ClientNamenodeProtocolProtos.getDescriptor(), DataTransferProtos.getDescriptor(), HdfsProtos.getDescriptor(),
    XAttrProtos.getDescriptor()};

  private final Map<String, Descriptor> messages = new TreeMap<>();
  private final Map<String, EnumDescriptor> enums = new TreeMap<>();
  private final List<String> differences = new ArrayList<>();
  private int fields;
  private int values;

  public static void main(String[] words) throws Exception {
    for (String word : words) {
      try (PrintStream found = new PrintStream(word + ".found")) {
        compare(Path.of(word), found);
      }
    }
  }

  private static void compare(Path set, PrintStream found) throws Exception {
    Map<String, FileDescriptor> built = new TreeMap<>();
    for (FileDescriptorProto file : FileDescriptorSet.parseFrom(Files.readAllBytes(set)).getFileList()) {
      FileDescriptor[] imports = file.getDependencyList().stream().map(built::get).toArray(FileDescriptor[]::new);
      built.put(file.getName(), FileDescriptor.buildFrom(file, imports));  // files that it imports come before it
    }
    for (FileDescriptor file : built.values()) new WirePeer().compare(file, found);
  }

  private WirePeer() {
    for (FileDescriptor file : THEIRS) {
      for (Descriptor message : file.getMessageTypes()) messages.put(message.getName(), message);
      for (EnumDescriptor type : file.getEnumTypes()) enums.put(type.getName(), type);
    }
  }

  private void compare(FileDescriptor file, PrintStream found) {
    for (Descriptor ours : file.getMessageTypes()) compare(ours, theirs(messages, ours.getName()));
    for (EnumDescriptor ours : file.getEnumTypes()) compare(ours, theirs(enums, ours.getName()));
    for (String difference : differences) found.println("FAILED wire: " + difference);
    if (!differences.isEmpty()) return;
    found.println("ok wire: " + file.getName().replaceAll(".*/", "") + " (" + file.getMessageTypes().size()
        + " messages, " + fields + " fields, " + values + " values of enums)");
  }

  private static <T> T theirs(Map<String, T> all, String name) {
    return all.getOrDefault(name + "Proto", all.get(name));
  }

  private void compare(Descriptor ours, Descriptor theirs) {
    if (theirs == null) {
      differences.add(ours.getName() + ": Hadoop has no such message");
      return;
    }
    for (FieldDescriptor field : ours.getFields()) {
      ++fields;
      same(ours.getName() + "." + field.getName(), said(field), said(theirs.findFieldByName(field.getName())));
    }
    for (FieldDescriptor field : theirs.getFields()) {
      if (field.isRequired() && ours.findFieldByName(field.getName()) == null) {
        same(ours.getName() + "." + field.getName(), "no such", said(field));
      }
    }
    for (Descriptor inner : ours.getNestedTypes()) compare(inner, theirs.findNestedTypeByName(inner.getName()));
    for (EnumDescriptor inner : ours.getEnumTypes()) compare(inner, theirs.findEnumTypeByName(inner.getName()));
  }

  private void compare(EnumDescriptor ours, EnumDescriptor theirs) {
    if (theirs == null) {
      differences.add(ours.getName() + ": Hadoop has no such enum");
      return;
    }
    for (EnumValueDescriptor value : ours.getValues()) {
      ++values;
      EnumValueDescriptor found = theirs.findValueByName(value.getName());
      same(ours.getName() + "." + value.getName(), "" + value.getNumber(),
          found == null ? "no such" : "" + found.getNumber());
    }
  }

  private void same(String what, String ours, String theirs) {
    if (!ours.equals(theirs)) differences.add(what + ": ours is " + ours + ", Hadoop's is " + theirs);
  }

  /** Returns everything that affects the bytes on the wire: "required sint32 = 3", "optional int32 = 4 [-1000]". */
  private static String said(FieldDescriptor field) {
    if (field == null) return "no such";
    String label = field.isRequired() ? "required " : field.isRepeated() ? "repeated " : "optional ";
    String type = field.getType().name().toLowerCase();
    if (field.getJavaType() == FieldDescriptor.JavaType.MESSAGE) type = plain(field.getMessageType().getName());
    if (field.getJavaType() == FieldDescriptor.JavaType.ENUM) type = plain(field.getEnumType().getName());
    String initial = field.hasDefaultValue() ? " [" + field.getDefaultValue() + "]" : "";
    return label + (field.isPacked() ? "packed " : "") + type + " = " + field.getNumber() + initial;
  }

  private static String plain(String name) { return name.replaceAll("Proto$", ""); }
}
