/** Who is signed in. The session is a cookie that scripts cannot read. */
import { useQueryClient } from "@tanstack/react-query";
import {
  createContext,
  useCallback,
  useContext,
  useEffect,
  useMemo,
  useState,
  type ReactNode,
} from "react";

import { answer, api, whenUnauthenticated, type Schemas } from "@/api/client";
import { ApiError } from "@/api/errors";

import { boot } from "./boot";
import { live } from "./live";

export type User = Schemas["User"];

/** `expired`: the page stays as it is, and a dialog asks for the password again. */
export type SessionStatus = "loading" | "signed-out" | "signed-in" | "expired" | "unreachable";

interface Session {
  status: SessionStatus;
  user: User | undefined;
  signIn(username: string, password: string): Promise<string>;
  signOut(): Promise<void>;
  retry(): void;
  /** Reads the signed-in user again, after a change of the profile. */
  renew(): Promise<void>;
}

const Context = createContext<Session | undefined>(undefined);

export function SessionProvider({ children }: { children: ReactNode }) {
  const cache = useQueryClient();
  const [user, setUser] = useState<User | undefined>(boot.user);
  const [status, setStatus] = useState<SessionStatus>(boot.user ? "signed-in" : "loading");

  const look = useCallback(async () => {
    try {
      const me = await answer(api.GET("/api/v1/me", {}));
      setUser(me.user);
      setStatus("signed-in");
    } catch (error) {
      const refused = error instanceof ApiError && error.status === 401;
      setStatus(refused ? "signed-out" : "unreachable");
    }
  }, []);

  useEffect(() => {
    if (status === "loading") void look();
  }, [look, status]);

  useEffect(() => {
    const expire = () => setStatus((now) => (now === "signed-in" ? "expired" : now));
    // The channel is refused to a deactivated user too, whose requests are answered 403.
    const leave = [live.onRefused(expire), whenUnauthenticated(expire)];
    return () => leave.forEach((each) => each());
  }, []);

  useEffect(() => {
    if (status === "signed-in") live.wake();
  }, [status]);

  const session = useMemo<Session>(
    () => ({
      status,
      user,
      async signIn(username, password) {
        const opened = await answer(
          api.POST("/api/v1/auth/login", { body: { username, password, isHashed: false } }),
        );
        if (opened.user?.id !== user?.id) cache.clear();
        setUser(opened.user);
        setStatus("signed-in");
        if (status === "expired") {
          live.reconnect();
          void cache.invalidateQueries();
        }
        return opened.token ?? "";
      },
      async signOut() {
        await answer(api.POST("/api/v1/auth/logout", {}));
        cache.clear();
        setUser(undefined);
        setStatus("signed-out");
      },
      retry: () => setStatus("loading"),
      renew: look,
    }),
    [cache, look, status, user],
  );
  return <Context.Provider value={session}>{children}</Context.Provider>;
}

export function useSession(): Session {
  const session = useContext(Context);
  if (!session) throw new Error("useSession needs a SessionProvider above it");
  return session;
}

/** The signed-in user; only pages behind the sign-in call this. */
export function useUser(): User {
  const { user } = useSession();
  if (!user) throw new Error("useUser needs a signed-in session");
  return user;
}
