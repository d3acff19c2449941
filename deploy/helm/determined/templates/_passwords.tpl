{{/*
A password: the given one, else the one that the release has, else a random one.
Arguments: given, kept (the data of the Secret), key. Letters of both cases and digits.
*/}}
{{- define "determined.password" -}}
{{- if .given -}}{{ .given }}
{{- else if index .kept .key -}}{{ index .kept .key | b64dec }}
{{- else -}}{{ printf "%s%s%s%s" (randAlphaNum 24) (randAlpha 1 | upper) (randAlpha 1 | lower) (randNumeric 1) }}
{{- end -}}
{{- end -}}
