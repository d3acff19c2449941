// Measures inside the page: a call from outside would add its own time to each figure.
(() => {
  if (window.__probe) return;
  const LIMIT_MS = 60000;

  /** Calls back after the frame that is being made was handed over for painting. */
  const painted = (then) =>
    requestAnimationFrame(() => {
      const channel = new MessageChannel();
      channel.port1.onmessage = () => then(performance.now());
      channel.port2.postMessage(0);
    });

  /** Looks at each frame; resolves with the end of the first frame in which the claim holds. */
  const until = (claim) =>
    new Promise((resolve, reject) => {
      const deadline = performance.now() + LIMIT_MS;
      const look = () => {
        let holds = false;
        try {
          holds = Boolean(claim());
        } catch (error) {
          reject(error);
          return;
        }
        if (holds) {
          const channel = new MessageChannel();
          channel.port1.onmessage = () => resolve(performance.now());
          channel.port2.postMessage(0);
        } else if (performance.now() > deadline) reject(new Error(`in vain: ${claim}`));
        else requestAnimationFrame(look);
      };
      requestAnimationFrame(look);
    });

  const inView = (element) => {
    const { top, bottom, width } = element.getBoundingClientRect();
    return width > 0 && bottom > 0 && top < innerHeight;
  };

  const probe = {
    painted,
    until,
    /** When each canvas of a chart was drawn last: `[element, time]`. */
    drawn: new Map(),
    /** Tasks longer than 50 ms. */
    long: [],
    /** The last event of the person, by type. */
    events: {},

    route(address, claim) {
      const began = performance.now();
      history.pushState(null, "", address);
      dispatchEvent(new PopStateEvent("popstate", { state: null }));
      return until(claim).then((end) => end - began);
    },

    /** Nothing in view is still loading. */
    isQuiet: () => ![...document.querySelectorAll("main [data-loading]")].some(inView),

    /** Canvases of charts in view. */
    charts() {
      return [...document.querySelectorAll(".u-wrap > canvas")].filter(inView);
    },
    areChartsDrawn(least = 1) {
      if (probe.charts().length < least) return false;
      return probe.isQuiet();
    },

    /** The zoom was left, and the whole range is drawn. */
    isWhole: () => !new URLSearchParams(location.search).has("zoom") && probe.areChartsDrawn(),
    /** A chart was drawn after the answer of a request that was sent since the mouse was let go. */
    isDrawnAgain(path) {
      const sent = performance.getEntriesByType("resource").filter((each) => each.name.includes(path));
      const since = sent.filter((each) => each.startTime >= probe.events.mouseup && each.responseEnd > 0);
      const end = since.at(-1)?.responseEnd;
      return end !== undefined && [...probe.drawn.values()].some((time) => time > end);
    },

    /** The rows of the table in view that have content. */
    rows() {
      return [...document.querySelectorAll('[role="row"][data-index]:not([aria-busy])')].filter(inView);
    },
    firstRow() {
      return document.querySelector('[role="row"][data-index="0"]:not([aria-busy])')?.innerText ?? "";
    },

    /** The rows of a log that are in the document, and the number that `print_paced.py` gave one. */
    lines: () => [...document.querySelectorAll('[role="region"] a[href^="#L"]')].map((each) => each.parentElement),
    lineNumber: (row) => Number(/line (\d{9}) at/.exec(row.textContent)?.[1] ?? -1),

    /** How many runs the list says it has; undefined while its rows are those of another query. */
    total() {
      const texts = [...document.querySelectorAll('main [role="status"]')].map((each) => each.textContent);
      const found = texts.map((each) => /^([\d,]+) (?:runs?|searche?s?)$/.exec(each)).find(Boolean);
      return found && Number(found[1].replaceAll(",", ""));
    },

    facts() {
      const sent = performance.getEntriesByType("resource");
      const api = sent.filter((each) => each.name.includes("/api/"));
      const bytes = (list) => Math.round(list.reduce((sum, each) => sum + each.encodedBodySize, 0) / 1000);
      return {
        requests: sent.length + 1,
        api_requests: api.length,
        api_kb: bytes(api),
        long_tasks_ms: probe.long.map(([, duration]) => Math.round(duration)),
      };
    },

    /** Milliseconds of each frame while an element scrolls by so many pixels a frame. */
    scroll(selector, pixels, frames, across = false) {
      const element = document.querySelector(selector);
      const times = [];
      return new Promise((resolve) => {
        let last;
        const step = (now) => {
          if (last !== undefined) times.push(now - last);
          last = now;
          if (times.length >= frames) {
            resolve(times);
            return;
          }
          if (across) element.scrollLeft += pixels;
          else element.scrollTop += pixels;
          requestAnimationFrame(step);
        };
        requestAnimationFrame(step);
      });
    },
  };

  const clearRect = CanvasRenderingContext2D.prototype.clearRect;
  CanvasRenderingContext2D.prototype.clearRect = function (...box) {
    const { canvas } = this;
    if (!canvas.closest?.(".u-over")) probe.drawn.set(canvas, performance.now());
    return clearRect.apply(this, box);
  };
  for (const type of ["mouseup", "keydown", "click"])
    addEventListener(type, () => (probe.events[type] = performance.now()), true);
  new PerformanceObserver((list) => {
    for (const { startTime, duration } of list.getEntries()) probe.long.push([startTime, duration]);
  }).observe({ type: "longtask", buffered: true });
  window.__probe = probe;
})();
