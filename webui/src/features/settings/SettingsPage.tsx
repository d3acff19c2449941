import { useUser } from "@/data/session";
import { TokensView } from "@/features/admin/tokens/TokensView";
import { ShortcutList } from "@/features/shell/ShortcutList";
import { Card } from "@/ui/layout/Card";
import { Page } from "@/ui/layout/Page";

import { Appearance } from "./Appearance";
import { PasswordForm } from "./PasswordForm";
import { ProfileForm } from "./ProfileForm";
import { ResetCard } from "./ResetCard";
import styles from "./Settings.module.css";

/** `/settings`: what a user decides about themselves. */
export default function SettingsPage() {
  const user = useUser();
  return (
    <Page name="Settings">
      <div className={styles.columns}>
        <div className={styles.column}>
          <Card title="Profile">
            <ProfileForm user={user} />
          </Card>
          <Card title="Password">
            <PasswordForm user={user} />
          </Card>
        </div>
        <div className={styles.column}>
          <Card title="Appearance">
            <Appearance />
          </Card>
          <Card title="Keyboard shortcuts">
            <div className={styles.shortcuts} tabIndex={0} role="region" aria-label="Keyboard shortcuts">
              <ShortcutList />
            </div>
          </Card>
        </div>
        <div className={styles.wide}>
          <Card title="Your access tokens">
            <TokensView of={user} />
          </Card>
        </div>
        <div className={styles.wide}>
          <ResetCard />
        </div>
      </div>
    </Page>
  );
}
