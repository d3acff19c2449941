/** A word of a command as a shell takes it: quoted where it has to be. */
export function shellWord(text: string): string {
  return /^[\w./:@%+-]+$/.test(text) ? text : `'${text.replace(/'/g, "'\\''")}'`;
}
