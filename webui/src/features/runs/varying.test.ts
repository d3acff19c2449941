import { renderHook } from "@testing-library/react";
import { describe, expect, it } from "vitest";

import { listState } from "@/data/view/url";
import { EMPTY_STATE } from "@/data/view/tableState";

import { fromRun } from "./item";
import { useVaryingColumns, validationMetrics, varyingHyperparameters, withVarying } from "./varying";

const run = (id: number, hyperparameters: Record<string, unknown>, names: string[], searcherMetric = "loss") =>
  fromRun({
    id,
    hyperparameters,
    experiment: { id, searcherMetric },
    summaryMetrics: { validation_metrics: Object.fromEntries(names.map((name) => [name, { last: id }])) },
  });
const columns = ["hp.lr", "hp.width", "hp.net.depth", "state", ...["acc", "b", "c", "d", "e", "loss"].map((name) => `validation.${name}.last`)].map(
  (column) => ({ column }),
);

describe("the columns of a list", () => {
  it("are the hyperparameters that differ", () => {
    const rows = [run(1, { lr: 1, width: 8, net: { depth: 2 } }, []), run(2, { lr: 1, width: 8, net: { depth: 3 } }, []), run(3, { lr: 2, width: 8, net: { depth: 2 } }, [])];
    expect(varyingHyperparameters(rows, columns)).toEqual(["hp.lr", "hp.net.depth"]);
    expect(varyingHyperparameters(rows.slice(0, 1), columns)).toEqual([]);
    expect(varyingHyperparameters([...rows.slice(0, 2), run(4, { width: 8 }, [])], columns)).toEqual(["hp.net.depth"]);
  });

  it("are four validation metrics at most, those that most rows have", () => {
    const rows = [run(1, {}, ["e", "loss"]), run(2, {}, ["e", "d", "acc", "b"]), run(3, {}, ["c", "d", "unlisted"])];
    expect(validationMetrics(rows, columns)).toEqual(["acc", "b", "d", "e"].map((name) => `validation.${name}.last`));
    const mixed = [...rows, run(4, {}, ["loss"], "acc")];
    expect(validationMetrics(mixed, columns)).toContain("validation.loss.last");
  });

  it("stand after the searcher's metric", () => {
    expect(withVarying(["id", "searcherMetricsVal", "user"], ["m", "hp.lr"])).toEqual(["id", "searcherMetricsVal", "m", "hp.lr", "user"]);
    expect(withVarying(["id"], ["hp.lr"])).toEqual(["id", "hp.lr"]);
  });

  it("are those of the first rows until someone chooses others", () => {
    const defaults = ["id", "state"];
    const state = { ...listState({ ...EMPTY_STATE, columns: defaults, query: "", group: "", baseline: "" }) };
    const rows = [run(1, { lr: 1 }, []), run(2, { lr: 2 }, [])];
    const { result, rerender } = renderHook(({ key, items, now }) => useVaryingColumns(key, items, columns, now, defaults), {
      initialProps: { key: "a", items: [] as typeof rows, now: state },
    });
    expect(result.current.state).toBe(state);
    rerender({ key: "a", items: rows, now: state });
    expect(result.current.state.columns).toEqual(["id", "state", "hp.lr"]);
    rerender({ key: "a", items: [...rows, run(3, { width: 3 }, [])], now: state });
    expect(result.current.state.columns).toEqual(["id", "state", "hp.lr"]);
    expect(result.current.own({ columns: ["id", "state", "hp.lr"] }).columns).toBe(defaults);
    expect(result.current.own({ columns: ["id", "hp.lr"] }).columns).toEqual(["id", "hp.lr"]);
    const chosen = { ...state, columns: ["id"] };
    rerender({ key: "b", items: rows, now: chosen });
    expect(result.current.state).toBe(chosen);
  });
});
