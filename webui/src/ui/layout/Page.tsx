import { useEffect, useRef, type ReactNode } from "react";
import { NavLink, useLocation } from "react-router";
import { Link } from "react-router";

import styles from "./Layout.module.css";
import { useDocumentTitle } from "./useDocumentTitle";

export interface Crumb {
  label: string;
  to?: string;
}

export interface Tab {
  label: string;
  to: string;
  /** Further paths for which the tab is current. */
  end?: boolean;
}

/**
 * A page: breadcrumbs, one h1, acts, tabs, content.
 *
 * The title of the document follows `name`; focus moves to the h1 when the path changes.
 */
export function Page({
  name,
  title,
  crumbs,
  badge,
  actions,
  tabs,
  flush,
  children,
}: {
  /** Text for the document's title. */
  name: string;
  title?: ReactNode;
  crumbs?: Crumb[];
  badge?: ReactNode;
  actions?: ReactNode;
  tabs?: Tab[];
  /** The content fills the page without padding (tables, logs). */
  flush?: boolean;
  children: ReactNode;
}) {
  const heading = useRef<HTMLHeadingElement>(null);
  useDocumentTitle(name);
  useFocusOnNavigation(heading);
  return (
    <div className={styles.page}>
      <div className={styles.head}>
        {crumbs && crumbs.length > 0 && (
          <nav aria-label="Breadcrumb" className={styles.crumbs}>
            {crumbs.map((crumb, index) => (
              <span key={index} className="row" style={{ gap: 6 }}>
                {crumb.to ? <Link to={crumb.to}>{crumb.label}</Link> : crumb.label}
                {index < crumbs.length - 1 && <span aria-hidden="true">/</span>}
              </span>
            ))}
          </nav>
        )}
        <div className={styles.title}>
          <h1 ref={heading} tabIndex={-1}>
            {title ?? name}
          </h1>
          {badge}
        </div>
        {actions && <div className={styles.actions}>{actions}</div>}
      </div>
      {tabs && <TabLinks tabs={tabs} />}
      <div className={styles.body} data-flush={flush}>
        {children}
      </div>
    </div>
  );
}

/** Tabs are links: each has an address of its own. */
export function TabLinks({ tabs, label = "Sections" }: { tabs: Tab[]; label?: string }) {
  return (
    <nav aria-label={label} className={styles.tabs}>
      {tabs.map((tab) => (
        <NavLink key={tab.to} to={tab.to} end={tab.end ?? false}>
          {tab.label}
        </NavLink>
      ))}
    </nav>
  );
}


let firstPath: string | undefined;

function useFocusOnNavigation(heading: { current: HTMLElement | null }): void {
  const { pathname } = useLocation();
  useEffect(() => {
    // The first page keeps the browser's own focus.
    firstPath ??= pathname;
    if (firstPath === pathname) return;
    firstPath = "";
    heading.current?.focus({ preventScroll: true });
  }, [heading, pathname]);
}
