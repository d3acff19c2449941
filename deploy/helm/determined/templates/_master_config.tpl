{{/* The text of master.yaml. Passwords come by variables, from a Secret of their own. */}}
{{- define "determined.masterConfig" -}}
{{- $v := .Values -}}
{{- $config := dict "port" 8081 -}}
{{- $proxy := dict "port" 0 -}}
{{- with include "determined.servicesPort" . -}}
{{- $scheme := ternary "https" "http" (not (empty $v.tlsSecret)) -}}
{{- $proxy = dict "port" 9081 "address" (printf "%s://{host}:%s" $scheme .) -}}
{{- end -}}
{{- $_ := set $config "proxy" $proxy -}}
{{- $_ := set $config "cache" (dict "cache_dir" "/var/cache/determined") -}}
{{- $_ := set $config "log" (dict "level" $v.logLevel "color" $v.logColor) -}}
{{- with $v.clusterName }}{{- $_ := set $config "cluster_name" . -}}{{- end -}}
{{- $_ := set $config "db" (include "determined.dbConfig" . | fromYaml) -}}
{{- $_ := set $config "security" (include "determined.securityConfig" . | fromYaml) -}}
{{- $_ := set $config "checkpoint_storage" (include "determined.storageConfig" $v.checkpointStorage | fromYaml) -}}
{{- $_ := set $config "task_container_defaults" (include "determined.taskDefaults" . | fromYaml) -}}
{{- $_ := set $config "resource_manager" (include "determined.managerConfig" . | fromYaml) -}}
{{- $_ := set $config "resource_pools" $v.resourcePools -}}
{{- if $v.additional_resource_managers -}}
{{- $_ := set $config "additional_resource_managers" (include "determined.moreManagers" . | fromYamlArray) -}}
{{- end -}}
{{- if not (kindIs "invalid" $v.tensorboardTimeout) }}{{- $_ := set $config "tensorboard_timeout" $v.tensorboardTimeout -}}{{- end -}}
{{- if not (kindIs "invalid" $v.notebookTimeout) }}{{- $_ := set $config "notebook_timeout" $v.notebookTimeout -}}{{- end -}}
{{- $retention := dict -}}
{{- if not (kindIs "invalid" $v.retentionPolicy.logRetentionDays) }}{{- $_ := set $retention "log_retention_days" $v.retentionPolicy.logRetentionDays -}}{{- end -}}
{{- with $v.retentionPolicy.schedule }}{{- $_ := set $retention "schedule" . -}}{{- end -}}
{{- with $retention }}{{- $_ := set $config "retention_policy" . -}}{{- end -}}
{{- $_ := set $config "observability" $v.observability -}}
{{- toYaml (mergeOverwrite $config (deepCopy $v.masterConfig)) -}}
{{- end -}}

{{/* The Service's port for pages of tasks, which have an origin of their own; empty without one.
An ingress, a route or node ports lead to the master's own port alone. */}}
{{- define "determined.servicesPort" -}}
{{- $port := add .Values.masterPort 1000 -}}
{{- if not (or .Values.ingress.enabled .Values.openshiftRoute.enabled .Values.useNodePortForMaster (gt $port 65535)) -}}
{{- $port -}}
{{- end -}}
{{- end -}}

{{- define "determined.dbConfig" -}}
host: {{ .Values.db.hostAddress | default (printf "%s.%s.svc" (include "determined.dbService" .) .Release.Namespace) | quote }}
port: {{ .Values.db.port }}
name: {{ .Values.db.name | quote }}
user: {{ .Values.db.user | quote }}
{{- with .Values.db.sslMode }}
ssl_mode: {{ . | quote }}
{{- end }}
{{- if .Values.db.certResourceName }}
ssl_root_cert: /mount/determined/secrets/db/{{ .Values.db.sslRootCert }}
{{- end }}
{{- end -}}

{{- define "determined.securityConfig" -}}
{{- with .Values.security.defaultTask }}
default_task: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.security.authz }}
authz: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.security.token }}
token:
  {{- if not (kindIs "invalid" .defaultLifespanDays) }}
  default_lifespan_days: {{ .defaultLifespanDays }}
  {{- end }}
  {{- if not (kindIs "invalid" .maxLifespanDays) }}
  max_lifespan_days: {{ .maxLifespanDays }}
  {{- end }}
{{- end }}
{{- if .Values.tlsSecret }}
tls:
  cert: /mount/determined/secrets/tls/tls.crt
  key: /mount/determined/secrets/tls/tls.key
{{- end }}
{{- end -}}

