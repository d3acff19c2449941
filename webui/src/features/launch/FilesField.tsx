import { useRef, useState, type DragEvent } from "react";

import { chosenFiles, droppedFiles, sizeOf, type Folder, type Upload } from "@/data/experiments/uploads";
import { formatBytes, plural } from "@/data/format/numbers";
import { Button, IconButton } from "@/ui/button/Button";
import { toast } from "@/ui/feedback/toast";

const MAX_ROWS = 200;

/** The files of an experiment, chosen or dropped. */
export function FilesField({
  folder: { files, ignored },
  onAdd,
  onRemove,
}: {
  folder: Folder;
  onAdd(files: Upload[]): void;
  /** Without a path: all of them. */
  onRemove(path?: string): void;
}) {
  const [isOver, setOver] = useState(false);
  const drop = (event: DragEvent) => {
    event.preventDefault();
    setOver(false);
    droppedFiles(event.dataTransfer.items).then(onAdd, (error: unknown) => toast.failed("The files cannot be read", error));
  };
  return (
    <div
      className="stack"
      style={{ gap: 8, padding: 12, border: `1px dashed var(${isOver ? "--accent" : "--line-2"})`, borderRadius: "var(--radius)" }}
      onDragOver={(event) => {
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={drop}
    >
      <div className="row">
        <Chooser label="Choose a folder" onAdd={onAdd} isFolder />
        <Chooser label="Choose files" onAdd={onAdd} />
        <span className="hint" role="status">
          {files.length === 0
            ? "Or drop them here. Without files, the image of the task must have the program."
            : `${plural(files.length, "file")}, ${formatBytes(sizeOf(files))}${ignored > 0 ? `; ${ignored} left out by .detignore and the rules of det` : ""}`}
        </span>
        {files.length > 0 && (
          <Button small look="quiet" onClick={() => onRemove()}>
            Remove all
          </Button>
        )}
      </div>
      {files.length > 0 && (
        <ul aria-label="Files" tabIndex={0} style={{ maxHeight: 168, overflow: "auto" }}>
          {files.slice(0, MAX_ROWS).map(({ path, size }) => (
            <li key={path} className="row" style={{ flexWrap: "nowrap" }}>
              <bdi className="mono truncate grow" title={path}>
                {path}
              </bdi>
              <span className="hint number" style={{ whiteSpace: "nowrap" }}>
                {formatBytes(size)}
              </span>
              <IconButton icon="close" small label={`Remove ${path}`} onClick={() => onRemove(path)} />
            </li>
          ))}
          {files.length > MAX_ROWS && <li className="hint">and {plural(files.length - MAX_ROWS, "more file")}</li>}
        </ul>
      )}
    </div>
  );
}

function Chooser({ label, isFolder, onAdd }: { label: string; isFolder?: boolean; onAdd(files: Upload[]): void }) {
  const input = useRef<HTMLInputElement>(null);
  return (
    <>
      <input
        ref={input}
        type="file"
        hidden
        multiple
        {...(isFolder ? { webkitdirectory: "" } : {})}
        onChange={(event) => {
          onAdd(chosenFiles(event.target.files ?? []));
          // The same choice again is a change again.
          event.target.value = "";
        }}
      />
      <Button icon={isFolder ? "folder" : "plus"} onClick={() => input.current?.click()}>
        {label}
      </Button>
    </>
  );
}
