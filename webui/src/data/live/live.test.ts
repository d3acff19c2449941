import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

import { LiveChannel, MAX_TOPICS } from "./channel";
import type { Frame } from "./connection";
import { eventsPath, GIVEN_UP, nextTransport, pauseMs, SOCKET_ATTEMPTS, waitingMode } from "./plan";

class FakeSocket {
  readyState = 0;
  sent: { op: string; topic: string; cursor?: string }[] = [];
  onopen?: () => void;
  onmessage?: (message: { data: string }) => void;
  onclose?: (event: { code: number }) => void;

  send(text: string): void {
    this.sent.push(JSON.parse(text) as FakeSocket["sent"][number]);
  }

  open(): void {
    this.readyState = 1;
    this.onopen?.();
  }

  give(frame: Partial<Frame>): void {
    this.onmessage?.({ data: JSON.stringify(frame) });
  }

  close(): void {
    this.lose(1000);
  }

  lose(code = 1006): void {
    if (this.readyState === 3) return;
    this.readyState = 3;
    this.onclose?.({ code });
  }
}

class FakeEvents {
  isClosed = false;
  onopen?: () => void;
  onmessage?: (message: { data: string }) => void;
  onerror?: () => void;

  constructor(readonly topics: readonly (readonly [string, string])[]) {}

  give(frame: Partial<Frame>): void {
    this.onmessage?.({ data: JSON.stringify(frame) });
  }

  close(): void {
    this.isClosed = true;
  }
}

const sockets: FakeSocket[] = [];
const streams: FakeEvents[] = [];
/** What becomes of a new socket by itself. */
let fate = "wait" as "wait" | "open" | "fail";

function channel(): LiveChannel {
  return new LiveChannel({
    socket: () => {
      const socket = new FakeSocket();
      sockets.push(socket);
      if (fate !== "wait") setTimeout(() => (fate === "open" ? socket.open() : socket.lose()));
      return socket as unknown as WebSocket;
    },
    events: (topics) => {
      const stream = new FakeEvents(topics);
      streams.push(stream);
      return stream as unknown as EventSource;
    },
  });
}

const last = <T>(list: T[]): T => {
  const found = list.at(-1);
  if (!found) throw new Error("there is none");
  return found;
};
const taken = () => {
  const frames: Frame[] = [];
  return { frames, take: (frame: Frame) => void frames.push(frame) };
};
const ready = () => vi.advanceTimersByTimeAsync(0);
/** Long enough for every attempt until Server-Sent Events are tried. */
const patience = () => vi.advanceTimersByTimeAsync(10_000);

beforeEach(() => {
  vi.useFakeTimers();
  sockets.length = 0;
  streams.length = 0;
  sessionStorage.clear();
  fate = "wait";
});
afterEach(() => void vi.useRealTimers());

describe("the plan of a connection", () => {
  it("tries sockets first, then both in turn, and begins with what worked last", () => {
    expect([0, 1, 2, 3, 4].map((failures) => nextTransport(failures, "socket"))).toEqual(["socket", "socket", "events", "socket", "events"]);
    expect([0, 1, 2].map((failures) => nextTransport(failures, "events"))).toEqual(["events", "socket", "events"]);
  });

  it("waits longer after each failure, within a bound", () => {
    const pauses = Array.from({ length: 12 }, (_, failures) => pauseMs(failures));
    expect(pauses).toEqual([...pauses].sort((a, b) => a - b));
    expect(pauses.at(-1)).toBe(15_000);
  });

  it("calls itself polling where nothing ever opened, or nothing opens for long", () => {
    expect(waitingMode(SOCKET_ATTEMPTS, false)).toBe("connecting");
    expect(waitingMode(SOCKET_ATTEMPTS + 1, false)).toBe("polling");
    expect(waitingMode(SOCKET_ATTEMPTS + 1, true)).toBe("reconnecting");
    expect(waitingMode(GIVEN_UP, true)).toBe("polling");
  });

  it("writes cursors in the order of the topics, empty ones too", () => {
    expect(eventsPath([["exp:7", ""], ["logs:a b", "12~3~5:6:"]])).toBe(
      "/api/ui/v1/live/events?topics=exp%3A7,logs%3Aa%20b&cursors=,12~3~5%3A6%3A",
    );
    expect(eventsPath([["me", ""], ["agents", ""]])).toBe("/api/ui/v1/live/events?topics=me,agents");
  });
});

