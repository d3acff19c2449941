import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

import { CLOSED, LOST, MAX_PIECE_BYTES, TerminalSession, type TerminalStatus } from "./session";

class FakeSocket {
  readyState = 0;
  binaryType = "";
  sent: (string | Uint8Array)[] = [];
  onopen: (() => void) | null = null;
  onmessage: ((event: { data: unknown }) => void) | null = null;
  onclose: ((event: { code: number }) => void) | null = null;
  send(data: string | Uint8Array) {
    this.sent.push(data);
  }
  close() {
    this.readyState = 3;
  }
  accept() {
    this.readyState = 1;
    this.onopen?.();
  }
  output(text: string) {
    this.onmessage?.({ data: new TextEncoder().encode(text).buffer });
  }
  end(code: number, reason = "") {
    if (reason) this.onmessage?.({ data: JSON.stringify({ reason }) });
    this.readyState = 3;
    this.onclose?.({ code });
  }
}

function made() {
  const sockets: FakeSocket[] = [];
  const output: string[] = [];
  const statuses: TerminalStatus[] = [];
  const onSession = vi.fn();
  const session = new TerminalSession(
    () => {
      const socket = new FakeSocket();
      sockets.push(socket);
      return socket as unknown as WebSocket;
    },
    {
      onOutput: (bytes) => output.push(new TextDecoder().decode(bytes)),
      onStatus: (status) => statuses.push(status),
      onSession,
    },
  );
  session.open();
  return { session, sockets, output, statuses, onSession, last: () => sockets[sockets.length - 1]! };
}

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

describe("a terminal's session", () => {
  it("sends the size first, then input, and shows output", () => {
    const { session, output, last, statuses } = made();
    session.resize({ columns: 100, rows: 30 });
    session.type("lost");
    last().accept();
    session.type("ls\n");
    last().output("file\r\n");
    expect(last().sent[0]).toBe('{"columns":100,"rows":30}');
    expect(new TextDecoder().decode(last().sent[1] as Uint8Array)).toBe("ls\n");
    expect(output).toEqual(["file\r\n"]);
    expect(statuses.map(({ state }) => state)).toEqual(["connecting", "open"]);
  });

  it("sends a new size once", () => {
    const { session, last } = made();
    last().accept();
    session.resize({ columns: 90, rows: 20 });
    session.resize({ columns: 90, rows: 20 });
    expect(last().sent.slice(1)).toEqual(['{"columns":90,"rows":20}']);
  });

  it("sends a large paste in pieces that the master takes, and nothing of it is lost", () => {
    const { session, last } = made();
    last().accept();
    const paste = "é".repeat(MAX_PIECE_BYTES);
    session.type(paste);
    const pieces = last().sent.slice(1) as Uint8Array[];
    expect(pieces.map(({ length }) => length)).toEqual([MAX_PIECE_BYTES, MAX_PIECE_BYTES]);
    const whole = new Uint8Array(pieces.flatMap((piece) => [...piece]));
    expect(new TextDecoder().decode(whole)).toBe(paste);
  });

  it("sends reports of the mouse as bytes", () => {
    const { session, last } = made();
    last().accept();
    session.typeBinary("\x1b[M \xff");
    expect([...(last().sent[1] as Uint8Array)]).toEqual([27, 91, 77, 32, 255]);
  });

  it("opens a new login shell after a lost connection, and says so", () => {
    const { sockets, last, session, onSession } = made();
    last().accept();
    last().output("$ ");
    last().end(1006);
    expect(session.status).toMatchObject({ state: "waiting", reason: LOST });
    expect(onSession).not.toHaveBeenCalled();
    vi.advanceTimersByTime(session.status.retryAt - Date.now());
    expect(sockets).toHaveLength(2);
    last().accept();
    last().output("$ ");
    expect(session.status).toEqual({ state: "open", reason: "", retryAt: 0 });
    expect(onSession).toHaveBeenCalledTimes(1);
  });

  it("waits longer after each failure, and as long as at first after a success", () => {
    const { last, session } = made();
    const pauses: number[] = [];
    for (let i = 0; i < 3; i += 1) {
      last().end(1013, "The ssh server does not answer.");
      pauses.push(session.status.retryAt - Date.now());
      expect(session.status.reason).toBe("The ssh server does not answer.");
      vi.advanceTimersByTime(pauses[i]!);
    }
    last().accept();
    last().output("$ ");
    last().end(1006);
    pauses.push(session.status.retryAt - Date.now());
    expect(pauses[1]).toBeGreaterThan(pauses[0]!);
    expect(pauses[2]).toBeGreaterThan(pauses[1]!);
    expect(pauses[3]).toBe(pauses[0]);
  });

  it.each([1000, 1008, 1009, 1011, 4401, 4403, 4410])("stays ended after %i", (code) => {
    const { sockets, last, session } = made();
    last().accept();
    last().end(code, "why");
    expect(session.status).toEqual({ state: "ended", reason: "why", retryAt: 0 });
    vi.advanceTimersByTime(60_000);
    expect(sockets).toHaveLength(1);
  });

  it("has a reason where the master gave none", () => {
    const { last, session } = made();
    last().end(1000);
    expect(session.status.reason).toBe(CLOSED);
  });

  it("ignores a connection that it has closed", () => {
    const { sockets, session, output } = made();
    sockets[0]!.accept();
    session.open();
    sockets[0]!.output("old");
    sockets[0]!.end(1006);
    expect(output).toEqual([]);
    expect(session.status.state).toBe("connecting");
    session.close();
    vi.advanceTimersByTime(60_000);
    expect(sockets).toHaveLength(2);
  });
});
