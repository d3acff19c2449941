import { useState } from "react";

import { addressToShare } from "@/data/view/useListState";
import { sameView, type ViewState } from "@/data/view/url";
import type { Scope, useViews, View } from "@/data/view/views";
import { Button } from "@/ui/button/Button";
import { toast } from "@/ui/feedback/toast";
import { Checkbox, Segments, TextField } from "@/ui/field/Field";
import { confirm } from "@/ui/overlay/confirm";
import { Dialog } from "@/ui/overlay/Dialog";
import { Menu, type MenuEntry } from "@/ui/overlay/Menu";
import { copyText } from "@/ui/text/Copy";

const SCOPES: { value: Scope; label: string }[] = [
  { value: "private", label: "Only me" },
  { value: "project", label: "Project" },
  { value: "workspace", label: "Workspace" },
];

/** Named views of a list: choose, save, share, delete; "modified" where the list differs. */
export function ViewsMenu({
  list,
  views,
  current,
  state,
  base,
  onChoose,
}: {
  list: string;
  views: ReturnType<typeof useViews>;
  current: View | undefined;
  state: ViewState;
  /** The state that `current`, or the page, starts from. */
  base: ViewState;
  onChoose(view: View | undefined): void;
}) {
  const [isSaving, setSaving] = useState(false);
  const isModified = !sameView(state, base);
  const stored = { list, query: state.query, sort: state.sort, columns: state.columns, pinned: state.pinned, widths: state.widths, group: state.group, baseline: state.baseline };
  const run = (what: string, act: Promise<unknown>) => act.catch((error: unknown) => toast.failed(what, error));
  const readOnly = current && !current.canEdit ? "Others may not change this view." : undefined;
  const items: MenuEntry[] = [
    { heading: "Views" },
    { label: "Default columns", ...(current ? {} : { icon: "check" as const }), onSelect: () => onChoose(undefined) },
    ...views.views.map((view): MenuEntry => ({
      label: `${view.name}${view.scope === "private" ? "" : ` · ${view.scope}`}${view.isDefault ? " · default" : ""}`,
      ...(view.id === current?.id ? { icon: "check" as const } : {}),
      onSelect: () => onChoose(view),
    })),
    "separator",
    isModified && { label: "Undo the changes", onSelect: () => onChoose(current) },
    current && isModified && {
      label: `Save “${current.name}”`,
      disabledReason: readOnly,
      onSelect: () => void run("Save the view", views.update(current, { state: stored }).then(() => onChoose(current))),
    },
    { label: "Save as a new view…", onSelect: () => setSaving(true) },
    current && {
      label: current.isDefault ? "Do not open first" : "Open first in this project",
      disabledReason: readOnly,
      onSelect: () => void run("Default view", views.update(current, { isDefault: !current.isDefault })),
    },
    current && {
      label: "Delete the view",
      danger: true,
      disabledReason: readOnly,
      onSelect: async () => {
        const yes = await confirm({ title: `Delete the view “${current.name}”?`, action: "Delete", danger: true });
        if (yes) void run("Delete the view", views.remove(current).then(() => onChoose(undefined)));
      },
    },
    "separator",
    {
      label: "Copy the link",
      icon: "link",
      onSelect: () => void run("Copy the link", addressToShare().then(copyText).then(() => toast.done("The link is copied."))),
    },
  ];
  return (
    <>
      <Menu
        trigger={
          <Button icon="template">
            {current?.name ?? "Views"}
            {current && isModified && <span className="hint">modified</span>}
          </Button>
        }
        items={items}
      />
      {isSaving && (
        <SaveDialog
          canShare={views.canShare}
          onClose={() => setSaving(false)}
          onSave={async (change) => {
            const view = await views.create({ ...change, state: stored });
            setSaving(false);
            onChoose(view);
          }}
        />
      )}
    </>
  );
}

function SaveDialog({ canShare, onClose, onSave }: { canShare: boolean; onClose(): void; onSave(change: { name: string; scope: Scope; isDefault: boolean }): Promise<void> }) {
  const [name, setName] = useState("");
  const [scope, setScope] = useState<Scope>("private");
  const [isDefault, setDefault] = useState(false);
  const submit = () => onSave({ name: name.trim(), scope, isDefault }).catch((error: unknown) => toast.failed("Save the view", error));
  return (
    <Dialog
      open
      onClose={onClose}
      title="Save as a new view"
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button look="primary" disabledReason={name.trim() ? undefined : "A view needs a name."} onClick={() => void submit()}>
            Save
          </Button>
        </>
      }
    >
      <div className="stack">
        <TextField label="Name" maxLength={200} value={name} onChange={(event) => setName(event.target.value)} />
        {canShare ? (
          <Segments<Scope> label="Who sees it" value={scope} options={SCOPES} onValue={setScope} />
        ) : (
          <p className="hint">This master keeps private views only.</p>
        )}
        <Checkbox label="Open it first in this project" checked={isDefault} onValue={setDefault} />
      </div>
    </Dialog>
  );
}
