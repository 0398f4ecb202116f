# Sourced by cluster: the parts of a cluster with Kerberos or HTTPS. All users and services are principals of one realm,
# whose KDC is one of the daemons. Service principals have the host localhost, because all connections come from there.
# Only the web pages of the second NodeManager, which have the address 127.0.0.2, need a principal with that host.
# shellcheck shell=bash disable=SC2154  # The script sets the variables.

realm=TONY.TEST
services=({nn,dn,rm,nm,HTTP}/localhost HTTP/127.0.0.2 httpfs/localhost)
users=("$(id -un)" eve bob gateway)
protection=${TONY_HADOOP_RPC_PROTECTION:-authentication}
native_version=3.3.5-3
native=$conformance/hadoop-native-$native_version

check_security() {
  [[ $protection =~ ^(authentication|integrity|privacy)$ ]] ||
    fail "TONY_HADOOP_RPC_PROTECTION is authentication, integrity or privacy, not $protection"
  [[ $(curl --version 2>/dev/null) == *https*SPNEGO* ]] || fail "no curl with HTTPS and SPNEGO"
}

# A NodeManager with Kerberos reads logs with Hadoop's native library, and ends with the first application without it.
# Hadoop's own artifacts do not have the library.
fetch_native() {
  local jar=hadoop-apache-$native_version.jar
  mkdir -p "$native"
  exec 9>"$native/lock"
  flock 9
  if [ ! -e "$native/nativelib" ]; then
    rm -rf "$native/new"
    mkdir "$native/new"
    (cd "$native/new" && nice -n "$niceness" mvn -B -q "-Dmaven.repo.local=$conformance/maven" dependency:copy \
      "-Dartifact=io.trino.hadoop:hadoop-apache:$native_version" -DoutputDirectory=. >../maven.log 2>&1 </dev/null) ||
      fail "Maven: $(tail -n 5 "$native/maven.log")"
    (cd "$native/new" && "${JAVA_HOME:+$JAVA_HOME/bin/}jar" -xf "$jar" nativelib) || fail "$jar cannot be unpacked"
    mv "$native/new/nativelib" "$native"
    rm -r "$native/new"
  fi
  exec 9>&-
}

# Hadoop 3.5 needs a function that the library does not have.
collects_logs() { [ -z "$kerberos" ] || [[ $version == 3.[0-4].* ]]; }

native_folder() {
  local machine
  machine=$(uname -m)
  echo "$native/nativelib/Linux-${machine/x86_64/amd64}"
}

# With static groups the answers do not depend on the accounts of the machine.
core_security() {
  cat <<END
hadoop.security.authentication kerberos
hadoop.security.authorization true
hadoop.rpc.protection $protection
hadoop.http.authentication.type kerberos
hadoop.user.group.static.mapping.overrides dr.who=;eve=eve;bob=bob;gateway=gateway;${users[0]}=supergroup
hadoop.proxyuser.gateway.hosts *
hadoop.proxyuser.gateway.groups *
hadoop.proxyuser.gateway.users *
END
}

# Hadoop derives the host of _HOST from an address of the daemon.
hdfs_security() {
  cat <<END
dfs.block.access.token.enable true
dfs.namenode.kerberos.principal nn/_HOST@$realm
dfs.datanode.kerberos.principal dn/_HOST@$realm
END
  token_lives dfs.namenode.delegation
  [ -n "$https" ] || echo "ignore.secure.ports.for.testing true"
  [ -z "$https$no_webhdfs" ] || echo "dfs.data.transfer.protection $protection"
}

hdfs_tls() {
  cat <<END
dfs.http.policy HTTPS_ONLY
dfs.datanode.https.address localhost:${port[29]}
END
  if [ -z "$ha" ]; then
    echo "dfs.namenode.https-address localhost:${port[27]}"
  else
    echo "dfs.namenode.https-address.pair.nn1 localhost:${port[27]}"
    echo "dfs.namenode.https-address.pair.nn2 localhost:${port[28]}"
  fi
}

# By default Hadoop makes a new key as often as a token must be renewed.
token_lives() {  # PREFIX
  local life=${TONY_HADOOP_TOKEN_LIFE_S:-} max=${TONY_HADOOP_TOKEN_MAX_S:-}
  if [ -n "$life" ]; then
    echo "$1.token.renew-interval $((life * 1000))"
    echo "$1.key.update-interval $((life * 1000))"
  fi
  [ -z "$max" ] || echo "$1.token.max-lifetime $((max * 1000))"
}

# A NodeManager derives another host from _HOST than the ResourceManager expects. Programs in containers find the realm
# by the environment, as they would by /etc/krb5.conf on a node of its own.
yarn_security() {
  cat <<END
yarn.resourcemanager.principal rm/_HOST@$realm
yarn.nodemanager.principal nm/localhost@$realm
$(token_lives yarn.resourcemanager.delegation)
yarn.resourcemanager.delayed.delegation-token.removal-interval-ms 5000
yarn.nodemanager.admin-env MALLOC_ARENA_MAX=\$MALLOC_ARENA_MAX,$(containers_realm)
END
}

containers_realm() {
  local file=$folder/kdc/krb5.conf
  echo "KRB5_CONFIG=$file,JAVA_TOOL_OPTIONS=-Djava.security.krb5.conf=$file"
}

httpfs_security() {
  cat <<END
hadoop.http.authentication.type kerberos
hadoop.http.authentication.kerberos.principal HTTP/localhost@$realm
hadoop.http.authentication.kerberos.keytab $folder/kdc/HTTP.keytab
httpfs.hadoop.authentication.type kerberos
httpfs.hadoop.authentication.kerberos.principal httpfs/localhost@$realm
httpfs.hadoop.authentication.kerberos.keytab $folder/kdc/httpfs.keytab
END
}

