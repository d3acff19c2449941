import { useQueryClient } from "@tanstack/react-query";

import { answer, api } from "@/api/client";
import { keys } from "@/data/keys";
import { forgetStoredPreferences } from "@/data/preferences";
import { Button } from "@/ui/button/Button";
import { toast } from "@/ui/feedback/toast";
import { Card } from "@/ui/layout/Card";
import { confirm } from "@/ui/overlay/confirm";

export function ResetCard() {
  const cache = useQueryClient();
  const reset = async () => {
    const yes = await confirm({
      title: "Reset all settings?",
      body: "Theme, columns, filters and named views of your lists go back to their defaults. This cannot be undone.",
      action: "Reset",
      danger: true,
    });
    if (!yes) return;
    try {
      await answer(api.POST("/api/v1/users/setting/reset", {}));
      forgetStoredPreferences();
      await cache.invalidateQueries({ queryKey: keys.settings() });
      toast.done("All settings have their defaults");
    } catch (error) {
      toast.failed("The settings stay as they are", error);
    }
  };
  return (
    <Card title="Reset">
      <div className="row" style={{ gap: 16 }}>
        <p className="muted grow">Give all settings of the web UI their defaults. Your profile, password and tokens stay.</p>
        <Button look="danger" onClick={() => void reset()}>
          Reset all settings …
        </Button>
      </div>
    </Card>
  );
}
