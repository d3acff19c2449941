import { Link, NavLink } from "react-router";

import { BASE_PATH } from "@/api/client";
import { useMaster } from "@/data/master";
import { useRights } from "@/data/permissions/permissions";
import { usePreferences, type Theme } from "@/data/preferences";
import { useSession } from "@/data/session";
import { useWorkspaces } from "@/data/workspaces";
import { Logo } from "@/features/login/Logo";
import { Icon } from "@/ui/icons/Icon";
import { IconButton } from "@/ui/button/Button";
import { Menu } from "@/ui/overlay/Menu";
import { shell as text } from "@/strings/shell";

import { PLACES } from "./navigation";
import { useSignOut } from "./useSignOut";
import styles from "./Shell.module.css";

export function SideBar({
  collapsed,
  onToggle,
  onFind,
}: {
  collapsed: boolean;
  onToggle(): void;
  onFind(): void;
}) {
  const { mayAnywhere } = useRights();
  const master = useMaster();
  return (
    <nav className={styles.side} aria-label="Main">
      <div className={styles.brand}>
        <Link to="/dashboard">
          <Logo orientation="horizontal" />
        </Link>
        <IconButton
          icon="sidebar"
          label={collapsed ? text.expand : text.collapse}
          small
          onClick={onToggle}
        />
      </div>
      <button type="button" className={styles.find} onClick={onFind} aria-label={text.search}>
        <Icon name="search" />
        <span>{text.search}</span>
        <kbd>Ctrl K</kbd>
      </button>
      {PLACES.filter((place) => !place.needs || mayAnywhere(place.needs)).map((place) => (
        <NavLink
          key={place.to}
          to={place.to}
          end={place.end ?? false}
          className={styles.link ?? ""}
          title={collapsed ? place.label : undefined}
          aria-label={place.label}
        >
          <Icon name={place.icon} />
          <span className={styles.name}>{place.label}</span>
        </NavLink>
      ))}
      <Pinned />
      <div className={styles.foot}>
        <a className={styles.link} href={`${BASE_PATH}/docs`} aria-label={text.docs}>
          <Icon name="book" />
          <span className={styles.name}>{text.docs}</span>
        </a>
        <UserMenu />
        <div className={styles.version}>{master.version}</div>
      </div>
    </nav>
  );
}

function Pinned() {
  const pinned = (useWorkspaces().data ?? []).filter((each) => each.pinned && !each.archived);
  if (pinned.length === 0) return null;
  return (
    <>
      <div className={styles.heading}>Pinned</div>
      {pinned.map((each) => (
        <NavLink
          key={each.id}
          to={`/workspaces/${each.id}`}
          className={styles.link ?? ""}
          aria-label={each.name ?? ""}
        >
          <Icon name="folder" />
          <span className={styles.name}>{each.name}</span>
        </NavLink>
      ))}
    </>
  );
}

function UserMenu() {
  const { user } = useSession();
  const signOut = useSignOut();
  const { theme, storeTheme } = usePreferences();
  const choose = (value: Theme) => ({
    label: { system: "Theme of the system", light: "Light theme", dark: "Dark theme" }[value],
    ...(theme === value ? { icon: "check" as const } : {}),
    onSelect: () => void storeTheme(value),
  });
  const name = user?.displayName || user?.username || "";
  return (
    <Menu
      align="start"
      trigger={
        <button type="button" className={styles.link} style={{ border: 0, background: "none" }} aria-label={`User menu: ${name}`}>
          <Icon name="users" />
          <span className={styles.name}>{name}</span>
        </button>
      }
      items={[
        { label: text.settings, icon: "settings", to: "/settings" },
        "separator",
        choose("system"),
        choose("light"),
        choose("dark"),
        "separator",
        {
          label: text.signOut,
          icon: "logout",
          onSelect: signOut,
        },
      ]}
    />
  );
}
