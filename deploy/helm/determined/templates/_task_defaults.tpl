{{/* The section task_container_defaults: the chart's own keys get the names of master.yaml. */}}
{{- define "determined.taskDefaults" -}}
{{- $given := .Values.taskContainerDefaults -}}
{{- $names := dict
  "networkMode" "network_mode" "dtrainNetworkInterface" "dtrain_network_interface"
  "forcePullImage" "force_pull_image" "cpuPodSpec" "cpu_pod_spec" "gpuPodSpec" "gpu_pod_spec"
  "checkpointGcPodSpec" "checkpoint_gc_pod_spec" "logPolicies" "log_policies"
  "startupHook" "startup_hook" -}}
{{- $defaults := omit $given "cpuImage" "gpuImage" "rocmImage" -}}
{{- range $from, $to := $names -}}
{{- if hasKey $given $from -}}
{{- $defaults = set (omit $defaults $from) $to (index $given $from) -}}
{{- end -}}
{{- end -}}
{{- $images := $.Values.defaultImages -}}
{{- $image := dict -}}
{{- range $from, $to := dict "cpuImage" "cpu" "gpuImage" "cuda" "rocmImage" "rocm" -}}
{{- with index $given $from | default (index $images $from) -}}{{- $_ := set $image $to . -}}{{- end -}}
{{- end -}}
{{- if and $image (not (hasKey $defaults "image")) -}}{{- $_ := set $defaults "image" $image -}}{{- end -}}
{{- toYaml $defaults -}}
{{- end -}}
