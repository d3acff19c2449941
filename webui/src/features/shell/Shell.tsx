import { useEffect, useRef } from "react";
import { Outlet, useLocation } from "react-router";

import { useSetting } from "@/data/settings";
import { usePreferences } from "@/data/preferences";
import { useSession } from "@/data/session";
import { useTopic } from "@/data/live";
import { ConfirmHost } from "@/ui/overlay/confirm";
import { UnsavedHost } from "@/ui/overlay/unsaved";
import { ToastHost } from "@/ui/feedback/toast";
import { shell as text } from "@/strings/shell";
import { LaunchHost } from "@/features/launch/LaunchHost";
import { ExpiredDialog } from "@/features/login/ExpiredDialog";
import { useEmptyPasswordNotice } from "@/features/login/emptyPassword";

import { Bars } from "./Bars";
import { BottomBar } from "./BottomBar";
import { usePaletteHost } from "./usePalette";
import { Shortcuts } from "./Shortcuts";
import { SideBar } from "./SideBar";
import { useShortcuts } from "./shortcuts";
import styles from "./Shell.module.css";
import { useMeFrames } from "./useMeFrames";

/** The frame around every page behind the sign-in. */
export function Shell() {
  const [collapsed, setCollapsed] = useSetting("webui/preferences", "sideBarCollapsed", false);
  const main = useRef<HTMLElement>(null);
  const palette = usePaletteHost();
  const { user } = useSession();
  const { pathname } = useLocation();
  usePreferences();
  useEmptyPasswordNotice();
  useTopic(user ? "me" : undefined, useMeFrames());
  useShortcuts({ palette: palette.open, toggleSideBar: () => void setCollapsed(!collapsed) });
  useEffect(() => {
    const focusMain = (event: Event) => {
      if ((event as CustomEvent).type === "det:focus-main") main.current?.focus();
    };
    addEventListener("det:focus-main", focusMain);
    return () => removeEventListener("det:focus-main", focusMain);
  }, []);
  return (
    <div className={styles.shell} data-collapsed={collapsed}>
      <a
        className={styles.skip}
        href="#main"
        onClick={(event) => {
          event.preventDefault();
          main.current?.focus();
        }}
      >
        {text.skip}
      </a>
      <div className={styles.bars}>
        <Bars />
      </div>
      <SideBar
        collapsed={collapsed}
        onToggle={() => void setCollapsed(!collapsed)}
        onFind={palette.open}
      />
      {/* The path is that of the page shown, not of one whose code is on its way: tests wait for it. */}
      <main id="main" ref={main} className={styles.main} tabIndex={-1} data-path={pathname}>
        <Outlet />
      </main>
      <BottomBar onFind={palette.open} />
      {palette.element}
      <LaunchHost />
      <Shortcuts />
      <UnsavedHost />
      <ConfirmHost />
      <ToastHost />
      <ExpiredDialog />
    </div>
  );
}
