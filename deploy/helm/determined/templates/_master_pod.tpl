{{- define "determined.masterImage" -}}
image: {{ printf "%s/determined-master:%s" .Values.imageRegistry (.Values.detVersion | default .Chart.AppVersion) | quote }}
imagePullPolicy: {{ .Values.imagePullPolicy }}
{{- end -}}

{{- define "determined.masterEnv" -}}
- name: DET_RELEASE_NAMESPACE
  valueFrom: { fieldRef: { fieldPath: metadata.namespace } }
- name: DET_SECURITY_INITIAL_USER_PASSWORD
  valueFrom: { secretKeyRef: { name: {{ include "determined.passwords" . }}, key: initial-user-password } }
- name: DET_DB_PASSWORD
  valueFrom: { secretKeyRef: { name: {{ include "determined.passwords" . }}, key: db-password } }
{{- if .Values.externalCaCertSecretName }}
{{- range list "SSL_CERT_FILE" "REQUESTS_CA_BUNDLE" "AWS_CA_BUNDLE" }}
- { name: {{ . }}, value: /mount/determined/trusted/bundle.crt }
{{- end }}
{{- end }}
{{- end -}}

{{/* /info answers without a token, and without the database or the API server. */}}
{{- define "determined.probe" -}}
httpGet:
  path: /info
  port: 8081
  scheme: {{ if .root.Values.tlsSecret }}HTTPS{{ else }}HTTP{{ end }}
periodSeconds: {{ .period }}
timeoutSeconds: 5
failureThreshold: {{ .failures }}
{{- end -}}

{{- define "determined.masterMounts" -}}
- { name: config, mountPath: /etc/determined, readOnly: true }
- { name: account, mountPath: /var/run/secrets/kubernetes.io/serviceaccount, readOnly: true }
- { name: home, mountPath: /var/lib/determined }
- { name: cache, mountPath: /var/cache/determined }
- { name: tmp, mountPath: /tmp }
{{- if .Values.tlsSecret }}
- { name: tls, mountPath: /mount/determined/secrets/tls, readOnly: true }
{{- end }}
{{- if .Values.db.certResourceName }}
- { name: db-certificate, mountPath: /mount/determined/secrets/db, readOnly: true }
{{- end }}
{{- if .Values.externalCaCertSecretName }}
- { name: trusted, mountPath: /mount/determined/trusted, readOnly: true }
{{- end }}
{{- range $i, $more := .Values.additional_resource_managers }}
- { name: kubeconfig-{{ $i }}, mountPath: /mount/determined/secrets/{{ $i }}, readOnly: true }
{{- end }}
{{- if and (eq .Values.checkpointStorage.type "shared_fs") .Values.checkpointStorage.mountToServer }}
- { name: checkpoints, mountPath: {{ .Values.checkpointStorage.hostPath | quote }} }
{{- end }}
{{- end -}}

{{- define "determined.masterVolumes" -}}
- name: config
  secret: { secretName: {{ include "determined.config" . }} }
- name: account
  projected:
    sources:
      - serviceAccountToken: { path: token, expirationSeconds: 3600 }
      - configMap: { name: kube-root-ca.crt, items: [{ key: ca.crt, path: ca.crt }] }
      - downwardAPI: { items: [{ path: namespace, fieldRef: { fieldPath: metadata.namespace } }] }
- name: home
  emptyDir: {}
- name: cache
  emptyDir: { sizeLimit: {{ .Values.master.cacheSize | quote }} }
- name: tmp
  emptyDir: {}
{{- with .Values.tlsSecret }}
- name: tls
  secret: { secretName: {{ . | quote }} }
{{- end }}
{{- if .Values.db.certResourceName }}
- name: db-certificate
  {{- if eq (lower .Values.db.resourceType) "configmap" }}
  configMap: { name: {{ .Values.db.certResourceName | quote }} }
  {{- else }}
  secret: { secretName: {{ .Values.db.certResourceName | quote }} }
  {{- end }}
{{- end }}
{{- with .Values.externalCaCertSecretName }}
- name: authorities
  secret: { secretName: {{ . | quote }} }
- name: trusted
  emptyDir: {}
{{- end }}
{{- range $i, $more := .Values.additional_resource_managers }}
- name: kubeconfig-{{ $i }}
  secret: { secretName: {{ $more.resource_manager.kubeconfig_secret_name | quote }} }
{{- end }}
{{- if and (eq .Values.checkpointStorage.type "shared_fs") .Values.checkpointStorage.mountToServer }}
- name: checkpoints
  hostPath: { path: {{ .Values.checkpointStorage.hostPath | quote }}, type: DirectoryOrCreate }
{{- end }}
{{- end -}}
