/** Colours of Markdown in the editor, line by line: headings, code, lists, links, strong text. */
import { StreamLanguage, type StringStream } from "@codemirror/language";
import type { Extension } from "@codemirror/state";

interface State {
  /** The marks of the fence that is open; empty outside of fenced code. */
  fence: string;
}

export function markdown(): Extension {
  return StreamLanguage.define<State>({
    name: "markdown",
    startState: () => ({ fence: "" }),
    token: tokenOf,
  });
}

function tokenOf(stream: StringStream, state: State): string | null {
  if (stream.sol()) {
    const fence = stream.match(/^ {0,3}(`{3,}|~{3,})/) as RegExpMatchArray | null;
    if (fence) {
      const marks = fence[1] ?? "";
      if (!state.fence) state.fence = marks;
      else if (marks.charAt(0) === state.fence.charAt(0) && marks.length >= state.fence.length) state.fence = "";
      stream.skipToEnd();
      return "keyword";
    }
  }
  if (state.fence) return codeOf(stream);
  if (stream.sol()) {
    if (stream.match(/^ {0,3}#{1,6}(\s.*)?$/)) return "heading";
    if (stream.match(/^\s*>/)) return "comment";
    if (stream.match(/^\s*([-*+]|\d+[.)])\s/)) return "keyword";
  }
  if (stream.match(/^`[^`]+`/)) return "monospace";
  if (stream.match(/^\*\*[^*]+\*\*/)) return "strong";
  if (stream.match(/^\[[^\]]*\]\([^)]*\)/)) return "link";
  if (stream.match(/^https?:\/\/\S+/)) return "url";
  stream.next();
  stream.eatWhile(/[^`*[h]/);
  return null;
}

/** Inside of a fence: the keys of a panel, and remarks. */
function codeOf(stream: StringStream): string {
  if (stream.sol() && stream.match(/^\s*#.*$/)) return "comment";
  if (stream.sol() && stream.match(/^\s*[A-Za-z]+(?=:)/)) return "propertyName";
  stream.skipToEnd();
  return "monospace";
}
