import { useSession } from "@/data/session";
import { Dialog } from "@/ui/overlay/Dialog";
import { login as text } from "@/strings/shell";

import { SignInForm } from "./SignInForm";

/** A session that ends leaves the page as it is and asks for the password over it. */
export function ExpiredDialog() {
  const { status, user } = useSession();
  return (
    <Dialog
      open={status === "expired"}
      onClose={() => undefined}
      closable={false}
      title={text.title}
      description={text.expired}
      width={380}
    >
      <SignInForm fixedName={user?.username} onDone={() => undefined} />
    </Dialog>
  );
}
