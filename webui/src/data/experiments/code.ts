/** The files that an experiment was submitted with, and its two configurations. */
import { useQuery } from "@tanstack/react-query";
import { stringify } from "yaml";

import { answer, api, type Schemas } from "@/api/client";

import type { Experiment } from "./queries";

export interface CodeFile {
  path: string;
  name: string;
  isDir: boolean;
  size?: number;
  children?: CodeFile[];
}

const SUBMITTED = "submitted configuration.yaml";
const RUNTIME = "runtime configuration.yaml";

/** The tree, with both configurations as its first files. */
export function useCode(experimentId: number) {
  return useQuery({
    queryKey: ["code", experimentId],
    queryFn: async (): Promise<CodeFile[]> => {
      const path = { experiment_id: experimentId };
      const got = await answer(
        api.GET("/api/v1/experiments/{experiment_id}/file_tree", { params: { path } }),
      );
      const virtual = [SUBMITTED, RUNTIME].map((name) => ({ path: name, name, isDir: false }));
      return [...virtual, ...(got.files ?? []).map(fileOf)];
    },
    staleTime: Infinity,
  });
}

/** The text of a file of the tree; bytes that are no UTF-8 are refused. */
export async function readCode(experiment: Experiment, path: string): Promise<string> {
  if (path === SUBMITTED) return experiment.originalConfig ?? "";
  if (path === RUNTIME) return stringify(experiment.config ?? {});
  const bytes = await fileBytes(experiment.id ?? 0, path);
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new Error(`${path} is not a text file. Download it to look at it.`);
  }
}

export async function fileBytes(experimentId: number, path: string): Promise<Uint8Array<ArrayBuffer>> {
  const got = await answer(
    api.POST("/api/v1/experiments/{experiment_id}/file", {
      params: { path: { experiment_id: experimentId } },
      body: { experimentId, path },
    }),
  );
  return Uint8Array.from(atob(got.file ?? ""), (letter) => letter.charCodeAt(0));
}

function fileOf(node: Schemas["FileNode"]): CodeFile {
  return {
    path: node.path ?? "",
    name: node.name ?? "",
    isDir: node.isDir ?? false,
    size: node.contentLength ?? 0,
    children: (node.files ?? []).map(fileOf),
  };
}
