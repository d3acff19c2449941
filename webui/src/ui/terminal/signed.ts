/**
 * What xterm.js needs to draw under the content security policy: elements `style` that carry the
 * page's nonce, and styles of spans that are set as properties and not as an attribute.
 */
import { pageNonce } from "../nonce";

/** Run a work whose elements `style` are signed; the document is as before afterwards. */
export function whileSigned(work: () => void, page: Document = document, nonce: string | undefined = pageNonce): void {
  page.createElement = ((name: string) => {
    const element = Document.prototype.createElement.call(page, name);
    if (name === "style" && nonce) element.nonce = nonce;
    return element;
  }) as Document["createElement"];
  try {
    work();
  } finally {
    // The prototype's is found again.
    Reflect.deleteProperty(page, "createElement");
  }
}

/** From now on an attribute `style` of a span is set by its properties, which the policy allows. */
export function styleSpansByProperties(): void {
  HTMLSpanElement.prototype.setAttribute = function setAttribute(name, value) {
    if (name === "style") this.style.cssText = value;
    else Element.prototype.setAttribute.call(this, name, value);
  };
}
