/** Theme, density and absolute times: kept on the master and, for the first paint, in the browser. */
import { useEffect } from "react";

import { useSetting } from "./settings";

export type Theme = "system" | "light" | "dark";
export type Density = "compact" | "normal" | "roomy";

const THEME_KEY = "det.theme";
const DENSITY_KEY = "det.density";

/** Applied before the first paint, from `main.tsx`. Every page follows the system, if it is to. */
export function applyStoredPreferences(): void {
  const apply = () => setTheme(read<Theme>(THEME_KEY, "system"));
  apply();
  if (typeof matchMedia === "function") matchMedia("(prefers-color-scheme: dark)").addEventListener("change", apply);
  document.documentElement.dataset["density"] = read<Density>(DENSITY_KEY, "normal");
}

/** Forgets what the browser keeps, after a reset of the settings on the master. */
export function forgetStoredPreferences(): void {
  localStorage.removeItem(THEME_KEY);
  localStorage.removeItem(DENSITY_KEY);
}

export function usePreferences() {
  const [theme, storeTheme] = useSetting<Theme>("webui/preferences", "theme", read(THEME_KEY, "system"));
  const [density, storeDensity] = useSetting<Density>(
    "webui/preferences",
    "density",
    read(DENSITY_KEY, "normal"),
  );
  const [absoluteTimes, storeAbsolute] = useSetting("webui/preferences", "absoluteTimes", false);
  useEffect(() => {
    localStorage.setItem(THEME_KEY, theme);
    setTheme(theme);
  }, [theme]);
  useEffect(() => {
    localStorage.setItem(DENSITY_KEY, density);
    document.documentElement.dataset["density"] = density;
  }, [density]);
  return { theme, storeTheme, density, storeDensity, absoluteTimes, storeAbsolute };
}

/** The theme in force now, for canvases that cannot read custom properties by themselves. */
export function currentTheme(): "light" | "dark" {
  return document.documentElement.dataset["theme"] === "dark" ? "dark" : "light";
}

function setTheme(theme: Theme): void {
  const dark = theme === "dark" || (theme === "system" && prefersDark());
  document.documentElement.dataset["theme"] = dark ? "dark" : "light";
}

function prefersDark(): boolean {
  return typeof matchMedia === "function" && matchMedia("(prefers-color-scheme: dark)").matches;
}

function read<T extends string>(key: string, fallback: T): T {
  return (localStorage.getItem(key) as T | null) ?? fallback;
}
