import { NavLink } from "react-router";

import { Icon } from "@/ui/icons/Icon";

import { PLACES } from "./navigation";
import styles from "./Shell.module.css";

/** Below 640 px the side bar gives way to a bar at the bottom. */
export function BottomBar({ onFind }: { onFind(): void }) {
  return (
    <nav className={styles.bottom} aria-label="Main">
      {PLACES.slice(0, 4).map((place) => (
        <NavLink key={place.to} to={place.to} end={place.end ?? false}>
          <Icon name={place.icon} />
          {place.label === "Uncategorized" ? "Trials" : place.label}
        </NavLink>
      ))}
      <button type="button" onClick={onFind}>
        <Icon name="search" />
        Find
      </button>
    </nav>
  );
}
