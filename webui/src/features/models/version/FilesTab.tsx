import { formatBytes, plural } from "@/data/format/numbers";
import { sizeOf } from "@/data/checkpoints";
import { Empty } from "@/ui/feedback/Feedback";
import { DataTable } from "@/ui/table/DataTable";
import type { Column } from "@/ui/table/types";

import { useVersionContext } from "./VersionPage";

interface FileRow {
  path: string;
  size: number;
}

const COLUMNS: Column<FileRow>[] = [
  { id: "path", header: "Path", width: 320, grow: true, sortable: true, value: (each) => each.path, render: (each) => <span className="mono">{each.path}</span> },
  { id: "size", header: "Size", width: 110, type: "number", align: "end", sortable: true, value: (each) => each.size, render: (each) => formatBytes(each.size) },
];

export default function FilesTab() {
  const { version } = useVersionContext();
  const files = Object.entries(version.checkpoint?.resources ?? {}).map(([path, size]) => ({ path, size: Number(size) }));
  return (
    <div className="stack">
      <p className="muted">
        {plural(files.length, "file")}, {formatBytes(version.checkpoint ? sizeOf(version.checkpoint) : 0)}
      </p>
      <DataTable
        label="Files of the checkpoint"
        rows={files}
        rowKey={(each) => each.path}
        columns={COLUMNS}
        empty={<Empty title="No files">The checkpoint lists no files, or they were deleted.</Empty>}
      />
    </div>
  );
}
