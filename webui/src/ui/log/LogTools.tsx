/** The bar above a log: search, filters, look, follow. */
import type { Ref } from "react";

import { formatNumber } from "@/data/format/numbers";

import { Button, IconButton } from "../button/Button";
import { Checkbox } from "../field/Field";
import { Popover } from "../overlay/Popover";
import styles from "./Log.module.css";
import type { TimeStyle } from "./LogRow";
import { LEVELS, type Level, type LogFilter, type LogQuery } from "./types";

export interface Look {
  times: TimeStyle;
  wrap: boolean;
  fold: boolean;
}

export interface ToolsProps {
  query: LogQuery;
  onQuery(query: LogQuery): void;
  patternError: string | undefined;
  /** The hit that is shown, from 1; 0 for none. */
  hit: number;
  hits: number;
  onHit(step: 1 | -1): void;
  list: boolean;
  onList(list: boolean): void;
  filter: LogFilter;
  onFilter(filter: LogFilter): void;
  ranks: readonly number[];
  look: Look;
  onLook(look: Look): void;
  onNextError(): void;
  following: boolean;
  /** Why there is nothing to follow. */
  notFollowing: string | undefined;
  onFollow(following: boolean): void;
  onDownload: (() => void) | undefined;
  searchField: Ref<HTMLInputElement>;
}

export function LogTools(props: ToolsProps) {
  const { filter, onFilter, onNextError, following, notFollowing, onFollow, onDownload } = props;
  return (
    <div className={styles.tools} role="toolbar" aria-label="Log">
      <Search {...props} />
      <select
        className={styles.select}
        aria-label="Lowest level"
        value={filter.least ?? ""}
        onChange={(event) => onFilter({ ...filter, least: (event.target.value || undefined) as Level | undefined })}
      >
        <option value="">All levels</option>
        {LEVELS.slice(1).map((level) => (
          <option key={level} value={level}>
            {level === "CRITICAL" ? "Critical" : `${level.charAt(0)}${level.slice(1).toLowerCase()} and above`}
          </option>
        ))}
      </select>
      <Ranks {...props} />
      <Button small icon="warning" onClick={onNextError} title="Go to the next error (e)">
        Next error
      </Button>
      <LookMenu {...props} />
      {onDownload && <IconButton small icon="download" label="Download the log" onClick={onDownload} />}
      <Button
        small
        look={following ? "primary" : "normal"}
        icon={following ? "pause" : "play"}
        aria-pressed={following}
        disabledReason={notFollowing}
        onClick={() => onFollow(!following)}
      >
        {following ? "Following" : "Follow"}
      </Button>
    </div>
  );
}

function Search({ query, onQuery, patternError, hit, hits, onHit, list, onList, searchField }: ToolsProps) {
  const counted = query.text && !patternError;
  return (
    <div className={styles.search}>
      <input
        ref={searchField}
        type="search"
        className={styles.input}
        aria-label="Search the log"
        aria-invalid={patternError ? true : undefined}
        title={patternError ?? "Capitals count when the text has one. Enter goes to the next hit, Shift Enter to the one before."}
        placeholder="Search"
        value={query.text}
        onChange={(event) => onQuery({ ...query, text: event.target.value })}
        onKeyDown={(event) => event.key === "Enter" && onHit(event.shiftKey ? -1 : 1)}
      />
      <button
        type="button"
        className={styles.regex}
        aria-pressed={query.regex}
        aria-label="Regular expression"
        title="Regular expression"
        onClick={() => onQuery({ ...query, regex: !query.regex })}
      >
        .*
      </button>
      <IconButton small icon="chevron" label="Hit before" className={styles.up} onClick={() => onHit(-1)} />
      <IconButton small icon="down" label="Next hit" onClick={() => onHit(1)} />
      <IconButton small icon="runs" label="List of hits" aria-pressed={list} onClick={() => onList(!list)} />
      <span className={styles.count} role="status">
        {patternError ? <span className={styles.bad}>Wrong pattern</span> : counted ? `${formatNumber(hit)} of ${formatNumber(hits)}` : ""}
      </span>
    </div>
  );
}

function Ranks({ ranks, filter, onFilter }: ToolsProps) {
  if (ranks.length < 2 && filter.ranks.length === 0) return null;
  const toggle = (rank: number) => {
    const next = filter.ranks.includes(rank) ? filter.ranks.filter((each) => each !== rank) : [...filter.ranks, rank];
    onFilter({ ...filter, ranks: next });
  };
  const name = filter.ranks.length === 0 ? "All ranks" : `Ranks ${[...filter.ranks].sort((a, b) => a - b).join(", ")}`;
  const shown = [...new Set([...ranks, ...filter.ranks])].sort((a, b) => a - b);
  return (
    <Popover
      label="Ranks"
      trigger={
        <Button small icon="filter">
          {name}
        </Button>
      }
    >
      <div className={styles.ranks}>
        <Checkbox label="All ranks" checked={filter.ranks.length === 0} onValue={() => onFilter({ ...filter, ranks: [] })} />
        {shown.map((rank) => (
          <Checkbox key={rank} label={`Rank ${rank}`} checked={filter.ranks.includes(rank)} onValue={() => toggle(rank)} />
        ))}
      </div>
    </Popover>
  );
}

function LookMenu({ look, onLook }: ToolsProps) {
  return (
    <Popover label="How the log is shown" align="end" trigger={<IconButton small icon="settings" label="How the log is shown" />}>
      <div className="stack">
        <label className={styles.setting}>
          Times
          <select
            className={styles.select}
            value={look.times}
            onChange={(event) => onLook({ ...look, times: event.target.value as TimeStyle })}
          >
            <option value="clock">Clock</option>
            <option value="since">Since the start</option>
            <option value="off">Line numbers</option>
          </select>
        </label>
        <Checkbox label="Wrap long lines" checked={look.wrap} onValue={(wrap) => onLook({ ...look, wrap })} />
        <Checkbox label="Fold progress bars" checked={look.fold} onValue={(fold) => onLook({ ...look, fold })} />
      </div>
    </Popover>
  );
}
