import { useEffect, useRef } from "react";

import { useTensorBoard } from "@/features/launch/useTensorBoard";
import { Loading } from "@/ui/feedback/Feedback";
import { Dialog } from "@/ui/overlay/Dialog";

import type { ExperimentDialogProps } from "../ExperimentDialogs";

/** Opens the TensorBoard that already shows this experiment, else starts one. */
export default function TensorBoardDialog({ experiment, onClose }: ExperimentDialogProps) {
  const open = useTensorBoard();
  const started = useRef(false);
  useEffect(() => {
    if (started.current) return;
    started.current = true;
    void open({ experimentIds: [experiment.id ?? 0], trialIds: [] }, experiment.workspaceId).then(
      (opened) => !opened && onClose(),
    );
  }, [experiment, onClose, open]);
  return (
    <Dialog open onClose={onClose} title="TensorBoard">
      <Loading what="TensorBoard" rows={1} />
    </Dialog>
  );
}
