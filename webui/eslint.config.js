import hooks from "eslint-plugin-react-hooks";
import tseslint from "typescript-eslint";

// A layer imports only from the layers before it: api < data < ui < features < routes.
const LAYERS = ["api", "data", "ui", "features", "routes"];

const contract = (layer) => {
  const above = LAYERS.slice(LAYERS.indexOf(layer) + 1);
  const patterns = above.map((name) => ({
    group: [`@/${name}/*`, `@/${name}`],
    message: `${layer} is below ${name}: it imports nothing from there.`,
  }));
  return {
    files: [`src/${layer}/**/*.{ts,tsx}`],
    rules: { "no-restricted-imports": ["error", { patterns }] },
  };
};

export default tseslint.config(
  { ignores: ["dist", "node_modules", "src/api/schema.d.ts", "test-results"] },
  ...tseslint.configs.recommended,
  { plugins: { "react-hooks": hooks }, rules: hooks.configs.recommended.rules },
  {
    rules: {
      "@typescript-eslint/consistent-type-imports": "error",
      "@typescript-eslint/no-explicit-any": "error",
      // The React compiler is not used; its rules about refs and effects do not apply.
      "react-hooks/refs": "off",
      "react-hooks/set-state-in-effect": "off",
      "react-hooks/preserve-manual-memoization": "off",
      "react-hooks/incompatible-library": "off",
      "react-hooks/immutability": "off",
      "react-hooks/purity": "off",
      "no-restricted-properties": [
        "error",
        { property: "innerHTML", message: "Only ui/markdown writes HTML, after DOMPurify." },
        { property: "dangerouslySetInnerHTML", message: "Only ui/markdown writes HTML." },
      ],
      "no-restricted-syntax": [
        "error",
        {
          selector: "JSXAttribute[name.name='dangerouslySetInnerHTML']",
          message: "Only ui/markdown writes HTML, after DOMPurify.",
        },
        {
          selector: "Literal[value=/#[0-9a-fA-F]{3}([0-9a-fA-F]{3})?$/]",
          message: "Colours are tokens (ui/tokens.css) or series colours (ui/chart/palette.ts).",
        },
      ],
      "max-lines": ["error", { max: 400, skipBlankLines: true, skipComments: true }],
    },
  },
  ...LAYERS.slice(0, -1).map(contract),
  {
    files: ["src/ui/markdown/**", "src/ui/chart/palette.ts", "**/*.test.ts", "**/*.test.tsx"],
    rules: { "no-restricted-syntax": "off", "no-restricted-properties": "off" },
  },
);
