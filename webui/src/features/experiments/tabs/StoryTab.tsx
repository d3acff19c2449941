import { useExperimentContext } from "../context";
import { StoryView } from "../StoryView";

export default function StoryTab() {
  const { experiment, trial } = useExperimentContext();
  return trial ? (
    <StoryView of="trials" id={String(trial.id)} />
  ) : (
    <StoryView of="experiments" id={String(experiment.id)} />
  );
}