# The daemons read this file in addition to their configuration, so that clients get no keytab.
write_services() {  # NAME HOST
  local web=HTTP/$2@$realm keys=$folder/kdc/HTTP.keytab
  site "$folder/services/$1.xml" <<END
hadoop.http.filter.initializers org.apache.hadoop.security.AuthenticationFilterInitializer
hadoop.http.authentication.signature.secret.file $folder/services/secret
hadoop.http.authentication.kerberos.principal $web
hadoop.http.authentication.kerberos.keytab $keys
dfs.namenode.keytab.file $folder/kdc/nn.keytab
dfs.datanode.keytab.file $folder/kdc/dn.keytab
dfs.web.authentication.kerberos.principal $web
dfs.web.authentication.kerberos.keytab $keys
yarn.resourcemanager.keytab $folder/kdc/rm.keytab
yarn.resourcemanager.webapp.spnego-principal $web
yarn.resourcemanager.webapp.spnego-keytab-file $keys
yarn.nodemanager.keytab $folder/kdc/nm.keytab
yarn.nodemanager.webapp.spnego-principal $web
yarn.nodemanager.webapp.spnego-keytab-file $keys
END
}

kms_security() {
  cat <<END
hadoop.kms.authentication.kerberos.principal HTTP/localhost@$realm
hadoop.kms.authentication.kerberos.keytab $folder/kdc/HTTP.keytab
hadoop.kms.proxyuser.gateway.users *
hadoop.kms.proxyuser.gateway.hosts *
hadoop.kms.authentication.delegation-token.renew-interval.sec ${TONY_HADOOP_TOKEN_LIFE_S:-7200}
hadoop.kms.authentication.delegation-token.max-lifetime.sec ${TONY_HADOOP_TOKEN_MAX_S:-14400}
END
}

write_security() {
  mkdir -p "$folder/services"
  chmod 700 "$folder/services"
  head -c 32 /dev/urandom | base64 >"$folder/services/secret"
  write_services conf localhost
  write_services conf-node1 localhost
  write_services conf-node2 127.0.0.2
}

write_tls() {
  local conf
  mkdir -p "$folder/services"
  make_keystores
  write_ssl "$folder/services" server key trust
  for conf in conf conf-node1 conf-node2; do write_ssl "$folder/$conf" client trust; done
}

make_keystores() {
  local tls=$folder/tls
  [ ! -e "$tls/trust.p12" ] || return 0
  mkdir -p "$tls"
  keys -genkeypair -keyalg EC -groupname secp256r1 -dname CN=localhost -ext SAN=dns:localhost,ip:127.0.0.2 \
    -validity 3650 -keystore "$tls/key.p12"
  keys -exportcert -rfc -keystore "$tls/key.p12" -file "$tls/ca.pem"
  keys -importcert -noprompt -keystore "$tls/trust.p12" -file "$tls/ca.pem"
}

keys() {
  (umask 077 && "${JAVA_HOME:+$JAVA_HOME/bin/}keytool" "$@" -alias localhost -storetype PKCS12 -storepass changeit) \
    >"$folder/log/keytool" 2>&1 </dev/null || fail "keytool: $(tail -n 5 "$folder/log/keytool")"
}

write_ssl() {  # CONF SIDE STORE...
  local store
  for store in "${@:3}"; do
    echo "ssl.$2.${store}store.location $folder/tls/$store.p12"
    echo "ssl.$2.${store}store.type PKCS12"
    echo "ssl.$2.${store}store.password changeit"
    [ "$store" = trust ] || echo "ssl.$2.keystore.keypassword changeit"
  done | site "$1/ssl-$2.xml"
}

start_realm() {
  "$here/kdc" create "$folder/kdc" "${port[26]}" || return 1
  "$here/kdc" add "$folder/kdc" "${services[@]}" "${users[@]}" || return 1
  begin kdc
  get_ticket || return 1
  echo "KDC up: $(seconds_since "$began")"
}

# Repeats the request, because a KDC that has just begun does not listen yet.
get_ticket() {
  local at=$folder/kdc user=${users[0]}
  until "$here/kdc" run "$at" kinit -k -t "$at/$user.keytab" -c "$at/cache" "$user" >>"$folder/log/kinit" 2>&1; do
    [ "$SECONDS" -lt "$start_limit" ] && [ -n "$(pid_of kdc)" ] || return 1
    sleep 0.1
  done
}

use_ticket() { export KRB5CCNAME=${KRB5CCNAME:-FILE:$folder/kdc/cache}; }

# Fails if one of the answers is an error.
secure_http() {  # METHOD PORT TARGET...
  local scheme=http${https:+s} options=() targets=("${@:3}")
  [ -z "$https" ] || options+=(--cacert "$folder/tls/ca.pem")
  [ -z "$kerberos" ] || options+=(--negotiate --user :)
  KRB5_CONFIG=$folder/kdc/krb5.conf KRB5CCNAME=FILE:$folder/kdc/cache \
    curl --silent --fail --fail-early --max-time 10 --noproxy '*' "${options[@]}" \
    --request "$1" "${targets[@]/#/$scheme://localhost:$2}"
}

# The root folder belongs to nn. The NodeManagers, nm, need a folder for logs in /tmp.
are_homes_there() {
  local user root=/webhdfs/v1 folders owners=()
  folders=("$root/tmp?op=MKDIRS&permission=1777")
  for user in "${users[@]}"; do
    folders+=("$root/user/$user?op=MKDIRS")
    owners+=("$root/user/$user?op=SETOWNER&owner=$user&group=$user")
  done
  http PUT "$(name_node_port)" "${folders[@]}" "${owners[@]}" >/dev/null
}
