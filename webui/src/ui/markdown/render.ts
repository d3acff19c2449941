/** Markdown to safe HTML. The only place that makes HTML; a chunk of its own. */
import DOMPurify from "dompurify";
import MarkdownIt from "markdown-it";

const parser = new MarkdownIt({ html: false, linkify: true, breaks: false });

const purifier = DOMPurify(window);
purifier.addHook("afterSanitizeAttributes", (node) => {
  if (node.tagName !== "A" || !node.getAttribute("href")) return;
  node.setAttribute("rel", "noopener noreferrer nofollow");
  node.setAttribute("target", "_blank");
});

/** `below` moves headings down by so many levels, at most to the sixth. */
export function renderMarkdown(text: string, below = 0): string {
  return purifier.sanitize(htmlOf(text, below), {
    USE_PROFILES: { html: true },
    FORBID_TAGS: ["style", "form", "input", "button", "iframe"],
    FORBID_ATTR: ["style", "id", "class"],
  });
}

function htmlOf(text: string, below: number): string {
  const env = {};
  const tokens = parser.parse(text, env);
  for (const token of tokens)
    if (below > 0 && token.type.startsWith("heading_")) token.tag = `h${Math.min(6, Number(token.tag.slice(1)) + below)}`;
  return parser.renderer.render(tokens, parser.options, env);
}
