import { useEffect } from "react";

export function useDocumentTitle(name: string): void {
  useEffect(() => {
    document.title = name ? `${name} · Determined` : "Determined";
  }, [name]);
}