{{- define "determined.storageConfig" -}}
{{- $of := dict
  "shared_fs" (dict "hostPath" "host_path" "storagePath" "storage_path" "propagation" "propagation" "shared" "shared")
  "directory" (dict "containerPath" "container_path")
  "gcs" (dict "bucket" "bucket" "prefix" "prefix")
  "s3" (dict "bucket" "bucket" "prefix" "prefix" "accessKey" "access_key" "secretKey" "secret_key" "endpointUrl" "endpoint_url")
  "azure" (dict "container" "container" "connection_string" "connection_string" "account_url" "account_url" "credential" "credential") -}}
{{- $storage := dict "type" .type -}}
{{- $counts := dict "saveExperimentBest" "save_experiment_best" "saveTrialBest" "save_trial_best" "saveTrialLatest" "save_trial_latest" -}}
{{- range $from, $to := merge (index $of .type) $counts -}}
{{- if not (kindIs "invalid" (index $ $from)) }}{{- $_ := set $storage $to (index $ $from) -}}{{- end -}}
{{- end -}}
{{- toYaml $storage -}}
{{- end -}}

{{- define "determined.managerConfig" -}}
type: kubernetes
default_namespace: {{ include "determined.taskNamespace" . }}
max_slots_per_pod: {{ .Values.maxSlotsPerPod }}
{{- if .Values.rbac.watchTaskNamespacesOnly }}
namespaces: {{- toYaml .Values.rbac.taskNamespaces | nindent 2 }}
{{- end }}
slot_type: {{ .Values.slotType }}
{{- with .Values.slotResourceRequests.cpu }}
slot_resource_requests: { cpu: {{ . }} }
{{- end }}
{{- with .Values.resourceManager.clusterName }}
cluster_name: {{ . | quote }}
{{- end }}
default_aux_resource_pool: {{ .Values.defaultAuxResourcePool | default "default" | quote }}
default_compute_resource_pool: {{ .Values.defaultComputeResourcePool | default "default" | quote }}
{{- with .Values.defaultScheduler }}
default_scheduler: {{ . | quote }}
{{- end }}
reserved_names: {{- include "determined.reservedNames" . | nindent 2 }}
autoscaling: {{- include "determined.autoscalingConfig" .Values.autoscaling | nindent 2 }}
master_service_name: {{ include "determined.masterService" . }}
# The Service's own namespace may differ from that of the tasks, so its whole name stands here.
{{- if .Values.determinedMasterHost }}
determined_master_host: {{ .Values.determinedMasterHost | quote }}
determined_master_port: {{ .Values.determinedMasterPort | default .Values.masterPort }}
{{- with .Values.determinedMasterScheme }}
determined_master_scheme: {{ . }}
{{- end }}
{{- else }}
determined_master_host: {{ include "determined.masterService" . }}.{{ .Release.Namespace }}.svc.cluster.local
determined_master_port: {{ .Values.masterPort }}
{{- end }}
{{- end -}}

{{/* What pods of tasks may not have: Secrets and volumes of master and database, their labels. */}}
{{- define "determined.reservedNames" -}}
{{- $names := list (include "determined.config" .) (include "determined.passwords" .) -}}
{{- $names = concat $names (list (include "determined.master" .) (include "determined.db" .)) -}}
{{- $names = append $names (include "determined.dbClaim" .) -}}
{{- $names = concat $names (compact (list .Values.tlsSecret .Values.ingress.tlsSecretName)) -}}
{{- range .Values.additional_resource_managers -}}
{{- $names = append $names .resource_manager.kubeconfig_secret_name -}}
{{- end -}}
{{- if or .Values.serviceAccount.create .Values.serviceAccount.name -}}
{{- $names = append $names (include "determined.account" .) -}}
{{- end -}}
{{- toYaml (uniq $names) -}}
{{- end -}}

{{- define "determined.autoscalingConfig" -}}
{{- $scaling := dict "demand" .demand -}}
{{- $names := dict "className" "class_name" "image" "image" "maxPods" "max_pods" "protectTasks" "protect_tasks" -}}
{{- range $from, $to := $names -}}
{{- $given := index $ $from -}}
{{- if not (or (kindIs "invalid" $given) (eq (toString $given) "")) }}{{- $_ := set $scaling $to $given -}}{{- end -}}
{{- end -}}
{{- toYaml $scaling -}}
{{- end -}}

{{- define "determined.moreManagers" -}}
{{- $more := list -}}
{{- range $i, $given := .Values.additional_resource_managers -}}
{{- $manager := omit $given.resource_manager "kubeconfig_secret_name" "kubeconfig_secret_value" -}}
{{- $_ := set $manager "kubeconfig_path" (printf "/mount/determined/secrets/%d/%s" $i $given.resource_manager.kubeconfig_secret_value) -}}
{{- $more = append $more (set (omit $given "resource_manager") "resource_manager" $manager) -}}
{{- end -}}
{{- toYaml $more -}}
{{- end -}}
