import { useMemo, useState } from "react";

import { serverNow } from "@/api/clock";
import { useParam } from "@/data/forms/param";
import { plural } from "@/data/format/numbers";
import { useNow } from "@/data/now";
import { changeToken, tokenKey, tokenState, useTokens, type Token } from "@/data/people/tokens";
import { useRights } from "@/data/permissions/permissions";
import { useSession, type User } from "@/data/session";
import { useUserName } from "@/data/workspaces";
import { Button } from "@/ui/button/Button";
import { useAct } from "@/ui/feedback/useAct";
import { Empty, QueryView } from "@/ui/feedback/Feedback";
import { Checkbox } from "@/ui/field/Field";
import { InlineText } from "@/ui/field/InlineText";
import { Toolbar } from "@/ui/layout/Toolbar";
import type { MenuEntry } from "@/ui/overlay/Menu";
import { confirm } from "@/ui/overlay/confirm";
import { StateBadge } from "@/ui/state/StateBadge";
import { DataTable } from "@/ui/table/DataTable";
import type { Column } from "@/ui/table/types";
import { Time } from "@/ui/text/Time";

import { TokenForm } from "./TokenForm";

/** Access tokens of all users, or of one. */
export function TokensView({ of }: { of?: User }) {
  const [inactive, setInactive] = useParam("inactive", "");
  const [creates, setCreates] = useState(false);
  const { may } = useRights();
  const { user } = useSession();
  const query = useTokens(of?.username, inactive === "1");
  const mayCreate = may("PERMISSION_TYPE_CREATE_OTHER_TOKEN") || may("PERMISSION_TYPE_CREATE_TOKEN");
  return (
    <div className="stack">
      <Toolbar
        end={
          <>
            {query.data && plural(query.data.length, "token")}
            {mayCreate && (
              <Button look={of ? "normal" : "primary"} icon="plus" onClick={() => setCreates(true)}>
                New token
              </Button>
            )}
          </>
        }
      >
        <Checkbox label="Expired and revoked too" checked={inactive === "1"} onValue={(on) => setInactive(on ? "1" : "")} />
      </Toolbar>
      <QueryView query={query} what="the tokens">
        {(tokens) => <List tokens={tokens} withUser={!of} mayCreate={mayCreate} />}
      </QueryView>
      {creates && <TokenForm user={of ?? user} fixed={Boolean(of)} onClose={() => setCreates(false)} />}
    </div>
  );
}

function List({ tokens, withUser, mayCreate }: { tokens: Token[]; withUser: boolean; mayCreate: boolean }) {
  const act = useAct();
  const columns = useColumns(withUser);
  const revoke = async (token: Token) => {
    const yes = await confirm({
      title: `Revoke token ${token.id}?`,
      body: "What uses it is refused from the next request on. This cannot be undone.",
      action: "Revoke",
      danger: true,
    });
    if (yes)
      await act(() => changeToken(token.id ?? 0, { setRevoked: true }), {
        done: `Revoked token ${token.id}`,
        failed: `Token ${token.id}`,
        keys: [tokenKey],
      });
  };
  const menuOf = (token: Token): MenuEntry[] => [
    {
      label: "Revoke …",
      icon: "trash",
      danger: true,
      disabledReason: tokenState(token, serverNow()) === "valid" ? undefined : "It is not valid any more.",
      onSelect: () => void revoke(token),
    },
  ];
  return (
    <DataTable
      label="Access tokens"
      rows={tokens}
      rowKey={(each) => each.id ?? 0}
      rowName={(each) => `token ${each.id}`}
      columns={columns}
      rowMenu={menuOf}
      empty={
        <Empty title="No access tokens" command="det token create USER --expiration-days 30">
          {mayCreate
            ? "A token lets a script act as its user until it expires or is revoked."
            : "Administrators create access tokens."}
        </Empty>
      }
    />
  );
}

function useColumns(withUser: boolean): Column<Token>[] {
  const nameOf = useUserName();
  const act = useAct();
  const now = useNow(60_000);
  return useMemo<Column<Token>[]>(() => {
    const describe = (each: Token, description: string) =>
      act(() => changeToken(each.id ?? 0, { description }), {
        done: "Saved",
        failed: `Token ${each.id}`,
        keys: [tokenKey],
      });
    return [
      { id: "id", header: "ID", width: 80, type: "number", sortable: true, value: (each) => each.id, render: (each) => each.id },
      ...(withUser
        ? [{ id: "user", header: "User", width: 140, sortable: true, value: (each: Token) => nameOf(each.userId), render: (each: Token) => nameOf(each.userId) }]
        : []),
      {
        id: "description",
        header: "Description",
        width: 220,
        grow: true,
        sortable: true,
        value: (each) => each.description,
        render: (each) => (
          <InlineText
            label={`description of token ${each.id}`}
            value={each.description ?? ""}
            onSave={tokenState(each, now) === "valid" ? (text) => describe(each, text) : undefined}
          />
        ),
      },
      {
        id: "state",
        header: "State",
        width: 110,
        type: "state",
        value: (each) => tokenState(each, now),
        render: (each) => {
          const state = tokenState(each, now);
          return state === "valid" ? (
            <StateBadge state="COMPLETED" label="Valid" plain />
          ) : (
            <StateBadge state="ended" label={state === "revoked" ? "Revoked" : "Expired"} plain />
          );
        },
      },
      { id: "created", header: "Created", width: 120, type: "date", sortable: true, value: (each) => each.createdAt, render: (each) => <Time at={each.createdAt} /> },
      { id: "expiry", header: "Expires", width: 120, type: "date", sortable: true, value: (each) => each.expiry, render: (each) => <Time at={each.expiry} /> },
    ];
  }, [act, now, nameOf, withUser]);
}
