import { useEffect, useState } from "react";

import { BASE_PATH } from "@/api/client";
import { useMaster } from "@/data/master";
import { useSession } from "@/data/session";
import { CopyButton } from "@/ui/text/Copy";
import { ToastHost } from "@/ui/feedback/toast";
import { useDocumentTitle } from "@/ui/layout/useDocumentTitle";
import { login as text } from "@/strings/shell";

import { keepNotice } from "./emptyPassword";
import styles from "./Login.module.css";
import { Logo } from "./Logo";
import { outsideTarget, safeTarget } from "./target";
import { SignInForm } from "./SignInForm";

/**
 * The sign-in. `search` is that of the address: `?redirect=` names the page to return to, and
 * `?cli=true` shows the token. `go` leads to a path below `/det`.
 *
 * It knows no router: the page of the sign-in alone has none.
 */
export function LoginPage({ search, go }: { search: string; go(target: string): void }) {
  const query = new URLSearchParams(search);
  const { status } = useSession();
  const master = useMaster();
  const [token, setToken] = useState("");
  const target = safeTarget(query.get("redirect"), BASE_PATH);
  const outside = outsideTarget(query.get("redirect"), BASE_PATH);
  const wantsToken = query.get("cli") === "true";
  useDocumentTitle(text.title);
  useAutomaticProvider(master.ssoProviders ?? [], query.get("hard_logout") === "true");
  const isIn = status === "signed-in" && !wantsToken;
  useEffect(() => {
    if (!isIn) return;
    if (outside) location.replace(outside);
    else go(target);
  }, [isIn, outside, target, go]);
  if (isIn) return null;
  return (
    <main className={styles.page}>
      <div className={styles.card}>
        <div className={styles.brand}>
          <Logo orientation="vertical" heading />
        </div>
        {token ? (
          <div className="stack">
            <h2>{text.token}</h2>
            <div className="row">
              <code style={{ overflowWrap: "anywhere" }}>{token}</code>
              <CopyButton text={token} label="Copy the token" />
            </div>
          </div>
        ) : (
          <SignInForm
            onDone={(opened, emptyPassword) => {
              if (emptyPassword) keepNotice();
              if (wantsToken) setToken(opened);
            }}
          />
        )}
        {(master.ssoProviders ?? []).map((provider) => (
          <a key={provider.name} href={provider.ssoUrl}>
            Sign in with {provider.name}
          </a>
        ))}
        <a className="hint" href={`${BASE_PATH}/docs`}>
          Documentation
        </a>
      </div>
      <ToastHost />
    </main>
  );
}

function useAutomaticProvider(
  providers: { ssoUrl?: string; alwaysRedirect?: boolean }[],
  stopped: boolean,
): void {
  const forced = providers.find((each) => each.alwaysRedirect)?.ssoUrl;
  useEffect(() => {
    if (forced && !stopped) location.assign(forced);
  }, [forced, stopped]);
}
