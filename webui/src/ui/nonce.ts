/** The content security policy allows styles that carry the page's nonce. */
const meta = document.querySelector<HTMLMetaElement>('meta[name="csp-nonce"]');

export const pageNonce = meta?.nonce || meta?.content || undefined;

// Dialogs and menus keep the page behind them from scrolling by a style that get-nonce signs.
Object.assign(globalThis, { __webpack_nonce__: pageNonce });
