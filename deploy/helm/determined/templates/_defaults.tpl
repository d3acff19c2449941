{{/* Puts defaults in place of keys without a value, as after `db:` alone on a line, for which Helm
removes the chart's default. Every file of the templates includes it first. */}}
{{- define "determined.fill" -}}
{{- if not (hasKey .Values "isFilled") -}}
{{- $own := .Files.Get "defaults.yaml" | fromYaml -}}
{{- include "determined.fillSection" (dict "at" "" "values" .Values "defaults" $own.values "nullable" $own.nullable) -}}
{{- $_ := set .Values "isFilled" true -}}
{{- end -}}
{{- end -}}

{{- define "determined.fillSection" -}}
{{- range $key, $default := .defaults -}}
{{- $path := printf "%s%s" $.at $key -}}
{{- $value := index $.values $key -}}
{{- if and (kindIs "map" $default) (kindIs "map" $value) -}}
{{- include "determined.fillSection" (dict "at" (printf "%s." $path) "values" $value "defaults" $default "nullable" $.nullable) -}}
{{- else if and (kindIs "invalid" $value) (not (has $path $.nullable)) -}}
{{- $_ := set $.values $key (deepCopy $default) -}}
{{- end -}}
{{- end -}}
{{- end -}}
