/** How a chart is drawn: scale and range of y, smoothing, bands. */
import { Checkbox, Segments, Select, TextField } from "../field/Field";
import styles from "./Chart.module.css";
import type { ChartSettings, Smoothing, SmoothingKind, YRange, YScale } from "./types";

const AMOUNTS: Record<Exclude<SmoothingKind, "none">, { least: number; most: number; step: number; usual: number; label: string }> = {
  ema: { least: 0, most: 0.99, step: 0.01, usual: 0.6, label: "Weight of the past" },
  mean: { least: 3, most: 201, step: 2, usual: 11, label: "Points of the window" },
  gaussian: { least: 1, most: 50, step: 1, usual: 5, label: "Deviation in points" },
};

export default function SettingsPanel({
  settings,
  onSettings,
}: {
  settings: ChartSettings;
  onSettings(settings: ChartSettings): void;
}) {
  const set = (change: Partial<ChartSettings>) => onSettings({ ...settings, ...change });
  return (
    <div className="stack">
      <div className={styles.settingRow}>
        <span>Scale of y</span>
        <Segments<YScale>
          label="Scale of y"
          value={settings.yScale}
          options={[
            { value: "linear", label: "Linear" },
            { value: "log", label: "Log10" },
            { value: "symlog", label: "Symlog" },
          ]}
          onValue={(yScale) => set({ yScale })}
        />
      </div>
      <Select
        label="Range of y"
        value={settings.yRange}
        options={[
          { value: "auto", label: "All values" },
          { value: "zero", label: "From zero" },
          { value: "clip", label: "Without outliers (5–95 %)" },
          { value: "manual", label: "Manual" },
        ]}
        onValue={(yRange) => set({ yRange: yRange as YRange })}
      />
      {settings.yRange === "manual" && (
        <div className={styles.settingPair}>
          <Bound label="Lowest" value={settings.yMin} onValue={(yMin) => set({ yMin })} />
          <Bound label="Highest" value={settings.yMax} onValue={(yMax) => set({ yMax })} />
        </div>
      )}
      <SmoothingFields smoothing={settings.smoothing} onSmoothing={(smoothing) => set({ smoothing })} />
      <Checkbox
        label="Bands from lowest to highest"
        checked={settings.bands}
        onValue={(bands) => set({ bands })}
      />
    </div>
  );
}

function SmoothingFields({
  smoothing: { kind, amount },
  onSmoothing,
}: {
  smoothing: Smoothing;
  onSmoothing(smoothing: Smoothing): void;
}) {
  const bounds = kind === "none" ? undefined : AMOUNTS[kind];
  return (
    <>
      <Select
        label="Smoothing"
        value={kind}
        options={[
          { value: "none", label: "Off" },
          { value: "ema", label: "Exponential, weighted by x" },
          { value: "mean", label: "Running mean" },
          { value: "gaussian", label: "Gaussian" },
        ]}
        onValue={(next) => {
          const to = next as SmoothingKind;
          onSmoothing({ kind: to, amount: to === "none" ? amount : AMOUNTS[to].usual });
        }}
      />
      {bounds && (
        <label className={styles.slider}>
          <span>{bounds.label}</span>
          <input
            type="range"
            min={bounds.least}
            max={bounds.most}
            step={bounds.step}
            value={amount}
            onChange={(event) => onSmoothing({ kind, amount: Number(event.target.value) })}
          />
          <output className="number">{amount}</output>
        </label>
      )}
    </>
  );
}

function Bound({
  label,
  value,
  onValue,
}: {
  label: string;
  value: number | undefined;
  onValue(value: number | undefined): void;
}) {
  return (
    <TextField
      label={label}
      inputMode="decimal"
      defaultValue={value ?? ""}
      placeholder="auto"
      onChange={(event) => {
        const text = event.target.value.trim();
        const number = Number(text);
        onValue(text === "" || !Number.isFinite(number) ? undefined : number);
      }}
    />
  );
}
