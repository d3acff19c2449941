import { TokensView } from "./TokensView";

export default function TokensTab() {
  return <TokensView />;
}
