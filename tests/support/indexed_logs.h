// Files that NodeManagers of Hadoop 3.4.3 wrote in the indexed format (runtime/hadoop/indexed_log.h).
#pragma once

#include <string>
#include <string_view>

namespace tony {

// Two logs of one container, uploaded at its end, without compression.
inline constexpr char kIndexedLogsBytes[] =
    "\354\302\033\037\310\037\246\013A=e\332\"\306\277\037\077\240*\317\372b\365\372\316J\024\253/2\0367started\nlast"
    "\n\254\355\000\005sr\000norg.apache.hadoop.yarn.logaggregation.filecontroller.ifile.LogAggregationIndexedFileCon"
    "troller$IndexedLogsMeta\000\000\000\001D=\351-\002\000\006I\000\007versionL\000\004aclst\000\017Ljava/util/Map;L"
    "\000\014compressNamet\000\022Ljava/lang/String;L\000\010logMetast\000\020Ljava/util/List;L\000\006nodeIdq\000~"
    "\000\002L\000\004userq\000~\000\002xp\000\000\000\001sr\000\021java.util.HashMap\005\007\332\301\303\026`\321"
    "\003\000\002F\000\nloadFactorI\000\011thresholdxp\077@\000\000\000\000\000\001w\010\000\000\000\001\000\000\000"
    "\000xt\000\004nonesr\000\023java.util.ArrayListx\201\322\035\231\307a\235\003\000\001I\000\004sizexp\000\000\000"
    "\001w\004\000\000\000\001sr\000{org.apache.hadoop.yarn.logaggregation.filecontroller.ifile.LogAggregationIndexed"
    "FileController$IndexedPerAggregationLogMeta\000\000\000\000\3524U\317\002\000\003J\000\017uploadTimeStampL\000"
    "\010logMetasq\000~\000\001L\000\025remoteNodeLogFileNameq\000~\000\002xp\000\000\001\242*\0020#sq\000~\000\005"
    "\077@\000\000\000\000\000\014w\010\000\000\000\020\000\000\000\001t\000&container_1796000825728_0009_01_000001sq"
    "\000~\000\010\000\000\000\002w\004\000\000\000\002sr\000qorg.apache.hadoop.yarn.logaggregation.filecontroller.if"
    "ile.LogAggregationIndexedFileController$IndexedFileLogMeta\000\000\000\000\000\000\000\001\002\000\006J\000\022f"
    "ileCompressedSizeJ\000\010fileSizeJ\000\020lastModifiedTimeJ\000\nstartIndexL\000\013containerIdq\000~\000\002L"
    "\000\010fileNameq\000~\000\002xp\000\000\000\000\000\000\000\010\000\000\000\000\000\000\000\010\000\000\001\242"
    "*\001\371X\000\000\000\000\000\000\000 q\000~\000\015t\000\006stdoutsq\000~\000\017\000\000\000\000\000\000\000"
    "\005\000\000\000\000\000\000\000\005\000\000\001\242*\002,\"\000\000\000\000\000\000\000(q\000~\000\015t\000\007"
    "app.logxxt\000\017localhost_16811xt\000\017localhost:16811t\000\004root\000\000\004*\354\302\033\037\310\037\246"
    "\013A=e\332\"\306\277\037\077\240*\317\372b\365\372\316J\024\253/2\0367";
inline constexpr std::string_view kIndexedLogs(kIndexedLogsBytes, sizeof(kIndexedLogsBytes) - 1);
inline constexpr const char* kIndexedContainer = "container_1796000825728_0009_01_000001";

// Two uploads of a log that was written again after the first upload, with the compression gz.
inline constexpr char kRolledLogsBytes[] =
    "Ah\272L\272{\011\372\213TT\010\270\323Uy\252l\346'R\327\375GW\226\363\077R\214\356ax\234+\312\317\311Q\310\317K"
    "\345*\0021J\312\363\271\000\077\202\006c\254\355\000\005sr\000norg.apache.hadoop.yarn.logaggregation.filecontrol"
    "ler.ifile.LogAggregationIndexedFileController$IndexedLogsMeta\000\000\000\001D=\351-\002\000\006I\000\007version"
    "L\000\004aclst\000\017Ljava/util/Map;L\000\014compressNamet\000\022Ljava/lang/String;L\000\010logMetast\000\020L"
    "java/util/List;L\000\006nodeIdq\000~\000\002L\000\004userq\000~\000\002xp\000\000\000\001sr\000\021java.util.Has"
    "hMap\005\007\332\301\303\026`\321\003\000\002F\000\nloadFactorI\000\011thresholdxp\077@\000\000\000\000\000\001w"
    "\010\000\000\000\001\000\000\000\000xt\000\002gzsr\000\023java.util.ArrayListx\201\322\035\231\307a\235\003\000"
    "\001I\000\004sizexp\000\000\000\001w\004\000\000\000\001sr\000{org.apache.hadoop.yarn.logaggregation.filecontrol"
    "ler.ifile.LogAggregationIndexedFileController$IndexedPerAggregationLogMeta\000\000\000\000\3524U\317\002\000\003"
    "J\000\017uploadTimeStampL\000\010logMetasq\000~\000\001L\000\025remoteNodeLogFileNameq\000~\000\002xp\000\000"
    "\001\242*\002$\002sq\000~\000\005\077@\000\000\000\000\000\014w\010\000\000\000\020\000\000\000\001t\000&contain"
    "er_1796000825728_0012_01_000001sq\000~\000\010\000\000\000\001w\004\000\000\000\001sr\000qorg.apache.hadoop.yarn"
    ".logaggregation.filecontroller.ifile.LogAggregationIndexedFileController$IndexedFileLogMeta\000\000\000\000\000"
    "\000\000\001\002\000\006J\000\022fileCompressedSizeJ\000\010fileSizeJ\000\020lastModifiedTimeJ\000\nstartIndexL"
    "\000\013containerIdq\000~\000\002L\000\010fileNameq\000~\000\002xp\000\000\000\000\000\000\000\027\000\000\000"
    "\000\000\000\000\022\000\000\001\242*\002\001\350\000\000\000\000\000\000\000 q\000~\000\015t\000\007app.logxxt"
    "\000\017127.0.0.2_16815xt\000\017127.0.0.2:16815t\000\004root\000\000\003\364Ah\272L\272{\011\372\213TT\010\270"
    "\323Uy\252l\346'R\327\375GW\226\363\077R\214\356a\nx\234\313I,.\341\002\000\005\360\001\277\254\355\000\005sr"
    "\000norg.apache.hadoop.yarn.logaggregation.filecontroller.ifile.LogAggregationIndexedFileController$IndexedLogsM"
    "eta\000\000\000\001D=\351-\002\000\006I\000\007versionL\000\004aclst\000\017Ljava/util/Map;L\000\014compressName"
    "t\000\022Ljava/lang/String;L\000\010logMetast\000\020Ljava/util/List;L\000\006nodeIdq\000~\000\002L\000\004userq"
    "\000~\000\002xp\000\000\000\001sr\000\021java.util.HashMap\005\007\332\301\303\026`\321\003\000\002F\000\nloadFa"
    "ctorI\000\011thresholdxp\077@\000\000\000\000\000\001w\010\000\000\000\001\000\000\000\000xt\000\002gzsr\000\023"
    "java.util.ArrayListx\201\322\035\231\307a\235\003\000\001I\000\004sizexp\000\000\000\002w\004\000\000\000\002sr"
    "\000{org.apache.hadoop.yarn.logaggregation.filecontroller.ifile.LogAggregationIndexedFileController$IndexedPerAg"
    "gregationLogMeta\000\000\000\000\3524U\317\002\000\003J\000\017uploadTimeStampL\000\010logMetasq\000~\000\001L"
    "\000\025remoteNodeLogFileNameq\000~\000\002xp\000\000\001\242*\002$\002sq\000~\000\005\077@\000\000\000\000\000"
    "\014w\010\000\000\000\020\000\000\000\001t\000&container_1796000825728_0012_01_000001sq\000~\000\010\000\000\000"
    "\001w\004\000\000\000\001sr\000qorg.apache.hadoop.yarn.logaggregation.filecontroller.ifile.LogAggregationIndexed"
    "FileController$IndexedFileLogMeta\000\000\000\000\000\000\000\001\002\000\006J\000\022fileCompressedSizeJ\000"
    "\010fileSizeJ\000\020lastModifiedTimeJ\000\nstartIndexL\000\013containerIdq\000~\000\002L\000\010fileNameq\000~"
    "\000\002xp\000\000\000\000\000\000\000\027\000\000\000\000\000\000\000\022\000\000\001\242*\002\001\350\000\000"
    "\000\000\000\000\000 q\000~\000\015t\000\007app.logxxt\000\017127.0.0.2_16815sq\000~\000\n\000\000\001\242*\0028"
    "\300sq\000~\000\005\077@\000\000\000\000\000\014w\010\000\000\000\020\000\000\000\001t\000&container_17960008257"
    "28_0012_01_000001sq\000~\000\010\000\000\000\001w\004\000\000\000\001sq\000~\000\017\000\000\000\000\000\000\000"
    "\015\000\000\000\000\000\000\000\005\000\000\001\242*\0024\262\000\000\000\000\000\000\004Pq\000~\000\025t\000"
    "\007app.logxxt\000\017127.0.0.2_16815xt\000\017127.0.0.2:16815t\000\004root\000\000\004\234Ah\272L\272{\011\372"
    "\213TT\010\270\323Uy\252l\346'R\327\375GW\226\363\077R\214\356a";
inline constexpr std::string_view kRolledLogs(kRolledLogsBytes, sizeof(kRolledLogsBytes) - 1);
inline constexpr const char* kRolledContainer = "container_1796000825728_0012_01_000001";
// The length of the file after its first upload.
inline constexpr size_t kFirstRoll = 1103;

}  // namespace tony
