/** Gives a file that the page made to the browser's downloads. */
export function download(name: string, content: Blob | string, type = "text/plain"): void {
  const blob = typeof content === "string" ? new Blob([content], { type }) : content;
  const url = URL.createObjectURL(blob);
  const anchor = document.createElement("a");
  anchor.href = url;
  anchor.download = fileName(name);
  document.body.append(anchor);
  anchor.click();
  anchor.remove();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/** A name without characters that file systems refuse. */
export function fileName(name: string): string {
   
  return name.replace(/[\u0000-\u001f<>:"/\\|?*]+/g, "_").slice(0, 150) || "file";
}
