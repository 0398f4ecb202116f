# Sourced by cluster: the functions that write Hadoop's configuration.
# shellcheck shell=bash disable=SC2154  # The script sets the variables.

property() { printf '<property><name>%s</name><value>%s</value></property>' "$1" "$2"; }  # NAME VALUE

site() {  # FILE; reads lines of a name and a value, and empty lines
  local name value
  echo '<configuration>'
  while read -r name value; do
    [ -z "$name" ] || printf '  <property><name>%s</name><value>%s</value></property>\n' "$name" "$value"
  done
  echo '</configuration>'
} >"$1"

# Prints the address of the first namespace.
first_hdfs() { [ -n "$ha" ] && echo hdfs://pair || echo "hdfs://localhost:${port[0]}"; }

name_nodes() {
  [ -z "$viewfs" ] || far_name_node
  if [ -z "$ha" ]; then
    echo "dfs.namenode.name.dir file://$folder/namenode"
    echo "dfs.namenode.http-address localhost:${port[1]}"
    return
  fi
  cat <<END
dfs.nameservices pair${viewfs:+,far}
dfs.ha.namenodes.pair ${observer:+nn3,}nn1,nn2
dfs.namenode.rpc-address.pair.nn1 localhost:${port[0]}
dfs.namenode.rpc-address.pair.nn2 localhost:${port[18]}
dfs.namenode.http-address.pair.nn1 localhost:${port[1]}
dfs.namenode.http-address.pair.nn2 localhost:${port[19]}
dfs.namenode.name.dir.pair.nn1 file://$folder/namenode
dfs.namenode.name.dir.pair.nn2 file://$folder/namenode2
dfs.namenode.shared.edits.dir.pair file://$folder/edits
dfs.ha.tail-edits.period 1s
dfs.ha.fencing.methods shell(/bin/true)
dfs.client.failover.proxy.provider.pair org.apache.hadoop.hdfs.server.namenode.ha.ConfiguredFailoverProxyProvider
END
  [ -z "$observer" ] || cat <<END
dfs.namenode.rpc-address.pair.nn3 localhost:${port[31]}
dfs.namenode.http-address.pair.nn3 localhost:${port[32]}
dfs.namenode.name.dir.pair.nn3 file://$folder/namenode3
dfs.namenode.state.context.enabled ${TONY_HADOOP_STATE_IDS:-true}
END
}

# Prints the options of a DataNode that is not the first one.
data_node_options() {  # NUMBER
  local at=$((27 + 3 * $1))
  cat <<END
-Ddfs.datanode.data.dir=file://$folder/datanode$1
-Ddfs.datanode.address=localhost:${port[at]}
-Ddfs.datanode.http.address=localhost:${port[at + 1]}
-Ddfs.datanode.ipc.address=localhost:${port[at + 2]}
END
}

kms_provider() { echo "kms://http@localhost:${port[30]}/kms"; }

# Every user may use every key.
write_kms() {
  local operation
  mkdir -p "$folder/conf-kms"
  cp "$folder/conf/core-site.xml" "$folder/conf/log4j.properties" "$folder/conf-kms"
  site "$folder/conf-kms/kms-site.xml" <<END
hadoop.kms.http.host localhost
hadoop.kms.http.port ${port[30]}
hadoop.kms.key.provider.uri jceks://file@$folder/kms.jceks
hadoop.kms.authentication.type ${kerberos:-simple}
$([ -z "$kerberos" ] || kms_security)
END
  for operation in MANAGEMENT GENERATE_EEK DECRYPT_EEK READ; do echo "default.key.acl.$operation *"; done |
    site "$folder/conf-kms/kms-acls.xml"
}

# Without high availability, the first namespace has a logical name, too, by which only daemons know it.
far_name_node() {
  cat <<END
dfs.namenode.rpc-address.far localhost:${port[30]}
dfs.namenode.http-address.far localhost:${port[31]}
dfs.namenode.name.dir.far file://$folder/namenode-far
END
  [ -n "$ha" ] || cat <<END
dfs.nameservices near,far
dfs.namenode.rpc-address.near localhost:${port[0]}
dfs.namenode.http-address.near localhost:${port[1]}
END
}

mount_table() {
  cat <<END
fs.viewfs.mounttable.both.linkFallback $(first_hdfs)/
fs.viewfs.mounttable.both.link./user $(first_hdfs)/user
fs.viewfs.mounttable.both.link./far hdfs://localhost:${port[30]}/data
END
}

resource_managers() {
  if [ -z "$ha" ]; then
    managers "" 5
    return
  fi
  echo "yarn.resourcemanager.ha.enabled true"
  echo "yarn.resourcemanager.ha.rm-ids rm1,rm2"
  echo "yarn.resourcemanager.ha.automatic-failover.enabled false"
  echo "yarn.resourcemanager.cluster-id pair"
  managers .rm1 5
  managers .rm2 20
}

managers() {  # SUFFIX FIRST_PORT
  cat <<END
yarn.resourcemanager.hostname$1 localhost
yarn.resourcemanager.address$1 localhost:${port[$2]}
yarn.resourcemanager.scheduler.address$1 localhost:${port[$2 + 1]}
yarn.resourcemanager.resource-tracker.address$1 localhost:${port[$2 + 2]}
yarn.resourcemanager.admin.address$1 localhost:${port[$2 + 3]}
yarn.resourcemanager.webapp.${https:+https.}address$1 localhost:${port[$2 + 4]}
END
}

write_hdfs_sites() {  # CONF
  site "$1/core-site.xml" <<END
fs.defaultFS $([ -n "$viewfs" ] && echo viewfs://both || first_hdfs)
$([ -z "$viewfs" ] || mount_table)
$([ -z "$httpfs" ] || gateway_may_impersonate)
hadoop.http.staticuser.user ${TONY_HADOOP_WEB_USER:-dr.who}
hadoop.tmp.dir $folder/tmp
$([ -z "$kms" ] || echo "hadoop.security.key.provider.path $(kms_provider)")
$([ -z "$kerberos" ] || core_security)
END
  site "$1/hdfs-site.xml" <<END
dfs.replication 1
$(name_nodes)
dfs.datanode.data.dir file://$folder/datanode
dfs.namenode.secondary.http-address localhost:0
dfs.datanode.hostname localhost
dfs.datanode.address localhost:${port[2]}
dfs.datanode.http.address localhost:${port[3]}
dfs.datanode.ipc.address localhost:${port[4]}
dfs.namenode.safemode.extension 0
$([ -z "${TONY_HADOOP_ENCRYPT:-}" ] || encryption)
$([ -z "$kerberos" ] || hdfs_security)
$([ -z "$https" ] || hdfs_tls)
END
}

encryption() {
  echo "dfs.encrypt.data.transfer true"
  [ -n "$kerberos" ] || echo "dfs.block.access.token.enable true"
}

write_clients_conf() {
  rm -rf "$folder/conf-clients"
  cp -r "$folder/conf" "$folder/conf-clients"
  [ -z "$amrmproxy" ] || sed -i "s,\(<name>yarn.resourcemanager.scheduler.address[^<]*</name><value>\)[^<]*,\1127.0.0.2:${port[30]}," \
    "$folder/conf-clients/yarn-site.xml"
  [ -z "$no_webhdfs" ] || sed -i -e 's,\(<name>dfs.namenode.https\?-address[^<]*</name><value>\)[^<]*,\1localhost:1,' \
    -e 's,<configuration>,&<property><name>dfs.webhdfs.enabled</name><value>false</value></property>,' \
    "$folder/conf-clients/hdfs-site.xml"
}

# HttpFS calls HDFS as the user who asks it.
gateway_may_impersonate() {
  local user=${kerberos:+httpfs}
  echo "hadoop.proxyuser.${user:-$(id -un)}.hosts *"
  echo "hadoop.proxyuser.${user:-$(id -un)}.groups *"
}

write_httpfs() {
  local conf=$folder/httpfs/conf
  mkdir -p "$folder"/httpfs/{conf,temp}
  cp "$folder"/conf/*-site.xml "$folder"/conf/log4j.properties "$conf"
  cp "$conf/log4j.properties" "$conf/httpfs-log4j.properties"
  head -c 32 /dev/urandom | base64 >"$conf/httpfs-signature.secret"
  site "$conf/httpfs-site.xml" <<END
httpfs.http.hostname localhost
httpfs.http.port ${port[32]}
$([ -z "$kerberos" ] || httpfs_security)
END
  rm -rf "$folder/conf-clients"
  cp -r "$folder/conf" "$folder/conf-clients"
  sed -i "s,\(<name>fs.defaultFS</name><value>\)[^<]*,\1webhdfs://localhost:${port[32]}," \
    "$folder/conf-clients/core-site.xml"
  [ -n "$ha" ] || sed -i "s,<configuration>,&$(property dfs.namenode.rpc-address "localhost:${port[0]}")," \
    "$folder/conf-clients/hdfs-site.xml"
}

# By default memory limits are "enforced" by cgroups, which this NodeManager does not use.
write_yarn_site() {  # CONF NODE HOST FIRST_PORT GPUS DISK [COMPRESSION]
  local bind=$3 at=$4
  local silence=${TONY_HADOOP_SILENCE_MS:-10000}
  local rolls=$((silence * 3 / 1000 + 1))  # seconds; the shortest interval that the ResourceManager accepts
  [ "$bind" != localhost ] || bind=127.0.0.1
  site "$1/yarn-site.xml" <<END
$(resource_managers)
yarn.resourcemanager.scheduler.class org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.CapacityScheduler
yarn.resourcemanager.scheduler.monitor.enable false
yarn.resourcemanager.monitor.capacity.preemption.monitoring_interval 1000
yarn.resourcemanager.monitor.capacity.preemption.max_wait_before_kill 3000
yarn.resourcemanager.monitor.capacity.preemption.total_preemption_per_round 1.0
yarn.resourcemanager.monitor.capacity.preemption.natural_termination_factor 1.0
yarn.scheduler.minimum-allocation-mb 64
yarn.scheduler.maximum-allocation-mb 8192
yarn.scheduler.maximum-allocation-vcores 32
yarn.resource-types yarn.io/gpu,disk
yarn.resource-types.disk.units G
yarn.acl.enable true
yarn.admin.acl nobody${kerberos:+,${users[0]}}
yarn.node-labels.enabled true
yarn.node-labels.fs-store.root-dir file://$folder/node-labels
yarn.resourcemanager.placement-constraints.handler scheduler
yarn.cluster.max-application-priority 10
yarn.resourcemanager.recovery.enabled true
yarn.resourcemanager.work-preserving-recovery.scheduling-wait-ms 2000
yarn.resourcemanager.store.class org.apache.hadoop.yarn.server.resourcemanager.recovery.FileSystemRMStateStore
yarn.resourcemanager.fs.state-store.uri file://$folder/resourcemanager
yarn.node-attribute.fs-store.root-dir file://$folder/node-attribute
yarn.am.liveness-monitor.expiry-interval-ms $silence
yarn.nm.liveness-monitor.expiry-interval-ms $silence
yarn.resourcemanager.am-rm-tokens.master-key-rolling-interval-secs $rolls
yarn.resourcemanager.nm-tokens.master-key-rolling-interval-secs $rolls
yarn.resourcemanager.container-tokens.master-key-rolling-interval-secs $rolls
yarn.resourcemanager.nodemanagers.heartbeat-interval-ms ${TONY_HADOOP_HEARTBEAT_MS:-1000}
yarn.resourcemanager.connect.retry-interval.ms 1000
yarn.log-aggregation-enable $(collects_logs && echo true || echo false)
yarn.nodemanager.log-aggregation.compression-type ${7:-none}
yarn.nodemanager.hostname $3
yarn.nodemanager.bind-host $bind
yarn.nodemanager.address $3:${port[at]}
yarn.nodemanager.localizer.address $3:${port[at + 1]}
yarn.nodemanager.webapp.${https:+https.}address $3:${port[at + 2]}
yarn.nodemanager.collector-service.address $3:${port[at + 3]}
yarn.nodemanager.local-dirs $folder/$2/local
yarn.nodemanager.log-dirs $folder/$2/logs
yarn.nodemanager.recovery.enabled true
yarn.nodemanager.recovery.dir $folder/$2/recovery
yarn.nodemanager.recovery.supervised true
yarn.nodemanager.resource.memory-mb ${TONY_HADOOP_NODE_MB:-16384}
yarn.nodemanager.resource.cpu-vcores 64
yarn.nodemanager.resource-type.yarn.io/gpu $5
yarn.nodemanager.resource-type.disk $6
yarn.nodemanager.vmem-check-enabled false
yarn.nodemanager.resource.memory.enforced false
yarn.nodemanager.disk-health-checker.max-disk-utilization-per-disk-percentage 99
yarn.nodemanager.disk-health-checker.min-healthy-disks 0
yarn.nodemanager.delete.debug-delay-sec 600
yarn.resourcemanager.application-https.policy ${TONY_HADOOP_AM_HTTPS:-NONE}
$([ -z "$amrmproxy" ] || amrm_proxy "$3")
$([ -z "$executor" ] || linux_executor)
$([ -z "$web_proxy" ] || echo yarn.web-proxy.address "localhost:${port[31]}")
$([ -z "$https" ] || echo yarn.http.policy HTTPS_ONLY)
$([ -z "$kerberos" ] || yarn_security)
END
}

amrm_proxy() {  # HOST
  cat <<END
yarn.nodemanager.amrmproxy.enabled true
yarn.nodemanager.amrmproxy.address $1:${port[30]}
END
}

linux_executor() {
  cat <<END
yarn.nodemanager.container-executor.class org.apache.hadoop.yarn.server.nodemanager.LinuxContainerExecutor
yarn.nodemanager.linux-container-executor.path $executor
yarn.nodemanager.linux-container-executor.group $(stat -c %G "$executor")
yarn.nodemanager.linux-container-executor.nonsecure-mode.limit-users false
yarn.nodemanager.resource.memory.enabled true
yarn.nodemanager.resource.memory.enforced true
yarn.nodemanager.resource.cpu.enabled true
END
}

# By default application masters get a tenth of a queue, so that the second one would wait forever. Users whom root
# admits may use the queues below it, and users whom team admits may use inner.
write_queues() {  # CONF
  local queue
  {
    echo "yarn.scheduler.capacity.root.queues default,ml,stopped,closed,team,east,west,auto"
    for queue in root root.stopped root.closed root.team.inner; do
      echo "yarn.scheduler.capacity.$queue.acl_submit_applications nobody"
      echo "yarn.scheduler.capacity.$queue.acl_administer_queue nobody"
    done
    echo "yarn.scheduler.capacity.root.stopped.capacity 0"
    echo "yarn.scheduler.capacity.root.stopped.state STOPPED"
    echo "yarn.scheduler.capacity.root.closed.capacity 0"
    echo "yarn.scheduler.capacity.root.team.queues inner"
    echo "yarn.scheduler.capacity.root.team.capacity 0"
    echo "yarn.scheduler.capacity.root.team.acl_submit_applications member"
    echo "yarn.scheduler.capacity.root.team.acl_administer_queue nobody"
    echo "yarn.scheduler.capacity.root.team.inner.capacity 0"
    # Two queues of one name, and a queue below which others come into being with their first job.
    for queue in east west auto; do
      echo "yarn.scheduler.capacity.root.$queue.capacity 0"
      echo "yarn.scheduler.capacity.root.$queue.acl_submit_applications ${HADOOP_USER_NAME:-$(id -un)}"
    done
    for queue in east west; do
      echo "yarn.scheduler.capacity.root.$queue.queues twin"
      echo "yarn.scheduler.capacity.root.$queue.twin.capacity 0"
      echo "yarn.scheduler.capacity.root.$queue.twin.user-limit-factor 10"
    done
    echo "yarn.scheduler.capacity.root.auto.auto-queue-creation-v2.enabled true"
    # Nodes have labels if a test sets some.
    echo "yarn.scheduler.capacity.root.accessible-node-labels *"
    echo "yarn.scheduler.capacity.root.accessible-node-labels.big.capacity 100"
    echo "yarn.scheduler.capacity.root.default.accessible-node-labels.big.capacity 100"
    echo "yarn.scheduler.capacity.root.ml.accessible-node-labels small"
    for queue in default ml; do
      echo "yarn.scheduler.capacity.root.$queue.acl_submit_applications *"
      echo "yarn.scheduler.capacity.root.$queue.capacity 50"
      echo "yarn.scheduler.capacity.root.$queue.maximum-capacity 100"
      echo "yarn.scheduler.capacity.root.$queue.user-limit-factor 10"
    done
    echo "yarn.scheduler.capacity.maximum-am-resource-percent 0.8"
    # By default a queue without a share of its own accepts no application.
    echo "yarn.scheduler.capacity.global-queue-max-application 10000"
    echo "yarn.scheduler.capacity.node-locality-delay 0"
    echo "yarn.scheduler.capacity.resource-calculator" \
      "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator"
  } | site "$1/capacity-scheduler.xml"
}

write_log4j() {  # CONF
  cat >"$1/log4j.properties" <<'END'
log4j.rootLogger=INFO,console
log4j.appender.console=org.apache.log4j.ConsoleAppender
log4j.appender.console.target=System.err
log4j.appender.console.layout=org.apache.log4j.PatternLayout
log4j.appender.console.layout.ConversionPattern=%d{ISO8601} %-5p [%t] %c{2}: %m%n
END
}

# hadoop-hdfs.jar needs folders of these names. Its own pages are only in Hadoop's archive.
write_pages() {
  mkdir -p "$folder"/www/webapps/{hdfs,datanode}
  cat >"$folder/www/webapps/hdfs/index.html" <<'END'
<!doctype html>
<title>NameNode</title>
<h1>NameNode</h1>
<p>Its usual pages do not come with Maven's artifacts. What it has to tell:</p>
<ul>
<li><a href="webhdfs/v1/?op=LISTSTATUS">files: the root folder</a>, and others by their path before the question mark
<li><a href="jmx?qry=Hadoop:service=NameNode,name=NameNodeInfo">state</a>
<li><a href="conf">configuration</a>
<li><a href="logs/">logs of the daemons</a>
</ul>
END
}
