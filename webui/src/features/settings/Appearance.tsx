import { usePreferences } from "@/data/preferences";
import { Segments } from "@/ui/field/Field";
import { Time } from "@/ui/text/Time";

import styles from "./Settings.module.css";

export function Appearance() {
  const { theme, storeTheme, density, storeDensity, absoluteTimes, storeAbsolute } = usePreferences();
  return (
    <div className="stack" style={{ gap: 16 }}>
      <div className={styles.choice}>
        <h3>Theme</h3>
        <Segments
          label="Theme"
          value={theme}
          onValue={(value) => void storeTheme(value)}
          options={[
            { value: "system", label: "As the system" },
            { value: "light", label: "Light" },
            { value: "dark", label: "Dark" },
          ]}
        />
      </div>
      <div className={styles.choice}>
        <h3>Height of rows</h3>
        <Segments
          label="Height of rows"
          value={density}
          onValue={(value) => void storeDensity(value)}
          options={[
            { value: "compact", label: "Compact" },
            { value: "normal", label: "Normal" },
            { value: "roomy", label: "Roomy" },
          ]}
        />
      </div>
      <div className={styles.choice}>
        <h3>Times</h3>
        <Segments
          label="Times"
          value={absoluteTimes ? "absolute" : "relative"}
          onValue={(value) => void storeAbsolute(value === "absolute")}
          options={[
            { value: "relative", label: "Since then" },
            { value: "absolute", label: "Date and time" },
          ]}
        />
        <p className="hint">
          For example: <Time at={EXAMPLE} />
        </p>
      </div>
    </div>
  );
}

const EXAMPLE = new Date(Date.now() - 3 * 3_600_000).toISOString();
