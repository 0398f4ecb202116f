import java.io.DataOutputStream;
import java.io.File;
import java.io.FileOutputStream;
import java.io.PrintStream;
import java.util.TreeMap;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.security.Credentials;
import org.apache.hadoop.security.token.Token;

/**
 * Does with Hadoop's own class what hadoop_credentials_check does with ours: "CredentialsPeer FOLDER" writes some
 * credentials in both formats to FOLDER/WRITABLE and FOLDER/PROTOBUF. Then it reads these files and FOLDER/ours, and
 * writes their content, one line per alias, sorted, to files of the same names with the suffix ".read".
 */
public class CredentialsPeer {
  public static void main(String[] words) throws Exception {
    for (Credentials.SerializedFormat format : Credentials.SerializedFormat.values()) {
      try (DataOutputStream out = new DataOutputStream(new FileOutputStream(new File(words[0], format.name())))) {
        some().writeTokenStorageToStream(out, format);
      }
    }
    for (String name : new String[] {"WRITABLE", "PROTOBUF", "ours"}) {
      File file = new File(words[0], name);
      try (PrintStream out = new PrintStream(file + ".read")) {
        print(Credentials.readTokenStorageFile(file, new Configuration()), out);
      }
    }
  }

  private static Credentials some() {
    Credentials credentials = new Credentials();
    add(credentials, "", bytes(3), "YARN_AM_RM_TOKEN", "");
    add(credentials, "ha-hdfs:ns", bytes(127), "HDFS_DELEGATION_TOKEN", "ha-hdfs:ns");
    add(credentials, "large", bytes(70000), "K\u00e4nd", "10.0.0.1:8020");
    credentials.addSecretKey(new Text("empty"), bytes(0));
    credentials.addSecretKey(new Text("tony.job.token"), bytes(256));
    return credentials;
  }

  private static void add(Credentials credentials, String alias, byte[] identifier, String kind, String service) {
    credentials.addToken(new Text(alias), new Token<>(identifier, bytes(20), new Text(kind), new Text(service)));
  }

  private static byte[] bytes(int count) {
    byte[] bytes = new byte[count];
    for (int i = 0; i < count; ++i) bytes[i] = (byte) (i * 37);
    return bytes;
  }

  private static void print(Credentials credentials, PrintStream out) {
    TreeMap<String, String> lines = new TreeMap<>();
    for (Text alias : credentials.getTokenMap().keySet()) {
      Token<?> token = credentials.getToken(alias);
      lines.put(alias.toString(), hex(token.getIdentifier()) + " " + hex(token.getPassword()) + " "
          + hex(token.getKind().copyBytes()) + " " + hex(token.getService().copyBytes()));
    }
    lines.forEach((alias, line) -> out.println("token " + alias + " " + line));
    lines.clear();
    for (Text alias : credentials.getAllSecretKeys()) lines.put(alias.toString(), hex(credentials.getSecretKey(alias)));
    lines.forEach((alias, line) -> out.println("secret " + alias + " " + line));
  }

  private static String hex(byte[] bytes) {
    StringBuilder text = new StringBuilder("0x");
    for (byte b : bytes) text.append(String.format("%02X", b));
    return text.toString();
  }
}
