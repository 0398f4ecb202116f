package level1;

import azkaban.utils.JSONUtils;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * Writes events, one JSON object per line. Any thread may call it. Azkaban's setuid program writes lines to the same
 * pipe, so each event is written by one call.
 */
final class Events {
  private final PrintStream out;

  Events(PrintStream out) {
    this.out = out;
  }

  /** Takes names and values alternately; a null value is left out. */
  void tell(String event, Object... fields) {
    Map<String, Object> object = new LinkedHashMap<>();
    object.put("event", event);
    object.put("at", System.currentTimeMillis());
    for (int i = 0; i < fields.length; i += 2) {
      if (fields[i + 1] != null) {
        object.put((String) fields[i], fields[i + 1]);
      }
    }
    byte[] line = (JSONUtils.toJSON(object) + "\n").getBytes(StandardCharsets.UTF_8);
    synchronized (out) {
      out.write(line, 0, line.length);
      out.flush();
    }
  }
}
