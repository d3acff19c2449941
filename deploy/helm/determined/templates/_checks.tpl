{{/* Values that contradict each other, or that this product does not have. */}}
{{- define "determined.check" -}}
{{- $v := .Values -}}
{{- if or (gt (len .Release.Name) 37) (contains "." .Release.Name) -}}
{{- fail (printf "the name of the release, %s, must have at most 37 characters and no dots: it is a part of names of Services" .Release.Name) -}}
{{- end -}}
{{- if kindIs "invalid" $v.maxSlotsPerPod -}}
{{- fail "maxSlotsPerPod must be set: the slots of one pod, which is the greatest common divisor of the slots of your nodes; 0 for a cluster without slots" -}}
{{- end -}}
{{- if and (eq $v.slotType "cpu") (not $v.slotResourceRequests.cpu) -}}
{{- fail "slotResourceRequests.cpu must say how many CPUs a slot has, because slotType is cpu" -}}
{{- end -}}
{{- $password := $v.initialUserPassword | default $v.defaultPassword | default "" -}}
{{- if $password -}}
{{- if not (and (ge (len $password) 8) (regexMatch "[A-Z]" $password) (regexMatch "[a-z]" $password) (regexMatch "[0-9]" $password)) -}}
{{- fail "initialUserPassword must have at least 8 characters, with an upper-case letter, a lower-case letter and a digit; leave it out for a random one" -}}
{{- end -}}
{{- end -}}
{{- if and $v.db.hostAddress (not $v.db.password) -}}
{{- fail "db.password must be set with db.hostAddress: the password of the user db.user there" -}}
{{- end -}}
{{- if and $v.db.certResourceName (not $v.db.sslRootCert) -}}
{{- fail "db.sslRootCert must name the certificate's key in db.certResourceName" -}}
{{- end -}}
{{- if and (or $v.determinedMasterPort $v.determinedMasterScheme) (not $v.determinedMasterHost) -}}
{{- fail "determinedMasterPort and determinedMasterScheme need determinedMasterHost: set it, or remove them" -}}
{{- end -}}
{{- if and $v.rbac.watchTaskNamespacesOnly (not (has (include "determined.taskNamespace" .) $v.rbac.taskNamespaces)) -}}
{{- fail (printf "rbac.watchTaskNamespacesOnly: rbac.taskNamespaces must have %s, the default namespace of tasks" (include "determined.taskNamespace" .)) -}}
{{- end -}}
{{- $isInternal := false -}}
{{- range $key, $value := $v.masterService.annotations | default dict -}}
{{- $word := lower (toString $value) -}}
{{- if or (eq $word "internal") (and (contains "internal" (lower $key)) (ne $word "false")) -}}
{{- $isInternal = true -}}
{{- end -}}
{{- end -}}
{{- $isBalanced := not (or $v.ingress.enabled $v.openshiftRoute.enabled $v.useNodePortForMaster) -}}
{{- if and $isBalanced (not (or $v.tlsSecret $v.loadBalancerSourceRanges $isInternal $v.allowPublicHttp)) -}}
{{- fail "the load balancer would serve plain HTTP to everybody, with all passwords: set tlsSecret, or loadBalancerSourceRanges to the networks of your users, or an annotation of masterService that makes it internal; or allowPublicHttp: true if this is meant" -}}
{{- end -}}
{{- if and $v.ingress.enabled $v.openshiftRoute.enabled -}}
{{- fail "ingress.enabled and openshiftRoute.enabled must not both be true: choose one" -}}
{{- end -}}
{{- range $name := list "oidc" "scim" "saml" -}}
{{- if (index $v $name | default dict).enabled -}}
{{- fail (printf "%s.enabled must be false: users sign in with passwords" $name) -}}
{{- end -}}
{{- end -}}
{{- if not (has ($v.logging.type | default "default") (list "default" "elastic")) -}}
{{- fail (printf "logging.type must be default, not %s: logs are kept in the database" $v.logging.type) -}}
{{- end -}}
{{- include "determined.checkStorage" $v.checkpointStorage -}}
{{- include "determined.checkPools" (dict "files" .Files "pools" $v.resourcePools) -}}
{{- range $more := $v.additional_resource_managers -}}
{{- include "determined.checkPools" (dict "files" $.Files "pools" ($more.resource_pools | default list)) -}}
{{- end -}}
{{- $known := .Files.Get "settings.yaml" | fromYaml -}}
{{- range $key, $_ := $v.masterConfig -}}
{{- if not (has $key $known.keys) -}}
{{- fail (printf "masterConfig: root.%s: unknown option" $key) -}}
{{- end -}}
{{- end -}}
{{- range $i, $more := $v.additional_resource_managers -}}
{{- range $key := list "kubeconfig_secret_name" "kubeconfig_secret_value" -}}
{{- if not (index $more.resource_manager $key) -}}
{{- fail (printf "additional_resource_managers[%d].resource_manager.%s must be set: a Secret of this namespace and its key have the kubeconfig" $i $key) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* The master's own refusals of keys of pools, in its words. */}}
{{- define "determined.checkPools" -}}
{{- $known := .files.Get "settings.yaml" | fromYaml -}}
{{- range $i, $pool := .pools -}}
{{- range $key, $value := $pool -}}
{{- if and (hasKey $known.removedPoolKeys $key) (not (kindIs "invalid" $value)) -}}
{{- fail (printf "root.resource_pools.%s: %s" $key (index $known.removedPoolKeys $key)) -}}
{{- else if not (or (has $key $known.poolKeys) (hasKey $known.removedPoolKeys $key)) -}}
{{- fail (printf "root.resource_pools[%d].%s: unknown option" $i $key) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "determined.checkStorage" -}}
{{- $needs := dict "shared_fs" "hostPath" "directory" "containerPath" "gcs" "bucket" "s3" "bucket" "azure" "container" -}}
{{- $key := index $needs .type -}}
{{- if not (index . $key) -}}
{{- fail (printf "checkpointStorage.%s must be set for type %s" $key .type) -}}
{{- end -}}
{{- if and .connection_string (or .account_url .credential) -}}
{{- fail "checkpointStorage.connection_string must not be set with account_url or credential: remove one of them" -}}
{{- end -}}
{{- end -}}
