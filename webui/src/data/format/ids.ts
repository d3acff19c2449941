/** The number that a part of an address is: whole and positive. Other texts are the id of nothing. */
export function idOf(text: string | undefined): number | undefined {
  return /^[1-9]\d{0,8}$/.test(text ?? "") ? Number(text) : undefined;
}
