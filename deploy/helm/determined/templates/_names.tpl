{{/* Names and labels that scripts rely on. */}}
{{- define "determined.master" -}}determined-master-{{ .Release.Name }}{{- end -}}
{{- define "determined.masterService" -}}determined-master-service-{{ .Release.Name }}{{- end -}}
{{- define "determined.masterDeployment" -}}determined-master-deployment-{{ .Release.Name }}{{- end -}}
{{- define "determined.config" -}}determined-master-config-{{ .Release.Name }}{{- end -}}
{{- define "determined.passwords" -}}determined-passwords-{{ .Release.Name }}{{- end -}}
{{- define "determined.db" -}}determined-db-{{ .Release.Name }}{{- end -}}
{{- define "determined.dbService" -}}determined-db-service-{{ .Release.Name }}{{- end -}}
{{- define "determined.dbDeployment" -}}determined-db-deployment-{{ .Release.Name }}{{- end -}}

{{/* The claim of the database's volume; a suffix names one that outlived its release. */}}
{{- define "determined.dbClaim" -}}
determined-db-pvc-{{ .Values.db.claimSuffix | default .Values.db.restoreSnapshotSuffix | default .Release.Name }}
{{- end -}}

{{- define "determined.account" -}}
{{- if .Values.serviceAccount.name -}}{{ .Values.serviceAccount.name }}
{{- else if .Values.serviceAccount.create -}}{{ include "determined.master" . }}
{{- else -}}default{{- end -}}
{{- end -}}

{{- define "determined.taskNamespace" -}}
{{ .Values.resourceManager.defaultNamespace | default .Release.Namespace }}
{{- end -}}

{{- define "determined.labels" -}}
app.kubernetes.io/name: determined
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end -}}

{{/* Requests and limits. Arguments: cpuRequest, memRequest, cpuLimit, memLimit. */}}
{{- define "determined.resources" -}}
requests:
  cpu: {{ .cpuRequest | quote }}
  memory: {{ .memRequest | quote }}
{{- if or .cpuLimit .memLimit }}
limits:
  {{- with .cpuLimit }}
  cpu: {{ . | quote }}
  {{- end }}
  {{- with .memLimit }}
  memory: {{ . | quote }}
  {{- end }}
{{- end }}
{{- end -}}

{{/* Where pods may run. Argument: a section with nodeSelector, tolerations and affinity. */}}
{{- define "determined.placement" -}}
{{- with .nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .affinity }}
affinity: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}
