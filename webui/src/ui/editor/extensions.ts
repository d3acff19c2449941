/** What the editors share: colours from our tokens, languages, the nonce for styles. */
import { json } from "@codemirror/lang-json";
import { python } from "@codemirror/lang-python";
import { yaml } from "@codemirror/lang-yaml";
import { HighlightStyle, syntaxHighlighting } from "@codemirror/language";
import type { Extension } from "@codemirror/state";
import { EditorView } from "@codemirror/view";
import { tags } from "@lezer/highlight";

import { pageNonce } from "../nonce";
import { markdown } from "./markdown";

export type Language = "yaml" | "python" | "json" | "markdown" | "text";

export function languageExtension(language: Language): Extension {
  if (language === "yaml") return yaml();
  if (language === "python") return python();
  if (language === "json") return json();
  if (language === "markdown") return markdown();
  return [];
}

const highlight = HighlightStyle.define([
  { tag: [tags.comment, tags.meta], color: "var(--text-3)", fontStyle: "italic" },
  { tag: [tags.keyword, tags.operatorKeyword, tags.modifier, tags.controlKeyword], color: "var(--waiting)" },
  { tag: [tags.string, tags.special(tags.string), tags.regexp], color: "var(--done)" },
  { tag: [tags.number, tags.bool, tags.null, tags.atom], color: "var(--paused)" },
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: "var(--accent)" },
  { tag: [tags.function(tags.variableName), tags.function(tags.definition(tags.variableName))], color: "var(--preparing)" },
  { tag: [tags.className, tags.typeName, tags.definition(tags.className)], color: "var(--preparing)" },
  { tag: tags.heading, color: "var(--text-1)", fontWeight: "600" },
  { tag: [tags.link, tags.url], color: "var(--accent)" },
  { tag: tags.strong, fontWeight: "600" },
  { tag: tags.monospace, color: "var(--preparing)" },
  { tag: tags.invalid, color: "var(--failed)" },
]);

const theme = EditorView.theme({
  "&": { color: "var(--text-1)", backgroundColor: "var(--bg-1)", fontSize: "var(--size-13)", height: "100%" },
  "&.cm-focused": { outline: "2px solid var(--focus)", outlineOffset: "-2px" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.5" },
  ".cm-content": { caretColor: "var(--text-1)" },
  ".cm-cursor, .cm-dropCursor": { borderLeftColor: "var(--text-1)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground, ::selection": {
    backgroundColor: "var(--selected)",
  },
  ".cm-gutters": { color: "var(--text-3)", backgroundColor: "var(--bg-2)", borderRight: "1px solid var(--line-1)" },
  ".cm-activeLine": { backgroundColor: "color-mix(in srgb, var(--bg-2) 60%, transparent)" },
  ".cm-activeLineGutter": { color: "var(--text-1)", backgroundColor: "var(--bg-3)" },
  ".cm-matchingBracket, &.cm-focused .cm-matchingBracket": { backgroundColor: "var(--bg-3)", outline: "1px solid var(--line-2)" },
  ".cm-searchMatch, .cm-selectionMatch": { backgroundColor: "var(--tint)" },
  ".cm-searchMatch-selected": { outline: "1px solid var(--paused)" },
  ".cm-panels": { color: "var(--text-1)", backgroundColor: "var(--bg-2)", borderColor: "var(--line-1)" },
  ".cm-panel input, .cm-panel button": {
    color: "var(--text-1)",
    background: "var(--bg-1)",
    border: "1px solid var(--line-2)",
    borderRadius: "var(--radius)",
  },
  ".cm-tooltip": {
    color: "var(--text-1)",
    backgroundColor: "var(--bg-1)",
    border: "1px solid var(--line-1)",
    boxShadow: "var(--shadow)",
  },
  ".cm-tooltip-autocomplete > ul > li[aria-selected]": { color: "var(--text-1)", backgroundColor: "var(--selected)" },
  ".cm-diagnostic-error": { borderLeftColor: "var(--failed)" },
  ".cm-foldPlaceholder": { color: "var(--text-2)", backgroundColor: "var(--bg-2)", borderColor: "var(--line-1)" },
  ".cm-changedLine": { backgroundColor: "color-mix(in srgb, var(--tint) 70%, transparent) !important" },
  "&.cm-merge-a .cm-changedLine": { backgroundColor: "var(--failed-soft) !important" },
  "&.cm-merge-b .cm-changedLine": { backgroundColor: "var(--done-soft) !important" },
  // A line below the text keeps its contrast.
  "&.cm-merge-a .cm-changedText": { background: "linear-gradient(var(--failed), var(--failed)) bottom / 100% 2px no-repeat" },
  "&.cm-merge-b .cm-changedText": { background: "linear-gradient(var(--done), var(--done)) bottom / 100% 2px no-repeat" },
  // The library's sign is missing in many fonts.
  ".cm-collapsedLines:before, .cm-collapsedLines:after": { content: "'…'" },
  ".cm-collapsedLines": {
    color: "var(--text-2)",
    background: "var(--bg-2)",
    // The library's own sign is missing in most fonts.
    "&:before, &:after": { content: '"⋯"' },
  },
});

function nonce(): Extension {
  return pageNonce ? EditorView.cspNonce.of(pageNonce) : [];
}

export function look(): Extension {
  return [theme, syntaxHighlighting(highlight), nonce()];
}

export function named(label: string): Extension {
  return EditorView.contentAttributes.of({ "aria-label": label });
}
