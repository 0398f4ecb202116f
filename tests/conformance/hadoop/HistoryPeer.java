import com.linkedin.tony.events.ApplicationFinished;
import com.linkedin.tony.events.ApplicationInited;
import com.linkedin.tony.events.Event;
import com.linkedin.tony.events.TaskFinished;
import com.linkedin.tony.events.TaskStarted;
import com.linkedin.tony.models.JobConfig;
import com.linkedin.tony.models.JobMetadata;
import com.linkedin.tony.util.ParserUtils;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.yarn.conf.YarnConfiguration;

/**
 * Reads the history of a job from HDFS with the classes that TonY's portal and Dr. Elephant use: "HistoryPeer URI",
 * where URI is the job's folder. Prints their results, one per line: "job ID STATUS USER STARTED COMPLETED",
 * "event TYPE ..." in order, "conf NAME VALUE SOURCE". A folder that they cannot read has no "job" line.
 */
public class HistoryPeer {
  public static void main(String[] arguments) throws Exception {
    Path folder = new Path(arguments[0]);
    YarnConfiguration configuration = new YarnConfiguration();
    FileSystem hdfs = folder.getFileSystem(configuration);
    JobMetadata job = ParserUtils.parseMetadata(hdfs, configuration, folder, "application_\\d+_\\d+");
    if (job != null) {
      System.out.println("job " + job.getId() + " " + job.getStatus() + " " + job.getUser() + " " + job.getStarted()
          + " " + job.getCompleted());
    }
    for (Event event : ParserUtils.parseEvents(hdfs, folder)) {
      System.out.println("event " + event.getType() + " " + text(event.getEvent()));
    }
    for (JobConfig value : ParserUtils.parseConfig(hdfs, folder)) {
      System.out.println("conf " + value.getName() + " " + value.getValue() + " " + value.getSource());
    }
  }

  private static String text(Object event) {
    if (event instanceof ApplicationInited) {
      return ((ApplicationInited) event).getApplicationId() + " " + ((ApplicationInited) event).getNumTasks();
    }
    if (event instanceof TaskStarted) {
      return ((TaskStarted) event).getTaskType() + ":" + ((TaskStarted) event).getTaskIndex();
    }
    if (event instanceof TaskFinished) {
      TaskFinished task = (TaskFinished) event;
      return task.getTaskType() + ":" + task.getTaskIndex() + " " + task.getStatus() + " " + task.getMetrics().size();
    }
    ApplicationFinished end = (ApplicationFinished) event;
    return end.getApplicationId() + " " + end.getFinishedTasks() + " " + end.getFailedTasks();
  }
}
