import { RegisterDialog } from "../checkpoints/RegisterDialog";
import type { ExperimentDialogProps } from "../ExperimentDialogs";

/** Registers the best checkpoint of the page's trial. */
export default function RegisterBestDialog({ trial, onClose }: ExperimentDialogProps) {
  const uuid = trial?.bestCheckpoint?.uuid;
  return uuid ? <RegisterDialog uuid={uuid} onClose={onClose} /> : null;
}
