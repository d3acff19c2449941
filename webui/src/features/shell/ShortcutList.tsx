import { Fragment } from "react";

import { SHORTCUT_GROUPS, type ShortcutGroup } from "./shortcutList";
import styles from "./Shortcuts.module.css";

export function ShortcutList({ groups = SHORTCUT_GROUPS }: { groups?: ShortcutGroup[] }) {
  return (
    <div className={styles.groups}>
      {groups.map((group) => (
        <section key={group.name}>
          <h3>{group.name}</h3>
          <dl className={styles.list}>
            {group.shortcuts.map((each) => (
              <Fragment key={each.act}>
                <dt>
                  {each.keys.map((key, index) => (
                    <Fragment key={index}>
                      {index > 0 && <span className="hint"> then </span>}
                      <Keys text={key} />
                    </Fragment>
                  ))}
                </dt>
                <dd>{each.act}</dd>
              </Fragment>
            ))}
          </dl>
        </section>
      ))}
    </div>
  );
}

function Keys({ text }: { text: string }) {
  return (
    <>
      {text.split("+").map((key) => (
        <kbd key={key} className={styles.key}>
          {key}
        </kbd>
      ))}
    </>
  );
}
