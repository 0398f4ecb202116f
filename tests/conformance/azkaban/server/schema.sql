-- The tables that an Azkaban 2.5.0 server reads and writes, in H2. Times are milliseconds since 1970.

CREATE TABLE projects (
  id INT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  name VARCHAR(64) NOT NULL,
  active BOOLEAN,
  modified_time BIGINT NOT NULL,
  create_time BIGINT NOT NULL,
  version INT,
  last_modified_by VARCHAR(64) NOT NULL,
  description VARCHAR(2048),
  enc_type TINYINT,
  settings_blob LONGBLOB
);

CREATE TABLE project_versions (
  project_id INT NOT NULL,
  version INT NOT NULL,
  upload_time BIGINT NOT NULL,
  uploader VARCHAR(64) NOT NULL,
  file_type VARCHAR(16),
  file_name VARCHAR(128),
  md5 BINARY(16),
  num_chunks INT,
  PRIMARY KEY (project_id, version)
);

CREATE TABLE project_files (
  project_id INT NOT NULL,
  version INT NOT NULL,
  chunk INT,
  size INT,
  file LONGBLOB,
  PRIMARY KEY (project_id, version, chunk)
);

CREATE TABLE project_flows (
  project_id INT NOT NULL,
  version INT NOT NULL,
  flow_id VARCHAR(128),
  modified_time BIGINT NOT NULL,
  encoding_type TINYINT,
  json BLOB,
  PRIMARY KEY (project_id, version, flow_id)
);

CREATE TABLE project_properties (
  project_id INT NOT NULL,
  version INT NOT NULL,
  name VARCHAR(255),
  modified_time BIGINT NOT NULL,
  encoding_type TINYINT,
  property BLOB,
  PRIMARY KEY (project_id, version, name)
);

CREATE TABLE project_permissions (
  project_id INT NOT NULL,
  modified_time BIGINT NOT NULL,
  name VARCHAR(64) NOT NULL,
  permissions INT NOT NULL,
  isGroup BOOLEAN NOT NULL,
  PRIMARY KEY (project_id, name, isGroup)
);

CREATE TABLE project_events (
  project_id INT NOT NULL,
  event_type TINYINT NOT NULL,
  event_time BIGINT NOT NULL,
  username VARCHAR(64),
  message VARCHAR(512)
);

CREATE TABLE execution_flows (
  exec_id INT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  project_id INT NOT NULL,
  version INT NOT NULL,
  flow_id VARCHAR(128) NOT NULL,
  status TINYINT,
  submit_user VARCHAR(64),
  submit_time BIGINT,
  update_time BIGINT,
  start_time BIGINT,
  end_time BIGINT,
  enc_type TINYINT,
  flow_data LONGBLOB
);

CREATE TABLE active_executing_flows (
  exec_id INT NOT NULL PRIMARY KEY,
  host VARCHAR(255),
  port INT,
  update_time BIGINT
);

-- The name of a job in nested flows is a path, hence its length.
CREATE TABLE execution_jobs (
  exec_id INT NOT NULL,
  project_id INT NOT NULL,
  version INT NOT NULL,
  flow_id VARCHAR(128) NOT NULL,
  job_id VARCHAR(128) NOT NULL,
  attempt INT,
  start_time BIGINT,
  end_time BIGINT,
  status TINYINT,
  input_params LONGBLOB,
  output_params LONGBLOB,
  attachments LONGBLOB,
  PRIMARY KEY (exec_id, job_id, attempt)
);

CREATE TABLE execution_logs (
  exec_id INT NOT NULL,
  name VARCHAR(128),
  attempt INT,
  enc_type TINYINT,
  start_byte INT,
  end_byte INT,
  log LONGBLOB,
  upload_time BIGINT,
  PRIMARY KEY (exec_id, name, attempt, start_byte)
);

CREATE TABLE triggers (
  trigger_id INT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  trigger_source VARCHAR(128),
  modify_time BIGINT NOT NULL,
  enc_type TINYINT,
  data LONGBLOB
);

CREATE TABLE properties (
  name VARCHAR(64) NOT NULL,
  type INT NOT NULL,
  modified_time BIGINT NOT NULL,
  value VARCHAR(256),
  PRIMARY KEY (name, type)
);