describe("the channel over a WebSocket", () => {
  it("subscribes each topic once, shares its frames, and leaves with the last listener", async () => {
    const live = channel();
    const [one, two] = [taken(), taken()];
    const leaveOne = live.subscribe("exp:1", one.take);
    const leaveTwo = live.subscribe("exp:1", two.take);
    last(sockets).open();
    last(sockets).give({ topic: "exp:1", op: "upsert", cursor: "a-1" });
    leaveOne();
    last(sockets).give({ topic: "exp:1", op: "upsert", cursor: "a-2" });
    expect(last(sockets).sent).toEqual([{ op: "subscribe", topic: "exp:1" }]);
    expect([one.frames.length, two.frames.length]).toEqual([1, 2]);
    leaveTwo();
    await ready();
    expect(last(sockets).sent[1]).toEqual({ op: "unsubscribe", topic: "exp:1" });
    expect(live.getStatus().mode).toBe("idle");
  });

  it("gives a second subscriber the frames after its own cursor, and the first none twice", async () => {
    const live = channel();
    const [first, second] = [taken(), taken()];
    live.subscribe("logs:t", first.take, "10");
    last(sockets).open();
    const leave = live.subscribe("logs:t", second.take, "0");
    expect(sockets).toHaveLength(2);
    last(sockets).open();
    expect(sockets.map(({ sent }) => sent)).toEqual([
      [{ op: "subscribe", topic: "logs:t", cursor: "10" }],
      [{ op: "subscribe", topic: "logs:t", cursor: "0" }],
    ]);
    last(sockets).give({ topic: "logs:t", op: "append", cursor: "1", data: { lines: [1] } });
    expect([first.frames.length, second.frames.length]).toEqual([0, 1]);
    leave();
    await ready();
    expect(sockets[1]?.readyState).toBe(3);
    expect(sockets[0]?.readyState).toBe(1);
  });

  it("follows a log again from the cursor of a reset", () => {
    const live = channel();
    const listen = (frame: Frame) => {
      if (frame.op !== "reset") return;
      leave();
      live.subscribe("logs:t", listen, frame.cursor);
    };
    const leave = live.subscribe("logs:t", listen, "0");
    last(sockets).open();
    last(sockets).give({ topic: "logs:t", op: "reset", cursor: "55" });
    expect(last(sockets).sent.slice(1)).toEqual([
      { op: "unsubscribe", topic: "logs:t" },
      { op: "subscribe", topic: "logs:t", cursor: "55" },
    ]);
    expect(sockets).toHaveLength(1);
  });

  it("opens another connection when the master takes no more topics on one", () => {
    const live = channel();
    for (let id = 0; id < MAX_TOPICS + 1; id++) live.subscribe(`metrics:${id}`, () => undefined);
    expect(sockets).toHaveLength(2);
  });

  it("resumes by cursor after a loss", async () => {
    const live = channel();
    live.subscribe("exp:1", () => undefined);
    live.subscribe("me", () => undefined);
    last(sockets).open();
    last(sockets).give({ topic: "exp:1", op: "upsert", cursor: "a-7" });
    last(sockets).lose();
    expect(live.getStatus().mode).toBe("reconnecting");
    await patience();
    last(sockets).open();
    expect(last(sockets).sent).toEqual([
      { op: "subscribe", topic: "exp:1", cursor: "a-7" },
      { op: "subscribe", topic: "me" },
    ]);
    expect(live.getStatus().mode).toBe("live");
  });

  it("gives a silent connection up", async () => {
    const live = channel();
    live.subscribe("me", () => undefined);
    last(sockets).open();
    await vi.advanceTimersByTimeAsync(30_000);
    last(sockets).give({ op: "heartbeat" as never });
    await vi.advanceTimersByTimeAsync(30_000);
    expect(live.getStatus().mode).toBe("live");
    await vi.advanceTimersByTimeAsync(20_000);
    expect(sockets).toHaveLength(2);
  });

  it("gives an attempt without an answer up", async () => {
    const live = channel();
    live.subscribe("me", () => undefined);
    await vi.advanceTimersByTimeAsync(14_000);
    expect(sockets).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(3000);
    expect(sockets).toHaveLength(2);
    expect(sockets[0]?.readyState).toBe(3);
  });

  it("stays closed when the master ends the session, until it is woken", async () => {
    const live = channel();
    const refused = vi.fn();
    live.onRefused(refused);
    live.subscribe("me", () => undefined);
    last(sockets).open();
    last(sockets).lose(4401);
    await patience();
    expect(refused).toHaveBeenCalledOnce();
    expect(sockets).toHaveLength(1);
    live.wake();
    expect(sockets).toHaveLength(2);
  });
});

