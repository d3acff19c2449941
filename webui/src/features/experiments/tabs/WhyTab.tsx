import { useExperimentContext } from "../context";
import { WhyView } from "../WhyView";

export default function WhyTab() {
  const { experiment } = useExperimentContext();
  return <WhyView jobId={experiment.jobId} />;
}
