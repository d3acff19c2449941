/** The password of the signed-in user. */
import { BASE_PATH } from "@/api/client";

import { patchUser } from "./users";

/** The old password is wrong. */
export class WrongPassword extends Error {}

/**
 * Changes the password after a check of the old one. All sessions of the user end, the caller's own
 * included: sign in again with the new one.
 *
 * @throws WrongPassword when the old one does not match.
 */
export async function changePassword(
  { id, username }: { id: number; username: string },
  old: string,
  next: string,
): Promise<void> {
  // Not through `api`: a wrong password here does not mean that the session ended.
  const response = await fetch(`${BASE_PATH}/api/v1/auth/login`, {
    method: "POST",
    credentials: "same-origin",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ username, password: old, isHashed: false }),
  });
  if (response.status === 401) throw new WrongPassword("The old password is wrong.");
  if (!response.ok) throw new Error("The master could not check the old password: try again later.");
  await patchUser(id, { password: next, isHashed: false });
}
