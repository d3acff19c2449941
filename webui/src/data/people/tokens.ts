/** Access tokens: long-lived tokens of users for scripts. */
import { useQuery } from "@tanstack/react-query";

import { answer, api, type Schemas } from "@/api/client";

export type Token = Schemas["TokenInfo"];

export const tokenKey = ["tokens"] as const;

/** Tokens of one user, or all that the caller may see. */
export function useTokens(username: string | undefined, withInactive: boolean) {
  return useQuery({
    queryKey: [...tokenKey, username ?? "", withInactive],
    queryFn: async () =>
      (
        await answer(
          api.GET("/api/v1/tokens", {
            params: {
              query: { limit: 0, showInactive: withInactive, ...(username ? { username } : {}) },
            },
          }),
        )
      ).tokenInfo ?? [],
  });
}

/** `days` 0 is the default of the master, -1 its longest. The token is shown once. */
export async function createToken(userId: number, days: number, description: string): Promise<string> {
  const lifespan = days === 0 ? "" : days < 0 ? "-1" : `${days * 24}h`;
  const got = await answer(
    api.POST("/api/v1/tokens", { body: { userId, lifespan, ...(description ? { description } : {}) } }),
  );
  return got.token ?? "";
}

export async function changeToken(id: number, change: { description?: string; setRevoked?: boolean }): Promise<void> {
  await answer(
    api.PATCH("/api/v1/tokens/{token_id}", { params: { path: { token_id: id } }, body: change }),
  );
}

export type TokenState = "valid" | "expired" | "revoked";

export function tokenState(token: Token, now: number): TokenState {
  if (token.revoked) return "revoked";
  return token.expiry && Date.parse(token.expiry) <= now ? "expired" : "valid";
}
