import { BASE_PATH } from "@/api/client";
import { useMaster } from "@/data/master";
import { useTheme } from "@/ui/chart/plot/theme";
import { Mark } from "@/ui/icons/Mark";

import styles from "./Login.module.css";

/** The cluster's own logo (`ui_customization.logo_paths`), or ours with the cluster's name. */
export function Logo({ orientation, heading }: { orientation: "horizontal" | "vertical"; heading?: boolean }) {
  const { hasCustomLogo, clusterName } = useMaster();
  const theme = useTheme();
  const name = clusterName || "Determined";
  const size = orientation === "vertical" ? 28 : 20;
  const title = heading ? <h1>{name}</h1> : <span className="truncate">{name}</span>;
  if (!hasCustomLogo)
    return (
      <>
        <Mark size={size} />
        {title}
      </>
    );
  const image = (
    <img
      className={styles.logo}
      data-orientation={orientation}
      src={`${BASE_PATH}/det/customer-assets/logo?orientation=${orientation}&mode=${theme}`}
      alt={name}
    />
  );
  return heading ? <h1 style={{ lineHeight: 0 }}>{image}</h1> : image;
}
