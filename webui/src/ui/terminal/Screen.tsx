/** The screen of a terminal (xterm.js). It is loaded with the first one: see `Terminal`. */
import { FitAddon } from "@xterm/addon-fit";
import { Terminal as XTerm } from "@xterm/xterm";
import "@xterm/xterm/css/xterm.css";
import { useEffect, useRef, type Ref } from "react";

import { useTheme } from "../chart/plot/theme";
import { terminalKey } from "./keys";
import { terminalTheme } from "./palette";
import { styleSpansByProperties, whileSigned } from "./signed";

styleSpansByProperties();

const SCROLLBACK_LINES = 10_000;
/** Of text to its ground, whatever colours a program takes. */
const CONTRAST = 4.5;

const SCREEN_STYLE = { flex: "1 1 auto", minHeight: 0, padding: "6px 0 0 8px" } as const;

/** What shows output. */
export interface ScreenHandle {
  write(bytes: Uint8Array): void;
  /** A line that is no output. A program that has ended cannot leave its modes behind. */
  note(text: string): void;
  /** The selection; without one the visible lines. */
  text(): string;
  focus(): void;
}

export interface ScreenProps {
  label: string;
  /** The id of the text that says how the keyboard leaves. */
  describedBy: string;
  isReadAloud: boolean;
  onReady(handle: ScreenHandle): void;
  onInput(text: string): void;
  onBinary(bytes: string): void;
  onSize(columns: number, rows: number): void;
  onCopy(): void;
  onLeave(): void;
}

/** Main screen, visible cursor, no reports of the mouse, no bracketed paste, plain text. */
const PLAIN = "\x1b[?1049l\x1b[!p\x1b[?25h\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?2004l\x1b[0m";

export function Screen(props: ScreenProps) {
  const box = useRef<HTMLDivElement>(null);
  const terminal = useRef<XTerm>(undefined);
  const current = useRef(props);
  const isDark = useTheme() === "dark";
  useEffect(() => {
    current.current = props;
  });
  useEffect(() => {
    const { screen, dispose } = openScreen(box, current);
    terminal.current = screen;
    current.current.onReady(handleOf(screen));
    return dispose;
  }, []);
  useEffect(() => {
    if (terminal.current) terminal.current.options.theme = terminalTheme(isDark);
  }, [isDark]);
  useEffect(() => {
    if (terminal.current) terminal.current.options.screenReaderMode = props.isReadAloud;
  }, [props.isReadAloud]);
  return <div ref={box as Ref<HTMLDivElement>} style={SCREEN_STYLE} />;
}

function openScreen(box: { current: HTMLDivElement | null }, props: { current: ScreenProps }) {
  const style = getComputedStyle(document.documentElement);
  const screen = new XTerm({
    fontFamily: style.getPropertyValue("--mono").trim() || "monospace",
    fontSize: 13,
    scrollback: SCROLLBACK_LINES,
    minimumContrastRatio: CONTRAST,
    theme: terminalTheme(document.documentElement.dataset["theme"] === "dark"),
  });
  const fit = new FitAddon();
  screen.loadAddon(fit);
  whileSigned(() => screen.open(box.current as HTMLDivElement));
  screen.textarea?.setAttribute("aria-label", props.current.label);
  screen.textarea?.setAttribute("aria-describedby", props.current.describedBy);
  screen.onData((text) => props.current.onInput(text));
  screen.onBinary((bytes) => props.current.onBinary(bytes));
  screen.onResize(({ cols, rows }) => props.current.onSize(cols, rows));
  screen.attachCustomKeyEventHandler((event) => {
    const key = terminalKey(event);
    if (key === "copy") props.current.onCopy();
    if (key === "leave") props.current.onLeave();
    // The browser pastes, and the screen hears of it.
    if (key && key !== "paste") event.preventDefault();
    return key === undefined;
  });
  const observer = new ResizeObserver(() => fit.fit());
  observer.observe(box.current as HTMLDivElement);
  fit.fit();
  props.current.onSize(screen.cols, screen.rows);
  return {
    screen,
    dispose: () => {
      observer.disconnect();
      screen.dispose();
    },
  };
}

function handleOf(screen: XTerm): ScreenHandle {
  return {
    write: (bytes) => screen.write(bytes),
    note: (text) => screen.write(`${PLAIN}\r\n\x1b[2m${text}\x1b[0m\r\n`),
    text: () => screen.getSelection() || visibleText(screen),
    focus: () => screen.focus(),
  };
}

function visibleText(screen: XTerm): string {
  const buffer = screen.buffer.active;
  const lines = Array.from({ length: screen.rows }, (_, row) => buffer.getLine(buffer.viewportY + row)?.translateToString(true) ?? "");
  return lines.join("\n").trimEnd();
}
