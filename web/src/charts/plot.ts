// One chart: uPlot draws axes and takes the mouse, the lines are ours.

import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";

import { brief, duration, plain } from "../format";
import { themeColour } from "./colours";
import { drawLines } from "./ink";
import { extentOf, type Line, type XAxis } from "./lines";
import { logTicks } from "./ticks";

export interface PlotOptions {
  axis: XAxis;
  logX: boolean;
  logY: boolean;
  onzoom: (range: [number, number] | null) => void;
  onhover: (at: { x: number; y: number } | null) => void;
}

export interface Size {
  width: number;
  height: number;
}

type Range = [number, number];

export class Plot {
  private readonly plot: uPlot;
  private readonly needle: HTMLElement;
  private lines: readonly Line[] = [];
  private x: Range = [0, 1];
  private y: Range = [0, 1];

  constructor(
    readonly element: HTMLElement,
    private readonly options: PlotOptions,
  ) {
    this.plot = new uPlot(this.settings(), [[0, 1], [0, 1]] as unknown as uPlot.AlignedData, element);
    this.needle = document.createElement("div");
    this.needle.className = "needle";
    this.plot.over.append(this.needle);
  }

  /** Draw these as large as that; null for all of x. */
  draw(lines: readonly Line[], range: Range | null, size: Size): void {
    this.lines = lines;
    this.x = range ?? this.wholeX();
    this.y = this.roomy(extentOf(lines, range, this.options.logY));
    this.plot.batch(() => {
      if (size.width !== this.plot.width || size.height !== this.plot.height) this.plot.setSize(size);
      this.plot.setScale("x", { min: this.x[0], max: this.x[1] });
      this.plot.setScale("y", { min: this.y[0], max: this.y[1] });
      this.plot.redraw(false, true);
    });
  }

  /** Put the needle where the mouse is on any chart. */
  point(x: number | null): void {
    const left = x === null ? NaN : this.plot.valToPos(x, "x");
    const seen = left >= 0 && left <= this.plot.over.clientWidth;
    this.needle.style.opacity = seen ? "1" : "0";
    if (seen) this.needle.style.transform = `translateX(${left}px)`;
  }

  /** Where a point lies on the element, for what is written beside it. */
  place(x: number, y: number): { left: number; top: number } {
    const { offsetLeft, offsetTop } = this.plot.over;
    return { left: this.plot.valToPos(x, "x") + offsetLeft, top: this.plot.valToPos(y, "y") + offsetTop };
  }

  destroy(): void {
    this.plot.destroy();
  }

  private settings(): uPlot.Options {
    const { logX, logY, axis, onhover } = this.options;
    const [ink, grid] = [themeColour("--faint", this.element), themeColour("--line", this.element)];
    const looks: uPlot.Axis = { stroke: ink, font: "11px system-ui, sans-serif", gap: 4, ticks: { show: false }, grid: { stroke: grid, width: 1 } };
    const sayX = axis === "time" ? (value: number) => duration(value).replace(/ (s|min|h|d)/g, "$1") : brief;
    const bottom: uPlot.Axis = { ...looks, ...(logX && { splits: logSplits }), size: 26, space: 64, grid: { show: false }, values: said(sayX) };
    const left: uPlot.Axis = { ...looks, ...(logY && { splits: logSplits }), size: roomFor, space: 30, values: said(short) };
    return {
      width: Math.max(120, this.element.clientWidth),
      height: Math.max(80, this.element.clientHeight),
      padding: [8, 10, 0, 0],
      legend: { show: false },
      scales: {
        x: { time: false, auto: false, distr: logX ? 3 : 1, range: () => this.x },
        y: { auto: false, distr: logY ? 3 : 1, range: () => this.y },
      },
      axes: [bottom, left],
      series: [{}, { show: true, paths: () => null, points: { show: false } }],
      cursor: {
        x: false,
        y: false,
        points: { show: false },
        drag: { x: true, y: false, setScale: false },
        bind: { dblclick: () => () => (this.options.onzoom(null), null) },
      },
      hooks: {
        drawAxes: [(plot) => this.ink(plot)],
        setCursor: [({ cursor: { left = -1, top = -1 }, posToVal }) => onhover(left < 0 ? null : { x: posToVal(left, "x"), y: posToVal(top, "y") })],
        setSelect: [(plot) => this.selected(plot)],
      },
    };
  }

  private ink(plot: uPlot): void {
    const began = performance.now();
    const { left, top, width, height } = plot.bbox;
    const frame = { left, top, width, height, x: this.x, y: this.y, logX: this.options.logX, logY: this.options.logY };
    drawLines(plot.ctx, this.lines, frame, 1.6 * devicePixelRatio);
    this.element.dataset["drawMs"] = (performance.now() - began).toFixed(2); // for those who measure
  }

  private selected(plot: uPlot): void {
    const { left, width } = plot.select;
    if (width < 4) return;
    const range: Range = [plot.posToVal(left, "x"), plot.posToVal(left + width, "x")];
    plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
    this.options.onzoom(range);
  }

  private wholeX(): Range {
    let [first, last] = [Infinity, -Infinity];
    for (const { x } of this.lines) {
      const start = this.options.logX ? x.find((value) => value > 0) : x[0];
      if (start !== undefined && start < first) first = start;
      if (x.length > 0 && x[x.length - 1]! > last) last = x[x.length - 1]!;
    }
    if (!(first <= last)) return this.options.logX ? [1, 10] : [0, 1];
    return first < last ? [first, last] : [first * 0.9, last * 1.1 || 1];
  }

  private roomy(extent: Range | null): Range {
    if (!extent) return this.options.logY ? [1, 10] : [0, 1];
    const [low, high] = extent;
    if (this.options.logY) return low < high ? [low * 0.9, high * 1.1] : [low / 2, high * 2];
    if (low === 0 && high === 0) return [-0.06, 1];
    const room = high > low ? (high - low) * 0.06 : Math.abs(high) * 0.1 || 1;
    return [low - room, high + room];
  }
}

/** As wide as the longest number. */
const roomFor = (_: uPlot, ticks: string[] | null) => Math.max(34, 12 + 6.4 * Math.max(0, ...(ticks ?? []).map(({ length }) => length)));

const said = (say: (value: number) => string) => (_: uPlot, ticks: (number | null)[]) => ticks.map((tick) => (tick === null ? "" : say(tick)));

const logSplits = (_: uPlot, __: number, low: number, high: number) => logTicks(low, high);

const short = (value: number) => (Math.abs(value) >= 1000 ? brief(value) : plain(value));