describe("the channel without WebSockets", () => {
  async function overEvents() {
    const live = channel();
    const { frames, take } = taken();
    live.subscribe("exp:1", take);
    live.subscribe("logs:t", take, "12");
    last(sockets).open();
    last(sockets).give({ topic: "exp:1", op: "upsert", cursor: "a-7" });
    fate = "fail";
    last(sockets).lose();
    await patience();
    return { live, frames };
  }

  it("takes Server-Sent Events with the cursors of the socket", async () => {
    const { live, frames } = await overEvents();
    expect(last(streams).topics).toEqual([["exp:1", "a-7"], ["logs:t", "12"]]);
    last(streams).onopen?.();
    expect(live.getStatus().mode).toBe("sse");
    last(streams).give({ topic: "logs:t", op: "append", cursor: "13", data: { lines: [1] } });
    expect(frames.at(-1)?.cursor).toBe("13");
  });

  it("begins the next load of the session with events, and again with a socket once one worked", async () => {
    const { live } = await overEvents();
    last(streams).onopen?.();
    live.close("idle");
    const [before, opened] = [sockets.length, streams.length];
    const next = channel();
    next.subscribe("me", () => undefined);
    expect([sockets.length - before, streams.length - opened]).toEqual([0, 1]);
    // The events fail too: the socket is next, and it opens.
    fate = "open";
    last(streams).onerror?.();
    await patience();
    expect(next.getStatus().mode).toBe("live");
    channel().subscribe("me", () => undefined);
    expect([sockets.length - before, streams.length - opened]).toEqual([2, 1]);
  });

  it("begins a new session with a socket", () => {
    sessionStorage.setItem("det-live-transport", "nonsense");
    channel().subscribe("me", () => undefined);
    expect([sockets.length, streams.length]).toEqual([1, 0]);
  });

  it("works where the browser refuses storage", async () => {
    const refuse = () => {
      throw new DOMException("storage is off", "SecurityError");
    };
    const spies = (["getItem", "setItem", "removeItem"] as const).map((name) => vi.spyOn(Storage.prototype, name).mockImplementation(refuse));
    const { live } = await overEvents();
    last(streams).onopen?.();
    expect(live.getStatus().mode).toBe("sse");
    spies.forEach((spy) => spy.mockRestore());
  });

  it("opens a stream again with the latest cursors, when it breaks and when topics change", async () => {
    const { live } = await overEvents();
    last(streams).onopen?.();
    last(streams).give({ topic: "logs:t", op: "append", cursor: "13", data: {} });
    live.subscribe("agents", () => undefined);
    live.subscribe("tasks", () => undefined);
    await ready();
    expect(streams).toHaveLength(2);
    expect(streams[0]?.isClosed).toBe(true);
    expect(last(streams).topics).toEqual([["exp:1", "a-7"], ["logs:t", "13"], ["agents", ""], ["tasks", ""]]);
    last(streams).onopen?.();
    last(streams).give({ topic: "agents", op: "upsert", cursor: "a-9" });
    last(streams).onerror?.();
    await patience();
    expect(streams.length).toBeGreaterThan(2);
    expect(last(streams).topics[2]).toEqual(["agents", "a-9"]);
  });

  it("knows which topics the master has confirmed", () => {
    const live = channel();
    const leave = live.subscribe("exp:1", () => undefined);
    last(sockets).open();
    expect(live.isConfirmed("exp:1")).toBe(false);
    last(sockets).give({ topic: "exp:1", op: "snapshot" });
    expect(live.isConfirmed("exp:1")).toBe(true);
    expect(live.isConfirmed("exp:2")).toBe(false);
    leave();
    expect(live.isConfirmed("exp:1")).toBe(false);
  });

  it("asks again for a topic that the master cannot give now, and not for one that was left", async () => {
    const live = channel();
    const { frames, take } = taken();
    live.subscribe("exp:1", take);
    const leave = live.subscribe("exp:2", take);
    last(sockets).open();
    last(sockets).give({ topic: "exp:1", op: "upsert", cursor: "a-7" });
    const asked = last(sockets).sent.length;
    for (const topic of ["exp:1", "exp:2"]) last(sockets).give({ topic, op: "error", data: { code: 503 } });
    leave();
    await patience();
    expect(last(sockets).sent.slice(asked).filter(({ op }) => op === "subscribe")).toEqual([
      { op: "subscribe", topic: "exp:1", cursor: "a-7" },
    ]);
    expect(frames.map(({ op }) => op)).toEqual(["upsert"]);
  });

  it("asks no more for what was refused or has ended", async () => {
    const { live } = await overEvents();
    last(streams).onopen?.();
    last(streams).give({ topic: "exp:1", op: "error", data: { code: 404 } });
    last(streams).give({ topic: "logs:t", op: "append", cursor: "14", data: { lines: [], ended: true } });
    const count = streams.length;
    last(streams).onerror?.();
    await patience();
    expect(streams).toHaveLength(count);
    expect(live.getStatus().mode).toBe("sse");
  });

  it("polls where events fail too, and comes back by cursor", async () => {
    const { live } = await overEvents();
    last(streams).onerror?.();
    for (let turn = 0; turn < 10; turn++) {
      await vi.advanceTimersByTimeAsync(16_000);
      if (!last(streams).isClosed) last(streams).onerror?.();
    }
    expect(live.getStatus().mode).toBe("polling");
    fate = "open";
    for (let turn = 0; turn < 4; turn++) {
      await vi.advanceTimersByTimeAsync(16_000);
      if (!last(streams).isClosed) last(streams).onerror?.();
    }
    expect(last(sockets).sent[0]).toEqual({ op: "subscribe", topic: "exp:1", cursor: "a-7" });
    expect(live.getStatus().mode).toBe("live");
  });

  it("ends with the session", async () => {
    const { live } = await overEvents();
    const refused = vi.fn();
    live.onRefused(refused);
    last(streams).onopen?.();
    last(streams).give({ topic: "", op: "error", data: { code: 401, message: "sign in again" } });
    last(streams).onerror?.();
    await patience();
    expect(refused).toHaveBeenCalledOnce();
    expect(live.getStatus().mode).toBe("idle");
  });
});
