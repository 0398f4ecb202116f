package level1;

import azkaban.utils.JSONUtils;
import java.io.PrintStream;
import java.util.LinkedHashMap;
import java.util.Map;

/** What happened, a JSON object a line. Any thread may tell. */
final class Events {
  private final PrintStream out;

  Events(PrintStream out) {
    this.out = out;
  }

  /** Names and values by turns; a null value is left out. */
  void tell(String event, Object... fields) {
    Map<String, Object> object = new LinkedHashMap<>();
    object.put("event", event);
    object.put("at", System.currentTimeMillis());
    for (int i = 0; i < fields.length; i += 2) {
      if (fields[i + 1] != null) {
        object.put((String) fields[i], fields[i + 1]);
      }
    }
    synchronized (out) {
      out.println(JSONUtils.toJSON(object));
      out.flush();
    }
  }
}
