package azkaban.spi;

/** What azkaban-common's exceptions extend. The artifact that holds the real one was never published. */
public class AzkabanException extends Exception {
  public AzkabanException(String message) {
    super(message);
  }

  public AzkabanException(String message, Throwable cause) {
    super(message, cause);
  }
}
